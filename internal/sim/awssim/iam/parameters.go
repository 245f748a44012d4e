package iam

// What operations take.
const (
	tagsTaken  = " Tags.member.N.Key Tags.member.N.Value"
	pageTaken  = " Marker MaxItems"
	keysTaken  = " TagKeys.member.N"
	questioned = "ActionNames.member.N ResourceArns.member.N PolicyInputList.member.N PermissionsBoundaryPolicyInputList.member.N" +
		" ResourcePolicy ResourceOwner CallerArn ContextEntries.member.N.ContextKeyName ContextEntries.member.N.ContextKeyType" +
		" ContextEntries.member.N.ContextKeyValues.member.N" + pageTaken
)

// parameters are those of each operation; others are refused.
var parameters = map[string]string{
	"CreateRole":                         "RoleName AssumeRolePolicyDocument Path Description MaxSessionDuration PermissionsBoundary" + tagsTaken,
	"GetRole":                            "RoleName",
	"ListRoles":                          "PathPrefix" + pageTaken,
	"UpdateRole":                         "RoleName Description MaxSessionDuration",
	"UpdateAssumeRolePolicy":             "RoleName PolicyDocument",
	"DeleteRole":                         "RoleName",
	"TagRole":                            "RoleName" + tagsTaken,
	"UntagRole":                          "RoleName" + keysTaken,
	"ListRoleTags":                       "RoleName",
	"PutRolePermissionsBoundary":         "RoleName PermissionsBoundary",
	"DeleteRolePermissionsBoundary":      "RoleName",
	"CreateServiceLinkedRole":            "AWSServiceName CustomSuffix Description",
	"DeleteServiceLinkedRole":            "RoleName",
	"GetServiceLinkedRoleDeletionStatus": "DeletionTaskId",

	"CreatePolicy":            "PolicyName PolicyDocument Path Description" + tagsTaken,
	"GetPolicy":               "PolicyArn",
	"ListPolicies":            "Scope PathPrefix PolicyUsageFilter OnlyAttached" + pageTaken,
	"DeletePolicy":            "PolicyArn",
	"CreatePolicyVersion":     "PolicyArn PolicyDocument SetAsDefault",
	"GetPolicyVersion":        "PolicyArn VersionId",
	"ListPolicyVersions":      "PolicyArn" + pageTaken,
	"SetDefaultPolicyVersion": "PolicyArn VersionId",
	"DeletePolicyVersion":     "PolicyArn VersionId",
	"ListEntitiesForPolicy":   "PolicyArn PolicyUsageFilter EntityFilter PathPrefix" + pageTaken,
	"TagPolicy":               "PolicyArn" + tagsTaken,
	"UntagPolicy":             "PolicyArn" + keysTaken,
	"ListPolicyTags":          "PolicyArn",
	"SimulatePrincipalPolicy": "PolicySourceArn " + questioned,
	"SimulateCustomPolicy":    questioned,

	"AttachRolePolicy":         "RoleName PolicyArn",
	"DetachRolePolicy":         "RoleName PolicyArn",
	"ListAttachedRolePolicies": "RoleName" + pageTaken,
	"PutRolePolicy":            "RoleName PolicyName PolicyDocument",
	"GetRolePolicy":            "RoleName PolicyName",
	"DeleteRolePolicy":         "RoleName PolicyName",
	"ListRolePolicies":         "RoleName" + pageTaken,

	"GetInstanceProfile":            "InstanceProfileName",
	"CreateInstanceProfile":         "InstanceProfileName Path" + tagsTaken,
	"AddRoleToInstanceProfile":      "InstanceProfileName RoleName",
	"RemoveRoleFromInstanceProfile": "InstanceProfileName RoleName",
	"DeleteInstanceProfile":         "InstanceProfileName",
	"ListInstanceProfiles":          "PathPrefix" + pageTaken,
	"ListInstanceProfilesForRole":   "RoleName" + pageTaken,
	"TagInstanceProfile":            "InstanceProfileName" + tagsTaken,
	"UntagInstanceProfile":          "InstanceProfileName" + keysTaken,
	"ListInstanceProfileTags":       "InstanceProfileName",

	"CreateOpenIDConnectProvider": "Url ClientIDList.member.N ThumbprintList.member.N" + tagsTaken,
	"GetOpenIDConnectProvider":    "OpenIDConnectProviderArn",
	"ListOpenIDConnectProviders":  "",
	"DeleteOpenIDConnectProvider": "OpenIDConnectProviderArn",
}
