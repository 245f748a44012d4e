package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	stackcheck "github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	queueARN = "arn:aws:sqs:eu-west-1:111122223333:demo"
	fromRule = "arn:aws:events:eu-west-1:111122223333:rule/*"
)

// one is a policy of one statement that lets EventBridge in, with this in place of the condition.
func one(action, resource, condition string) string {
	return statements(allowing(`{"Service":"events.amazonaws.com"}`, action, resource, condition))
}

func statements(list ...string) string {
	return `{"Version":"2012-10-17","Statement":[` + strings.Join(list, ",") + `]}`
}

func allowing(principal, action, resource, condition string) string {
	return statement("Allow", principal, action, resource, condition)
}

func statement(effect, principal, action, resource, condition string) string {
	if condition != "" {
		condition = `,"Condition":` + condition
	}
	return fmt.Sprintf(`{"Effect":%q,"Principal":%s,"Action":%s,"Resource":%q%s}`, effect, principal, action, resource, condition)
}

// Conditions of both kinds of policy, by what they ask for; the values are whether SQS and KMS are told that.
var presentedConditions = []struct {
	condition    string
	queue, keyed bool
}{
	{"", true, true},
	{`{"ArnLike":{"aws:SourceArn":"` + fromRule + `"}}`, true, false},
	{`{"ArnEquals":{"aws:SourceArn":"` + fromRule + `"}}`, true, false},
	{`{"StringLike":{"aws:SourceArn":"` + fromRule + `"}}`, true, false},
	{`{"StringEquals":{"aws:SourceArn":"` + fromRule + `"}}`, false, false},
	{`{"ArnLike":{"aws:SourceArn":"arn:aws:events:eu-west-1:444455556666:rule/*"}}`, false, false},
	{`{"ArnLike":{"aws:SourceArn":"` + queueARN + `"}}`, false, false},
	{`{"ArnLikeIfExists":{"aws:SourceArn":"` + fromRule + `"}}`, true, true},
	{`{"ArnNotLike":{"aws:SourceArn":"` + fromRule + `"}}`, false, true},
	{`{"Null":{"aws:SourceArn":"false"}}`, true, false},
	{`{"Null":{"aws:SourceArn":"true"}}`, false, true},
	{`{"StringEquals":{"aws:SourceAccount":"111122223333"}}`, true, false},
	{`{"StringEquals":{"AWS:sourceaccount":"111122223333"}}`, true, false},
	{`{"StringEquals":{"aws:SourceAccount":"444455556666"}}`, false, false},
	{`{"StringEqualsIfExists":{"aws:SourceAccount":"111122223333"}}`, true, true},
	{`{"StringNotEquals":{"aws:SourceAccount":"444455556666"}}`, true, true},
	{`{"StringEquals":{"aws:PrincipalAccount":"111122223333"}}`, false, false},
	{`{"Bool":{"aws:PrincipalIsAWSService":"true"}}`, true, true},
	{`{"Bool":{"aws:PrincipalIsAWSService":"false"}}`, false, false},
	{`{"StringEquals":{"aws:PrincipalServiceName":"events.amazonaws.com"}}`, true, true},
	{`{"StringEquals":{"aws:PrincipalServiceName":"sqs.amazonaws.com"}}`, false, false},
	{`{"Bool":{"aws:SecureTransport":"true"}}`, true, true},
	{`{"Bool":{"aws:SecureTransport":"false"}}`, false, false},
	{`{"StringEquals":{"aws:RequestedRegion":"eu-west-1"}}`, true, true},
	{`{"StringEquals":{"aws:RequestedRegion":"us-east-1"}}`, false, false},
	{`{"StringEquals":{"kms:ViaService":"sqs.eu-west-1.amazonaws.com"}}`, false, true},
	{`{"StringEquals":{"kms:ViaService":"sqs.us-east-1.amazonaws.com"}}`, false, false},
	{`{"StringEquals":{"kms:EncryptionContext:aws:sqs:arn":"` + queueARN + `"}}`, false, true},
	{`{"StringEquals":{"kms:CallerAccount":"111122223333"}}`, false, false},
	{`{"StringEquals":{"aws:PrincipalOrgID":"o-1"}}`, false, false},
	{`{"StringEquals":{"aws:SourceOrgID":"o-1"}}`, false, false},
	{`{"ArnLike":{"aws:SourceArn":"` + fromRule + `"},"StringEquals":{"aws:SourceAccount":"111122223333"}}`, true, false},
}

type agreement struct {
	name, policy string
	delivered    bool
}

