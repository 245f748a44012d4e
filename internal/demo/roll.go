package demo

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
)

//go:embed shop.yaml
var shop string

// What shop.yaml says: so many pods, of which so many must be there, and so many instances may go at a time.
const (
	shopPods, shopLeast = 3, 2
	shopBudget          = 1
)

// roll publishes an image and lets a pool roll to it under a budget of one instance.
func (r *run) roll(ctx context.Context) error {
	r.title("6. A new image: the three instances of NodePool shop are replaced; its budget lets one go at a time")
	if err := r.cluster.Apply(ctx, []byte(strings.ReplaceAll(shop, "${CLUSTER_NAME}", r.cluster.Name))); err != nil {
		return err
	}
	r.replicas["shop"] = shopPods
	if err := r.await(ctx, "the pods of shop run", func(c counts) bool { return c.pods == r.want() && c.running == c.pods && r.readyOf("shop") == shopPods }); err != nil {
		return err
	}
	image, err := r.publish()
	if err != nil {
		return err
	}
	r.line("image %s is published", image)
	if err := r.planChange(ctx, image); err != nil {
		return err
	}
	w := r.state.watchRoll("shop", shopPods)
	class := &awsv1.EC2NodeClass{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: "shop"}, class); err != nil {
		return fmt.Errorf("reading EC2NodeClass shop: %w", err)
	}
	was := class.DeepCopy()
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: image}}
	if err := r.client.Patch(ctx, class, client.MergeFrom(was)); err != nil {
		return fmt.Errorf("setting the image of EC2NodeClass shop: %w", err)
	}
	began := time.Now()
	r.line("EC2NodeClass shop is set to it")
	err = r.await(ctx, "all instances of shop are replaced", func(c counts) bool {
		return w.done() && c.pods == r.want() && c.running == c.pods && r.going() == 0
	})
	broken := w.end()
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("while shop rolled: %s", strings.Join(broken, "; "))
	}
	for _, claim := range r.claimsOf("shop") {
		if claim.Status.ImageID != image {
			return fmt.Errorf("instance %s boots %s, not the new image", claim.Name, claim.Status.ImageID)
		}
	}
	r.line("all %d instances boot the new image, %.0f s after it was asked for. Watched all the while: at most %d of them went at a time (the budget: %d), "+
		"for each another was ready before, and never fewer than %d of %d pods were ready (the PodDisruptionBudget: %d)",
		shopPods, time.Since(began).Seconds(), w.mostGoing, shopBudget, w.leastPods, shopPods, shopLeast)
	return nil
}

// publish adds an image like the one that shop's instances boot.
func (r *run) publish() (string, error) {
	claims := r.claimsOf("shop")
	w := r.cluster.Simulator.World
	for _, i := range w.Images() {
		if len(claims) > 0 && i.ID == claims[0].Status.ImageID {
			i.ID, i.SSMPaths, i.Name = "", nil, i.Name+"-newer"
			return w.AddImage(i).ID, nil
		}
	}
	return "", errors.New("the image that the instances of shop boot is not known to the simulated AWS")
}

// report tells what kerf plan says about the new image.
func (r *run) planChange(ctx context.Context, image string) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("looking for kerf plan: %w", err)
	}
	args := []string{"plan", "--image", image, "--nodeclass", "shop"}
	cmd := exec.CommandContext(ctx, binary, append(args, "--cluster-name", r.cluster.Name, "--output", "json")...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+r.cluster.Kubeconfig), r.administrator()...)
	out, err := cmd.Output() // its exit code says that nodes would roll
	var report changeplan.Report
	if bad := json.Unmarshal(out, &report); bad != nil {
		return fmt.Errorf("kerf plan: %w", errors.Join(err, bad))
	}
	r.line("kerf %s says:", strings.Join(args, " "))
	for _, p := range report.Pools {
		if p.Roll > 0 {
			r.line("  NodePool %s: %d of %s would be replaced, the last is gone after about %d s, of which %d s per node are for EC2 to end the old instance, which takes some 5 s here (budget: %s)", p.Name, p.Roll, plan.Count(p.Nodes, "node"), p.Takes, p.InstanceEnd, p.Budget)
		}
	}
	r.line("  the bill: %s/h now, %s/h after, up to %s/h more meanwhile", report.Currency.Amount(report.Bill.Now), report.Currency.Amount(report.Bill.After), report.Currency.Amount(report.Bill.Surge))
	if report.Rolling() != shopPods {
		return fmt.Errorf("kerf plan says that %d nodes would be replaced, and %d boot the old image", report.Rolling(), shopPods)
	}
	return nil
}

func (r *run) administrator() []string {
	return r.cluster.Simulator.EnvFor(r.cluster.Administrator())
}

// claimsOf are the instances of a pool.
func (r *run) claimsOf(pool string) []*karpv1.NodeClaim {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.claimsOf(pool)
}

// readyOf counts the instances of a pool that are ready.
func (r *run) readyOf(pool string) int {
	n := 0
	for _, claim := range r.claimsOf(pool) {
		if claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
			n++
		}
	}
	return n
}
