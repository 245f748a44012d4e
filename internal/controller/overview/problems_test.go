package overview

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// TestProblems has one thing that is wrong in each row, and what is said of it.
func TestProblems(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	old, fresh, ten := now.Add(-10*time.Minute), now.Add(-time.Minute), 10
	for name, tc := range map[string]struct {
		d      Document
		nodes  []*Node
		coming []*known // nodes that pods wait for
		stuck  map[int]stuck
		pods   map[int]*cluster.Pod // of classes
		pools  []*cluster.Pool
		want   []string // level code object: title; text; remedy
	}{
		"nothing": {},
		"a service that answers, and one that does not": {
			d:    Document{Services: []Service{{Name: "EC2", Answers: true}, {Name: "SQS", Error: "ReceiveMessage: AccessDenied", Since: old}}},
			want: []string{"problem AWSServiceFails AWS SQS: AWS SQS: calls fail; ReceiveMessage: AccessDenied; Kerf asks again by itself; kerf doctor"},
		},
		"a class that is not ready, once": {
			d: Document{
				Troubles: []Trouble{{Kind: "NodePool", Name: "default", Condition: "NodeClassReady", Reason: "X"}},
				Pools:    []Pool{{Name: "default", NotReady: "its class is not ready"}, {Name: "other", NotReady: "it is deleted"}},
			},
			want: []string{
				"problem ConditionNotTrue NodePool default: NodePool default: NodeClassReady is not true; X; kubectl describe nodepool default",
				"problem NodePoolNotReady NodePool other: NodePool other can't launch nodes; it is deleted; kubectl describe nodepool other",
			},
		},
		"conditions that stop no launch": {
			d: Document{
				Troubles: []Trouble{{Kind: "EC2NodeClass", Name: "a", Condition: "InterruptionQueueReady", Message: "no rule"}, {Kind: "EC2NodeClass", Name: "b", Condition: "InterruptionQueueReady", Message: "no rule"}, {Kind: "NodeClaim", Name: "c", Condition: "Drifted", Message: "m"}},
				Queue:    &Queue{Name: "q", Message: "no rule"},
			},
			want: []string{
				"warning ConditionNotTrue EC2NodeClass a: The interruption queue can't be read; no rule; without it spot instances end with no time for their pods to move; there are none now; kerf doctor --cluster-name NAME --prove-delivery",
				"warning ConditionNotTrue NodeClaim c: NodeClaim c: Drifted is not true; m; kubectl describe nodeclaim c",
			},
		},
		"a queue that does not exist": {
			d:    Document{Cluster: "shop", Queue: &Queue{Name: "notices"}, Troubles: []Trouble{{Kind: "EC2NodeClass", Name: "a", Condition: "InterruptionQueueReady", Reason: "QueueNotFound", Message: "no queue"}}},
			want: []string{"warning ConditionNotTrue EC2NodeClass a: The interruption queue can't be read; no queue; without it spot instances end with no time for their pods to move; there are none now; deploy the stack that makes the queue and its rules, or set INTERRUPTION_QUEUE to a queue that exists; kerf stack cloudformation --cluster-name shop --queue-name notices --output-file stack.yaml; aws cloudformation deploy --stack-name Karpenter-shop --template-file stack.yaml --capabilities CAPABILITY_NAMED_IAM; kerf doctor --cluster-name shop"},
		},
		"a class whose selector selects nothing": {
			d:    Document{Troubles: []Trouble{{Kind: "EC2NodeClass", Name: "a", Condition: "SubnetsReady", Message: "it selects no subnet", Value: `[{"id":"subnet-1"}]`}}},
			want: []string{`problem ConditionNotTrue EC2NodeClass a: EC2NodeClass a has no usable subnets: SubnetsReady is not true; it selects no subnet; correct spec.subnetSelectorTerms, which is [{"id":"subnet-1"}] now, or what it names in AWS; kubectl edit ec2nodeclass a; kerf doctor`},
		},
		"pods that are too large for their pool": {
			d:     Document{Waiting: []Waiting{{Pod: "a/b", Count: 2, Since: old, Why: "too large"}}},
			stuck: map[int]stuck{0: stuckBy(&plan.Unplaced{Reasons: []plan.Reason{{Code: plan.TooLarge, Pool: "batch", Resource: "cpu", Nearest: "c5.2xlarge"}}})},
			want:  []string{"problem PodsWithoutNode Pod a/b: 2 pods wait and no node is on its way; too large; let NodePool batch allow larger instance types than c5.2xlarge, if there are any, or lower the pods' cpu request; kerf explain pod a/b"},
		},
		"a queue": {
			d:    Document{Queue: &Queue{Name: "q", Message: "it does not exist"}, Bill: Bill{Spot: 2}},
			want: []string{"warning QueueNotReady Queue q: The interruption queue can't be read: q; it does not exist; 2 spot instances run here: those that AWS takes back end with no time for the pods to move; kerf doctor"},
		},
		"pods without a node: the oldest is named, and those that are not listed count": {
			d: Document{WaitingMore: 5, Waiting: []Waiting{
				{Pod: "a/b", Count: 2, Since: fresh, Why: "too large"}, {Pod: "a/c", Count: 1, Since: old, Why: "no zone"}, {Pod: "a/d", Count: 9, Since: old, Node: "n"},
			}},
			want: []string{"problem PodsWithoutNode Pod a/c: 8 pods wait and no node is on its way; no zone; kerf explain pod a/c"},
		},
		"a pod that has just come is being decided": {
			d: Document{Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: now.Add(-time.Second)}}},
		},
		"a pod that waited before the controller started is being decided": {
			d: Document{Since: now.Add(-40 * time.Second), decides: now.Add(-5 * time.Second), Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: old}}},
		},
		"a pod that nobody decides about": {
			d:    Document{Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: old}}},
			want: []string{"problem PodsWithoutNode Pod a/b: 1 pod waits and no node is on its way; no decision has been made about them yet; kerf explain pod a/b"},
		},
		"nodes that are slow to join; one with a condition has its own line": {
			d: Document{Troubles: []Trouble{{Kind: "NodeClaim", Name: "c3", Condition: "Registered", Message: "m", Since: old}}},
			nodes: []*Node{
				{Name: "n1", Claim: "c1", State: Joining, Created: fresh}, {Name: "n2", Claim: "c2", State: Joining, Created: old, Price: 64_100}, {Name: "n3", Claim: "c3", State: Starting, Created: old},
			},
			want: []string{
				"problem NodesSlowToJoin NodeClaim c3: 1 instance runs and has not joined the cluster; m; 1 younger instance has not joined either; in EC2: i-c3; Kerf ends an instance that has not joined after 15 min, and launches another if pods wait; read what the instance says; aws ec2 get-console-output --latest --output text --instance-id i-c3; compare user data, role, security groups and subnets of the EC2NodeClass with a node that joined; kerf doctor; kubectl describe nodeclaim c3",
				"problem NodesSlowToJoin Node n2: 1 instance has not become a ready node; n2; it costs $0.0641/h meanwhile; kerf doctor; kubectl describe nodeclaim c2",
			},
		},
		"many nodes that are not ready are one problem": {
			nodes: []*Node{{Name: "a", State: NotReady}, {Name: "b", State: NotReady}, {Name: "c", State: NotReady}, {Name: "d", State: NotReady}, {Name: "e", State: NotReady}, {Name: "f", State: NotReady, Pods: Amount{Used: 3}}},
			want:  []string{"warning NodesNotReady Node a: 6 nodes are not ready; a, b, c, d, e and 1 more; 3 pods are there; kubectl describe node a"},
		},
		"what EC2 refuses as a whole; capacity that is short is everyday": {
			d:    Document{Closures: []Closure{{Scope: "pool", CapacityType: "spot", Reason: "insufficient capacity", Count: 9}, {Scope: "capacity-type", CapacityType: "spot", Reason: "no role", Count: 1}}},
			want: []string{"warning LaunchesRefused EC2 capacity-type: EC2 refuses spot launches; no role; kerf doctor"},
		},
		"what a policy forbids: the pods that have nothing else follow": {
			d: Document{
				Closures: []Closure{{Scope: "policy", CapacityType: "on-demand", Reason: "not permitted by a policy", Count: 4, InstanceTypes: []string{"m5a.large", "m6a.large"}, Policy: "missing permission x: a service control policy denies it"}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/b", Count: 2, Since: old, Why: "none can be launched now: not permitted by a policy"}},
			},
			stuck: map[int]stuck{0: {refused: []plan.Refusal{{CapacityType: "on-demand", Why: "not permitted by a policy"}}}},
			want: []string{
				"problem LaunchesRefused EC2 policy: A policy forbids on-demand launches of 2 instance types; m5a.large, m6a.large: missing permission x: a service control policy denies it; Kerf launches other types where the NodePools allow any; leave them out of the NodePools (node.kubernetes.io/instance-type NotIn, karpenter.k8s.aws/instance-family NotIn), or have the policy allow them; kubectl get events -A --field-selector reason=LaunchFailed",
				"> problem PodsWithoutNode Pod a/b: 2 pods wait and no node is on its way; none can be launched now: not permitted by a policy; kerf explain pod a/b",
			},
		},
		"a limit: 95 of 100 is near, 94 is not": {
			d: Document{Pools: []Pool{{Name: "p", Limits: map[string]int64{"cpu": 100_000, "memory": 100}, Used: map[string]int64{"cpu": 95_000, "memory": 94}}}},
			want: []string{
				"warning NodePoolLimit NodePool p: NodePool p uses 95 % of its limit of cpu; beyond it no node is launched, and pods wait; kubectl edit nodepool p (raise spec.limits.cpu)",
			},
		},
		"a broken class: its pool and the pods that wait for it follow, other pods do not": {
			d: Document{
				Troubles: []Trouble{
					{Kind: "NodePool", Name: "p", Class: "c", Condition: "NodeClassReady", Message: "AMIsReady=False"},
					{Kind: "EC2NodeClass", Name: "c", Condition: "AMIsReady", Message: "EC2NodeClass c: no image: operation error EC2: DescribeImages, https response error StatusCode: 400, api error X: it is gone."},
					{Kind: "EC2NodeClass", Name: "c", Condition: "ValidationSucceeded", Message: "waiting for AMIsReady"},
					{Kind: "NodeClaim", Name: "p-1", Class: "c", Condition: "Launched", Message: "the class is not ready"},
				},
				Pools: []Pool{{Name: "p", Class: "c", NotReady: "x"}, {Name: "q", Class: "c", NotReady: "its class is not ready"}},
				Waiting: []Waiting{
					{Class: 0, Pod: "a/b", Count: 3, Since: old, Why: "pool p: is not ready"}, {Class: 1, Pod: "a/big", Count: 1, Since: fresh, Why: "too large"},
				},
			},
			stuck: map[int]stuck{0: {notReady: []string{"p"}}},
			want: []string{
				"problem ConditionNotTrue EC2NodeClass c: EC2NodeClass c has no usable images: AMIsReady is not true; no image: X: it is gone; correct spec.amiSelectorTerms, or what it names in AWS; kubectl edit ec2nodeclass c; kerf doctor",
				"> problem PodsWithoutNode Pod a/b: 3 pods wait and no node is on its way; ; kerf explain pod a/b",
				"> problem NodePoolNotReady NodePool p: NodePool p can't launch nodes; ; kubectl describe nodepool p",
				"> problem LaunchesFail NodeClaim p-1: 1 instance can't be launched; the class is not ready; kerf doctor; kubectl describe nodeclaim p-1",
				"> problem NodePoolNotReady NodePool q: NodePool q can't launch nodes; ; kubectl describe nodepool q",
				"problem PodsWithoutNode Pod a/big: 1 pod waits and no node is on its way; too large; kerf explain pod a/big",
			},
		},
		"EC2 does not answer: pods that wait for instances follow": {
			d: Document{
				Services: []Service{{Name: "EC2", Error: "CreateFleet: 503", Since: old}},
				Waiting:  []Waiting{{Class: 1, Pod: "a/c", Count: 1, Since: old}},
			},
			coming: []*known{comingNode("c1", false, old, old, "b", "b2"), comingNode("c2", true, old, old, "d")},
			want: []string{
				"problem AWSServiceFails AWS EC2: AWS EC2: calls fail; CreateFleet: 503; wait: Kerf asks again by itself, each launch with the client token that it had before, so that EC2 launches nothing twice; kerf doctor",
				"> problem PodsWithoutNode Pod a/c: 1 pod waits and no node is on its way; no decision has been made about them yet; kerf explain pod a/c",
				"> problem PodsWithoutNode Pod a/b: 2 pods wait for instances that are not launched; they are launched as soon as EC2 answers; kerf explain pod a/b",
			},
		},
		"what EC2 refuses is worse with the pods that wait for it": {
			d: Document{
				Closures: []Closure{{Scope: "quota", CapacityType: "on-demand", Reason: "VcpuLimitExceeded", Count: 1}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/b", Count: 2, Since: old, Why: "none can be launched now: VcpuLimitExceeded"}},
			},
			stuck: map[int]stuck{0: {refused: []plan.Refusal{{CapacityType: "on-demand", Why: "VcpuLimitExceeded"}}}},
			want: []string{
				"problem LaunchesRefused EC2 quota: EC2 refuses on-demand launches: a quota of the account is reached; VcpuLimitExceeded; raise it in Service Quotas of the AWS console, which may take AWS hours; kubectl get events -A --field-selector reason=QuotaExceeded",
				"> problem PodsWithoutNode Pod a/b: 2 pods wait and no node is on its way; none can be launched now: VcpuLimitExceeded; kerf explain pod a/b",
			},
		},
		"quotas of which the names are known, with the value that EC2 says": {
			d: Document{Closures: []Closure{
				{Scope: "quota", CapacityType: "on-demand", Reason: "quota exceeded", Count: 1, Opens: now.Add(3 * time.Minute), Quotas: []Quota{{"Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", "L-1216C47A", 32, &ten}}},
				{Scope: "quota", CapacityType: "spot", Reason: "quota exceeded", Count: 2, Opens: now.Add(time.Minute), Quotas: []Quota{{"All G and VT Spot Instance Requests", "L-3819A6DF", 0, nil}, {"All P Spot Instance Requests", "L-7212CCBC", 0, nil}}},
				{Scope: "capacity-type", CapacityType: "spot", Reason: "quota exceeded", Count: 1, Quotas: []Quota{{Name: "EC2 Fleets per Region"}}},
			}},
			want: []string{
				`warning LaunchesRefused EC2 quota: EC2 refuses on-demand launches: a quota of the account is reached; quota "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", code L-1216C47A: 32 vCPUs; nodes of Kerf have 10 of it, and whatever else runs in the account counts; raise it in Service Quotas of the AWS console, which may take AWS hours; aws service-quotas get-service-quota --service-code ec2 --quota-code L-1216C47A; kubectl get events -A --field-selector reason=QuotaExceeded; again at 12:03:00`,
				`warning LaunchesRefused EC2 quota: EC2 refuses spot launches: 2 quotas of the account are reached; quota "All G and VT Spot Instance Requests", code L-3819A6DF` + "\n" + `quota "All P Spot Instance Requests", code L-7212CCBC; raise it in Service Quotas of the AWS console, which may take AWS hours; aws service-quotas get-service-quota --service-code ec2 --quota-code L-3819A6DF; aws service-quotas get-service-quota --service-code ec2 --quota-code L-7212CCBC; kubectl get events -A --field-selector reason=QuotaExceeded; again at 12:01:00`,
				`warning LaunchesRefused EC2 capacity-type: EC2 refuses spot launches: a quota of the account is reached; quota "EC2 Fleets per Region"; raise it in Service Quotas of the AWS console, which may take AWS hours; kubectl get events -A --field-selector reason=QuotaExceeded`,
			},
		},
		"a quota of a capacity type that the pods themselves demand": {
			d: Document{
				Closures: []Closure{{Scope: "quota", CapacityType: "on-demand", Reason: "quota exceeded", Count: 1}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/api-1", Count: 2, Since: old, Why: "none can be launched now: quota exceeded"}},
			},
			stuck: map[int]stuck{0: {pools: []string{"p"}, refused: []plan.Refusal{{CapacityType: "on-demand", Why: "quota exceeded"}}}},
			pods:  map[int]*cluster.Pod{0: demanding("on-demand")},
			pools: []*cluster.Pool{{Name: "p", Requirements: []requirement.Term{capacityTypes("on-demand", "spot")}}, {Name: "other", Requirements: []requirement.Term{capacityTypes("on-demand")}}},
			want: []string{
				"problem LaunchesRefused EC2 quota: EC2 refuses on-demand launches: a quota of the account is reached; quota exceeded; raise it in Service Quotas of the AWS console, which may take AWS hours; until then take nodeSelector karpenter.sh/capacity-type In on-demand off a/api, so that spot nodes can be launched, if these pods may be interrupted; kubectl get events -A --field-selector reason=QuotaExceeded",
				"> problem PodsWithoutNode Pod a/api-1: 2 pods wait and no node is on its way; none can be launched now: quota exceeded; kerf explain pod a/api-1",
			},
		},
		"a quota of each capacity type: the other one is no way out": {
			d: Document{
				Closures: []Closure{{Scope: "quota", CapacityType: "on-demand", Reason: "quota exceeded", Count: 1}, {Scope: "quota", CapacityType: "spot", Reason: "quota exceeded", Count: 1}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/api-1", Count: 2, Since: old, Why: "none can be launched now: quota exceeded"}},
			},
			stuck: map[int]stuck{0: {pools: []string{"p"}, refused: []plan.Refusal{{CapacityType: "on-demand", Why: "quota exceeded"}}}},
			pods:  map[int]*cluster.Pod{0: demanding("on-demand")},
			want: []string{
				"problem LaunchesRefused EC2 quota: EC2 refuses on-demand launches: a quota of the account is reached; quota exceeded; raise it in Service Quotas of the AWS console, which may take AWS hours; kubectl get events -A --field-selector reason=QuotaExceeded",
				"> problem PodsWithoutNode Pod a/api-1: 2 pods wait and no node is on its way; none can be launched now: quota exceeded; kerf explain pod a/api-1",
				"warning LaunchesRefused EC2 quota: EC2 refuses spot launches: a quota of the account is reached; quota exceeded; raise it in Service Quotas of the AWS console, which may take AWS hours; kubectl get events -A --field-selector reason=QuotaExceeded",
			},
		},
		"no spot capacity for pods of a pool that allows nothing else": {
			d: Document{
				Closures: []Closure{{Scope: "pool", CapacityType: "spot", Reason: "insufficient capacity", Count: 9, Opens: now.Add(20 * time.Second)}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/b", Count: 1, Since: old, Why: "none can be launched now"}},
			},
			stuck: map[int]stuck{0: {pools: []string{"batch"}, refused: []plan.Refusal{{CapacityType: "spot", Why: "insufficient capacity"}}}},
			pods:  map[int]*cluster.Pod{0: {Class: &cluster.Class{}}},
			pools: []*cluster.Pool{{Name: "batch", Requirements: []requirement.Term{capacityTypes("spot")}}},
			want:  []string{"problem PodsWithoutNode Pod a/b: 1 pod waits: EC2 has no spot capacity for it; none can be launched now; wait, or allow on-demand in NodePool batch, so that on-demand nodes can be launched; kerf explain pod a/b; again at 12:00:20"},
		},
		"a refusal of another capacity type, and one whose words are part of others, are no cause": {
			d: Document{
				Closures: []Closure{{Scope: "quota", CapacityType: "spot", Reason: "quota exceeded", Count: 1}, {Scope: "class", Reason: "quota", Count: 1}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/b", Count: 2, Since: old, Why: "none can be launched now: quota exceeded"}},
			},
			stuck: map[int]stuck{0: {refused: []plan.Refusal{{CapacityType: "on-demand", Why: "quota exceeded"}}}},
			want: []string{
				"problem PodsWithoutNode Pod a/b: 2 pods wait and no node is on its way; none can be launched now: quota exceeded; kerf explain pod a/b",
				"warning LaunchesRefused EC2 quota: EC2 refuses spot launches: a quota of the account is reached; quota exceeded; raise it in Service Quotas of the AWS console, which may take AWS hours; kubectl get events -A --field-selector reason=QuotaExceeded",
				"warning LaunchesRefused EC2 class: EC2 refuses launches of 1 EC2NodeClass; quota; kerf doctor",
			},
		},
		"capacity that is short, and pods that wait for it": {
			d:    Document{Closures: []Closure{{Scope: "pool", CapacityType: "spot", Reason: "insufficient capacity", Count: 9}}, Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: old}}},
			want: []string{"problem PodsWithoutNode Pod a/b: 1 pod waits: EC2 has no spot capacity for it; EC2 has no capacity now for 9 instance types in their zones that Kerf asked for; it asks for others, and for these again later; wait, or allow more instance types or zones in the NodePool; kerf explain pod a/b"},
		},
		"capacity that is short: the pods are told of while the next node is tried, too": {
			d: Document{
				Closures: []Closure{{Scope: "pool", CapacityType: "spot", Reason: "insufficient capacity", Count: 9}},
				Waiting:  []Waiting{{Pod: "a/c", Count: 1, Since: fresh}},
			},
			coming: []*known{
				comingNode("tried", false, now, old, "b"), comingNode("launched", true, now, old, "d"), comingNode("first", false, now, now.Add(-time.Second), "e"),
			},
			want: []string{"problem PodsWithoutNode Pod a/b: 2 pods wait: EC2 has no spot capacity for them; EC2 has no capacity now for 9 instance types in their zones that Kerf asked for; it asks for others, and for these again later; wait, or allow more instance types or zones in the NodePool; kerf explain pod a/b"},
		},
		"no capacity at all, as the decision says; on-demand has it": {
			d: Document{
				Closures: []Closure{{Scope: "pool", CapacityType: "on-demand", Reason: "other", Count: 1, Opens: now.Add(time.Second)}, {Scope: "pool", CapacityType: "spot", Reason: "insufficient capacity", Count: 9, Opens: now.Add(20 * time.Second)}},
				Waiting:  []Waiting{{Class: 0, Pod: "a/b", Count: 1, Since: old, Why: "none can be launched now"}},
			},
			stuck: map[int]stuck{0: {refused: []plan.Refusal{{CapacityType: "spot", Why: "insufficient capacity"}}}},
			want:  []string{"problem PodsWithoutNode Pod a/b: 1 pod waits: EC2 has no spot capacity for it; none can be launched now; wait, or allow more instance types or zones in the NodePool; kerf explain pod a/b; again at 12:00:20"},
		},
		"a permission that is missing: all launches are one problem, with their pods": {
			d: Document{Troubles: []Trouble{
				{Kind: "NodeClaim", Name: "c1", Condition: "Launched", Since: fresh, Message: `launching NodeClaim "c1": creating a fleet: missing permission ec2:CreateFleet: an identity-based policy denies it; remove the Deny: operation error EC2: CreateFleet`},
				{Kind: "NodeClaim", Name: "c2", Condition: "Launched", Since: old, Message: `launching NodeClaim "c2": creating a fleet: missing permission ec2:CreateFleet: an identity-based policy denies it; remove the Deny: operation error EC2: CreateFleet`},
			}},
			coming: []*known{comingNode("c1", false, fresh, fresh, "b", "d"), comingNode("c2", false, fresh, old, "c")},
			want: []string{
				"problem LaunchesFail NodeClaim c1: 2 instances can't be launched; 3 pods wait for them; creating a fleet: missing permission ec2:CreateFleet: an identity-based policy denies it; remove the Deny; Kerf tries again by itself; kerf doctor; kerf explain pod a/c",
			},
		},
		"a permission that no policy gives: what to do is to allow it": {
			d: Document{Troubles: []Trouble{
				{Kind: "NodeClaim", Name: "c1", Condition: "Launched", Since: fresh, Message: `launching NodeClaim "c1": creating a fleet: missing permission iam:PassRole: allow it in the policies of the controller's role; AWS says the same of a role that does not exist: operation error EC2: CreateFleet`},
			}},
			want: []string{
				"problem LaunchesFail NodeClaim c1: 1 instance can't be launched; creating a fleet: missing permission iam:PassRole; allow it in the policies of the controller's role; AWS says the same of a role that does not exist; Kerf tries again by itself; kerf doctor",
			},
		},
		"instances that have not joined are one problem, worse after a while": {
			d: Document{Troubles: []Trouble{
				{Kind: "NodeClaim", Name: "c1", Condition: "Initialized", Since: fresh, Message: "no node"}, {Kind: "NodeClaim", Name: "c1", Condition: "Registered", Since: fresh, Message: "no node"},
				{Kind: "NodeClaim", Name: "c2", Condition: "Initialized", Since: fresh, Message: "no node"}, {Kind: "NodeClaim", Name: "c2", Condition: "Registered", Since: fresh, Message: "no node"},
				{Kind: "NodeClaim", Name: "c3", Condition: "Initialized", Since: old, Message: "a taint"},
			}},
			nodes:  []*Node{{Name: "n1", Claim: "c1", State: Joining, Created: fresh, Price: 64_100}, {Name: "n2", Claim: "c2", State: Joining, Created: fresh, Price: 10_000}, {Name: "n3", Claim: "c3", State: Starting, Created: old}},
			coming: []*known{comingNode("c1", true, fresh, fresh, "b", "d")},
			want: []string{
				"problem NodesSlowToJoin NodeClaim c3: 1 node has joined and can't take pods yet; a taint; kubectl describe nodeclaim c3",
				"warning NodesSlowToJoin NodeClaim c1: 2 instances run and have not joined the cluster; 2 pods wait for them; no node; they cost $0.0741/h meanwhile; in EC2: i-c1, i-c2; Kerf ends an instance that has not joined after 15 min, and launches another if pods wait; read what the instance says; aws ec2 get-console-output --latest --output text --instance-id i-c1; compare user data, role, security groups and subnets of the EC2NodeClass with a node that joined; kerf doctor; kubectl describe nodeclaim c1; kerf explain pod a/b",
			},
		},
		"what AWS interrupts, kind by kind": {
			d: Document{Interruptions: []Interruption{
				{Node: "n1", Claim: "c1", Kind: SpotTaken, Event: "SpotInterrupted", Until: now.Add(time.Minute), Pods: 3, Room: RoomComing},
				{Node: "n2", Claim: "c2", Kind: WorkScheduled, Event: "InstanceUnhealthy", Until: now.Add(48 * time.Hour), From: now.Add(47 * time.Hour), Pods: 1},
				{Node: "n3", Claim: "c3", Kind: RiskRaised, Event: "SpotRebalanceRecommendation", Room: RoomReady, Pods: 1},
				{Node: "n4", Claim: "c4", Kind: RiskRaised, Event: "SpotRebalanceRecommendation"},
				{Node: "n5", Claim: "c5", Kind: ReservationTaken, Event: "CapacityReservationInstanceInterrupted", Until: now.Add(time.Minute)},
				{Node: "n6", Claim: "c6", Kind: ReservationTaken, Event: "CapacityReservationInstanceInterrupted", Until: now.Add(2 * time.Minute), Waiting: 7, Room: RoomReady},
			}},
			want: []string{
				"warning SpotInterruption Node n1: AWS takes back 1 spot instance; n1: 3 pods still on it; the node that replaces it is on its way; none needed: pods move first; kubectl get events -A --field-selector reason=SpotInterrupted",
				"warning SpotInterruption Node n3: AWS may take back 2 spot instances soon; n3: 1 pod still on it; room elsewhere is ready, and they move now\nn4: its pods have moved; none needed: pods move first; kubectl get events -A --field-selector reason=SpotRebalanceRecommendation",
				"warning SpotInterruption Node n5: AWS takes back 2 reserved instances; n5: its pods have moved\nn6: its pods were evicted; 7 pods created since wait for a node that is ready; none needed: pods move first; kubectl get events -A --field-selector reason=CapacityReservationInstanceInterrupted",
				"warning ScheduledMaintenance Node n2: AWS works on 1 instance at 3 Mar 12:00 UTC; n2: 1 pod moves from 3 Mar 11:00 UTC on; none needed: pods move first; kubectl get events -A --field-selector reason=InstanceUnhealthy",
			},
		},
		"drains that wait for a pod, once they have for a while": {
			d: Document{Stalls: []Stall{{Node: "n1", Text: "pod a/b can't be evicted: w", Since: fresh, Price: 64_100}, {Node: "n2", Text: "x", Since: now.Add(-stallsFor + 1)}}},
			want: []string{
				"warning DrainStalled Node n1: 1 node is to go and can't: a pod on it may not be evicted; n1: pod a/b can't be evicted: w; its NodeClaim was deleted: by hand, or for its age, its health or an interruption; the wait costs $0.0641/h; let the PodDisruptionBudget allow an eviction: fewer minAvailable, more maxUnavailable, or more replicas, or take karpenter.sh/do-not-disrupt off the pod; or leave it: the pods run on until then; kubectl get pdb -A; kerf explain node n1",
			},
		},
		"a controller that has just started knows no prices and no types yet": {
			d: Document{Since: now.Add(-startsWithin + 1), Bill: Bill{Unpriced: 3}, Pools: []Pool{{Name: "p", NotReady: "no answer after 3s"}}},
			want: []string{
				"warning KerfStarts  : Kerf has just started: prices and instance types are being read; until then costs are too low; pods that wait are decided on after that, and once this replica leads; none needed: it takes some seconds",
			},
		},
		"no price": {
			d:    Document{Bill: Bill{Unpriced: 1}},
			want: []string{"warning PriceUnknown  : 1 node has no known price; the cost does not count them; kerf doctor"},
		},
		"bad ones come first": {
			d: Document{Bill: Bill{Unpriced: 2}, Held: &Held{Until: now, Why: "w"}, Waiting: []Waiting{{Pod: "a/b", Count: 1, Since: old}}},
			want: []string{
				"problem PodsWithoutNode Pod a/b: 1 pod waits and no node is on its way; no decision has been made about them yet; kerf explain pod a/b",
				"warning ConsolidationPaused  : Consolidation that moves pods is paused; w; none needed: it resumes by itself; kubectl get events -A --field-selector reason=ConsolidationHeld",
				"warning PriceUnknown  : 2 nodes have no known price; the cost does not count them; kerf doctor",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.d.At = now
			got := []string{}
			var unwell []*known
			for _, n := range tc.nodes {
				unwell = append(unwell, &known{shown: n, from: &cluster.Node{ProviderID: "aws:///us-east-1a/i-" + n.Claim}})
			}
			known := []string{}
			for _, c := range ProblemCodes() {
				known = append(known, c.Code)
			}
			for _, p := range problems(&tc.d, behind{unwell: unwell, stuck: func(class int) stuck { return tc.stuck[class] }, coming: tc.coming, pod: func(class int) *cluster.Pod { return tc.pods[class] }, pools: tc.pools, givesUp: 15 * time.Minute}) {
				got = append(got, line(p))
				for _, f := range p.Follows {
					got = append(got, "> "+line(f))
				}
				if !slices.Contains(known, p.Code) {
					t.Errorf("the code %s is not in the table", p.Code)
				}
			}
			if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// comingNode is a node that pods of the namespace a wait for.
func comingNode(claim string, launched bool, created, waiting time.Time, pods ...string) *known {
	k := &known{from: &cluster.Node{Name: claim, Claim: claim, Launched: launched, CreatedAt: created}}
	for _, name := range pods {
		k.waiting = append(k.waiting, &cluster.Pod{PodRef: cluster.PodRef{Namespace: "a", Name: name}, Class: &cluster.Class{}, CreatedAt: waiting})
	}
	return k
}

// demanding is a pod with a nodeSelector on a capacity type.
func demanding(capacityType string) *cluster.Pod {
	return &cluster.Pod{PodRef: cluster.PodRef{Namespace: "a", Name: "api-68f5648bfb-btwzs"}, Class: &cluster.Class{Selector: []requirement.Term{capacityTypes(capacityType)}}}
}

func capacityTypes(names ...string) requirement.Term {
	return requirement.Term{Key: requirement.CapacityType, Operator: requirement.In, Values: names}
}

func line(p Problem) string {
	text := string(p.Level) + " " + p.Code + " " + p.Kind + " " + p.Object + ": " + strings.Join([]string{p.Title, p.Text, p.Remedy}, "; ")
	if !p.RetryAt.IsZero() {
		text += p.RetryAt.Format("; again at 15:04:05")
	}
	return text
}

// TestALimitIsNearFrom95PercentOn, also where it is a small number, of nodes or of GPUs.
func TestALimitIsNearFrom95PercentOn(t *testing.T) {
	for _, tc := range []struct {
		used, limit int64
		near        bool
	}{
		{18, 20, false}, {19, 20, true}, {20, 20, true}, {21, 20, true},
		{60, 64, false}, {61, 64, true}, {63, 64, true},
		{94, 99, false}, {95, 99, true}, {98, 99, true},
		{94, 100, false}, {95, 100, true},
		{189, 199, false}, {190, 199, true},
		{0, 1, false}, {1, 1, true},
		{94_999, 100_000, false}, {95_000, 100_000, true},
		{1 << 61, 1 << 62, false}, {1 << 62, 1 << 62, true}, // a hundred times as much is no int64
	} {
		d := Document{Pools: []Pool{{Name: "p", Limits: map[string]int64{"nodes": tc.limit}, Used: map[string]int64{"nodes": tc.used}}}}
		found := slices.ContainsFunc(problems(&d, behind{}), func(p Problem) bool { return p.Code == LimitReached })
		if found != tc.near {
			t.Errorf("%d of %d: near %v, want %v", tc.used, tc.limit, found, tc.near)
		}
	}
}

// TestThePageHasEveryCode: docs/watch.md says of each code when it is there and what to do first.
func TestThePageHasEveryCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range ProblemCodes() {
		if !strings.Contains(string(page), "| `"+c.Code+"` |") {
			t.Errorf("docs/watch.md has no row for %s: %s", c.Code, c.Means)
		}
	}
}
