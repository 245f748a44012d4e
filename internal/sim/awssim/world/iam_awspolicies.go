package world

import (
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// awsPolicies are the policies of AWS that exist in the simulated account, by path and name, with statements. Nodes call
// nothing here, so that the policies for them are empty; the others let in what their namesakes do among the services
// that are simulated.
var awsPolicies = map[string]string{
	"AdministratorAccess": `{"Effect":"Allow","Action":"*","Resource":"*"}`,
	"PowerUserAccess": `{"Effect":"Allow","NotAction":["iam:*","organizations:*","account:*"],"Resource":"*"},` +
		`{"Effect":"Allow","Action":["iam:CreateServiceLinkedRole","iam:DeleteServiceLinkedRole","iam:ListRoles"],"Resource":"*"}`,
	"IAMFullAccess":       `{"Effect":"Allow","Action":"iam:*","Resource":"*"}`,
	"AmazonEC2FullAccess": `{"Effect":"Allow","Action":["ec2:*","cloudwatch:*"],"Resource":"*"}`,
	"AmazonSQSFullAccess": `{"Effect":"Allow","Action":"sqs:*","Resource":"*"}`,
	"ReadOnlyAccess":      readOnly,
	"job-function/ViewOnlyAccess": `{"Effect":"Allow","Action":["cloudformation:Describe*","cloudformation:List*","cloudwatch:List*",` +
		`"ec2:Describe*","eks:List*","events:List*","iam:List*","kms:List*","sqs:ListQueues"],"Resource":"*"}`,
	"SecurityAudit": `{"Effect":"Allow","Action":["cloudformation:Describe*","cloudformation:GetTemplate","cloudformation:List*",` +
		`"cloudwatch:Describe*","ec2:Describe*","eks:Describe*","eks:List*","events:Describe*","events:List*","iam:Get*","iam:List*",` +
		`"iam:SimulatePrincipalPolicy","kms:Describe*","kms:Get*","kms:List*","sqs:GetQueueAttributes","sqs:ListQueues"],"Resource":"*"}`,

	"AmazonEKSWorkerNodePolicy":                  "",
	"AmazonEKSWorkerNodeMinimalPolicy":           "",
	"AmazonEKS_CNI_Policy":                       "",
	"AmazonEC2ContainerRegistryReadOnly":         "",
	"AmazonEC2ContainerRegistryPullOnly":         "",
	"AmazonEC2ContainerRegistryPowerUser":        "",
	"AmazonSSMManagedInstanceCore":               "",
	"AmazonSSMPatchAssociation":                  "",
	"AmazonEKSClusterPolicy":                     "",
	"AmazonEKSServicePolicy":                     "",
	"AmazonEKSVPCResourceController":             "",
	"AmazonEKSLocalOutpostClusterPolicy":         "",
	"CloudWatchAgentServerPolicy":                "",
	"AWSXRayDaemonWriteAccess":                   "",
	"service-role/AmazonEBSCSIDriverPolicy":      "",
	"service-role/AmazonEFSCSIDriverPolicy":      "",
	"service-role/AmazonEC2SpotFleetTaggingRole": "",
	"service-role/AmazonEC2RoleforSSM":           "",
}

const readOnly = `{"Effect":"Allow","Action":["arc-zonal-shift:Get*","arc-zonal-shift:List*","cloudformation:Describe*",` +
	`"cloudformation:Get*","cloudformation:List*","cloudwatch:Describe*","cloudwatch:Get*","cloudwatch:List*","ec2:Describe*",` +
	`"ec2:Get*","eks:Describe*","eks:List*","events:Describe*","events:List*","events:Test*","iam:Get*","iam:List*","iam:Simulate*",` +
	`"kms:Describe*","kms:Get*","kms:List*","pricing:*","sqs:Get*","sqs:List*","ssm:Describe*","ssm:Get*","ssm:List*",` +
	`"sts:GetCallerIdentity"],"Resource":"*"}`

// furnishAWSPoliciesLocked makes AWS's own policies known.
func (w *World) furnishAWSPoliciesLocked() {
	born := time.Date(2015, 2, 6, 18, 39, 46, 0, time.UTC)
	w.iam.aws = map[string]*policyState{}
	for path, statements := range awsPolicies {
		text := `{"Version":"2012-10-17","Statement":[` + statements + `]}`
		d := &iampolicy.Document{Version: iampolicy.Version2012}
		if statements != "" {
			var err error
			if d, err = iampolicy.Parse([]byte(text)); err != nil {
				panic("world: policy " + path + ": " + err.Error())
			}
		}
		name := lastSegment(path)
		p := &policyState{next: 2, Policy: Policy{
			Name: name, ID: stableID("ANPA", path), Path: "/" + path[:len(path)-len(name)], AWS: true, Created: born, Updated: born,
			ARN: "arn:" + w.Partition() + ":iam::aws:policy/" + path,
		}}
		p.versions = []policyVersion{{PolicyVersion{ID: "v1", Document: text, Default: true, Created: born}, d}}
		w.iam.aws[p.ARN] = p
	}
}