func queuePolicies() []agreement {
	const send, keep = `"sqs:SendMessage"`, queueARN
	events := `{"Service":"events.amazonaws.com"}`
	list := []agreement{
		{"any action", one(`"sqs:*"`, keep, ""), true},
		{"any resource", one(send, "*", ""), true},
		{"another queue", one(send, queueARN+"2", ""), false},
		{"receiving only", one(`"sqs:ReceiveMessage"`, keep, ""), false},
		{"SQS alone", statements(allowing(`{"Service":"sqs.amazonaws.com"}`, send, keep, "")), false},
		{"the account alone", statements(allowing(`{"AWS":"arn:aws:iam::111122223333:root"}`, send, keep, "")), false},
		{"both services", statements(allowing(`{"Service":["events.amazonaws.com","sqs.amazonaws.com"]}`, send, keep, "")), true},
		{"everybody", statements(allowing(`"*"`, send, keep, "")), true},
		{"everybody's rules of the account", statements(allowing(`"*"`, send, keep, `{"ArnLike":{"aws:SourceArn":"`+fromRule+`"}}`)), true},
		{"denied without TLS", statements(allowing(events, send, keep, ""), statement("Deny", `"*"`, `"sqs:*"`, keep, `{"Bool":{"aws:SecureTransport":"false"}}`)), true},
		{"denied with TLS", statements(allowing(events, send, keep, ""), statement("Deny", `"*"`, `"sqs:*"`, keep, `{"Bool":{"aws:SecureTransport":"true"}}`)), false},
		{"denied to services", statements(allowing(events, send, keep, ""), statement("Deny", `"*"`, `"sqs:*"`, keep, `{"Bool":{"aws:PrincipalIsAWSService":"true"}}`)), false},
		{"denied to all but services", statements(allowing(events, send, keep, ""), statement("Deny", `"*"`, `"sqs:SendMessage"`, keep, `{"BoolIfExists":{"aws:PrincipalIsAWSService":"false"}}`)), true},
		{"denied to other accounts' sources", statements(allowing(events, send, keep, ""), statement("Deny", `"*"`, `"sqs:*"`, keep, `{"StringNotEquals":{"aws:SourceAccount":"111122223333"}}`)), true},
	}
	for _, c := range presentedConditions {
		list = append(list, agreement{"condition " + c.condition, one(send, keep, c.condition), c.queue})
	}
	return list
}

func keyPolicies() []agreement {
	const use = `["kms:GenerateDataKey","kms:Decrypt"]`
	root := allowing(`{"AWS":"arn:aws:iam::111122223333:root"}`, `"kms:*"`, "*", "")
	events := `{"Service":"events.amazonaws.com"}`
	list := []agreement{
		{"root alone", statements(root), false},
		{"wildcard", statements(root, allowing(events, `["kms:GenerateDataKey*","kms:Decrypt"]`, "*", "")), true},
		{"all of KMS", statements(root, allowing(events, `"kms:*"`, "*", "")), true},
		{"no Decrypt", statements(root, allowing(events, `"kms:GenerateDataKey"`, "*", "")), false},
		{"no GenerateDataKey", statements(root, allowing(events, `"kms:Decrypt"`, "*", "")), false},
		{"without plaintext", statements(root, allowing(events, `["kms:GenerateDataKeyWithoutPlaintext","kms:Decrypt"]`, "*", "")), false},
		{"SQS alone", statements(root, allowing(`{"Service":"sqs.amazonaws.com"}`, use, "*", "")), false},
		{"both services", statements(root, allowing(`{"Service":["events.amazonaws.com","sqs.amazonaws.com"]}`, use, "*", "")), true},
		{"everybody", statements(root, allowing(`"*"`, use, "*", "")), true},
		{"two statements", statements(root, allowing(events, `"kms:Decrypt"`, "*", ""), allowing(events, `"kms:GenerateDataKey"`, "*", "")), true},
		{"one of two with a source", statements(root, allowing(events, `"kms:Decrypt"`, "*", ""), allowing(events, `"kms:GenerateDataKey"`, "*", `{"StringEquals":{"aws:SourceAccount":"111122223333"}}`)), false},
		{"denied to services", statements(root, allowing(events, use, "*", ""), statement("Deny", `"*"`, `"kms:Decrypt"`, "*", `{"Bool":{"aws:PrincipalIsAWSService":"true"}}`)), false},
		{"denied without a source", statements(root, allowing(events, use, "*", ""), statement("Deny", events, `"kms:*"`, "*", `{"Null":{"aws:SourceAccount":"true"}}`)), false},
	}
	for _, c := range presentedConditions {
		list = append(list, agreement{"condition " + c.condition, statements(root, allowing(events, use, "*", c.condition)), c.keyed})
	}
	return list
}

