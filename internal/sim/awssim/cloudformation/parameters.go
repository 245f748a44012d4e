package cloudformation

// What operations take.
const (
	templateTaken = " TemplateBody TemplateURL"
	stackTaken    = "StackName Capabilities.member.N NotificationARNs.member.N RoleARN ClientRequestToken" +
		" Tags.member.N.Key Tags.member.N.Value" +
		" Parameters.member.N.ParameterKey Parameters.member.N.ParameterValue Parameters.member.N.UsePreviousValue" + templateTaken
)

// parameters are those of each operation; others are refused.
var parameters = map[string]string{
	"CreateStack":                 stackTaken + " OnFailure DisableRollback EnableTerminationProtection",
	"UpdateStack":                 stackTaken + " UsePreviousTemplate",
	"DeleteStack":                 "StackName RetainResources.member.N ClientRequestToken",
	"ContinueUpdateRollback":      "StackName ResourcesToSkip.member.N ClientRequestToken",
	"DescribeStacks":              "StackName NextToken",
	"ListStacks":                  "StackStatusFilter.member.N NextToken",
	"DescribeStackEvents":         "StackName NextToken",
	"DescribeStackResource":       "StackName LogicalResourceId",
	"DescribeStackResources":      "StackName LogicalResourceId PhysicalResourceId",
	"ListStackResources":          "StackName NextToken",
	"ListExports":                 "NextToken",
	"ListImports":                 "ExportName NextToken",
	"GetTemplate":                 "StackName ChangeSetName TemplateStage",
	"GetTemplateSummary":          "StackName" + templateTaken,
	"ValidateTemplate":            templateTaken,
	"CreateChangeSet":             stackTaken + " UsePreviousTemplate ChangeSetName ChangeSetType ClientToken Description OnStackFailure",
	"DescribeChangeSet":           "StackName ChangeSetName IncludePropertyValues NextToken",
	"ListChangeSets":              "StackName NextToken",
	"ExecuteChangeSet":            "StackName ChangeSetName ClientRequestToken DisableRollback",
	"DeleteChangeSet":             "StackName ChangeSetName",
	"UpdateTerminationProtection": "StackName EnableTerminationProtection",
}
