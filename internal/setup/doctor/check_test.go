package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

func document(t *testing.T, text string) *iampolicy.Document {
	t.Helper()
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// onlyRoot is the policy that KMS gives to a key made without one.
const onlyRoot = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},"Action":"kms:*","Resource":"*"}]}`

const throughService = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":["kms:Encrypt","kms:Decrypt","kms:ReEncrypt*","kms:GenerateDataKey*","kms:CreateGrant","kms:DescribeKey"],
"Resource":"*","Condition":{"StringEquals":{"kms:CallerAccount":"111122223333","kms:ViaService":"ec2.eu-west-1.amazonaws.com"}}}]}`

// longName is a name that no role of the usual names has room for.
var longName = strings.Repeat("long", 20)

func longNames(o *stack.Options) {
	o.ClusterName, o.NodeRoleName, o.ControllerRoleName, o.QueueName, o.PolicySuffix = longName, "nodes", "demo-karpenter", "demo", "long"
}

// edition makes the permissions of an older one; the role is the controller's all the same.
func edition(c stack.Compat) func(*stack.Options) {
	return func(o *stack.Options) { o.Compat = c }
}

func withKey(o *stack.Options) { o.KMS = true }

// drop takes an action out of every policy of the controller.
func drop(in *Input, action string) {
	for i := range in.AWS.Policies {
		d := in.AWS.Policies[i].Document
		for k := range d.Statements {
			var kept []string
			for _, a := range d.Statements[k].Actions {
				if a != action {
					kept = append(kept, a)
				}
			}
			d.Statements[k].Actions = kept
		}
	}
}

func rule(in *Input, detailType string) *awssetup.Rule {
	for i := range in.AWS.Rules {
		if strings.Contains(string(in.AWS.Rules[i].Pattern), detailType) {
			return &in.AWS.Rules[i]
		}
	}
	panic("no rule for " + detailType)
}

func encrypt(in *Input, key string) {
	in.AWS.Queues[0].KMSKey, in.AWS.Queues[0].ManagedSSE = key, false
}

func condition(in *Input, reason, message string) {
	in.Kube.Classes[0].Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeInterruptionQueueReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
}

// byTemplate adds a class that launches from a template of the user's own.
func byTemplate(_ *testing.T, in *Input) {
	mine := class("mine")
	mine.Spec = awsv1.EC2NodeClassSpec{LaunchTemplate: &awsv1.LaunchTemplateReference{Name: "mine"}}
	in.Kube.Classes = append(in.Kube.Classes, mine)
}

func volumes(t *testing.T, in *Input, policy string) {
	in.Kube.Classes[0].Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{EBS: &awsv1.BlockDevice{KMSKeyID: new(volumeKey)}}}
	if policy != "" {
		in.AWS.Keys = append(in.AWS.Keys, awssetup.Key{ID: "vol", ARN: volumeKey, Manager: "CUSTOMER", Enabled: true, Policy: document(t, policy)})
	}
}

// defaultKey makes a key the account's default for volumes.
func defaultKey(t *testing.T, in *Input, policy string) {
	volumes(t, in, policy)
	in.Kube.Classes[0].Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{EBS: &awsv1.BlockDevice{Encrypted: new(true)}}}
	in.VolumeKey = account.VolumeKey{ID: volumeKey}
}

