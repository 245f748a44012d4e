package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/demo/images"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestUsersLaunchTemplate is the guide on custom images from its CloudFormation template to pods that run, and what comes
// after: a new version, and a template that somebody deletes.
func TestUsersLaunchTemplate(t *testing.T) {
	t.Parallel()
	e := up(t)
	s := e.stage(t)
	w := e.cluster.Simulator.World
	e.deployGuide(false)
	if _, err := w.CreateAccessEntry(world.AccessEntry{Cluster: e.cluster.Name, PrincipalARN: "arn:aws:iam::" + w.Account() + ":role/KarpenterNodeRole", Type: "EC2_LINUX"}); err != nil {
		t.Fatal(err)
	}
	template := world.TemplateRef{Name: "KarpenterCustomLaunchTemplate"}

	// The permissions are an option of the bootstrap stack.
	e.mayBeDenied("ec2:DescribeLaunchTemplateVersions", "*")
	s.apply(`
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: ` + s.name + `}
spec:
  launchTemplate: {name: KarpenterCustomLaunchTemplate}
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
`)
	s.refuses(awsv1.ConditionTypeLaunchTemplateReady, awsv1.ReasonLaunchTemplateReadDenied, "ec2:DescribeLaunchTemplateVersions", "kerf stack --launch-templates")
	e.allowOptions(func(o *stack.Options) {
		o.LaunchTemplates, o.PassRoles = true, []string{"arn:aws:iam::" + w.Account() + ":role/KarpenterNodeRole"}
	})

	// As the guide has it, YAML folds the script into one line, and nothing of it would run.
	s.refuses(awsv1.ConditionTypeLaunchTemplateReady, awsv1.ReasonLaunchTemplateUserDataInvalid, "write | in place of >")
	e.deployGuide(true)
	// CloudFormation adds a version and leaves the default one as it is.
	lt, err := w.SetDefaultVersion(template, 2)
	if err != nil {
		t.Fatal(err)
	}
	instance := s.boots()
	i, ok := w.Instance(instance.ID)
	if !ok || i.LaunchTemplateID != lt.ID || i.LaunchTemplateVersion != 2 || !strings.HasSuffix(i.ProfileARN, "/KarpenterNodeInstanceProfile") {
		t.Errorf("the instance is of template %s, version %d, with profile %s", i.LaunchTemplateName, i.LaunchTemplateVersion, i.ProfileARN)
	}
	for _, n := range s.nodesOf() {
		if n.Labels["node.k8s.aws/capacity-type"] != "spot" || n.Labels[karpv1.NodePoolLabelKey] != s.name {
			t.Errorf("the node has the labels %v", n.Labels)
		}
		if len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "stage" {
			t.Errorf("the node has the taints %v", n.Spec.Taints)
		}
	}
	before := s.mine()

	// Another version stands behind the reference. Nothing is replaced for it here, however long what follows takes.
	pool := &karpv1.NodePool{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: s.name}, pool); err != nil {
		t.Fatal(err)
	}
	kept := client.MergeFrom(pool.DeepCopy())
	pool.Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
	if err := s.client.Patch(s.Context(), pool, kept); err != nil {
		t.Fatal(err)
	}
	v, err := w.Template(template)
	if err != nil {
		t.Fatal(err)
	}
	data := v.Versions[1].Data
	data.UserData = base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh " + e.cluster.Name + " --use-max-pods false --kubelet-extra-args '--max-pods=40'\n"))
	if _, _, err := w.AddTemplateVersion(template, "more pods", "user", data); err != nil {
		t.Fatal(err)
	}
	if _, err := w.SetDefaultVersion(template, 3); err != nil {
		t.Fatal(err)
	}
	s.eventually(90*time.Second, "the nodeclaim has drifted", func() (bool, string) {
		claims := s.mine()
		if len(claims) == 0 {
			return false, "no claim"
		}
		c := claims[0].StatusConditions().Get(karpv1.ConditionTypeDrifted)
		return c.IsTrue() && c.Reason == awsv1.ReasonLaunchTemplateDrift && strings.Contains(c.Message, lt.ID+":3"), fmt.Sprint(claims[0].Status.Conditions)
	})

	// A template that is gone is an error, and no reason to take instances away.
	drift := s.reconciles("nodeclaim.drift")
	if _, err := w.DeleteTemplate(template); err != nil {
		t.Fatal(err)
	}
	s.eventually(90*time.Second, "the class says that the template is gone", func() (bool, string) {
		c := &awsv1.EC2NodeClass{}
		if err := s.client.Get(s.Context(), client.ObjectKey{Name: s.name}, c); err != nil {
			return false, err.Error()
		}
		return says(c.Status.Conditions, awsv1.ConditionTypeLaunchTemplateReady, awsv1.ReasonLaunchTemplateNotFound, "KarpenterCustomLaunchTemplate"), fmt.Sprint(c.Status.Conditions)
	})
	s.reconciled("nodeclaim.drift", drift)
	s.run(time.Second, 1)
	for k := range before {
		s.stays(&before[k])
	}
}

// deployGuide deploys the guide's stack. Only what it says is to be replaced is: the image, the security group and the
// parameters of the bootstrap script; fixed also has the script keep its lines.
func (e *env) deployGuide(fixed bool) {
	e.Helper()
	w := e.cluster.Simulator.World
	cluster, _ := w.Cluster(e.cluster.Name)
	group := ""
	for _, g := range w.SecurityGroups() {
		if g.Tags["karpenter.sh/discovery"] == e.cluster.Name {
			group = g.ID
		}
	}
	text := images.Guide(cluster, e.image("x86_64", world.FamilyAL2).ID, group, fixed)
	e.deployStack("KarpenterLaunchTemplateStack", text, map[string]string{"karpenter.sh/discovery": e.cluster.Name})
}

func (e *env) deployStack(name, text string, tags map[string]string) {
	e.Helper()
	admin, err := e.cluster.AWSSession(e.Context(), e.cluster.Administrator())
	if err != nil {
		e.Fatal(err)
	}
	if _, err := stackdeploy.Deploy(e.Context(), admin, name, text, nil, tags); err != nil {
		e.Fatal(err)
	}
}
