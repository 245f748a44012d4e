package drift

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// ami is an image with requirements written as "key", "!key" or "key=value".
func ami(id string, requirements ...string) awsv1.AMI {
	a := awsv1.AMI{ID: id, Name: "name-of-" + id}
	for _, r := range requirements {
		key, value, in := strings.Cut(r, "=")
		switch {
		case in:
			a.Requirements = append(a.Requirements, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
		case strings.HasPrefix(r, "!"):
			a.Requirements = append(a.Requirements, corev1.NodeSelectorRequirement{Key: r[1:], Operator: corev1.NodeSelectorOpDoesNotExist})
		default:
			a.Requirements = append(a.Requirements, corev1.NodeSelectorRequirement{Key: r, Operator: corev1.NodeSelectorOpExists})
		}
	}
	return a
}

const gpuCount = awsv1.LabelInstanceGPUCount

// pair is a launched claim and its ready class, alike until edit makes them differ.
func pair(edit func(*karpv1.NodeClaim, *awsv1.EC2NodeClass)) (*karpv1.NodeClaim, *awsv1.EC2NodeClass) {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Generation:  1,
		Labels:      map[string]string{"kubernetes.io/arch": "amd64", awsv1.LabelInstanceFamily: "m5"},
		Annotations: map[string]string{awsv1.AnnotationEC2NodeClassHash: "1", awsv1.AnnotationEC2NodeClassHashVersion: "v"},
	}}
	claim.Status.ImageID = "ami-x86"
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{
		Name: "c", Generation: 2, Annotations: map[string]string{awsv1.AnnotationEC2NodeClassHash: "1", awsv1.AnnotationEC2NodeClassHashVersion: "v"},
	}}
	class.Status.AMIs = []awsv1.AMI{
		ami("ami-gpu", "kubernetes.io/arch=amd64", gpuCount), ami("ami-x86", "kubernetes.io/arch=amd64", "!"+gpuCount), ami("ami-arm", "kubernetes.io/arch=arm64", "!"+gpuCount),
	}
	class.Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeAMIsReady, Status: metav1.ConditionTrue, ObservedGeneration: 2}}
	edit(claim, class)
	return claim, class
}

func TestInstancesDriftFromTheirImageOnlyWhenAnotherIsKnown(t *testing.T) {
	without := func(id string, amis []awsv1.AMI) (out []awsv1.AMI) {
		for _, a := range amis {
			if a.ID != id {
				out = append(out, a)
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		edit func(*karpv1.NodeClaim, *awsv1.EC2NodeClass)
		want Verdict
	}{
		"the same image": {func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) {}, Same},
		"another image":  {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Status.AMIs[1].ID = "ami-new" }, Differs},
		"a newer image beside it": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			c.Status.AMIs = append([]awsv1.AMI{ami("ami-new", "kubernetes.io/arch=amd64")}, c.Status.AMIs...)
		}, Differs},
		"another image for other instances": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			c.Status.AMIs[0].ID, c.Status.AMIs[2].ID = "ami-a", "ami-b"
		}, Same},
		"a GPU instance with its image": {func(n *karpv1.NodeClaim, _ *awsv1.EC2NodeClass) {
			n.Labels[gpuCount], n.Status.ImageID = "1", "ami-gpu"
		}, Same},
		"a GPU instance with the standard image":       {func(n *karpv1.NodeClaim, _ *awsv1.EC2NodeClass) { n.Labels[gpuCount] = "1" }, Differs},
		"the image of its kind could not be looked up": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Status.AMIs = without("ami-x86", c.Status.AMIs) }, Unknown},
		"no image is known":                            {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Status.AMIs = nil }, Unknown},
		"images could not be looked up": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			c.Status.Conditions[0].Status, c.Status.AMIs[1].ID = metav1.ConditionUnknown, "ami-new"
		}, Unknown},
		"there are no images": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			c.Status.Conditions[0].Status, c.Status.AMIs[1].ID = metav1.ConditionFalse, "ami-new"
		}, Unknown},
		"the class has just been edited":            {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Generation, c.Status.AMIs[1].ID = 3, "ami-new" }, Unknown},
		"a class that was never looked at":          {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Status.Conditions = nil }, Unknown},
		"an instance that is not known to be there": {func(n *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { n.Status.Conditions = nil }, Unknown},
		"an instance whose image is not known":      {func(n *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { n.Status.ImageID = "" }, Unknown},
		"an instance whose type is not known": {func(n *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			delete(n.Labels, awsv1.LabelInstanceFamily)
			n.Status.ImageID = "ami-gpu"
		}, Unknown},
		"a launch template decides": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			c.Spec.LaunchTemplate, c.Status.AMIs[1].ID = &awsv1.LaunchTemplateReference{Name: "mine"}, "ami-new"
		}, Unknown},
	} {
		message, got := Image(pair(tc.edit))
		if got != tc.want || (got == Differs) != (message != "") {
			t.Errorf("%s: got %d %q, want %d", name, got, message, tc.want)
		}
	}
}

