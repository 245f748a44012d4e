package cloudformation_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func everyType(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("testdata/every-type.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// state is what can be seen of the resources of testdata/every-type.yaml, apart from identifiers and times.
func state(a *account) map[string]any {
	w, out := a.world, map[string]any{}
	must := func(err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatal(err)
		}
	}
	role, err := w.Role("node-demo")
	must(err)
	attached, err := w.AttachedRolePolicies("node-demo")
	must(err)
	var names []string
	for _, p := range attached {
		names = append(names, p.Name)
	}
	inline, err := w.RolePolicy("node-demo", "first")
	must(err)
	out["role"] = []any{role.Path, role.Description, role.MaxSession.String(), strings.HasSuffix(role.Boundary, "policy/policy-demo"), role.Tags["text"], names, inline}
	var pod world.Role
	for _, r := range w.Roles() {
		if strings.HasPrefix(r.Name, "every-PodRole-") {
			pod = r
		}
	}
	podInline, err := w.RolePolicyNames(pod.Name)
	must(err)
	podAttached, err := w.AttachedRolePolicies(pod.Name)
	must(err)
	rolePolicy, err := w.RolePolicy(pod.Name, "role-policy")
	must(err)
	out["pod role"] = []any{podInline, len(podAttached), rolePolicy}
	policyARN := "arn:aws:iam::" + w.Account() + ":policy/policy-demo"
	policy, err := w.Policy(policyARN)
	must(err)
	version, err := w.PolicyVersion(policyARN, policy.DefaultVersion)
	must(err)
	out["policy"] = []any{policy.DefaultVersion, version.Document}
	profile := w.InstanceProfiles("")[0]
	out["profile"] = strings.TrimRight(profile.Role, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
	queue, err := w.QueueAttributes("demo")
	must(err)
	tags, err := w.QueueTags("demo")
	must(err)
	out["queue"] = []any{queue["KmsMasterKeyId"], queue["SqsManagedSseEnabled"], queue["VisibilityTimeout"], strings.Contains(queue["RedrivePolicy"], `"maxReceiveCount":5`), tags["text"]}
	out["queue policy"] = strings.Contains(queue["Policy"], `"Id":"two"`)
	rule, err := w.Rule("rule-demo")
	must(err)
	out["rule"] = []any{rule.Description, rule.Enabled, rule.Pattern, len(rule.Targets), rule.Targets[0].ID}
	key, err := w.Key("alias/demo")
	must(err)
	out["key"] = []any{key.Description, key.State, key.Rotation, key.Policy.Statements[0].Sid == "two"}
	alarm := w.Alarms([]string{"alarm-demo"}, "")[0]
	out["alarm"] = []any{alarm.Period.String(), alarm.Threshold, alarm.Metric.Dimensions, alarm.TreatMissing}
	entry, err := w.AccessEntry("demo", pod.ARN)
	must(err)
	out["entry"] = []any{entry.Groups, len(entry.Policies), entry.Policies[0].ARN, entry.Policies[0].Namespaces}
	pods, err := w.PodIdentities("demo")
	must(err)
	out["pods"] = []any{len(pods), pods[0].RoleARN == role.ARN}
	template, err := w.Template(world.TemplateRef{Name: "template-demo"})
	must(err)
	data := template.Versions[len(template.Versions)-1].Data
	out["template"] = []any{len(template.Versions), data.InstanceType, data.UserData, *data.BlockDeviceMappings[0].Ebs.VolumeSize, data.TagSpecifications[0].Tags[0].Value, template.Tags["text"]}
	for _, g := range w.SecurityGroups() {
		if strings.HasPrefix(g.Name, "every-Group-") {
			out["group"] = []any{g.Description, g.Tags["text"], g.ID == data.SecurityGroupIDs[0]}
		}
	}
	parameter, _ := w.Parameter("/kerf/demo")
	out["parameter"] = parameter.Value
	return out
}

var (
	one = map[string]any{
		"role": []any{"/kerf/", "one", "1h0m0s", true, "one", []string{"AmazonEKSWorkerNodePolicy"},
			`{"Statement":[{"Action":"s3:Getone","Effect":"Allow","Resource":"*"}],"Version":"2012-10-17"}`},
		"pod role": []any{[]string{"inline-one", "role-policy"}, 1, `{"Statement":[{"Action":"sqs:one","Effect":"Allow","Resource":"*"}],"Version":"2012-10-17"}`},
		"policy":   []any{"v1", `{"Statement":[{"Action":"s3:*","Effect":"Allow","Resource":"*","Sid":"one"}],"Version":"2012-10-17"}`},
		"profile":  "node-demo", "queue": []any{"alias/demo", "false", "60", false, "one"}, "queue policy": false,
		"rule":  []any{"one", true, `{"detail-type":["one"],"source":["aws.ec2"]}`, 1, "one"},
		"key":   []any{"one", "Enabled", true, false},
		"alarm": []any{"1m0s", 0.5, map[string]string{"RuleName": "rule-demo"}, "notBreaching"},
		"entry": []any{[]string{"one"}, 1, "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminPolicy", []string{}},
		"pods":  []any{1, false}, "template": []any{1, "m5.large", "IyEvYmluL3NoCmVjaG8gb25lCg==", int32(20), "one", "one"},
		"group": []any{"nodes", "one", true}, "parameter": "one",
	}
	two = map[string]any{
		"role": []any{"/kerf/", "two", "2h0m0s", false, "two", []string{"AmazonEKSWorkerNodePolicy", "AmazonSSMManagedInstanceCore"},
			`{"Statement":[{"Action":"s3:Gettwo","Effect":"Allow","Resource":"*"}],"Version":"2012-10-17"}`},
		"pod role": []any{[]string{"inline-two", "role-policy"}, 0, `{"Statement":[{"Action":"sqs:two","Effect":"Allow","Resource":"*"}],"Version":"2012-10-17"}`},
		"policy":   []any{"v2", `{"Statement":[{"Action":"s3:*","Effect":"Allow","Resource":"*","Sid":"two"}],"Version":"2012-10-17"}`},
		"profile":  "every-PodRole-", "queue": []any{"", "true", "30", true, "two"}, "queue policy": true,
		"rule":  []any{"two", false, `{"detail-type":["two"],"source":["aws.ec2"]}`, 1, "two"},
		"key":   []any{"two", "Enabled", false, true},
		"alarm": []any{"2m0s", 0.5, map[string]string{"RuleName": "rule-demo"}, "notBreaching"},
		"entry": []any{[]string{"two"}, 1, "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy", []string{"kube-system"}},
		"pods":  []any{1, true}, "template": []any{2, "m5.xlarge", "IyEvYmluL3NoCmVjaG8gdHdvCg==", int32(20), "two", "two"},
		"group": []any{"nodes", "two", true}, "parameter": "two",
	}
)

func TestEveryTypeIsMadeChangedAndRemoved(t *testing.T) {
	a := open(t)
	before := a.contents()
	a.wantStatus(a.create("every", everyType(t)), types.StackStatusCreateComplete)
	if diff := cmp.Diff(one, state(a)); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
	resources, err := a.ListStackResources(t.Context(), &cloudformation.ListStackResourcesInput{StackName: aws.String("every")})
	if err != nil {
		t.Fatal(err)
	}
	ids := physicalIDs(resources)
	s := a.update("every", everyType(t), parameter("Text", "two"))
	a.wantStatus(s, types.StackStatusUpdateComplete)
	if diff := cmp.Diff(two, state(a)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if v := outputs(s)["Version"]; v != "2" {
		t.Errorf("latest version of the launch template: %s", v)
	}
	resources, err = a.ListStackResources(t.Context(), &cloudformation.ListStackResourcesInput{StackName: aws.String("every")})
	if err != nil {
		t.Fatal(err)
	}
	ids["Inline"] = "inline-two"
	if diff := cmp.Diff(ids, physicalIDs(resources)); diff != "" {
		t.Errorf("resources were made anew (-before +after):\n%s", diff)
	}
	a.wantStatus(a.update("every", everyType(t)), types.StackStatusUpdateComplete)
	key, err := a.world.Key("alias/demo")
	if err != nil {
		t.Fatal(err)
	}
	a.wantStatus(a.remove("every"), types.StackStatusDeleteComplete)
	if diff := cmp.Diff(before, a.contents()); diff != "" {
		t.Errorf("the stack leaves something behind (-before +after):\n%s", diff)
	}
	if key, err = a.world.Key(key.ID); err != nil || key.State != "PendingDeletion" {
		t.Errorf("the key is %s, %v", key.State, err)
	}
}

func physicalIDs(out *cloudformation.ListStackResourcesOutput) map[string]string {
	ids := map[string]string{}
	for _, r := range out.StackResourceSummaries {
		ids[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
	return ids
}

func TestFailureAtTheEndTakesAllOfItBack(t *testing.T) {
	a := open(t)
	before := a.contents()
	body := parameterLast(t)
	a.world.PutParameter("/kerf/demo", "String", "x")
	a.wantStatus(a.create("every", body), types.StackStatusRollbackComplete)
	if diff := cmp.Diff(before, a.contents()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if p, _ := a.world.Parameter("/kerf/demo"); p.Value != "x" {
		t.Errorf("somebody else's parameter is %+v", p)
	}
}

// parameterLast is the template with the parameter made after all else.
func parameterLast(t *testing.T) string {
	return strings.Replace(everyType(t), "Type: AWS::SSM::Parameter", "Type: AWS::SSM::Parameter\n    DependsOn: [Template, Pods, Alarm, Admin, Entry, Inline, RolePolicy, Spot]", 1)
}

func TestEverythingIsChangedBack(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("every", everyType(t)), types.StackStatusCreateComplete)
	broken := strings.Replace(parameterLast(t), "Type: String, Value: !Ref Text", "Type: !If [Second, Banana, String], Value: !Ref Text", 1)
	s := a.update("every", broken, parameter("Text", "two"))
	a.wantStatus(s, types.StackStatusUpdateRollbackComplete)
	if !strings.Contains(a.story("every"), "Parameter UPDATE_FAILED") {
		t.Fatal(a.story("every"))
	}
	got := state(a)
	want := map[string]any{}
	for k, v := range one {
		want[k] = v
	}
	// Versions count on.
	want["policy"] = []any{"v3", one["policy"].([]any)[1]}
	template := slices.Clone(one["template"].([]any))
	template[0] = 3
	want["template"] = template
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAccessOverTheWire(t *testing.T) {
	a := open(t)
	a.wantStatus(a.create("every", everyType(t)), types.StackStatusCreateComplete)
	c, ctx, cluster := eks.NewFromConfig(a.cfg), t.Context(), aws.String("demo")
	role, err := a.world.Role("node-demo")
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.ListAccessEntries(ctx, &eks.ListAccessEntriesInput{ClusterName: cluster})
	if err != nil || len(list.AccessEntries) != 2 {
		t.Fatalf("%v %v", list, err)
	}
	entry, err := c.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: &role.ARN})
	if err != nil || *entry.AccessEntry.Username != "system:node:{{EC2PrivateDNSName}}" || !slices.Equal(entry.AccessEntry.KubernetesGroups, []string{"system:nodes"}) {
		t.Errorf("%+v %v", entry, err)
	}
	_, err = c.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: cluster, PrincipalArn: &role.ARN})
	a.refused(err, "ResourceInUseException", "already in use")
	_, err = c.CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{ClusterName: cluster, PrincipalArn: aws.String("arn:aws:iam::" + a.world.Account() + ":role/nobody")})
	a.refused(err, "InvalidParameterException", "invalid principal")
	_, err = c.UpdateAccessEntry(ctx, &eks.UpdateAccessEntryInput{ClusterName: cluster, PrincipalArn: &role.ARN, KubernetesGroups: []string{"x"}})
	a.refused(err, "InvalidParameterException", "EC2_LINUX")
	if _, err := c.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: cluster, PrincipalArn: &role.ARN}); err != nil {
		t.Error(err)
	}
	_, err = c.DescribeAccessEntry(ctx, &eks.DescribeAccessEntryInput{ClusterName: cluster, PrincipalArn: &role.ARN})
	a.refused(err, "ResourceNotFoundException", "could not be found")

	found, err := c.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: cluster, Namespace: aws.String("kube-system")})
	if err != nil || len(found.Associations) != 1 {
		t.Fatalf("%+v %v", found, err)
	}
	id := found.Associations[0].AssociationId
	described, err := c.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{ClusterName: cluster, AssociationId: id})
	if err != nil || *described.Association.ServiceAccount != "karpenter" || described.Association.CreatedAt.IsZero() {
		t.Errorf("%+v %v", described, err)
	}
	_, err = c.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{
		ClusterName: cluster, Namespace: aws.String("kube-system"), ServiceAccount: aws.String("karpenter"), RoleArn: &role.ARN,
	})
	a.refused(err, "ResourceInUseException", "Association already exists")
	arn := found.Associations[0].AssociationArn
	if _, err := c.TagResource(ctx, &eks.TagResourceInput{ResourceArn: arn, Tags: map[string]string{"a": "b"}}); err != nil {
		t.Error(err)
	}
	if _, err := c.UntagResource(ctx, &eks.UntagResourceInput{ResourceArn: arn, TagKeys: []string{"aws:cloudformation:logical-id"}}); err != nil {
		t.Error(err)
	}
	tags, err := c.ListTagsForResource(ctx, &eks.ListTagsForResourceInput{ResourceArn: arn})
	if err != nil || tags.Tags["a"] != "b" || tags.Tags["aws:cloudformation:logical-id"] != "" || tags.Tags["aws:cloudformation:stack-name"] != "every" {
		t.Errorf("%+v %v", tags, err)
	}
	if _, err := c.DeletePodIdentityAssociation(ctx, &eks.DeletePodIdentityAssociationInput{ClusterName: cluster, AssociationId: id}); err != nil {
		t.Error(err)
	}
	// What is gone already is no obstacle.
	a.wantStatus(a.remove("every"), types.StackStatusDeleteComplete)
}
