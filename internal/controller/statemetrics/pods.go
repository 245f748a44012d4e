package statemetrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dto "github.com/prometheus/client_model/go"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// pods makes the metrics with a series for each pod.
func (p *pass) pods(nodes map[string]*shownNode) {
	ofNodes := make(map[string][]*dto.LabelPair, len(nodes))
	for i := range p.view.Pods {
		pod := p.view.Pods[i].Object
		on, ok := ofNodes[pod.Spec.NodeName]
		if !ok {
			on = p.placeOf(pod.Spec.NodeName, nodes[pod.Spec.NodeName])
			ofNodes[pod.Spec.NodeName] = on
		}
		name, namespace := pairOf("name", pod.Name), p.labels.pair("namespace", pod.Namespace)
		p.add(podState, with(on, name, namespace, p.labels.pair("owner", ownerOf(pod)), p.labels.pair("phase", string(pod.Status.Phase)), p.labels.pair("ready", boolText(isReady(pod)))), 1)
		unbound := pod.Spec.NodeName == ""
		if unbound || pod.Status.Phase == corev1.PodPending {
			labels, age := []*dto.LabelPair{name, namespace}, p.now.Sub(pod.CreationTimestamp.Time).Seconds()
			p.add(podUnstarted, labels, age)
			if unbound {
				p.add(podUnbound, labels, age)
			}
		}
	}
}

// starting makes the metrics of pods that Kerf decides on and that do not run yet.
func (p *pass) starting() {
	if p.o.WithoutPods {
		return
	}
	for i := range p.view.Starting {
		s := &p.view.Starting[i]
		labels := p.labels.set("name", s.Object.Name, "namespace", s.Object.Namespace)
		if s.Decided.IsZero() {
			if s.Object.Spec.NodeName == "" {
				p.add(podUndecided, labels, p.since(s.Seen))
			}
			continue
		}
		if s.Placed.IsZero() {
			continue
		}
		p.add(podPlacedNoRun, labels, p.since(s.Placed))
		if s.Object.Spec.NodeName == "" {
			p.add(podPlacedNoNode, labels, p.since(s.Placed))
		}
	}
}

func (p *pass) since(at time.Time) float64 { return p.now.Sub(at).Seconds() }

// placeOf are the labels that all pods on a node share; those of pods without one where it is nil.
func (p *pass) placeOf(name string, n *shownNode) []*dto.LabelPair {
	if n == nil {
		return p.labels.set("node", name, "scheduled", boolText(name != ""))
	}
	l := n.node.Labels
	return p.labels.set("node", name, "scheduled", "true", "nodepool", nodePoolOf(n.node), "managed", boolText(n.managed), "zone", l[corev1.LabelTopologyZone],
		"arch", l[corev1.LabelArchStable], "capacity_type", l[karpv1.CapacityTypeLabelKey], "instance_type", l[corev1.LabelInstanceTypeStable])
}

// ownerOf is the pod's controller as kind/name.
func ownerOf(pod *corev1.Pod) string {
	if o := metav1.GetControllerOfNoCopy(pod); o != nil {
		return o.Kind + "/" + o.Name
	}
	return ""
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