// delivers asks the simulator whether the events of all rules of a set-up come to its queue, which has this policy and,
// if there is one, a key with that.
func delivers(t *testing.T, s *awssetup.Setup, queuePolicy, keyPolicy string) bool {
	t.Helper()
	w, err := world.NewDefault(world.Options{Region: testRegion, Account: testAccount, NoIdentities: true, Types: []string{"m5.large"}})
	if err != nil {
		t.Fatal(err)
	}
	attributes := map[string]string{"Policy": queuePolicy}
	if keyPolicy != "" {
		k, err := w.CreateKey(world.NewKey{Policy: keyPolicy, Bypass: true})
		if err != nil {
			t.Fatal(err)
		}
		attributes["KmsMasterKeyId"] = k.ARN
	}
	if _, err := w.CreateQueue(testCluster, attributes); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Rules {
		if _, err := w.PutRule(world.Rule{Name: r.Name, Pattern: string(r.Pattern), Enabled: true}); err != nil {
			t.Fatal(err)
		}
		if err := w.PutTargets(r.Name, []world.Target{{ID: "queue", ARN: queueARN}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range awssetup.Events {
		d, err := w.Emit(w.NewEvent(e.Source, e.DetailType, nil, map[string]string{"instance-id": "i-0123456789abcdef0"}))
		if err != nil || len(d.Rules) != 1 {
			t.Fatalf("%s: %v, matched by %v", e.Name, err, d.Rules)
		}
		if len(d.Failed) > 0 {
			return false
		}
	}
	return true
}

// passes asks the check whether it finds nothing of an area that keeps events from the queue.
func passes(t *testing.T, s *awssetup.Setup, about func(stackcheck.Finding) bool) bool {
	t.Helper()
	o := stack.Defaults(stack.Latest)
	o.ClusterName = testCluster
	r, err := stackcheck.Compare(s, setupfile.KindLive, stackcheck.Options{Stack: o})
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(r.Findings, func(f stackcheck.Finding) bool { return f.Severity == stackcheck.Missing && about(f) })
}

// A policy under which events arrive is one that check and doctor pass, and no other is.
func TestCheckDoctorAndSimulatorAgree(t *testing.T) {
	const open = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + queueARN + `"}]}`
	agree := func(t *testing.T, want, simulator, checked bool, r Result) {
		t.Helper()
		if doctored := r.Status != Failed; simulator != want || checked != want || doctored != want {
			t.Errorf("delivered: want %v; simulator %v, check %v, doctor %v (%s %v)", want, simulator, checked, doctored, r.Finding, r.Evidence)
		}
	}
	for _, c := range queuePolicies() {
		t.Run("queue/"+c.name, func(t *testing.T) {
			in := healthy(t, nil)
			in.AWS.Queues[0].Policy = document(t, c.policy)
			agree(t, c.delivered, delivers(t, &in.AWS.Setup, c.policy, ""),
				passes(t, &in.AWS.Setup, func(f stackcheck.Finding) bool { return f.Area == stackcheck.AreaQueue }), queuePolicy(in))
		})
	}
	for _, c := range keyPolicies() {
		t.Run("key/"+c.name, func(t *testing.T) {
			in := healthy(t, withKey)
			in.AWS.Keys[0].Policy = document(t, c.policy)
			agree(t, c.delivered, delivers(t, &in.AWS.Setup, open, c.policy), passes(t, &in.AWS.Setup, func(f stackcheck.Finding) bool {
				return f.Area == stackcheck.AreaEncryption && strings.Contains(f.What, "events.amazonaws.com")
			}), queueKeyPolicy(in))
		})
	}
	if n := len(queuePolicies()) + len(keyPolicies()); n < 50 {
		t.Errorf("%d policies were tried", n)
	}
}

// In China the suffix of services is another, also where a condition names it.
func TestKeyThroughServiceInChina(t *testing.T) {
	in := healthy(t, func(o *stack.Options) { o.Region, o.KMS = "cn-north-1", true })
	in.AWS.Region, in.AWS.Partition = "cn-north-1", "aws-cn"
	q, k := &in.AWS.Queues[0], &in.AWS.Keys[0]
	k.Policy = document(t, one(`"kms:*"`, "*", `{"StringEquals":{"kms:ViaService":"sqs.cn-north-1.amazonaws.com.cn"}}`))
	for _, a := range awssetup.KeyActions {
		if d := awssetup.MayUseKey(a, k, q.ARN); d.Outcome != iampolicy.Allowed {
			t.Errorf("%s: %+v", a, d)
		}
	}
}
