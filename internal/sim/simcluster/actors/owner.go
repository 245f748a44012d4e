package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

const templateHash = "pod-template-hash"

// keepOwners lets deployments have a replica set of their present template, which takes over from those of former ones step by
// step, and replica sets as many pods as they want.
//
// Cost: that of the owners that something has happened to.
func (c *Actors) keepOwners(ctx context.Context) (time.Duration, error) {
	if !c.deploymentsDue.any() && !c.setsDue.any() {
		return 0, nil
	}
	var errs []error
	due := c.deploymentsDue.take()
	deployments, err := inOrder(c.deployments.List(labels.Everything()))
	if err != nil {
		return 0, err
	}
	sets, err := inOrder(c.replicaSets.List(labels.Everything()))
	if err != nil {
		return 0, err
	}
	for _, d := range deployments {
		if !due[d.UID] {
			continue
		}
		delete(due, d.UID)
		if err := c.keepDeployment(ctx, d, sets); err != nil {
			c.deploymentsDue.add(d.UID)
			errs = append(errs, passed(err))
		}
	}
	for gone := range due {
		delete(c.templates, gone)
	}
	if sets, err = c.takeSets(sets); err != nil {
		return 0, err
	}
	owned := map[types.UID][]*corev1.Pod{}
	for _, rs := range sets {
		if owned[rs.UID], err = c.podsBy(byOwner, string(rs.UID)); err != nil {
			return 0, err
		}
	}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(c.bereft.compare(a.UID, b.UID), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, rs := range sets {
		c.bereft.drop(rs.UID)
		if err := c.keepReplicas(ctx, rs, owned[rs.UID]); err != nil {
			c.setsDue.add(rs.UID)
			errs = append(errs, passed(err))
		}
	}
	return 0, errors.Join(errs...)
}

// takeSets are those of the replica sets that something has happened to, as they were seen. Those that have come or changed since then are
// for the next look too.
func (c *Actors) takeSets(seen []*appsv1.ReplicaSet) (out []*appsv1.ReplicaSet, err error) {
	due := c.setsDue.take()
	if len(due) == 0 {
		return nil, nil
	}
	was := make(map[types.UID]*appsv1.ReplicaSet, len(due))
	for _, rs := range seen {
		if due[rs.UID] {
			out, was[rs.UID] = append(out, rs), rs
		}
	}
	now, err := c.replicaSets.List(labels.Everything())
	for _, rs := range now {
		if due[rs.UID] && was[rs.UID] != rs {
			c.setsDue.add(rs.UID)
		}
	}
	return out, err
}

func (c *Actors) keepDeployment(ctx context.Context, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	if d.DeletionTimestamp != nil {
		return nil
	}
	hash, err := c.hash(d)
	if err != nil {
		return err
	}
	name := d.Name + "-" + hash
	api := c.o.Client.AppsV1().ReplicaSets(d.Namespace)
	var mine, old []*appsv1.ReplicaSet // old ones hold nothing any more
	var fresh types.UID
	for _, rs := range sets {
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		mine = append(mine, rs)
		if rs.Name == name {
			fresh = rs.UID
		} else if *rs.Spec.Replicas == 0 && rs.Status.Replicas == 0 && rs.DeletionTimestamp == nil {
			old = append(old, rs)
		}
	}
	each, begin := wanted(d, mine, fresh)
	for _, rs := range mine {
		want := each[rs.UID]
		if *rs.Spec.Replicas == want {
			continue
		}
		rs = rs.DeepCopy()
		rs.Spec.Replicas = &want
		if _, err := api.Update(ctx, rs, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	slices.SortStableFunc(old, func(a, b *appsv1.ReplicaSet) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for _, rs := range old[:max(0, len(old)-kept(d))] {
		if err := api.Delete(ctx, rs.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rs.UID}}); passed(err) != nil {
			return err
		}
	}
	if fresh != "" {
		return nil
	}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: d.Namespace, Labels: maps.Clone(d.Spec.Template.Labels), OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &begin, Selector: d.Spec.Selector.DeepCopy(), Template: *d.Spec.Template.DeepCopy()},
	}
	rs.Spec.Selector = metav1.AddLabelToSelector(rs.Spec.Selector, templateHash, hash)
	if rs.Spec.Template.Labels == nil {
		rs.Spec.Template.Labels = map[string]string{}
	}
	rs.Spec.Template.Labels[templateHash] = hash
	_, err = api.Create(ctx, rs, metav1.CreateOptions{})
	return err
}

// kept is how many replica sets of former templates a deployment keeps: ten, if it does not say otherwise.
func kept(d *appsv1.Deployment) int {
	if n := d.Spec.RevisionHistoryLimit; n != nil {
		return int(*n)
	}
	return 10
}

