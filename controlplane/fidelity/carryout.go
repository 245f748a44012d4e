package fidelity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/verify"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Run is a case that was carried out.
type Run struct {
	Case    *Case         `json:"case"`
	Problem *pack.Problem `json:"problem"`
	Plan    *plan.Plan    `json:"plan"`
	Outcome Outcome       `json:"outcome"`
	// Bound and Refused are what the scheduler did last, by pod.
	Bound   map[string]string `json:"bound,omitempty"`
	Refused map[string]string `json:"refused,omitempty"`
}

// Run carries the case out and clears the cluster again.
//
// Errors: the control plane does not do its part; a disagreement is no error.
func (c *Cluster) Run(ctx context.Context, k *Case) (*Run, error) {
	r, err := c.Carry(ctx, k)
	if cleared := c.clear(ctx); cleared != nil {
		err = errors.Join(err, cleared)
	}
	if err != nil {
		return nil, fmt.Errorf("case of seed %d: %w", k.Seed, err)
	}
	return r, nil
}

// Carry carries a case out and leaves the cluster as it is then.
func (c *Cluster) Carry(ctx context.Context, k *Case) (*Run, error) {
	r := &Run{Case: k, Outcome: Outcome{Seed: k.Seed}}
	if err := c.begin(ctx, k); err != nil {
		return nil, err
	}
	pods, err := c.createPods(ctx, held(k.Pending))
	if err != nil {
		return nil, err
	}
	r.Problem = k.Problem(pods)
	r.Plan = pack.Solve(r.Problem)
	if broken := verify.Check(r.Problem, r.Plan); len(broken) > 0 {
		r.disagree("the plan fails its own check: %v", broken)
		return r, nil
	}
	instances, err := k.launch(r.Plan, r.Problem.Pools)
	if err != nil {
		r.disagree("%v", err)
		return r, nil
	}
	if err := c.begun(ctx, k, instances); err != nil {
		return nil, err
	}
	planned, impossible := r.split(pods)
	r.Outcome.Pods, r.Outcome.Instances, r.Outcome.Impossible = len(planned), len(instances), len(impossible)
	if len(impossible) == 0 || k.Seed%2 == 0 {
		done, err := c.free(ctx, r, planned)
		if err != nil {
			return nil, err
		}
		if done && len(impossible) > 0 {
			if done, err = c.inVain(ctx, r, impossible); err != nil {
				return nil, err
			}
			// Where the scheduler has put the others, there may be room that the plan does not leave: ask again.
			if !done {
				if err := c.withdraw(ctx); err != nil {
					return nil, err
				}
			}
		}
		if done {
			return r, nil
		}
		// Left to itself, the scheduler chooses other instances for some. What counts is whether it takes the plan's.
		r.Outcome.Verdict = Repacked
	}
	ok, err := c.guided(ctx, r, pods, planned)
	if err != nil || !ok || len(impossible) == 0 {
		return r, err
	}
	if ok, err = c.inVain(ctx, r, impossible); err != nil || ok {
		return r, err
	}
	offered := r.offered(impossible)
	for _, p := range impossible {
		if at := r.Bound[key(p)]; at != "" {
			r.disagree("%s is called impossible, but the scheduler binds it to %s: %s", key(p), r.describe(at, offered), r.why(p))
			break
		}
	}
	return r, nil
}

func (r *Run) disagree(format string, args ...any) {
	r.Outcome.Verdict = Disagreed
	r.Outcome.Diff = strings.TrimSpace(r.Outcome.Diff + " " + fmt.Sprintf(format, args...))
}

// begin makes what was there before: instances with their pods, and volumes.
func (c *Cluster) begin(ctx context.Context, k *Case) error {
	used := map[string]bool{}
	for _, o := range k.Claims {
		used[*o.Spec.StorageClassName] = true
	}
	for _, o := range k.StorageClasses {
		if !used[o.Name] {
			continue
		}
		o.Labels = map[string]string{caseLabel: "class"}
		if _, err := c.client.StorageV1().StorageClasses().Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make storage class %s: %w", o.Name, err)
		}
	}
	if err := c.beginVolumes(ctx, k); err != nil {
		return err
	}
	var old []launched
	for i, n := range k.Nodes {
		old = append(old, launched{node: n, csi: k.CSINodes[i]})
	}
	running := slices.Clone(k.Running)
	for _, a := range k.Arrived {
		old = append(old, launched{node: a.Node, csi: a.CSI})
		running = append(running, daemonPods(k.DaemonSets, a.Node)...)
	}
	if err := c.createNodes(ctx, old); err != nil {
		return err
	}
	there, err := c.createPods(ctx, running)
	if err != nil {
		return err
	}
	return c.beginToEnd(ctx, running, there)
}

// beginToEnd deletes the pods that the case has as terminating. Nothing runs on its nodes that would end them.
func (c *Cluster) beginToEnd(ctx context.Context, running, there []*corev1.Pod) error {
	var ending []*corev1.Pod
	for i, p := range running {
		if p.DeletionTimestamp != nil {
			ending = append(ending, there[i])
		}
	}
	err := each(ending, func(p *corev1.Pod) error {
		if err := c.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete pod %s: %w", p.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "deleted pods are terminating", func() bool {
		for _, p := range ending {
			if have := c.pods[key(p)]; have == nil || have.DeletionTimestamp == nil {
				return false
			}
		}
		return true
	})
}

