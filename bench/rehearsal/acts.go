package rehearsal

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// kerfName and upstreamName are what the story calls the controllers.
const kerfName, upstreamName = "Kerf", "upstream"

// finishLimit is how long what was under way may take: twelve nodes that drift one at a time, half a minute each.
const finishLimit = 8 * time.Minute

// toKerf swaps upstream for Kerf while upstream drifts a pool and consolidates a node.
func (r *rehearsal) toKerf(ctx context.Context) error {
	r.Say("")
	r.Say("Upstream runs the fleet, and is at work when it is swapped for Kerf (compat=%s).", r.Compat)
	if err := r.sayCensus(ctx, "at rest"); err != nil {
		return err
	}
	mark := r.ledger.mark()
	r.Say("  NodePool %s gets another label: its %d nodes drift, one at a time. Four small spot pods go: the pods of one node fit elsewhere.", onDemandPool, onDemandNodes)
	if err := r.relabel(ctx, onDemandPool, "b"); err != nil {
		return err
	}
	if err := r.until(ctx, 3*time.Minute, "upstream replaces the first drifted node", func() (bool, string) {
		n := r.ledger.count(mark, nodeDisrupted, onDemandPool)
		return n > 0, fmt.Sprintf("%d nodes disrupted", n)
	}); err != nil {
		return err
	}
	if err := r.scale(ctx, "small-"+spotPool, spotNodes-4); err != nil {
		return err
	}
	if err := r.until(ctx, 4*time.Minute, "upstream consolidates a spot node and drifts another on-demand node", func() (bool, string) {
		spot, drift := r.ledger.leaving(spotPool), r.ledger.leaving(onDemandPool)
		return spot > 0 && drift > 0 && r.ledger.count(mark, claimRemoved, onDemandPool) > 0, fmt.Sprintf("%d spot, %d on-demand nodes being removed", spot, drift)
	}); err != nil {
		return err
	}
	return r.swap(ctx, kerfName, func() error {
		crds, controller, err := r.kerfCharts()
		if err != nil {
			return err
		}
		if r.OneRelease {
			r.Say("  $ helm upgrade %s charts/kerf-crd", upstreamCRDs)
			err = r.helm.upgrade(ctx, upstreamCRDs, crds, nil)
		} else {
			r.Say("  $ helm upgrade %s charts/kerf-crd --install --take-ownership", kerfCRDs)
			err = r.helm.takeOver(ctx, kerfCRDs, crds)
		}
		if err != nil {
			return err
		}
		r.Say("  $ helm upgrade %s charts/kerf --reset-then-reuse-values --set settings.kerf.compat=%s --wait", release, r.Compat)
		return r.helm.upgrade(ctx, release, controller, map[string]any{"settings": map[string]any{"kerf": map[string]any{"compat": r.Compat}}})
	})
}

// toUpstream gives the cluster back while Kerf drifts another pool.
func (r *rehearsal) toUpstream(ctx context.Context) error {
	r.Say("")
	r.Say("Kerf runs the fleet, and is at work when the cluster is given back to upstream.")
	mark := r.ledger.mark()
	r.Say("  NodePool %s gets another label: its %d nodes drift, one at a time.", reservedPool, reservedNodes)
	if err := r.relabel(ctx, reservedPool, "b"); err != nil {
		return err
	}
	if err := r.until(ctx, 4*time.Minute, "Kerf replaces drifted nodes", func() (bool, string) {
		n, leaving := r.ledger.count(mark, claimRemoved, reservedPool), r.ledger.leaving(reservedPool)
		return n > 0 && leaving > 0, fmt.Sprintf("%d nodes removed, %d being removed", n, leaving)
	}); err != nil {
		return err
	}
	return r.swap(ctx, upstreamName, func() error {
		r.Say("  $ helm rollback %s --wait", release)
		return r.helm.rollback(release)
	})
}

