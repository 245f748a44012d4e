package stack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

func TestOptionsThatAreNotInOrderSayTheFlagAndTheWayOut(t *testing.T) {
	key := "arn:aws:kms:eu-west-1:111122223333:key/1"
	for sentence, x := range map[string]struct {
		change func(*Options)
		want   []string // all are in the error
	}{
		"no cluster":                {func(o *Options) { o.ClusterName = "" }, []string{"--cluster-name is missing"}},
		"a cluster with a dot":      {func(o *Options) { o.ClusterName = "a.b" }, []string{"--cluster-name", `"a.b"`, "letters, digits, - and _"}},
		"a cluster with a quote":    {func(o *Options) { o.ClusterName = `a"b` }, []string{"--cluster-name"}},
		"a cluster with a new line": {func(o *Options) { o.ClusterName = "a\nb" }, []string{"--cluster-name"}},
		"a cluster of 101":          {func(o *Options) { o.ClusterName = longest + "a" }, []string{"--cluster-name has 101 characters, EKS allows 100"}},
		"an edition of nowhere":     {func(o *Options) { o.Compat = "v9" }, []string{"--compat", "v0.32, v0.32-later, v1.0, latest"}},
		"a zone for a region":       {func(o *Options) { o.Region = "eu-west-1a" }, []string{"--region", "eu-west-1"}},
		"a short account":           {func(o *Options) { o.AccountID = "123" }, []string{"--account-id", "12 digits"}},
		"v0.32 in China":            {func(o *Options) { o.Compat, o.Region = V032, "cn-north-1" }, []string{"--compat v0.32", "--compat v0.32-later"}},

		"a long cluster name, node role": {func(o *Options) { o.ClusterName = longest[:47] },
			[]string{"node role", "65 characters where AWS allows 64", "--node-role-name"}},
		"a long cluster name, controller role": {func(o *Options) { o.ClusterName, o.NodeRoleName, o.Controller = longest[:55], "nodes", PodIdentity },
			[]string{"controller role", "65 characters where AWS allows 64", "--controller-role-name"}},
		"a long cluster name, queue": {func(o *Options) { o.ClusterName, o.NodeRoleName, o.DeadLetter = longest[:81], "nodes", false },
			[]string{"interruption queue", "81 characters where AWS allows 80", "--queue-name"}},
		"a long cluster name, queue with dead letters": {func(o *Options) { o.ClusterName, o.NodeRoleName = longest[:77], "nodes" },
			[]string{"77 characters where AWS allows 76", "--queue-name", "-dlq"}},
		"a long cluster name, policies": {func(o *Options) { o.ClusterName, o.NodeRoleName, o.QueueName = longest, "nodes", "queue" },
			[]string{"KarpenterControllerResourceDiscoveryPolicy-aaa", "143 characters, IAM allows 128", "--policy-suffix"}},
		"a long cluster name, all at once": {func(o *Options) { o.ClusterName, o.Controller = longest[:86], PodIdentity },
			[]string{"--node-role-name", "--controller-role-name", "--queue-name", "--policy-suffix"}},
		"a long role name":             {func(o *Options) { o.NodeRoleName = longest[:65] }, []string{"--node-role-name", "65 characters"}},
		"a role name with a space":     {func(o *Options) { o.NodeRoleName = "a b" }, []string{"--node-role-name", "does not allow"}},
		"a role name with a reference": {func(o *Options) { o.NodeRoleName = "${x}" }, []string{"--node-role-name"}},
		"a FIFO queue":                 {func(o *Options) { o.QueueName = "a.fifo" }, []string{"--queue-name", "standard queue"}},
		"a policy suffix with /":       {func(o *Options) { o.PolicySuffix = "a/b" }, []string{"--policy-suffix"}},
		"a path without slashes":       {func(o *Options) { o.Path = "karpenter" }, []string{"--path", "/karpenter/"}},

		"a boundary that is a name":  {func(o *Options) { o.PermissionsBoundary = "boundary" }, []string{"--permissions-boundary", "arn:aws:iam"}},
		"an access entry of no type": {func(o *Options) { o.AccessEntry = "linux" }, []string{"--access-entry", "EC2_LINUX, EC2_WINDOWS"}},
		"a boundary of another account": {func(o *Options) {
			o.AccountID, o.PermissionsBoundary = testAccount, "arn:aws:iam::444455556666:policy/b"
		}, []string{"--permissions-boundary", "not of account " + testAccount}},
		"a boundary of another partition": {func(o *Options) {
			o.Region, o.PermissionsBoundary = "us-gov-west-1", "arn:aws:iam::111122223333:policy/b"
		}, []string{"--permissions-boundary", "partition aws-us-gov"}},
		"a node role of another partition": {func(o *Options) { o.Region, o.NodeRole = "cn-north-1", "arn:aws:iam::111122223333:role/nodes" },
			[]string{"--node-role", "partition aws-cn"}},
		"a role to pass of another partition": {func(o *Options) { o.Region, o.PassRoles = "cn-north-1", []string{"arn:aws:iam::111122223333:role/x"} },
			[]string{"--pass-role", "partition aws-cn"}},
		"a role to pass of another account": {func(o *Options) { o.AccountID, o.PassRoles = testAccount, []string{"arn:aws:iam::444455556666:role/x"} },
			[]string{"--pass-role", "not of account " + testAccount}},
		"a provider of another partition": {func(o *Options) {
			o.Region, o.Controller, o.OIDCProvider = "cn-north-1", IRSA, "arn:aws:iam::111122223333:oidc-provider/oidc.example.com/id/1"
		}, []string{"--oidc-provider", "partition aws-cn"}},
		"a queue of another partition": {func(o *Options) { o.Region, o.QueueARN = "us-gov-west-1", "arn:aws:sqs:us-gov-west-1:111122223333:q" },
			[]string{"--queue-arn", "partition aws-us-gov"}},
		"no such way to a role":   {func(o *Options) { o.Controller = "kiam" }, []string{"--controller", "pod-identity, irsa, none"}},
		"IRSA without a provider": {func(o *Options) { o.Controller = IRSA }, []string{"--oidc-provider", "describe-cluster"}},
		"IRSA with a word":        {func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "issuer" }, []string{"--oidc-provider", "issuer URL"}},
		"IRSA without TLS":        {func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "http://oidc.example.com/id/1" }, []string{"--oidc-provider", "issuer URL"}},
		"IRSA with a query":       {func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "https://oidc.example.com/id/1?a=b" }, []string{"--oidc-provider", "issuer URL"}},
		"IRSA for all accounts": {func(o *Options) {
			o.Controller, o.OIDCProvider = IRSA, "arn:aws:iam::*:oidc-provider/oidc.example.com/id/1"
		}, []string{"--oidc-provider", "ARN of a provider"}},
		"IRSA with a bucket":       {func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "arn:aws:s3:::x:oidc-provider/a.b" }, []string{"--oidc-provider", "ARN of a provider"}},
		"a key with wildcards":     {func(o *Options) { o.KMSKey = "arn:aws:kms:eu-west-1:111122223333:key/*" }, []string{"--kms-key", "without wildcards"}},
		"a key elsewhere":          {func(o *Options) { o.Region, o.KMSKey = "eu-west-1", "arn:aws:kms:us-east-1:111122223333:key/1" }, []string{"--kms-key", "us-east-1", "eu-west-1"}},
		"volume keys of all":       {func(o *Options) { o.VolumeKeys = []string{"arn:aws:kms:*:*:key/1"} }, []string{"--volume-key", "account and the region"}},
		"all volume keys":          {func(o *Options) { o.VolumeKeys = []string{"arn:aws:kms:eu-west-1:111122223333:key/*"} }, []string{"--volume-key", "everything of the account"}},
		"all parameters":           {func(o *Options) { o.Parameters = []string{"arn:aws:ssm:eu-west-1:111122223333:parameter/*"} }, []string{"--ssm-parameter", "everything of the account"}},
		"more receives than tries": {func(o *Options) { o.MaxReceives = 10 }, []string{"--max-receives 10", "never see it"}},
		"a provider without IRSA":  {func(o *Options) { o.Controller, o.OIDCProvider = PodIdentity, "https://a.b/c" }, []string{"--oidc-provider", "pod identity needs none"}},
		"a namespace in capitals":  {func(o *Options) { o.Controller, o.Namespace = PodIdentity, "Kube" }, []string{"--namespace"}},
		"every service account":    {func(o *Options) { o.Controller, o.ServiceAccount = PodIdentity, "*" }, []string{"--service-account"}},

		"the AWS-managed key":        {func(o *Options) { o.KMSKey = "alias/aws/sqs" }, []string{"--kms-key alias/aws/sqs", "EventBridge can't deliver", "AWS manages its policy", "--kms"}},
		"the AWS-managed key's ARN":  {func(o *Options) { o.KMSKey = "arn:aws:kms:eu-west-1:111122223333:alias/aws/sqs" }, []string{"EventBridge can't deliver"}},
		"another alias":              {func(o *Options) { o.KMSKey = "alias/mine" }, []string{"--kms-key", "not on their aliases", "describe-key"}},
		"the id of a key":            {func(o *Options) { o.KMSKey = "1234abcd" }, []string{"--kms-key", "arn:aws:kms"}},
		"a key that was shortened":   {func(o *Options) { o.KMSKey = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-…" }, []string{"--kms-key", "1234abcd-12ab-34cd-56ef-1234567890ab"}},
		"a key shortened with dots":  {func(o *Options) { o.KMSKey = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-..." }, []string{"--kms-key", "1234abcd-12ab"}},
		"a volume key shortened":     {func(o *Options) { o.VolumeKeys = []string{"arn:aws:kms:eu-west-1:111122223333:key/1234abcd-…"} }, []string{"--volume-key", "1234abcd-12ab"}},
		"a parameter shortened":      {func(o *Options) { o.Parameters = []string{"arn:aws:ssm:eu-west-1:111122223333:parameter/my/…"} }, []string{"--ssm-parameter", "parameter/my/image"}},
		"a topic with a blank":       {func(o *Options) { o.AlarmActions = []string{"arn:aws:sns:eu-west-1:111122223333:on call"} }, []string{"--alarm-action", "arn:aws:sns"}},
		"a boundary shortened":       {func(o *Options) { o.PermissionsBoundary = "arn:aws:iam::111122223333:policy/…" }, []string{"--permissions-boundary", "policy/boundary"}},
		"a node role of the help":    {func(o *Options) { o.NodeRole = "ARN" }, []string{"--node-role ARN", "arn:aws:iam::111122223333:role/nodes"}},
		"a node role's ARN, short":   {func(o *Options) { o.NodeRole = "arn:aws:iam::111122223333:role/…" }, []string{"--node-role", "arn:aws:iam::111122223333:role/nodes"}},
		"a role to pass of the help": {func(o *Options) { o.PassRoles = []string{"ARN"} }, []string{"--pass-role", "arn:aws:iam"}},
		"two keys":                   {func(o *Options) { o.KMS, o.KMSKey = true, key }, []string{"--kms", "--kms-key", "one of them"}},
		"a retention of seconds":     {func(o *Options) { o.Retention = time.Second }, []string{"--retention 1s", "1m to 336h"}},
		"a visibility of a day":      {func(o *Options) { o.Visibility = 24 * time.Hour }, []string{"--visibility", "12h"}},
		"no receives":                {func(o *Options) { o.MaxReceives = 0 }, []string{"--max-receives", "1 to 5"}},
		"alarms that are off":        {func(o *Options) { o.Alarms, o.AlarmActions = false, []string{"arn:aws:sns:eu-west-1:111122223333:x"} }, []string{"--alarm-action", "--alarms"}},
		"an alarm to a name":         {func(o *Options) { o.AlarmActions = []string{"oncall"} }, []string{"--alarm-action", "not an ARN"}},
		"a parameter's name":         {func(o *Options) { o.Parameters = []string{"/my/image"} }, []string{"--ssm-parameter", "arn:aws:ssm"}},
		"a private public parameter": {func(o *Options) { o.PublicParameters = []string{"/my/image"} }, []string{"--public-parameter", "/aws/service/", "--ssm-parameter"}},
		"all public parameters":      {func(o *Options) { o.PublicParameters = []string{"/aws/service/*"} }, []string{"--public-parameter", "/aws/service/eks/optimized-ami/*"}},
		"a node role's path":         {func(o *Options) { o.NodeRole = "team/nodes" }, []string{"--node-role", "arn:aws:iam"}},
		"a node role twice": {func(o *Options) {
			o.NodeRole, o.NodeRoleName = "arn:aws:iam::111122223333:role/nodes", "nodes"
		}, []string{"--node-role", "--node-role-name", "one of them"}},
		"a node role of another account": {func(o *Options) {
			o.NodeRole, o.AccountID = "arn:aws:iam::111122223333:role/nodes", "999988887777"
		}, []string{"--node-role", "own account"}},
		"a role that is none":            {func(o *Options) { o.PassRoles = []string{"Mine"} }, []string{"--pass-role", "arn:aws:iam"}},
		"all roles":                      {func(o *Options) { o.PassRoles = []string{"arn:aws:iam::111122223333:role/*"} }, []string{"--pass-role", "arn:aws:iam"}},
		"a queue's name for its ARN":     {func(o *Options) { o.QueueARN = "demo" }, []string{"--queue-arn", "arn:aws:sqs"}},
		"a FIFO queue's ARN":             {func(o *Options) { o.QueueARN = otherQueue + ".fifo" }, []string{"--queue-arn", "standard queue"}},
		"a queue in another region":      {func(o *Options) { o.QueueARN, o.Region = otherQueue, "eu-west-2" }, []string{"--queue-arn", "eu-west-1", "eu-west-2"}},
		"a queue made and there":         {func(o *Options) { o.QueueARN, o.QueueName = otherQueue, "demo" }, []string{"--queue-arn", "--queue-name", "one of them"}},
		"a key for a queue that exists":  {func(o *Options) { o.QueueARN, o.KMS = otherQueue, true }, []string{"--kms", "--kms-key"}},
		"alarms for a queue that exists": {func(o *Options) { o.QueueARN, o.AlarmActions = otherQueue, arnsOf("", "sns", "x", 1) }, []string{"--alarm-action", "no alarms"}},
		"what would be lost":             {func(o *Options) { o.QueueARN, o.Adopt, o.Controller = otherQueue, AdoptEKSModule, IRSA }, []string{"--adopt eks-module", "--queue-arn"}},
		"a volume key's alias":           {func(o *Options) { o.VolumeKeys = []string{"alias/ebs"} }, []string{"--volume-key", "arn:aws:kms"}},
		"a tag of AWS":                   {func(o *Options) { o.Tags = map[string]string{"aws:x": "y"} }, []string{"--tags", "aws:"}},
		"a tag with a reference":         {func(o *Options) { o.Tags = map[string]string{"a": "${b}"} }, []string{"--tags", "${"}},
		"a statement of its own too large": {func(o *Options) { o.Parameters = arnsOf("", "ssm", "parameter/team/images/", 200) },
			[]string{"AllowUserSSMParameterReads", "can't be cut in two", "--ssm-parameter", "6144"}},
		"keys for a statement too large": {func(o *Options) { o.VolumeKeys = arnsOf("", "kms", "key/1234abcd-12ab-34cd-56ef-12345678", 200) },
			[]string{"AllowVolumeKeyUse", "--volume-key"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := Defaults(Latest)
			o.ClusterName = "demo"
			x.change(&o)
			_, err := New(o)
			if err == nil {
				t.Fatal("it is accepted")
			}
			for _, w := range x.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestAllThatIsWrongIsSaidAtOnce(t *testing.T) {
	o := Defaults(Latest)
	o.ClusterName, o.Region, o.KMSKey = "a.b", "x", "alias/aws/sqs"
	_, err := New(o)
	for _, w := range []string{"--cluster-name", "--region", "--kms-key"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error %v does not speak of %s", err, w)
		}
	}
}

// TestEachOptionHasItsEffect: the statement, action or resource is there with the option and not without.
func TestEachOptionHasItsEffect(t *testing.T) {
	for option, x := range map[string]struct {
		change func(*Options)
		has    string
	}{
		"--capacity-reservations":            {func(o *Options) { o.CapacityReservations = true }, "ec2:DescribeCapacityReservations"},
		"--capacity-reservations, to launch": {func(o *Options) { o.CapacityReservations = true }, "capacity-reservation/*"},
		"--placement-groups":                 {func(o *Options) { o.PlacementGroups = true }, "ec2:DescribePlacementGroups"},
		"--placement-groups, to launch":      {func(o *Options) { o.PlacementGroups = true }, "placement-group/*"},
		"--zonal-shift":                      {func(o *Options) { o.ZonalShift = true }, "arc-zonal-shift:GetManagedResource"},
		"--launch-templates":                 {func(o *Options) { o.LaunchTemplates = true }, "AllowUserLaunchTemplates"},
		"--launch-templates, parts":          {func(o *Options) { o.LaunchTemplates = true }, "AllowUserLaunchTemplateParts"},
		"--pass-role":                        {func(o *Options) { o.PassRoles = []string{"arn:aws:iam::111122223333:role/Mine"} }, "AllowPassingUserRoles"},
		"--public-parameter":                 {func(o *Options) { o.PublicParameters = []string{"/aws/service/bottlerocket/*"} }, "parameter/aws/service/bottlerocket/*"},
		"--node-role":                        {func(o *Options) { o.NodeRole = "arn:aws:iam::111122223333:role/nodes" }, "arn:aws:iam::111122223333:role/nodes"},
		"--ssm-parameter":                    {func(o *Options) { o.Parameters = arnsOf("", "ssm", "parameter/x", 1) }, "parameter/x0000"},
		"--volume-key":                       {func(o *Options) { o.VolumeKeys = arnsOf("", "kms", "key/x", 1) }, "kms:CreateGrant"},
		"--kms":                              {func(o *Options) { o.KMS = true }, "AWS::KMS::Key"},
		"--kms, for the controller":          {func(o *Options) { o.KMS = true }, "AllowInterruptionQueueKeyDecrypt"},
		"--kms, for EventBridge":             {func(o *Options) { o.KMS = true }, "AllowEventBridgeToUseTheKey"},
		"--kms-key":                          {func(o *Options) { o.KMSKey = arnsOf("", "kms", "key/x", 1)[0] }, "KmsMasterKeyId: arn:aws:kms:ap-northeast-1:111122223333:key/x0000"},
		"--kms-key, for the controller":      {func(o *Options) { o.KMSKey = arnsOf("", "kms", "key/x", 1)[0] }, "kms:Decrypt"},
		"--controller pod-identity":          {func(o *Options) { o.Controller = PodIdentity }, "AWS::EKS::PodIdentityAssociation"},
		"--controller pod-identity, trust":   {func(o *Options) { o.Controller = PodIdentity }, "pods.eks.amazonaws.com"},
		"--controller irsa":                  {func(o *Options) { o.Controller, o.OIDCProvider = IRSA, "https://oidc.example.com/id/1/" }, "oidc.example.com/id/1:sub: system:serviceaccount:kube-system:karpenter"},
		"--access-entry":                     {func(o *Options) { o.AccessEntry = "EC2_WINDOWS" }, "Type: EC2_WINDOWS"},
		"--permissions-boundary":             {func(o *Options) { o.PermissionsBoundary = "arn:aws:iam::111122223333:policy/b" }, "PermissionsBoundary: arn:aws:iam::111122223333:policy/b"},
		"--path":                             {func(o *Options) { o.Path = "/k/" }, "Path: /k/"},
		"--tags":                             {func(o *Options) { o.Tags = map[string]string{"team": "yes", "n": "010"} }, "- Key: \"n\"\n          Value: \"010\"\n        - Key: team\n          Value: \"yes\""},
		"--alarm-action":                     {func(o *Options) { o.AlarmActions = arnsOf("", "sns", "oncall", 1) }, "AlarmActions:"},
		"--retention":                        {func(o *Options) { o.Retention = time.Hour }, "MessageRetentionPeriod: 3600"},
		"--visibility":                       {func(o *Options) { o.Visibility = time.Minute }, "VisibilityTimeout: 60"},
	} {
		t.Run(option, func(t *testing.T) {
			with, err := makeStack(t, Latest, x.change).CloudFormation()
			if err != nil {
				t.Fatal(err)
			}
			without, err := makeStack(t, Latest, func(o *Options) { o.CapacityReservations, o.PlacementGroups, o.ZonalShift = false, false, false }).CloudFormation()
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(with), x.has) {
				t.Errorf("with it, there is no %s", x.has)
			}
			if strings.Contains(string(without), x.has) {
				t.Errorf("without it, there is %s", x.has)
			}
		})
	}
}

// TestDefaultsCanBeTurnedOff is the same for what the latest edition has unless told otherwise.
func TestDefaultsCanBeTurnedOff(t *testing.T) {
	for option, x := range map[string]struct {
		change func(*Options)
		has    string
	}{
		"--dead-letter-queue": {func(o *Options) { o.DeadLetter = false }, "RedrivePolicy"},
		"--alarms":            {func(o *Options) { o.Alarms = false }, "AWS::CloudWatch::Alarm"},
		"--rule-sources":      {func(o *Options) { o.RuleSources = false }, "aws:SourceArn"},
		"--instance-status":   {func(o *Options) { o.InstanceStatus = false }, "ec2:DescribeInstanceStatus"},
	} {
		t.Run(option, func(t *testing.T) {
			for on, change := range map[bool]func(*Options){true: func(*Options) {}, false: x.change} {
				text, err := makeStack(t, Latest, change).CloudFormation()
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), x.has) != on {
					t.Errorf("%s is there: %t, want %t", x.has, !on, on)
				}
			}
		})
	}
}

func TestPlainPoliciesNeedAPlace(t *testing.T) {
	for sentence, x := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no region":  {func(o *Options) { o.AccountID = testAccount }, "--region"},
		"no account": {func(o *Options) { o.Region = "eu-west-1" }, "--account-id"},
		"a new key":  {func(o *Options) { o.Region, o.AccountID, o.KMS = "eu-west-1", testAccount, true }, "--kms-key"},
	} {
		if _, err := makeStack(t, Latest, x.change).IAM(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: error %v does not name %s", sentence, err, x.want)
		}
	}
}

func TestUsersOptionsAreNotChanged(t *testing.T) {
	o := Defaults(Latest)
	o.ClusterName = "demo"
	everything(&o)
	parameters := slices.Clone(o.Parameters)
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Setup(testAccount, "eu-west-1")
	if !slices.Equal(parameters, o.Parameters) {
		t.Errorf("parameters became %q", o.Parameters)
	}
}

func TestTheLongestRegionsAreTakenForRegions(t *testing.T) {
	for _, p := range partition.All {
		if !regions.MatchString(p.Longest) {
			t.Errorf("%s of %s is refused", p.Longest, p.Name)
		}
	}
}