// beginVolumes makes the volumes and claims of the case, as far as they are not there, and waits until those are bound
// that name a volume.
func (c *Cluster) beginVolumes(ctx context.Context, k *Case) error {
	for _, v := range k.Volumes {
		if _, err := c.client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make volume %s: %w", v.Name, err)
		}
	}
	// A claim that the volume controller sees before its volume is looked at again a quarter of a minute later.
	err := c.await(ctx, "the volume controller knows the volumes", func() bool {
		return !slices.ContainsFunc(k.Volumes, func(v *corev1.PersistentVolume) bool {
			have := c.volumes["/"+v.Name]
			return have == nil || have.Status.Phase == "" || have.Status.Phase == corev1.VolumePending
		})
	})
	if err != nil {
		return err
	}
	err = each(k.Claims, func(o *corev1.PersistentVolumeClaim) error {
		// That a claim is bound is for the volume controller to say.
		fresh := o.DeepCopy()
		fresh.Annotations = nil
		if _, err := c.client.CoreV1().PersistentVolumeClaims(o.Namespace).Create(ctx, fresh, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make volume claim %s: %w", o.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "volume claims are bound to their volumes", func() bool {
		for _, o := range k.Claims {
			have := c.claims[key(o)]
			if have == nil || o.Spec.VolumeName != "" && have.Status.Phase != corev1.ClaimBound {
				return false
			}
		}
		return true
	})
}

// renewVolumes makes those claims of the pods unbound again that were so at the beginning.
func (c *Cluster) renewVolumes(ctx context.Context, k *Case, pods []*corev1.Pod) error {
	used := map[string]bool{}
	for _, p := range pods {
		for _, name := range intake.VolumeClaims(p) {
			used[p.Namespace+"/"+name] = true
		}
	}
	var again []*corev1.PersistentVolumeClaim
	c.mu.Lock()
	for _, o := range k.Claims {
		if have := c.claims[key(o)]; o.Spec.VolumeName == "" && have != nil && (have.Spec.VolumeName != "" || len(have.Annotations) > 0) && used[key(o)] {
			again = append(again, have)
		}
	}
	c.mu.Unlock()
	if len(again) == 0 {
		return nil
	}
	if err := c.clearClaims(ctx, again); err != nil {
		return err
	}
	return c.beginVolumes(ctx, k)
}

// begun adds the instances of the plan with their daemons.
func (c *Cluster) begun(ctx context.Context, k *Case, instances []launched) error {
	var daemons []*corev1.Pod
	for _, m := range instances {
		daemons = append(daemons, daemonPods(k.DaemonSets, m.node)...)
	}
	if err := c.createNodes(ctx, instances); err != nil {
		return err
	}
	_, err := c.createPods(ctx, daemons)
	return err
}

// held are the pods with a gate that keeps the scheduler from them.
func held(pods []*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, len(pods))
	for i, p := range pods {
		out[i] = p.DeepCopy()
		out[i].Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
	}
	return out
}

// split parts the pods into those that have a place in the plan, and those for which the plan says that no instance
// whatever could take them. Pods that only money, limits or stock keep from a place are neither, nor are those that a
// instance may take of which nobody knows yet what it will be.
func (r *Run) split(pods []*corev1.Pod) (planned, impossible []*corev1.Pod) {
	bare := map[string]bool{}
	refused := map[string]bool{}
	for _, u := range r.Plan.Unplaced {
		strict := !slices.ContainsFunc(u.Reasons, func(x plan.Reason) bool {
			// The engine says of a port that is kept for a daemon that it did not look at every node.
			return ofTheMarket[x.Code] || x.Code == plan.HostPortTaken && x.Detail != ""
		})
		for _, ref := range u.Pods {
			bare[ref.Namespace+"/"+ref.Name] = true
			refused[ref.Namespace+"/"+ref.Name] = strict
		}
	}
	for _, p := range pods {
		switch {
		case !bare[key(p)]:
			planned = append(planned, p)
		case refused[key(p)] && !r.Case.mayArriveFor(p):
			impossible = append(impossible, p)
		}
	}
	return planned, impossible
}

// mayArriveFor reports whether the pod fits onto an instance that is asked for and not launched yet, as it will be.
func (c *Case) mayArriveFor(p *corev1.Pod) bool {
	for i, claim := range c.InFlight {
		if claim.Status.ProviderID == "" && couldTake(c.Arrived[i].Node, p) {
			return true
		}
	}
	return false
}

// ofTheMarket are reasons that the scheduler knows nothing of.
var ofTheMarket = map[plan.Code]bool{plan.PoolNotReady: true, plan.NoOffering: true, plan.LimitReached: true, plan.NoAddresses: true, plan.MinValuesUnmet: true,
	plan.ReservationPending: true, plan.NoPools: true}

// free lets the scheduler have all planned pods at once; done is true when it found a place for each.
func (c *Cluster) free(ctx context.Context, r *Run, planned []*corev1.Pod) (done bool, err error) {
	if err := c.release(ctx, planned); err != nil {
		return false, err
	}
	r.Bound, r.Refused, err = c.bindings(ctx, planned)
	if err != nil {
		return false, err
	}
	if len(r.Refused) > 0 || len(r.Bound) < len(planned) {
		return false, nil
	}
	r.Outcome.Verdict = Agreed
	return true, nil
}

// remove deletes pods and waits until they are gone.
func (c *Cluster) remove(ctx context.Context, pods []*corev1.Pod) error {
	err := each(pods, func(p *corev1.Pod) error {
		if err := c.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			return fmt.Errorf("delete pod %s: %w", p.Name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.await(ctx, "deleted pods are gone", func() bool {
		for _, p := range pods {
			if have := c.pods[key(p)]; have != nil && have.UID == p.UID {
				return false
			}
		}
		return true
	})
}