// tidy gives the CRDs back, too, as somebody does who has no use for Kerf's any more, and looks what Kerf left behind.
func (r *rehearsal) tidy(ctx context.Context) error {
	r.Say("")
	r.Say("The CRDs are given back, too.")
	mark := r.ledger.mark()
	if r.OneRelease {
		r.Say("  $ helm rollback %s", upstreamCRDs)
		if err := r.helm.rollback(upstreamCRDs); err != nil {
			return err
		}
	} else {
		crds, _, err := r.charts()
		if err != nil {
			return err
		}
		r.Say("  $ helm upgrade %s <Karpenter's chart>", upstreamCRDs)
		if err := r.helm.upgrade(ctx, upstreamCRDs, crds, nil); err != nil {
			return err
		}
		r.Say("  $ helm uninstall %s", kerfCRDs)
		if err := r.helm.uninstall(kerfCRDs); err != nil {
			return err
		}
	}
	if err := r.quiet(ctx, 20*time.Second, time.Minute); err != nil {
		r.wrong("%v", err)
	}
	for _, e := range r.ledger.since(mark) {
		r.wrong("when the CRDs were given back: NodeClaim %q, pod %q: %s %s", e.claim, e.pod, e.kind, e.detail)
	}
	if err := r.sayCensus(ctx, "after it"); err != nil {
		return err
	}
	return r.sayTraces(ctx)
}

// swap lets the other controller take over, waits until what was under way is finished, watches the cluster at rest, and
// judges.
func (r *rehearsal) swap(ctx context.Context, to string, helm func() error) error {
	refused := r.refusals()
	forbidden, err := r.forbidden(ctx)
	if err != nil {
		return err
	}
	if err := helm(); err != nil {
		return err
	}
	u, err := r.lookUnderway(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := r.swapProcess(ctx); err != nil {
		return err
	}
	r.Say("  under way at the swap: %s.", u)
	if err := r.until(ctx, finishLimit, to+" finishes what was under way", func() (bool, string) {
		left, err := u.left(ctx, r.client)
		return err == nil && len(left) == 0, fmt.Sprint(left, err)
	}); err != nil {
		return err
	}
	finished := time.Since(began)
	if err := r.running(ctx, 2*time.Minute); err != nil {
		return err
	}
	r.Say("  %s finished it within %s. Now %s in which nothing is to happen.", to, finished.Round(time.Second), r.Rest)
	rest := r.ledger.mark()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(r.Rest):
	}
	if err := r.sayCensus(ctx, "after it"); err != nil {
		return err
	}
	return r.judge(ctx, to, u, rest, refused, forbidden)
}

// end removes the work, the pools and the classes, and with them all that there is in EC2.
func (r *rehearsal) end(ctx context.Context) error {
	r.Say("")
	r.Say("At the end the work, the pools and the classes are deleted: upstream removes what Kerf launched, too.")
	if err := r.client.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace("default")); err != nil {
		return fmt.Errorf("delete the work: %w", err)
	}
	for _, o := range []client.Object{&karpv1.NodePool{}, &awsv1.EC2NodeClass{}} {
		if err := r.client.DeleteAllOf(ctx, o); err != nil {
			return fmt.Errorf("delete the pools and classes: %w", err)
		}
	}
	w := r.cluster.Simulator.World
	err := r.until(ctx, 4*time.Minute, "nothing is left in EC2", func() (bool, string) {
		var claims karpv1.NodeClaimList
		var classes awsv1.EC2NodeClassList
		if err := r.client.List(ctx, &claims); err != nil {
			return false, err.Error()
		}
		if err := r.client.List(ctx, &classes); err != nil {
			return false, err.Error()
		}
		live := 0
		for _, i := range w.Instances() {
			if i.Live() {
				live++
			}
		}
		templates, profiles := len(w.Templates()), len(w.InstanceProfiles("/karpenter/"))
		return live+templates+profiles+len(claims.Items)+len(classes.Items) == 0,
			fmt.Sprintf("%d NodeClaims, %d classes, %d instances, %d launch templates, %d instance profiles", len(claims.Items), len(classes.Items), live, templates, profiles)
	})
	if err != nil {
		r.wrong("%v", err)
		return nil
	}
	r.Say("  0 instances, 0 launch templates, 0 instance profiles are left.")
	return nil
}
