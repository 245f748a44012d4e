package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/endurance/invariant"
	"github.com/kerf-sh/kerf/internal/sim/endurance/witness"
)

// step does one thing. What lasts is ended by lasting.
func (t *trial) step(ctx context.Context, s Step, lasting *sync.WaitGroup) error {
	switch s.Do {
	case Deploy:
		return t.deploy(ctx, s.App)
	case Remove:
		return t.remove(ctx, s.Name)
	case Interrupt:
		return t.interrupt(s.Pick)
	case EndInstance:
		return t.endInstance(s.Pick)
	case Price:
		t.price(s.Pick, s.Percent)
		return nil
	case Disturb:
		t.disturb(ctx, s, lasting)
		return nil
	case Kill:
		return t.again(ctx, t.Kill, t.pace.of(s.For))
	case Restart:
		return t.again(ctx, t.Stop, 0)
	case Drift:
		return t.drift(ctx, s.Name)
	case Taint:
		return t.taint(ctx, s.Pick)
	case DeleteNode:
		return t.deleteOne(ctx, &corev1.NodeList{}, s.Pick)
	case DeleteClaim:
		return t.deleteOne(ctx, &karpv1.NodeClaimList{}, s.Pick)
	case ForceClaim:
		return t.force(ctx, s.Pick)
	case Protect:
		return t.protect(ctx, s, lasting)
	case Balk:
		return t.balk(ctx, s, lasting)
	case DeletePool:
		return t.gone(ctx, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: s.Name}})
	case DeleteClass:
		return t.gone(ctx, &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: s.Name}})
	case Settle:
		t.settle(ctx)
		return nil
	}
	return fmt.Errorf("there is no such action")
}

func (t *trial) deploy(ctx context.Context, a *App) error {
	if a.Guard != nil {
		if err := t.put(ctx, guard(a)); err != nil {
			return err
		}
	}
	return t.put(ctx, deployment(a))
}

// put creates an object, or makes the one that is there like it.
func (t *trial) put(ctx context.Context, o client.Object) error {
	err := t.kube.Create(ctx, o)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	for {
		there := o.DeepCopyObject().(client.Object)
		if err := t.kube.Get(ctx, client.ObjectKeyFromObject(o), there); err != nil {
			return err
		}
		o.SetResourceVersion(there.GetResourceVersion())
		if err := t.kube.Update(ctx, o); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func (t *trial) remove(ctx context.Context, app string) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: app}
	return errors.Join(t.gone(ctx, &appsv1.Deployment{ObjectMeta: meta}), t.gone(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta}))
}

func (t *trial) gone(ctx context.Context, o client.Object) error {
	return client.IgnoreNotFound(t.kube.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// instances are those that run, in the order of their ids.
func (t *trial) instances(capacityType string) []world.Instance {
	out := slices.DeleteFunc(t.World().AllInstances(), func(i world.Instance) bool {
		return i.State != world.StateRunning || i.Tags[awsv1.TagEKSCluster] != t.Cluster() || capacityType != "" && i.CapacityType != capacityType
	})
	slices.SortFunc(out, func(a, b world.Instance) int { return strings.Compare(a.ID, b.ID) })
	return out
}

func (t *trial) interrupt(n int) error {
	m := t.instances(world.Spot)
	if len(m) == 0 {
		return nil
	}
	id := m[n%len(m)].ID
	t.say(invariant.Reclaimed, id)
	return t.Interrupt(id, t.pace.Notice)
}

func (t *trial) endInstance(n int) error {
	m := t.instances("")
	if len(m) == 0 {
		return nil
	}
	id := m[n%len(m)].ID
	t.say(invariant.Reclaimed, id)
	_, err := t.World().Terminate([]string{id})
	return err
}

// price moves the spot prices of one family.
func (t *trial) price(n, percent int) {
	w := t.World()
	family := Families[n%len(Families)] + "."
	for _, typ := range w.Types() {
		if !strings.HasPrefix(typ.Name, family) {
			continue
		}
		for _, p := range w.SpotPrices([]string{typ.Name}, nil, w.Now(), w.Now()) {
			w.SetSpotPrice(p.Type, p.Zone, max(1, p.MicroUSD*int64(percent)/100))
		}
	}
}

func (t *trial) disturb(ctx context.Context, s Step, lasting *sync.WaitGroup) {
	t.say(invariant.Disturbed, "")
	var end func()
	if s.AWS != nil {
		f := *s.AWS
		f.Delay = t.pace.of(f.Delay)
		id := t.World().AddFault(f)
		end = func() { t.World().RemoveFault(id) }
	} else {
		f := *s.Fault
		f.Delay = t.pace.of(f.Delay)
		end = t.gate.Add(f)
	}
	lasting.Go(func() {
		t.sleep(ctx, t.pace.of(s.For))
		end()
		t.say(invariant.Calm, "")
	})
}

func (t *trial) drift(ctx context.Context, pool string) error {
	c := &awsv1.EC2NodeClass{}
	for {
		if err := t.kube.Get(ctx, client.ObjectKey{Name: pool}, c); err != nil {
			return client.IgnoreNotFound(err)
		}
		c.Spec.Tags = map[string]string{"changed": c.ResourceVersion}
		if err := t.kube.Update(ctx, c); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
}

// taint puts a person's taint on a node: the one that keeps pods off, or the very one by which the controller does.
func (t *trial) taint(ctx context.Context, n int) error {
	for {
		nodes := &corev1.NodeList{}
		if err := t.kube.List(ctx, nodes, client.HasLabels{karpv1.NodePoolLabelKey}); err != nil || len(nodes.Items) == 0 {
			return err
		}
		node := &nodes.Items[n%len(nodes.Items)]
		taint := corev1.Taint{Key: "example.com/mine", Value: witness.Person, Effect: corev1.TaintEffectNoSchedule}
		disrupted := karpv1.DisruptedNoScheduleTaint()
		if n%2 == 0 && !slices.ContainsFunc(node.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&disrupted) }) {
			taint.Key = disrupted.Key
		}
		if slices.ContainsFunc(node.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&taint) }) {
			return nil
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
		if err := t.kube.Update(ctx, node); !apierrors.IsConflict(err) {
			return client.IgnoreNotFound(err)
		}
	}
}

