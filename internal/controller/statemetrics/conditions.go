package statemetrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dto "github.com/prometheus/client_model/go"

	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/controller/obs"
)

// condition is what metrics show of a condition, whatever its kind.
type condition struct {
	name, status, reason string
	since                time.Time
}

// conditionsOf appends the conditions of an object of one of obs.Kinds.
func conditionsOf(o metav1.Object, to []condition) []condition {
	switch o := o.(type) {
	case *corev1.Node:
		for i := range o.Status.Conditions {
			c := &o.Status.Conditions[i]
			to = append(to, condition{string(c.Type), string(c.Status), c.Reason, c.LastTransitionTime.Time})
		}
	case status.Object:
		for _, c := range o.GetConditions() {
			to = append(to, condition{c.Type, string(c.Status), c.Reason, c.LastTransitionTime.Time})
		}
	}
	return to
}

// conditions makes the metrics of the conditions of every object, and of how long ago those were deleted that are not gone yet.
func (p *pass) conditions() {
	for i := range obs.Kinds {
		k := &obs.Kinds[i]
		names := k.MetricLabels()
		oldest, scratch := time.Duration(0), []condition(nil)
		see := func(o metav1.Object) {
			scratch = conditionsOf(o, scratch[:0])
			for _, c := range scratch {
				if c.name == status.Ready && c.status != string(metav1.ConditionTrue) {
					oldest = max(oldest, p.now.Sub(c.since))
				}
			}
			if !p.o.WithoutConditions {
				p.object(k, names, o, scratch)
			}
		}
		switch k.Name {
		case "Node":
			each(p.view.Nodes, see)
		case "NodeClaim":
			each(p.view.Claims, see)
		case "NodePool":
			each(p.view.Pools, see)
		case "EC2NodeClass":
			each(p.view.Classes, see)
		case "CapacityBuffer":
			each(p.view.Buffers, see)
			continue // it has no condition that says whether it is ready
		}
		p.add(oldestUnready, p.labels.set("kind", k.Name), oldest.Seconds())
	}
}

func each[T metav1.Object](list []T, see func(metav1.Object)) {
	for _, o := range list {
		see(o)
	}
}

func (p *pass) object(k *obs.Kind, names []string, o metav1.Object, conditions []condition) {
	gauges := kindGauges[k.Name]
	plain := []*dto.LabelPair{pairOf("name", o.GetName())}
	if namespace := p.labels.pair("namespace", o.GetNamespace()); namespace != nil {
		plain = append(plain, namespace)
	}
	generic := plain
	if k.Generic {
		generic = with(plain, p.labels.pair("group", k.Group), p.labels.pair("kind", k.Name))
	}
	own := plain
	if len(names) > 0 {
		own = make([]*dto.LabelPair, 0, len(plain)+len(names))
		own = append(own, plain...)
		for i, label := range k.Labels {
			if one := p.labels.pair(names[i], o.GetLabels()[label]); one != nil {
				own = append(own, one)
			}
		}
		own = sorted(own)
	}
	for i, c := range conditions {
		if duplicate(conditions[:i], c.name) {
			continue // two series would be one, and the whole page an error
		}
		kind, state, reason := p.labels.pair("type", c.name), p.labels.pair("status", c.status), p.labels.pair("reason", c.reason)
		labels := with(own, kind, state, reason)
		p.add(gauges.count, labels, 1)
		p.add(gauges.seconds, labels, p.since(c.since))
		if k.Generic {
			labels = with(generic, kind, state, reason)
			p.add(genericGauges.count, labels, 1)
			p.add(genericGauges.seconds, labels, p.since(c.since))
		}
	}
	if at := o.GetDeletionTimestamp(); at != nil {
		p.add(gauges.terminating, own, p.since(at.Time))
		if k.Generic {
			p.add(genericGauges.terminating, generic, p.since(at.Time))
		}
	}
}

func duplicate(before []condition, name string) bool {
	for i := range before {
		if before[i].name == name {
			return true
		}
	}
	return false
}

// ages are those of the oldest of what should not get old.
func (p *pass) ages() {
	drain, pending, placed := time.Duration(0), time.Duration(0), time.Duration(0)
	for _, n := range p.view.Nodes {
		if n.DeletionTimestamp != nil {
			drain = max(drain, p.now.Sub(n.DeletionTimestamp.Time))
		}
	}
	for _, pod := range p.view.Snapshot.Pending {
		if pod.Node == "" && !pod.Class.Virtual {
			pending = max(pending, p.now.Sub(pod.CreatedAt))
		}
	}
	for i := range p.view.Starting {
		if s := &p.view.Starting[i]; s.Object.Spec.NodeName == "" {
			pending = max(pending, p.now.Sub(s.Object.CreationTimestamp.Time))
			if !s.Placed.IsZero() {
				placed = max(placed, p.now.Sub(s.Placed))
			}
		}
	}
	p.add(oldestDrain, nil, drain.Seconds())
	p.add(oldestPending, nil, pending.Seconds())
	p.add(oldestPlaced, nil, placed.Seconds())
}