func TestEachMistakeIsFound(t *testing.T) {
	gap := func(what string) func(*testing.T, *Input) {
		return func(_ *testing.T, in *Input) {
			in.AWS.Gaps = append(in.AWS.Gaps, awssetup.Gap{What: what, Why: "night lacks some:Action"})
		}
	}
	both := func(fs ...func(*testing.T, *Input)) func(*testing.T, *Input) {
		return func(t *testing.T, in *Input) {
			for _, f := range fs {
				f(t, in)
			}
		}
	}
	for name, test := range map[string]struct {
		check string
		stack func(*stack.Options)
		make  func(*testing.T, *Input)
		want  Status
		says  string // in the finding or the evidence
	}{
		"the alias of AWS's own key": {"queue-managed-key", nil, func(_ *testing.T, in *Input) { encrypt(in, "alias/aws/sqs") }, Failed, "alias/aws/sqs"},
		"AWS's own key by its ARN": {"queue-managed-key", nil, func(_ *testing.T, in *Input) {
			encrypt(in, "arn:aws:kms:eu-west-1:111122223333:key/1")
			in.AWS.Keys = []awssetup.Key{{ID: "1", ARN: "arn:aws:kms:eu-west-1:111122223333:key/1", Manager: "AWS", Enabled: true}}
		}, Failed, "can't let EventBridge"},
		"a key that is gone":           {"queue-managed-key", nil, func(_ *testing.T, in *Input) { encrypt(in, "alias/gone") }, Failed, "does not exist"},
		"a key that may not be seen":   {"queue-managed-key", nil, both(func(_ *testing.T, in *Input) { encrypt(in, "alias/x") }, gap("key alias/x")), Unknown, "some:Action"},
		"no encryption is no mistake":  {"queue-managed-key", nil, func(_ *testing.T, in *Input) { encrypt(in, "") }, OK, "not encrypted"},
		"a queue that may not be seen": {"queue-managed-key", nil, both(func(_ *testing.T, in *Input) { in.AWS.Queues, in.AWS.QueueARN = nil, "" }, gap("queue demo")), Unknown, "some:Action"},

		"a key with the default policy": {"queue-key-policy", withKey, func(t *testing.T, in *Input) { in.AWS.Keys[0].Policy = document(t, onlyRoot) }, Failed, "kms:GenerateDataKey"},
		"a key that gives one of both actions": {"queue-key-policy", withKey, func(t *testing.T, in *Input) {
			in.AWS.Keys[0].Policy = document(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"kms:GenerateDataKey*","Resource":"*"}}`)
		}, Failed, "kms:Decrypt"},
		"a key that gives them under a condition": {"queue-key-policy", withKey, func(t *testing.T, in *Input) {
			in.AWS.Keys[0].Policy = document(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"kms:*","Resource":"*","Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:events:*:*:rule/x"}}}}`)
		}, Failed, "neither aws:SourceArn nor aws:SourceAccount"},
		"a key that is disabled":      {"queue-key-policy", withKey, func(_ *testing.T, in *Input) { in.AWS.Keys[0].Enabled = false }, Failed, "disabled"},
		"a key without a policy read": {"queue-key-policy", withKey, both(func(_ *testing.T, in *Input) { in.AWS.Keys[0].Policy = nil }, gap("key x (its policy)")), Unknown, "some:Action"},
		"no key, no key policy":       {"queue-key-policy", nil, func(*testing.T, *Input) {}, Skipped, "no KMS key"},

		"a controller without decrypt":            {"controller-decrypt", withKey, func(_ *testing.T, in *Input) { drop(in, "kms:Decrypt") }, Failed, "lacks kms:Decrypt"},
		"a controller that says it can't decrypt": {"controller-decrypt", withKey, func(_ *testing.T, in *Input) { condition(in, "KeyUnusable", "KMS.DisabledException") }, Failed, "KMS.DisabledException"},
		"a controller that the organization forbids": {"controller-decrypt", withKey, func(_ *testing.T, in *Input) {
			in.Refused["kms:Decrypt"] = "a policy of the organization does not allow it"
		}, Failed, "organization"},
		"a controller that nobody knows": {"controller-decrypt", withKey, func(_ *testing.T, in *Input) { in.AWS.ControllerRole = "" }, Unknown, "not known"},
		"a controller with a policy unread": {"controller-decrypt", withKey, func(_ *testing.T, in *Input) {
			drop(in, "kms:Decrypt")
			in.AWS.Policies[0].Document = nil
		}, Unknown, "could be read"},

		"no queue":                {"queue-exists", nil, func(_ *testing.T, in *Input) { in.AWS.Queues, in.AWS.QueueARN = nil, "" }, Failed, "does not exist"},
		"a controller without":    {"queue-exists", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].Queue = "" }, Warning, "no INTERRUPTION_QUEUE"},
		"a controller of another": {"queue-exists", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].Queue = "old" }, Warning, "reads queue old"},
		"an ARN where only a name is taken": {"queue-exists", nil, func(_ *testing.T, in *Input) {
			in.Kube.Controllers[0].Queue, in.Kube.Controllers[0].Image = in.AWS.QueueARN, "public.ecr.aws/karpenter/controller:1.8.0"
		}, Failed, "nothing but its name"},
		"an ARN where that is well":  {"queue-exists", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].Queue = in.AWS.QueueARN }, OK, "exists"},
		"a setting that is no queue": {"queue-exists", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].Queue = "arn:aws:sns:eu-west-1:1:x" }, Failed, "names no queue"},
		"neither queue nor setting": {"queue-exists", nil, func(_ *testing.T, in *Input) {
			in.AWS.Queues, in.AWS.QueueARN, in.Kube.Controllers[0].Queue = nil, "", ""
		}, Warning, "not handled"},

		"no receive": {"controller-queue-access", nil, func(_ *testing.T, in *Input) { drop(in, "sqs:ReceiveMessage") }, Failed, "sqs:ReceiveMessage"},
		"a boundary without SQS": {"controller-queue-access", nil, func(t *testing.T, in *Input) {
			arn := "arn:aws:iam::111122223333:policy/boundary"
			account.RoleOf(&in.AWS.Setup, in.AWS.ControllerRole).Boundary = arn
			in.AWS.Policies = append(in.AWS.Policies, awssetup.Policy{ARN: arn, Name: "boundary", Document: document(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"ec2:*","Resource":"*"}}`)})
		}, Failed, "sqs:DeleteMessage"},
		"the organization forbids": {"controller-queue-access", nil, func(_ *testing.T, in *Input) {
			in.Refused["sqs:GetQueueUrl"] = "a policy of the organization does not allow it"
		}, Failed, "organization"},
		"the controller says so": {"controller-queue-access", nil, func(_ *testing.T, in *Input) { condition(in, "AccessDenied", "missing permission sqs:ReceiveMessage") }, Failed, "missing permission"},
		"IAM can't be asked":     {"controller-queue-access", nil, func(_ *testing.T, in *Input) { in.Refused = nil }, OK, "could not be asked"},
		"a policy that is not known": {"controller-queue-access", nil, func(_ *testing.T, in *Input) {
			for i := range in.AWS.Policies {
				in.AWS.Policies[i].Document = nil
			}
		}, Unknown, "could be read"},

		"a rule missing": {"rules", nil, func(_ *testing.T, in *Input) { *rule(in, "Spot Instance") = awssetup.Rule{Name: "x"} }, Failed, "spot interruption warning"},
		"a rule off":     {"rules", nil, func(_ *testing.T, in *Input) { rule(in, "aws.health").Enabled = false }, Failed, "is disabled"},
		"a rule that leads elsewhere": {"rules", nil, func(_ *testing.T, in *Input) {
			rule(in, "State-change").Targets = []awssetup.Target{{ARN: "arn:aws:sqs:eu-west-1:111122223333:old"}}
		}, Failed, ":old"},
		"a rule for one state of four": {"rules", nil, func(_ *testing.T, in *Input) {
			rule(in, "State-change").Pattern = []byte(`{"source":["aws.ec2"],"detail-type":["EC2 Instance State-change Notification"],"detail":{"state":["terminated"]}}`)
		}, Failed, "instance state change"},
		"no rule for reservations": {"rules", nil, func(_ *testing.T, in *Input) { rule(in, "Capacity Reservation").Enabled = false }, Warning, "capacity reservation"},
		"one rule for all": {"rules", nil, func(_ *testing.T, in *Input) {
			in.AWS.Rules = []awssetup.Rule{{Name: "all", Enabled: true, Pattern: []byte(`{"source":["aws.ec2","aws.health"]}`), Targets: []awssetup.Target{{ARN: in.AWS.QueueARN}}}}
		}, OK, ": all"},
		"a rule that a proof left": {"rules", nil, func(_ *testing.T, in *Input) {
			in.AWS.Rules = append(in.AWS.Rules, awssetup.Rule{Name: account.ProbeRuleName(in.Now.Add(-2*time.Hour), "ab"), Enabled: true})
		}, Warning, "delete-rule"},
		"rules that may not be seen": {"rules", nil, gap("rules"), Unknown, "some:Action"},

		"another cluster's queue": {"queue-shared", nil, func(_ *testing.T, in *Input) {
			in.AWS.Queues[0].Tags = map[string]string{"karpenter.sh/discovery": "other"}
		}, Failed, "other"},
		"two controllers on it": {"queue-shared", nil, func(_ *testing.T, in *Input) {
			second := in.Kube.Controllers[0]
			second.Name, second.ClusterName = "blue", "blue"
			in.Kube.Controllers = append(in.Kube.Controllers, second)
		}, Failed, "2 controllers"},
		"nothing says whose it is": {"queue-shared", nil, func(_ *testing.T, in *Input) {
			in.AWS.Queues[0].Tags, in.AWS.Queues[0].Name, in.AWS.QueueName = nil, "spot", "spot"
		}, Warning, "nothing says"},
		"a name that another cluster's may be as well": {"queue-shared", nil, func(_ *testing.T, in *Input) {
			in.AWS.Queues[0].Tags, in.AWS.Queues[0].Name, in.AWS.QueueName = nil, "demo-2", "demo-2"
		}, Warning, "nothing says"},
		"a name that says it": {"queue-shared", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[0].Tags = nil }, OK, "name"},

		"another reader of the queue": {"termination-handler", nil, func(_ *testing.T, in *Input) {
			in.Kube.Handlers = []Handler{{Kind: "Deployment", Namespace: "kube-system", Name: "nth", Queue: "https://sqs.eu-west-1.amazonaws.com/111122223333/demo", Spot: true}}
		}, Failed, "takes messages out"},
		"a handler that rebalances": {"termination-handler", nil, func(_ *testing.T, in *Input) {
			in.Kube.Handlers = []Handler{{Kind: "DaemonSet", Name: "nth", Rebalance: true, Spot: true, Pods: 5}}
		}, Failed, "loop"},
		"a handler for spot": {"termination-handler", nil, func(_ *testing.T, in *Input) {
			in.Kube.Handlers = []Handler{{Kind: "DaemonSet", Name: "nth", Spot: true}}
		}, Warning, "two programs"},

		"a fortnight's notices":  {"queue-retention", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[0].Retention = 14 * 24 * time.Hour }, Warning, "14 days"},
		"a minute's notices":     {"queue-retention", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[0].Retention = time.Minute }, Warning, "60 s only"},
		"a retention not told":   {"queue-retention", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[0].Retention = 0 }, Unknown, "did not tell"},
		"no queue policy":        {"queue-policy", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[0].Policy = nil }, Failed, "no policy"},
		"a rule not in the list": {"queue-policy", nil, func(_ *testing.T, in *Input) { in.AWS.Rules[0].ARN += "-renamed" }, Failed, "aws:SourceArn"},
		"TLS asked for the wrong way round": {"queue-policy", nil, func(t *testing.T, in *Input) {
			in.AWS.Queues[0].Policy = document(t, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"},
				{"Sid":"Plain","Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"true"}}}]}`)
		}, Failed, "statement Plain"},
		"plain HTTP let in": {"queue-policy", nil, func(t *testing.T, in *Input) {
			in.AWS.Queues[0].Policy = document(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"*"}}`)
		}, Warning, "without TLS"},
		"everybody let in": {"queue-policy", nil, func(t *testing.T, in *Input) {
			in.AWS.Queues[0].Policy = document(t, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"},
				{"Effect":"Deny","Principal":"*","Action":"sqs:*","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`)
		}, Warning, "anybody"},
		"a FIFO queue": {"queue-fifo", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[0].FIFO = true }, Failed, "FIFO"},

		"deliveries that fail": {"failed-deliveries", nil, func(_ *testing.T, in *Input) {
			in.Metrics.Rules[in.AWS.Rules[0].Name] = account.RuleMetrics{Matched: 7, Invocations: 7, Failed: 7}
			in.Recent = in.Metrics
		}, Failed, "7 of 7"},
		"deliveries that failed until a cause was fixed": {"failed-deliveries", nil, func(_ *testing.T, in *Input) {
			in.Metrics.Rules[in.AWS.Rules[0].Name] = account.RuleMetrics{Matched: 20, Invocations: 20, Failed: 1}
		}, Warning, "nothing failed in the last 15 min"},
		"deliveries that failed, and a cause that is still there": {"failed-deliveries", nil, func(t *testing.T, in *Input) {
			in.Metrics.Rules[in.AWS.Rules[0].Name] = account.RuleMetrics{Matched: 20, Invocations: 20, Failed: 1}
			encrypt(in, "alias/aws/sqs")
		}, Failed, "1 of 20"},
		"deliveries that failed, nobody knows when": {"failed-deliveries", nil, func(_ *testing.T, in *Input) {
			in.Metrics.Rules[in.AWS.Rules[0].Name] = account.RuleMetrics{Matched: 20, Invocations: 20, Failed: 1}
			in.Recent = nil
		}, Failed, "1 of 20"},
		"nobody watches": {"failed-deliveries", nil, func(_ *testing.T, in *Input) {
			in.AWS.Alarms = nil
			for i := range in.AWS.Rules {
				in.AWS.Rules[i].Targets[0].DeadLetter = ""
			}
		}, Warning, "neither an alarm"},
		"deliveries that end in the dead-letter queue": {"failed-deliveries", nil, func(_ *testing.T, in *Input) {
			in.Metrics.Rules[in.AWS.Rules[0].Name] = account.RuleMetrics{Matched: 7, Invocations: 7, Spared: 3}
			in.Recent = in.Metrics
		}, Failed, "3 of 7 events went to the dead-letter queue"},
		"a dead-letter queue that nobody watches": {"failed-deliveries", nil, func(_ *testing.T, in *Input) {
			in.AWS.Alarms = slices.DeleteFunc(in.AWS.Alarms, func(a awssetup.Alarm) bool {
				return a.Metric == "InvocationsSentToDlq" || a.Metric == "ApproximateNumberOfMessagesVisible"
			})
		}, Warning, "InvocationsSentToDlq"},
		"alarms that may not be seen": {"failed-deliveries", nil, gap("alarms"), Unknown, "some:Action"},

		"every delivery ends in the dead-letter queue": {"delivery", nil, func(_ *testing.T, in *Input) {
			for n := range in.Metrics.Rules {
				in.Metrics.Rules[n] = account.RuleMetrics{Matched: 3, Invocations: 3, Spared: 3}
			}
			in.Metrics.Queues, in.Recent = nil, in.Metrics
		}, Failed, "every delivery"},
		"every delivery fails": {"delivery", nil, func(_ *testing.T, in *Input) {
			for n := range in.Metrics.Rules {
				in.Metrics.Rules[n] = account.RuleMetrics{Matched: 3, Invocations: 3, Failed: 3}
			}
			in.Metrics.Queues, in.Recent = nil, in.Metrics
		}, Failed, "every delivery"},
		"every delivery failed until a cause was fixed": {"delivery", nil, func(_ *testing.T, in *Input) {
			for n := range in.Metrics.Rules {
				in.Metrics.Rules[n] = account.RuleMetrics{Matched: 3, Invocations: 3, Failed: 3}
			}
			in.Metrics.Queues = nil
		}, Warning, "none in the last 15 min"},
		"nobody reads": {"delivery", nil, func(_ *testing.T, in *Input) { in.Metrics.Queues["demo"] = account.QueueMetrics{Sent: 5} }, Failed, "nobody reads"},
		"nothing happened": {"delivery", nil, func(_ *testing.T, in *Input) {
			in.Metrics.Rules, in.Metrics.Queues = nil, nil
		}, Unknown, "no event"},
		"SQS knows of nothing": {"delivery", nil, func(_ *testing.T, in *Input) { in.Metrics.Queues = nil }, Warning, "SQS counts no message"},
		"no metrics":           {"delivery", nil, func(_ *testing.T, in *Input) { in.Metrics, in.NoMetrics = nil, "lacks cloudwatch:GetMetricData" }, Unknown, "cloudwatch:GetMetricData"},
		"proven": {"delivery", nil, func(_ *testing.T, in *Input) {
			in.Proof = &account.Proof{Delivered: true, Witness: account.SeenInQueue, Took: time.Second}
		}, OK, "proven"},
		"disproven":        {"delivery", nil, func(_ *testing.T, in *Input) { in.Proof = &account.Proof{Sent: 3, Failed: 3} }, Failed, "could not write it"},
		"not seen":         {"delivery", nil, func(_ *testing.T, in *Input) { in.Proof = &account.Proof{Sent: 3} }, Failed, "not seen"},
		"not to be proven": {"delivery", nil, func(_ *testing.T, in *Input) { in.ProofError = "lacks events:PutRule" }, Unknown, "events:PutRule"},

		"a policy that is almost too large":        {"policy-size", nil, func(_ *testing.T, in *Input) { in.AWS.Policies[0].Characters = 6100 }, Warning, "6100 characters"},
		"a cluster name that does not fit":         {"policy-size", nil, func(_ *testing.T, in *Input) { in.ClusterName = strings.Repeat("x", 101) }, Failed, "does not fit"},
		"a long cluster name, with names that fit": {"policy-size", longNames, func(_ *testing.T, in *Input) { in.ClusterName = longName }, OK, "none is near"},
		"a long cluster name, with nothing found": {"policy-size", nil, func(_ *testing.T, in *Input) {
			in.ClusterName, in.AWS.NodeRole, in.Kube = longName, "", nil
		}, OK, "none is near"},
		"ten policies": {"policy-size", nil, func(_ *testing.T, in *Input) {
			account.RoleOf(&in.AWS.Setup, in.AWS.ControllerRole).ManagedPolicyARNs = make([]string, 10)
		}, Warning, "quota"},

		"no spot role": {"spot-role", nil, func(_ *testing.T, in *Input) { in.AWS.Roles = in.AWS.Roles[:2] }, Failed, "default"},
		"no spot role and no spot": {"spot-role", nil, func(_ *testing.T, in *Input) {
			in.AWS.Roles = in.AWS.Roles[:2]
			in.Kube.Pools[0] = pool("x", "on-demand")
		}, Skipped, "asks for spot"},
		"a spot role not to be seen": {"spot-role", nil, both(func(_ *testing.T, in *Input) { in.AWS.Roles = in.AWS.Roles[:2] }, gap("role "+account.SpotRole)), Unknown, "some:Action"},

		"a volume key with the default policy": {"volume-keys", nil, func(t *testing.T, in *Input) { volumes(t, in, onlyRoot) }, Failed, "kms:CreateGrant"},
		"a volume key for all through EC2":     {"volume-keys", nil, func(t *testing.T, in *Input) { volumes(t, in, throughService) }, OK, "may be used"},
		"a volume key that refuses to encrypt again": {"volume-keys", nil, func(t *testing.T, in *Input) {
			volumes(t, in, strings.Replace(throughService, "kms:ReEncrypt*", "kms:ReEncryptFrom", 1))
		}, Failed, "kms:ReEncryptTo"},
		"a volume key in China": {"volume-keys", func(o *stack.Options) { o.Region = "cn-north-1" }, func(t *testing.T, in *Input) {
			volumes(t, in, strings.Replace(throughService, "ec2.eu-west-1.amazonaws.com", "ec2.cn-north-1.amazonaws.com.cn", 1))
		}, OK, "may be used"},
		"a volume key in China with the name of elsewhere": {"volume-keys", func(o *stack.Options) { o.Region = "cn-north-1" }, func(t *testing.T, in *Input) {
			volumes(t, in, strings.Replace(throughService, "ec2.eu-west-1", "ec2.cn-north-1", 1))
		}, Failed, "kms:CreateGrant"},
		"a volume key by the stack":                    {"volume-keys", func(o *stack.Options) { o.VolumeKeys = []string{volumeKey} }, func(t *testing.T, in *Input) { volumes(t, in, onlyRoot) }, OK, "may be used"},
		"a default volume key with the default policy": {"volume-keys", nil, func(t *testing.T, in *Input) { defaultKey(t, in, onlyRoot) }, Failed, "the account's default, of EC2NodeClass"},
		"a default volume key for all through EC2":     {"volume-keys", nil, func(t *testing.T, in *Input) { defaultKey(t, in, throughService) }, OK, "may be used"},
		"a default volume key of volumes that Kerf makes": {"volume-keys", nil, func(t *testing.T, in *Input) {
			defaultKey(t, in, onlyRoot)
			in.Kube.Classes[0].Spec.BlockDeviceMappings, in.Kube.Classes[0].Spec.AMISelectorTerms = nil, []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}}
		}, Failed, "kms:CreateGrant"},
		"a default volume key that no volume uses": {"volume-keys", nil, func(t *testing.T, in *Input) {
			defaultKey(t, in, onlyRoot)
			for i := range in.Kube.Classes {
				in.Kube.Classes[i].Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{EBS: &awsv1.BlockDevice{Encrypted: new(false)}}}
			}
		}, Skipped, "AWS's own"},
		"the default volume key is AWS's own": {"volume-keys", nil, func(_ *testing.T, in *Input) { in.VolumeKey.ID = "alias/aws/ebs" }, Skipped, "AWS's own"},
		"a default volume key not to be seen": {"volume-keys", nil, func(_ *testing.T, in *Input) { in.NoVolumeKey = "night lacks some:Action" }, Unknown, "some:Action"},
		"a volume key that is gone":           {"volume-keys", nil, func(t *testing.T, in *Input) { volumes(t, in, "") }, Failed, "does not exist"},

		"a node role nobody mapped": {"node-role-mapped", nil, func(_ *testing.T, in *Input) { in.AWS.AccessEntries = nil }, Failed, "neither"},
		"a node role by aws-auth": {"node-role-mapped", nil, func(_ *testing.T, in *Input) {
			in.AWS.AccessEntries = nil
			in.Kube.AWSAuth = []MappedRole{{"arn:aws:iam::111122223333:role/KarpenterNodeRole-demo", []string{"system:bootstrappers", "system:nodes"}}}
		}, OK, "aws-auth"},
		"aws-auth when it does not count": {"node-role-mapped", nil, func(_ *testing.T, in *Input) {
			in.AWS.AccessEntries, in.AWS.AuthenticationMode = nil, "API"
			in.Kube.AWSAuth = []MappedRole{{"arn:aws:iam::111122223333:role/KarpenterNodeRole-demo", []string{"system:bootstrappers", "system:nodes"}}}
		}, Failed, "neither"},
		"aws-auth without a group": {"node-role-mapped", nil, func(_ *testing.T, in *Input) {
			in.AWS.AccessEntries = nil
			in.Kube.AWSAuth = []MappedRole{{"arn:aws:iam::111122223333:role/KarpenterNodeRole-demo", []string{"system:nodes"}}}
		}, Failed, "lacks the groups"},
		"aws-auth with a path": {"node-role-mapped", nil, func(_ *testing.T, in *Input) {
			in.AWS.AccessEntries = nil
			in.Kube.AWSAuth = []MappedRole{{"arn:aws:iam::111122223333:role/team/KarpenterNodeRole-demo", []string{"system:bootstrappers", "system:nodes"}}}
		}, Failed, "path"},
		"an entry of the wrong type":   {"node-role-mapped", nil, func(_ *testing.T, in *Input) { in.AWS.AccessEntries[0].Type = "STANDARD" }, Failed, "STANDARD"},
		"entries that may not be seen": {"node-role-mapped", nil, both(func(_ *testing.T, in *Input) { in.AWS.AccessEntries = nil }, gap("access entries")), Unknown, "some:Action"},

		"a long role name": {"role-names", nil, func(_ *testing.T, in *Input) { in.Kube.Classes[0].Spec.Role = strings.Repeat("r", 65) }, Failed, "65 characters"},

		"no addresses":    {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.Subnets[0].Free, in.Subnets[1].Free = 20, 58 }, Failed, "room for 0 full nodes"},
		"few addresses":   {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.Subnets[0].Free = 130 }, Warning, "room for 2 full nodes"},
		"one subnet full": {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.Subnets[0].Free = 0 }, Warning, "no room"},
		"prefixes take more": {"subnet-addresses", nil, func(_ *testing.T, in *Input) {
			in.Kube.CNI.PrefixDelegation, in.Subnets[0].Free, in.Subnets[1].Free = true, 80, 80
		}, Failed, "4 prefixes of 16 for 58 pods"},
		"pods elsewhere":                        {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.Kube.CNI.CustomNetworking = true; in.Subnets[0].Free = 10 }, OK, "ENIConfigs"},
		"no VPC CNI":                            {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.Kube.CNI = nil; in.Subnets[0].Free = 10 }, OK, "no VPC CNI"},
		"a subnet that is gone":                 {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.Subnets = in.Subnets[:1] }, Warning, "does not exist any more"},
		"nothing goes out":                      {"node-egress", nil, func(_ *testing.T, in *Input) { in.SecurityGroups[0].Egress = nil }, Failed, "TCP 443"},
		"a group that is gone lets nothing out": {"node-egress", nil, func(_ *testing.T, in *Input) { in.SecurityGroups = nil }, Failed, "TCP 443"},
		"443 goes out and DNS does not": {"node-egress", nil, func(_ *testing.T, in *Input) {
			in.SecurityGroups[0].Egress = []account.Egress{{Protocol: "tcp", From: 443, To: 443}}
		}, Warning, "TCP or UDP"},
		"DNS goes out by UDP alone": {"node-egress", nil, func(_ *testing.T, in *Input) {
			in.SecurityGroups[0].Egress = []account.Egress{{Protocol: "tcp", From: 443, To: 443}, {Protocol: "udp", From: 53, To: 53}}
		}, Warning, "port 53 by TCP"},
		"groups add up": {"node-egress", nil, func(_ *testing.T, in *Input) {
			c := &in.Kube.Classes[0].Status
			c.SecurityGroups = append(c.SecurityGroups, awsv1.SecurityGroup{ID: "sg-2"})
			in.SecurityGroups = []account.SecurityGroup{
				{ID: "sg-1", Egress: []account.Egress{{Protocol: "tcp", From: 1, To: 65535}}}, {ID: "sg-2", Egress: []account.Egress{{Protocol: "udp", From: 53, To: 53}}},
			}
		}, OK, "go out"},
		"security groups not to be seen": {"node-egress", nil, func(_ *testing.T, in *Input) { in.NoGroups = "lacks ec2:DescribeSecurityGroups" }, Unknown, "ec2:DescribeSecurityGroups"},
		"subnets not to be seen":         {"subnet-addresses", nil, func(_ *testing.T, in *Input) { in.NoSubnets = "lacks ec2:DescribeSubnets" }, Unknown, "ec2:DescribeSubnets"},

		"the only pod under a budget": {"drain-blockers", nil, func(_ *testing.T, in *Input) {
			in.Kube.Budgets = []Budget{{Namespace: "a", Name: "b", Healthy: 1, Wanted: 1, Current: 1, Workloads: []string{"deployment c"}}}
		}, Warning, "only pod go of deployment c"},
		"a budget for now": {"drain-blockers", nil, func(_ *testing.T, in *Input) {
			in.Kube.Budgets = []Budget{{Namespace: "a", Name: "b", Healthy: 1, Wanted: 2, Current: 3}}
		}, Warning, "at the moment"},
		"a label too long": {"drain-blockers", nil, func(_ *testing.T, in *Input) {
			in.Kube.Pools[0].Spec.Template.Labels = map[string]string{"team": strings.Repeat("x", 64)}
		}, Failed, "label team"},

		"a controller that is not ready": {"controller-running", nil, func(_ *testing.T, in *Input) {
			in.Kube.Controllers[0].Ready, in.Kube.Controllers[0].Troubles = 0, []string{"pod kerf-1 waits: CrashLoopBackOff"}
		}, Failed, "CrashLoopBackOff"},
		"a controller without CRDs": {"controller-running", nil, func(_ *testing.T, in *Input) {
			in.Kube.Controllers[0].Ready, in.Kube.Missing = 0, []string{"nodepools", "nodeclaims"}
		}, Failed, "lacks those of nodepools, nodeclaims"},
		"a controller whose new pods end": {"controller-running", nil, func(_ *testing.T, in *Input) {
			in.Kube.Controllers[0].Ready, in.Kube.Controllers[0].Ending = 1, []string{"kerf-2"}
		}, Failed, "end as soon as they start"},
		"a controller of which one pod is ready":     {"controller-running", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].Ready = 1 }, Warning, "1 of 2 pods ready"},
		"a controller scaled to zero":                {"controller-running", nil, func(_ *testing.T, in *Input) { in.Kube.Stopped, in.Kube.Controllers = in.Kube.Controllers, nil }, Failed, "scaled to zero"},
		"a controller that runs, and one that ended": {"controller-running", nil, func(_ *testing.T, in *Input) { in.Kube.Stopped = in.Kube.Controllers }, OK, "runs"},
		"no controller in the cluster":               {"controller-running", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers = nil }, Unknown, "elsewhere"},
		"another cluster's controller":               {"controller-running", nil, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].ClusterName = "blue" }, Unknown, "no Deployment"},
		"Deployments that may not be seen": {"controller-running", nil, func(_ *testing.T, in *Input) {
			in.Kube.Controllers, in.Kube.Gaps = nil, []string{"deployments: not you"}
		}, Unknown, "not you"},

		"messages in the dead-letter queue":      {"dead-letters", nil, func(_ *testing.T, in *Input) { in.AWS.Queues[1].Messages = 3 }, Warning, "demo-dlq has 3 messages"},
		"a dead-letter queue that is gone":       {"dead-letters", nil, func(_ *testing.T, in *Input) { in.AWS.Queues = in.AWS.Queues[:1] }, Warning, "does not exist"},
		"a dead-letter queue that can't be read": {"dead-letters", nil, both(func(_ *testing.T, in *Input) { in.AWS.Queues = in.AWS.Queues[:1] }, gap("queue demo-dlq")), Unknown, "some:Action"},
		"no dead-letter queue":                   {"dead-letters", func(o *stack.Options) { o.DeadLetter = false }, func(*testing.T, *Input) {}, Skipped, "check 12"},

		"no role may be passed":        {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "iam:PassRole") }, Failed, "iam:PassRole on node role KarpenterNodeRole-demo"},
		"instances may not be ended":   {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "ec2:TerminateInstances") }, Failed, "the NodeClaim stays"},
		"instances may not be listed":  {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "ec2:DescribeInstances") }, Failed, "ec2:DescribeInstances"},
		"prices may not be asked for":  {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "pricing:GetProducts") }, Warning, "pricing:GetProducts"},
		"prices that nobody asks for":  {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "pricing:GetProducts"); in.Kube.Controllers[0].Isolated = true }, OK, "calls"},
		"the cluster may not be asked": {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "eks:DescribeCluster") }, Failed, "eks:DescribeCluster"},
		"a cluster that need not be":   {"controller-permissions", nil, func(_ *testing.T, in *Input) { drop(in, "eks:DescribeCluster"); in.Kube.Controllers[0].Endpoint = true }, OK, "calls"},
		"a role of a class of its own": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.Kube.Classes = append(in.Kube.Classes, class("gpu"))
			in.Kube.Classes[1].Spec.Role = "gpu-nodes"
			in.AWS.Roles = append(in.AWS.Roles, awssetup.Role{Name: "gpu-nodes", ARN: "arn:aws:iam::111122223333:role/gpu-nodes"})
		}, Failed, "node role gpu-nodes"},
		"what the guide of v1.0 allows": {"controller-permissions", edition(stack.V032Later), func(*testing.T, *Input) {}, Warning, "Without it: only log \"spot requests stay without tags"},
		"classes with profiles of theirs": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			for _, a := range []string{"iam:PassRole", "iam:CreateInstanceProfile", "iam:AddRoleToInstanceProfile"} {
				drop(in, a)
			}
			in.Kube.Classes[0].Spec.Role, in.Kube.Classes[0].Spec.InstanceProfile, in.AWS.NodeRole = "", new("mine"), ""
		}, OK, "not judged"},
		"a launch template that may not be read": {"controller-permissions", nil, byTemplate, Failed, "ec2:DescribeLaunchTemplateVersions"},
		"a launch template with the stack's option": {
			"controller-permissions", func(o *stack.Options) { o.LaunchTemplates = true }, byTemplate, OK, "calls",
		},
		"zonal shifts that may not be read": {"controller-permissions", func(o *stack.Options) { o.ZonalShift = false }, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].ZonalShift = true }, Warning, "arc-zonal-shift:GetManagedResource"},
		"zonal shifts with the stack's option": {
			"controller-permissions", func(o *stack.Options) { o.ZonalShift = true }, func(_ *testing.T, in *Input) { in.Kube.Controllers[0].ZonalShift = true }, OK, "calls",
		},
		"a role that a launch template names": {"node-role-mapped", nil, byTemplate, OK, "not judged, as they name an instance profile or a launch template"},
		"an image's parameter that may not be read": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.Kube.Classes[0].Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{SSMParameter: "/mine/image"}}
		}, Failed, "ssm:GetParameter on parameter of yours"},
		"AWS's parameters narrowed to what the classes use": {"controller-permissions", narrowed("/aws/service/eks/optimized-ami/*"), images("al2023@latest"), OK, "calls"},
		"AWS's parameters narrowed to another family": {
			"controller-permissions", narrowed("/aws/service/eks/optimized-ami/*"), images("al2023@latest", "bottlerocket@latest"), Failed,
			"ssm:GetParameter on public parameter /aws/service/bottlerocket/* (kerf stack --public-parameter)",
		},
		"AWS's parameters narrowed to one architecture": {
			"controller-permissions", narrowed("/aws/service/eks/optimized-ami/*/amazon-linux-2023/x86_64/*"), images("al2023@latest"), Failed, "/aws/service/eks/optimized-ami/*",
		},
		"a parameter of AWS that is named outright": {"controller-permissions", narrowed("/aws/service/eks/optimized-ami/*"), func(_ *testing.T, in *Input) {
			in.Kube.Classes[0].Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{SSMParameter: "/aws/service/ami-windows-latest/x/image_id"}}
		}, Failed, "/aws/service/ami-windows-latest/*"},
		"AWS's parameters narrowed, for Amazon Linux 2 and Windows": {
			"controller-permissions", narrowed("/aws/service/eks/optimized-ami/*", "/aws/service/ami-windows-latest/*"), images("al2@latest", "windows2019@latest", "windows2025@latest"), OK, "calls",
		},
		"a boundary without EC2": {"controller-permissions", nil, func(t *testing.T, in *Input) {
			arn := "arn:aws:iam::111122223333:policy/boundary"
			account.RoleOf(&in.AWS.Setup, in.AWS.ControllerRole).Boundary = arn
			in.AWS.Policies = append(in.AWS.Policies, awssetup.Policy{ARN: arn, Name: "boundary", Document: document(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"sqs:*","Resource":"*"}}`)})
		}, Failed, "ec2:CreateFleet"},
		"a permission that a policy unread may give": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.AWS.Policies[0].Document = nil
		}, Unknown, "could be read"},
		"a class that says it is refused": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.Kube.Classes[0].Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeSubnetsReady, Status: metav1.ConditionUnknown, Reason: "Unauthorized", Message: "missing ec2:DescribeSubnets"}}
		}, Failed, "EC2NodeClass default says, in condition SubnetsReady: missing ec2:DescribeSubnets"},
		"a class whose trial was refused": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.Kube.Classes[0].Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeValidationSucceeded, Status: metav1.ConditionFalse, Reason: awsv1.ReasonCreateFleetAuthCheckFailed, Message: "You are not authorized to do that"}}
		}, Failed, "not authorized"},
		"a class whose trial failed otherwise": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.Kube.Classes[0].Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeValidationSucceeded, Status: metav1.ConditionFalse, Reason: awsv1.ReasonCreateFleetAuthCheckFailed, Message: "the subnet is another network's"}}
		}, OK, "calls"},
		"an instance that was refused": {"controller-permissions", nil, func(_ *testing.T, in *Input) {
			in.Kube.Claims = []karpv1.NodeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "default-x"}}}
			in.Kube.Claims[0].Status.Conditions = []status.Condition{{Type: karpv1.ConditionTypeLaunched, Status: metav1.ConditionUnknown, Reason: "Unauthorized", Message: "ec2:RunInstances"}}
		}, Failed, "NodeClaim default-x says"},
		"a controller whose role nobody knows": {"controller-permissions", nil, func(_ *testing.T, in *Input) { in.AWS.ControllerRole = "" }, Unknown, "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy(t, test.stack)
			test.make(t, in)
			got := Examine(in).find(t, test.check)
			all := got.Finding + "\n" + strings.Join(got.Evidence, "\n")
			if got.Status != test.want || !strings.Contains(all, test.says) {
				t.Errorf("%s is %s, want %s with %q:\n%s", test.check, got.Status, test.want, test.says, all)
			}
			if (got.Status == Failed || got.Status == Warning) && got.Remedy == "" {
				t.Errorf("nothing is said of how to fix it")
			}
		})
	}
}

func TestOneHalfAloneIsJudged(t *testing.T) {
	in := healthy(t, nil)
	in.Kube, in.NoKube = nil, "connection refused"
	r := Examine(in)
	if got := r.find(t, "queue-policy").Status; got != OK {
		t.Errorf("without the cluster the queue's policy is %s", got)
	}
	if got := r.find(t, "drain-blockers"); got.Status != Unknown || !strings.Contains(got.Finding, "connection refused") {
		t.Errorf("without the cluster drain blockers are %+v", got)
	}
	in = healthy(t, nil)
	in.AWS, in.NoAWS = nil, "no credentials"
	r = Examine(in)
	if got := r.find(t, "rules"); got.Status != Unknown || !strings.Contains(got.Finding, "no credentials") {
		t.Errorf("without AWS rules are %+v", got)
	}
	for id, want := range map[string]Status{"drain-blockers": OK, "termination-handler": OK, "role-names": OK} {
		if got := r.find(t, id).Status; got != want {
			t.Errorf("without AWS %s is %s", id, got)
		}
	}
}

func TestRolesThatDoNotExistAreNoMissingPermission(t *testing.T) {
	in := healthy(t, nil)
	in.Kube.Classes[0].Spec.Role = "KarpenterNodeRole-dmeo"
	r := Examine(in)
	if res := r.find(t, "node-role-mapped"); res.Status != Failed || !strings.Contains(res.Finding, "does not exist") || !strings.Contains(strings.Join(res.Evidence, " "), "KarpenterNodeRole-dmeo") {
		t.Errorf("want the role to be named as one that does not exist, got %+v", res)
	}
	if res := r.find(t, "controller-permissions"); strings.Contains(strings.Join(res.Evidence, " "), "PassRole") {
		t.Errorf("a role that does not exist is called a missing permission: %+v", res)
	}
}

// What could not be looked at is said once.
func TestWhatCouldNotBeSeenIsSaidOnce(t *testing.T) {
	in := healthy(t, nil)
	in.AWS, in.NoAWS = nil, "the EKS cluster nosuch was not found"
	r := Examine(in)
	if len(r.Unseen) != 1 || !strings.Contains(r.Unseen[0], in.NoAWS) {
		t.Errorf("want AWS to be unseen, got %q", r.Unseen)
	}
	var b strings.Builder
	if err := r.Write(&b, false); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), in.NoAWS); n != 1 {
		t.Errorf("the reason is said %d times:\n%s", n, b.String())
	}
	in = healthy(t, nil)
	in.Subnets, in.NoSubnets = nil, "EC2 does not answer"
	if r := Examine(in); len(r.Unseen) != 1 {
		t.Errorf("want EC2 to be unseen, got %q", r.Unseen)
	}
	in = healthy(t, nil)
	in.AWS, in.LeftOut = nil, needAWS
	if r := Examine(in); len(r.Unseen) != 0 {
		t.Errorf("what was left out by choice is said to be unseen: %q", r.Unseen)
	}
}

// narrowed is a stack that lets the controller read some of AWS's parameters only.
func narrowed(paths ...string) func(*stack.Options) {
	return func(o *stack.Options) { o.PublicParameters = paths }
}

// images gives the first class images by aliases.
func images(aliases ...string) func(*testing.T, *Input) {
	return func(_ *testing.T, in *Input) {
		in.Kube.Classes[0].Spec.AMISelectorTerms = nil
		for _, a := range aliases {
			in.Kube.Classes[0].Spec.AMISelectorTerms = append(in.Kube.Classes[0].Spec.AMISelectorTerms, awsv1.AMISelectorTerm{Alias: a})
		}
	}
}
