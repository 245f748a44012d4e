package migrate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kerfChart is the name of Kerf's chart.
const kerfChart = "kerf"

// Pod is a pod of the controller's Deployment.
type Pod struct {
	Name, Node string
	// Image is that of the controller's container; Waiting is why it does not run, empty where it does or is about to.
	Image, Waiting string
	// Ready says that it answers its probe.
	Ready bool
}

func podOf(p *corev1.Pod, containerName string) Pod {
	out := Pod{Name: p.Name, Node: p.Spec.NodeName}
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == containerName {
			out.Image = c.Image
		}
	}
	for i := range p.Status.ContainerStatuses {
		s := &p.Status.ContainerStatuses[i]
		out.Ready = out.Ready || s.Name == containerName && s.Ready
		if s.Name == containerName && s.State.Waiting != nil && s.State.Waiting.Reason != "ContainerCreating" {
			out.Waiting = strings.TrimSuffix(s.State.Waiting.Reason+": "+s.State.Waiting.Message, ": ")
		}
	}
	return out
}

// rollout says whether the pods are those that the Deployment asks for: one that is stuck shows an image that does not run.
func (e *examination) rollout() {
	if e.Deployment == nil {
		return
	}
	object := "Deployment " + e.Deployment.Namespace + "/" + e.Deployment.Name
	e.revisions()
	c := container(e.Deployment)
	waiting := map[string][]string{}
	var old []string
	for _, p := range e.Pods {
		switch {
		case p.Waiting != "":
			waiting[p.Waiting] = append(waiting[p.Waiting], p.Name)
		case p.Image != "" && p.Image != c.Image:
			old = append(old, p.Name+": "+p.Image)
		}
	}
	for _, reason := range sortedKeys(waiting) {
		pods := waiting[reason]
		f := e.note(Blocks, object, "%d of its %d pods can't start: %s", len(pods), len(e.Pods), reason).with(pods...).
			why("its image is %s", c.Image).
			fix(fmt.Sprintf("kubectl --namespace %s describe pod %s", e.Deployment.Namespace, strings.Join(pods, " ")))
		if back := e.rollback(); e.isKerf() && back != "" {
			f.fix(back)
		}
		if !e.isKerf() {
			f.Severity = Differs // a swap may be the way out
		}
	}
	if len(old) > 0 {
		f := e.differs(object, "%d of %d pods have another image than it names, %s", len(old), len(e.Pods), c.Image).with(old...)
		if len(waiting) > 0 {
			f.why("they run until the others can start")
			return
		}
		f.why("a rollout is under way; wait until it is done").
			fix(fmt.Sprintf("kubectl --namespace %s rollout status deployment/%s --timeout 5m", e.Deployment.Namespace, e.Deployment.Name))
	}
}

// karpenterLeads tells whether the Deployment names Kerf, no pod of it is ready, and one of Karpenter is.
func (s *Seen) karpenterLeads() bool {
	image := container(s.Deployment).Image
	return s.isKerf() && !slices.ContainsFunc(s.Pods, func(p Pod) bool { return p.Ready && p.Image == image }) &&
		slices.ContainsFunc(s.Pods, func(p Pod) bool { return p.Ready && !s.ofKerf(p.Image) })
}

// rollback is the command that goes back to the revision that is deployed, empty where none is.
func (s *Seen) rollback() string {
	if r, ok := s.Owner.current(); ok && r.Status == "deployed" && s.Owner.Manager == Helm {
		return fmt.Sprintf("helm rollback %s %d --namespace %s --wait --timeout 10m   # back to what ran before", s.Owner.Release, r.Number, s.Owner.ReleaseNamespace)
	}
	return ""
}

// revisions judges the last revision of the release, which need not be the one that is deployed.
func (e *examination) revisions() {
	if len(e.Owner.Revisions) == 0 {
		return
	}
	last := e.Owner.Revisions[len(e.Owner.Revisions)-1]
	object := "Helm release " + e.Owner.ReleaseNamespace + "/" + e.Owner.Release
	current, ok := e.Owner.current()
	switch {
	case strings.HasPrefix(last.Status, "pending-"):
		f := e.blocks(object, "its revision %d is %s", last.Number, last.Status).
			why("a command of Helm is at work or was broken off; Helm refuses another one until then")
		if back := e.rollback(); back != "" {
			f.fix("# once no helm runs any more:", back)
		}
	case last.Status == "failed" && ok && current.Number != last.Number:
		e.differs(object, "its last revision %d (chart %s %s) failed; revision %d (chart %s %s) counts as deployed", last.Number, last.Chart, last.Version, current.Number, current.Chart, current.Version).
			why("the objects in the cluster may be of either").
			fix(e.rollback())
	}
}

// trial tells whether the image alone was exchanged: the Deployment names Kerf's, and its release is of Karpenter's chart.
func (s *Seen) trial() bool {
	r, ok := s.Owner.current()
	return ok && s.isKerf() && r.Chart == karpenterChart && r.Number == s.Owner.Revisions[len(s.Owner.Revisions)-1].Number
}

// setBy tells whether a program owns fields of the Deployment, by the name that it gives itself: "kubectl" for kubectl apply
// --server-side, "kubectl-set" for kubectl set.
func (s *Seen) setBy(manager string, operation metav1.ManagedFieldsOperationType) bool {
	return slices.ContainsFunc(s.Deployment.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == manager && f.Operation == operation
	})
}

// ownVariables are the variables of the container that only Kerf reads, by name.
func (s *Seen) ownVariables() (out []string) {
	for _, v := range container(s.Deployment).Env {
		if strings.HasPrefix(v.Name, "KERF_") {
			out = append(out, v.Name)
		}
	}
	slices.Sort(out)
	return out
}