// hashed is the hash of a deployment's template as of a generation.
type hashed struct {
	generation int64
	hash       string
}

// hash tells templates of a deployment apart.
func (c *Actors) hash(d *appsv1.Deployment) (string, error) {
	if known := c.templates[d.UID]; known.generation == d.Generation && known.hash != "" {
		return known.hash, nil
	}
	text, err := json.Marshal(d.Spec.Template)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write(text)
	c.templates[d.UID] = hashed{d.Generation, fmt.Sprintf("%08x", h.Sum32())}
	return c.templates[d.UID].hash, nil
}

func (c *Actors) keepReplicas(ctx context.Context, rs *appsv1.ReplicaSet, pods []*corev1.Pod) error {
	if rs.DeletionTimestamp != nil {
		return nil
	}
	live := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil || ended(p) })
	api := c.o.Client.CoreV1().Pods(rs.Namespace)
	for range int(*rs.Spec.Replicas) - len(live) {
		p := fromTemplate(rs.Name, rs.Namespace, &rs.Spec.Template, metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")))
		if _, err := api.Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := c.between(ctx); err != nil {
			return err
		}
	}
	if more := len(live) - int(*rs.Spec.Replicas); more > 0 {
		// Those go first that do the least.
		slices.SortFunc(live, func(a, b *corev1.Pod) int {
			return cmp.Or(-bools(a.Spec.NodeName == "", b.Spec.NodeName == ""), bools(isReady(a), isReady(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		for _, p := range live[:more] {
			if err := passed(api.Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})); err != nil {
				return err
			}
		}
	}
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(live)), ObservedGeneration: rs.Generation}
	for _, p := range live {
		if isReady(p) {
			status.ReadyReplicas++
			status.AvailableReplicas++
		}
	}
	if equality.Semantic.DeepEqual(status, rs.Status) {
		return nil
	}
	rs = rs.DeepCopy()
	rs.Status = status
	_, err := c.o.Client.AppsV1().ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs, metav1.UpdateOptions{})
	return err
}

// between passes the time until the next pod is created.
func (c *Actors) between(ctx context.Context) error {
	if c.o.Between == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.o.Between()):
		return nil
	}
}

func bools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func fromTemplate(owner, namespace string, t *corev1.PodTemplateSpec, ref *metav1.OwnerReference) *corev1.Pod {
	t = t.DeepCopy()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: owner + "-", Namespace: namespace, Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers, OwnerReferences: []metav1.OwnerReference{*ref}},
		Spec:       t.Spec,
	}
}

// keepDaemons gives each node the pods of the daemon sets that fit it.
func (c *Actors) keepDaemons(ctx context.Context) (time.Duration, error) {
	sets, err := inOrder(c.daemonSets.List(labels.Everything()))
	if err != nil || len(sets) == 0 {
		return 0, err
	}
	nodes, err := inOrder(c.nodes.List(labels.Everything()))
	if err != nil {
		return 0, err
	}
	pods, err := c.allPods()
	if err != nil {
		return 0, err
	}
	have := map[string]bool{}
	for _, p := range pods {
		if o := metav1.GetControllerOfNoCopy(p); o != nil && o.Kind == "DaemonSet" && !ended(p) {
			have[string(o.UID)+"/"+daemonNode(p)] = true
		}
	}
	var errs []error
	for _, d := range sets {
		for _, n := range nodes {
			if d.DeletionTimestamp != nil || have[string(d.UID)+"/"+n.Name] {
				continue
			}
			p := daemonPod(d, n.Name)
			if !mayRun(p, n) {
				continue
			}
			_, err := c.o.Client.CoreV1().Pods(d.Namespace).Create(ctx, p, metav1.CreateOptions{})
			errs = append(errs, passed(err))
		}
	}
	return 0, errors.Join(errs...)
}

// daemonPod is bound to its node by an affinity, as the real controller has it.
func daemonPod(d *appsv1.DaemonSet, node string) *corev1.Pod {
	p := fromTemplate(d.Name, d.Namespace, &d.Spec.Template, metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet")))
	only := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if required == nil || len(required.NodeSelectorTerms) == 0 {
		required = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}}}
	}
	for i := range required.NodeSelectorTerms {
		required.NodeSelectorTerms[i].MatchFields = []corev1.NodeSelectorRequirement{only}
	}
	p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
	for _, key := range []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable} {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	return p
}

func daemonNode(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, f := range t.MatchFields {
				if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
					return f.Values[0]
				}
			}
		}
	}
	return ""
}
