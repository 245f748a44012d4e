package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
)

// TestGuidesStacks does the main job under the permissions of the stacks that users of the getting-started guides have
// deployed. What this controller would like to do beyond them it tries, and does without.
func TestGuidesStacks(t *testing.T) {
	t.Parallel()
	for name, template := range map[string]string{
		"the guide of v0.32": "getting-started-v0.32.yaml",
		"the guide of v1":    "getting-started-v1.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			e := up(t, func(o *local.Options) {
				o.Stack = filepath.Join("..", "..", "internal", "sim", "awssim", "cloudformation", "testdata", template)
			})
			e.mayBeDenied("ec2:CreateTags", "*:spot-instances-request/*")
			e.mayBeDenied("ec2:DescribeInstanceStatus", "*")
			e.mayBeDenied("iam:ListInstanceProfiles", "*")
			mainJob(t, e)
		})
	}
}

// mainJob is the main job on spot instances: pods wait, instances come, pods run; work goes, instances go; AWS takes an instance
// back and its pods move first; all goes, and nothing is left.
func mainJob(t *testing.T, e *env) {
	e.apply(strings.ReplaceAll(poolYAML, "values: [spot, on-demand]", "values: [spot]"))
	e.apply(deployment("web", 3, "1", "1Gi", "      "+apart("web")+"\n"))
	e.running(90*time.Second, "default", 3)
	e.oneToOne()

	e.scale("web", 2)
	e.eventually(60*time.Second, "the instance without pods goes", func() (bool, string) {
		n := len(e.instances())
		return n == 2, fmt.Sprintf("%d instances", n)
	})
	e.running(10*time.Second, "default", 2)

	victim := e.instances()[0]
	if err := e.aws.Interrupt(t.Context(), victim.ID, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	e.replaced(100*time.Second, victim, 2)
	e.emptyQueue()

	e.scale("web", 0)
	e.nothingLeft(90 * time.Second)
	e.remove(&karpv1.NodePool{ObjectMeta: objectMeta("default")})
	e.remove(&awsv1.EC2NodeClass{ObjectMeta: objectMeta("default")})
	e.gone(60*time.Second, &awsv1.EC2NodeClass{ObjectMeta: objectMeta("default")})
	for _, p := range e.cluster.Simulator.World.InstanceProfiles("/") {
		t.Errorf("instance profile %s is left", p.Name)
	}
	for _, l := range e.cluster.Simulator.World.Templates() {
		t.Errorf("launch template %s is left", l.Name)
	}
}

// replaced waits until an instance is given back and n pods of the namespace default run elsewhere.
func (e *env) replaced(timeout time.Duration, victim control.Instance, n int) {
	e.Helper()
	e.eventually(timeout, "instance "+victim.ID+" is given back", func() (bool, string) {
		now, err := e.aws.Instance(e.Context(), victim.ID)
		return err == nil && (now.State == "terminated" || now.State == "shutting-down"), fmt.Sprint(now.State, err)
	})
	e.running(60*time.Second, "default", n)
	now, err := e.aws.Instance(e.Context(), victim.ID)
	if err != nil || strings.Contains(now.Reason, "Spot") {
		e.Errorf("it was AWS that took the instance: %s, %v", now.Reason, err)
	}
}

// emptyQueue waits until all messages have been handled.
func (e *env) emptyQueue() {
	e.Helper()
	e.eventually(30*time.Second, "the queue is empty", func() (bool, string) {
		q, err := e.aws.Queue(e.Context(), e.cluster.Name)
		if err != nil {
			return false, err.Error()
		}
		return len(q.Messages) == 0, fmt.Sprintf("%d messages", len(q.Messages))
	})
}

// stays checks that a claim is as it was and that nobody deletes it.
func (e *env) stays(claim *karpv1.NodeClaim) {
	e.Helper()
	now := &karpv1.NodeClaim{}
	if err := e.client.Get(e.Context(), client.ObjectKeyFromObject(claim), now); err != nil || now.UID != claim.UID || !now.DeletionTimestamp.IsZero() {
		e.Errorf("nodeclaim %s should have stayed: %v, deleted %v", claim.Name, err, now.DeletionTimestamp)
	}
}