func TestInstancesDriftFromTheirClassWhenItsHashIsAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*karpv1.NodeClaim, *awsv1.EC2NodeClass)
		want Verdict
	}{
		"the same hash": {func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) {}, Same},
		"another hash": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			c.Annotations[awsv1.AnnotationEC2NodeClassHash] = "2"
		}, Differs},
		"another hash of another version": {func(n *karpv1.NodeClaim, _ *awsv1.EC2NodeClass) {
			n.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: "2", awsv1.AnnotationEC2NodeClassHashVersion: "v5"}
		}, Unknown},
		"a claim without a hash": {func(n *karpv1.NodeClaim, _ *awsv1.EC2NodeClass) { n.Annotations = nil }, Unknown},
		"a class without a hash": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Annotations = nil }, Unknown},
		"neither has a version": {func(n *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			delete(n.Annotations, awsv1.AnnotationEC2NodeClassHashVersion)
			delete(c.Annotations, awsv1.AnnotationEC2NodeClassHashVersion)
		}, Unknown},
		"an instance that is not known there": {func(n *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			n.Status.Conditions, c.Annotations[awsv1.AnnotationEC2NodeClassHash] = nil, "2"
		}, Unknown},
	} {
		message, got := NodeClass(pair(tc.edit))
		if got != tc.want || (got == Differs) != (message != "") {
			t.Errorf("%s: got %d %q, want %d", name, got, message, tc.want)
		}
	}
}

func TestInstancesDriftFromGroupsAndSubnetsThatAreKnown(t *testing.T) {
	type edit func(*cloud.Instance, *awsv1.EC2NodeClass)
	for name, tc := range map[string]struct {
		edit           edit
		groups, subnet Verdict
	}{
		"alike":          {func(*cloud.Instance, *awsv1.EC2NodeClass) {}, Same, Same},
		"a group more":   {func(m *cloud.Instance, _ *awsv1.EC2NodeClass) { m.SecurityGroups = []string{"sg-1", "sg-2", "sg-3"} }, Differs, Same},
		"a group less":   {func(m *cloud.Instance, _ *awsv1.EC2NodeClass) { m.SecurityGroups = []string{"sg-1"} }, Differs, Same},
		"another subnet": {func(m *cloud.Instance, _ *awsv1.EC2NodeClass) { m.SubnetID = "subnet-9" }, Same, Differs},
		"the class has a subnet more": {func(_ *cloud.Instance, c *awsv1.EC2NodeClass) {
			c.Status.Subnets = append(c.Status.Subnets, awsv1.Subnet{ID: "subnet-9"})
		}, Same, Same},
		"groups in another order":     {func(_ *cloud.Instance, c *awsv1.EC2NodeClass) { slices.Reverse(c.Status.SecurityGroups) }, Same, Same},
		"the class's lists are empty": {func(_ *cloud.Instance, c *awsv1.EC2NodeClass) { c.Status.SecurityGroups, c.Status.Subnets = nil, nil }, Unknown, Unknown},
		"the lists could not be made": {func(m *cloud.Instance, c *awsv1.EC2NodeClass) {
			c.Status.Conditions, m.SubnetID, m.SecurityGroups = nil, "subnet-9", []string{"sg-9"}
		}, Unknown, Unknown},
		"the class has just been edited": {func(m *cloud.Instance, c *awsv1.EC2NodeClass) {
			c.Generation, m.SubnetID, m.SecurityGroups = 3, "subnet-9", []string{"sg-9"}
		}, Unknown, Unknown},
		"an instance that ends": {func(m *cloud.Instance, _ *awsv1.EC2NodeClass) {
			m.State, m.SubnetID, m.SecurityGroups = "shutting-down", "", nil
		}, Unknown, Unknown},
		"an instance without details": {func(m *cloud.Instance, _ *awsv1.EC2NodeClass) { m.SubnetID, m.SecurityGroups = "", nil }, Unknown, Unknown},
		"a launch template decides": {func(m *cloud.Instance, c *awsv1.EC2NodeClass) {
			c.Spec.LaunchTemplate, m.SecurityGroups = &awsv1.LaunchTemplateReference{Name: "mine"}, []string{"sg-9"}
		}, Unknown, Same},
	} {
		_, class := pair(func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) {})
		for _, condition := range []string{awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeSubnetsReady} {
			class.Status.Conditions = append(class.Status.Conditions, status.Condition{Type: condition, Status: metav1.ConditionTrue, ObservedGeneration: 2})
		}
		class.Status.SecurityGroups, class.Status.Subnets = []awsv1.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}, []awsv1.Subnet{{ID: "subnet-1"}, {ID: "subnet-2"}}
		instance := &cloud.Instance{State: "running", SubnetID: "subnet-1", SecurityGroups: []string{"sg-1", "sg-2"}}
		tc.edit(instance, class)
		if message, got := SecurityGroups(&karpv1.NodeClaim{}, instance, class); got != tc.groups || (got == Differs) != (message != "") {
			t.Errorf("%s: groups %d %q, want %d", name, got, message, tc.groups)
		}
		if message, got := Subnet(instance, class); got != tc.subnet || (got == Differs) != (message != "") {
			t.Errorf("%s: subnet %d %q, want %d", name, got, message, tc.subnet)
		}
	}
	if _, v := Subnet(nil, &awsv1.EC2NodeClass{}); v != Unknown {
		t.Errorf("an instance that EC2 has not described yet: %d", v)
	}
}