// deleteOne deletes a node or a claim, as a person would.
func (t *trial) deleteOne(ctx context.Context, list client.ObjectList, n int) error {
	if err := t.kube.List(ctx, list, client.HasLabels{karpv1.NodePoolLabelKey}); err != nil {
		return err
	}
	var all []client.Object
	switch l := list.(type) {
	case *corev1.NodeList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *karpv1.NodeClaimList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	if len(all) == 0 {
		return nil
	}
	o := all[n%len(all)]
	t.say(invariant.Removed, o.GetName())
	return t.gone(ctx, o)
}

// clear takes back everything that was asked for.
func (t *trial) clear(ctx context.Context) error {
	var apps appsv1.DeploymentList
	if err := t.kube.List(ctx, &apps, client.InNamespace(namespace), client.MatchingLabels{"endurance": "true"}); err != nil {
		return err
	}
	var errs []error
	for _, a := range apps.Items {
		errs = append(errs, t.remove(ctx, a.Name))
	}
	for _, p := range t.s.Pools {
		errs = append(errs, t.gone(ctx, &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}), t.gone(ctx, &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}))
	}
	return errors.Join(errs...)
}

// bill compares the instances' price with the floor. Only of plain schedules is it known that nothing but the controller
// stands between the two.
func (t *trial) bill(ctx context.Context) {
	var pods corev1.PodList
	if err := t.kube.List(ctx, &pods, client.MatchingLabels{witness.FitsLabel: "true"}); err != nil {
		return // the trial is being ended
	}
	var slack int64
	for _, p := range t.s.Pools {
		mine := slices.DeleteFunc(slices.Clone(pods.Items), func(x corev1.Pod) bool { return x.Spec.NodeSelector[karpv1.NodePoolLabelKey] != p.Name })
		of := shapes(t.World(), p.Spot)
		t.out.Floor += floor(mine, of)
		for _, s := range of {
			slack = max(slack, s.price)
		}
	}
	for _, m := range t.instances("") {
		t.out.Bill += m.PriceMicroUSD
	}
	if most := t.out.Floor*distance/100 + slack; t.plain() && t.out.Bill > most {
		t.broken(invariant.AboveTheFloor, "the bill is %d micro-USD per hour, the floor %d; at most %d was expected", t.out.Bill, t.out.Floor, most)
	}
}

// distance is how far above the floor, in percent, the bill may be at rest, on top of one instance of the largest size: the
// floor knows nothing of what the kubelet keeps, and nothing of whole instances.
const distance = 150

// plain reports whether nothing in a schedule keeps instances, or changes what they cost.
func (t *trial) plain() bool {
	for _, s := range t.s.Steps {
		if s.Do == Price || s.Do == Taint || s.Do == Balk || s.AWS != nil || s.App != nil && (s.App.Held || s.App.Guard != nil || s.App.Apart) {
			return false
		}
	}
	return !slices.ContainsFunc(t.s.Pools, func(p Pool) bool { return p.Budget == "0" })
}