func TestOnlyInstancesThatChangedAreComparedAgain(t *testing.T) {
	var m instances
	list := func(groups ...string) []*cloud.Instance {
		return []*cloud.Instance{{ProviderID: "a", State: "running", SecurityGroups: []string{"sg-1"}}, {ProviderID: "b", State: "running", SecurityGroups: groups}}
	}
	for i, step := range []struct {
		list []*cloud.Instance
		want int
	}{{list("sg-1"), 2}, {list("sg-1"), 0}, {list("sg-2"), 1}, {list("sg-2")[:1], 0}, {list("sg-2"), 1}} {
		if got := m.update(step.list); len(got) != step.want {
			t.Errorf("step %d: %v, want %d", i, got, step.want)
		}
	}
}

func TestTheFirstDifferenceIsToldAndGoesWhenItIsKnownToBeNone(t *testing.T) {
	newImage := func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Status.AMIs[1].ID = "ami-new" }
	for name, tc := range map[string]struct {
		edit   func(*karpv1.NodeClaim, *awsv1.EC2NodeClass)
		was    string
		reason string
		gone   bool
	}{
		"none":     {func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) {}, "", "", false},
		"an image": {newImage, "", awsv1.ReasonAMIDrift, false},
		"fields before an image": {func(n *karpv1.NodeClaim, c *awsv1.EC2NodeClass) {
			newImage(n, c)
			c.Annotations[awsv1.AnnotationEC2NodeClassHash] = "2"
		}, "", awsv1.ReasonNodeClassDrift, false},
		"an image that was rolled back":                    {func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) {}, awsv1.ReasonAMIDrift, "", true},
		"an image that is not known any more stays marked": {func(_ *karpv1.NodeClaim, c *awsv1.EC2NodeClass) { c.Status.AMIs = nil }, awsv1.ReasonAMIDrift, "", false},
		"fields put back while the image is new":           {newImage, awsv1.ReasonNodeClassDrift, awsv1.ReasonAMIDrift, false},
		"somebody else's mark stays":                       {func(*karpv1.NodeClaim, *awsv1.EC2NodeClass) {}, karpv1.ReasonNodePoolDrifted, "", false},
	} {
		claim, class := pair(tc.edit)
		reason, message, gone := judge(subject{claim: claim, class: class}, tc.was)
		if reason != tc.reason || gone != tc.gone || (reason != "") != (message != "") {
			t.Errorf("%s: got %q %q gone %t, want %q gone %t", name, reason, message, gone, tc.reason, tc.gone)
		}
	}
}

// TestGroupsThatOthersAddAreNoDrift: what is added to one instance would be added to the next, and pods would be moved without end.
func TestGroupsThatOthersAddAreNoDrift(t *testing.T) {
	for name, tt := range map[string]struct {
		launched string
		has      []string
		want     Verdict
	}{
		"the same":                           {"sg-1,sg-2", []string{"sg-1", "sg-2"}, Same},
		"one that somebody added":            {"sg-1,sg-2", []string{"sg-1", "sg-2", "sg-9"}, Same},
		"one that somebody took away":        {"sg-1,sg-2", []string{"sg-1"}, Differs},
		"one that the class had":             {"sg-1,sg-2,sg-3", []string{"sg-1", "sg-2", "sg-3"}, Differs},
		"one that the class has now":         {"sg-1", []string{"sg-1"}, Differs},
		"it is not known what it began with": {"", []string{"sg-1", "sg-2", "sg-9"}, Differs},
	} {
		class := &awsv1.EC2NodeClass{}
		class.Status.SecurityGroups = []awsv1.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}
		class.Status.Conditions = []status.Condition{{Type: awsv1.ConditionTypeSecurityGroupsReady, Status: "True"}}
		claim := &karpv1.NodeClaim{}
		claim.Annotations = map[string]string{awsv1.AnnotationSecurityGroups: tt.launched}
		if message, got := SecurityGroups(claim, &cloud.Instance{State: "running", SecurityGroups: tt.has}, class); got != tt.want {
			t.Errorf("%s: %d %q, want %d", name, got, message, tt.want)
		}
	}
}
