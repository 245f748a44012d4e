package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// stage is what one story of several on a cluster has to itself: a namespace and a NodePool of the same name, which its
// pods ask for. Stories that only touch their stage can run at the same time.
type stage struct {
	*env
	name     string
	families []string
	// annotations of pods that are deployed.
	annotations string
}

// stage makes one. The pool launches instances of the given instance families only, so that faults can name them.
func (e *env) stage(t testing.TB, families ...string) *stage {
	t.Helper()
	own := *e
	own.TB = t
	name := strings.ToLower(strings.ReplaceAll(t.Name()[strings.LastIndexByte(t.Name(), '/')+1:], "_", "-"))
	s := &stage{env: &own, name: name[:min(len(name), 50)]}
	s.name = strings.Trim(s.name, "-")
	s.apply(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", s.name))
	s.families = families
	return s
}

// pool makes the stage's pool; more is put into the template's spec, requirements on top of the usual ones.
func (s *stage) pool(class, requirements, more string) {
	s.Helper()
	if len(s.families) == 0 {
		s.families = []string{"m5", "m6i"}
	}
	s.apply(fmt.Sprintf(`
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %[1]s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %[2]s}
      requirements:
      - {key: karpenter.k8s.aws/instance-family, operator: In, values: [%[3]s]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
%[4]s
      taints: [{key: stage, value: %[1]s, effect: NoSchedule}]
%[5]s
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 1s, budgets: [{nodes: "100%%"}]}
`, s.name, class, strings.Join(s.families, ", "), lines(requirements, 6), lines(more, 6)))
	s.ready(s.name)
}

// lines indents.
func lines(text string, by int) string {
	if text == "" {
		return ""
	}
	indent := strings.Repeat(" ", by)
	return indent + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+indent)
}

// deploy runs pods on the stage's instances; extra goes into the pod's spec. Pods of more than half an instance's size get
// one each.
func (s *stage) deploy(app string, replicas int, cpu, extra string) {
	s.Helper()
	text := deployment(app, replicas, cpu, "100Mi", lines(fmt.Sprintf(`
nodeSelector: {karpenter.sh/nodepool: %[1]s}
tolerations: [{key: stage, operator: Equal, value: %[1]s, effect: NoSchedule}]`, s.name), 6)+"\n"+lines(extra, 6))
	text = strings.Replace(text, "metadata: {labels: {app: "+app+"}}", "metadata: {labels: {app: "+app+"}, annotations: {"+s.annotations+"}}", 1)
	s.apply(strings.ReplaceAll(text, "namespace: default", "namespace: "+s.name))
}

// apart keeps pods of an app on nodes of their own.
func apart(app string) string {
	return "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: " + app + "}}}]}}"
}

// run waits until n pods of the stage run and none waits.
func (s *stage) run(timeout time.Duration, n int) {
	s.Helper()
	s.running(timeout, s.name, n)
}

func (s *stage) mine() []karpv1.NodeClaim {
	return slices.DeleteFunc(s.claims(), func(c karpv1.NodeClaim) bool { return c.Labels[karpv1.NodePoolLabelKey] != s.name })
}

func (s *stage) nodesOf() []corev1.Node {
	return slices.DeleteFunc(s.nodes(), func(n corev1.Node) bool { return n.Labels[karpv1.NodePoolLabelKey] != s.name })
}

// instances are the stage's instances, terminated ones too if asked for.
func (s *stage) instances(terminated bool) []control.Instance {
	s.Helper()
	all, err := s.aws.Instances(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(all, func(i control.Instance) bool {
		return i.Tags[awsv1.TagNodePool] != s.name || !terminated && (i.State == "terminated" || i.State == "shutting-down")
	})
}

// matched waits until every instance of the stage has its claim, every claim its instance, and checks that no claim ever
// had two.
func (s *stage) matched(timeout time.Duration) {
	s.Helper()
	s.eventually(timeout, "instances and nodeclaims are one to one", func() (bool, string) {
		byID := map[string]string{}
		for _, c := range s.mine() {
			byID[c.Status.ProviderID] = c.Name
		}
		instances := s.instances(false)
		ok := len(byID) == len(instances)
		for _, m := range instances {
			ok = ok && byID["aws:///"+m.Zone+"/"+m.ID] != ""
		}
		return ok, fmt.Sprintf("claims %v, %d instances", byID, len(instances))
	})
}

// noneTwice checks that no more instances were ever launched for the stage than the claims it has.
func (s *stage) noneTwice(claims int) {
	s.Helper()
	if n := len(s.instances(true)); n != claims {
		s.Errorf("%d instances were launched for %d nodeclaims", n, claims)
	}
}

// told waits for an event of a reason about an object whose name begins with prefix, that has all the words.
func (s *stage) told(timeout time.Duration, reason, prefix string, words ...string) {
	s.Helper()
	s.eventually(timeout, fmt.Sprintf("event %s about %s* that says %q", reason, prefix, words), func() (bool, string) {
		var seen []string
		for _, ev := range list[corev1.EventList](s.env).Items {
			if (ev.InvolvedObject.Namespace != "" && ev.InvolvedObject.Namespace != s.name) || ev.Reason != reason || !strings.HasPrefix(ev.InvolvedObject.Name, prefix) || ev.Source.Component == "default-scheduler" {
				continue
			}
			seen = append(seen, ev.Message)
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(ev.Message, w) }) {
				return true, ""
			}
		}
		return false, strings.Join(seen, "\n")
	})
}

// logged waits until one line of the controller's log has all the words.
func (s *env) logged(timeout time.Duration, words ...string) {
	s.Helper()
	s.eventually(timeout, fmt.Sprintf("a line of the log that says %q", words), func() (bool, string) {
		text, err := os.ReadFile(s.cluster.Controller.Log)
		if err != nil {
			return false, err.Error()
		}
		for line := range strings.Lines(string(text)) {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) {
				return true, ""
			}
		}
		return false, "no such line"
	})
}

// fault switches a fault on until the test ends or the returned function is called.
func (s *env) fault(f world.Fault) (clear func()) {
	s.Helper()
	id, err := s.aws.AddFault(s.Context(), f)
	if err != nil {
		s.Fatal(err)
	}
	clear = func() { s.cluster.Simulator.World.RemoveFault(id) }
	s.Cleanup(clear)
	return clear
}

// remove deletes an object as kubectl delete --wait=false does.
func (s *env) remove(o client.Object) {
	s.Helper()
	if err := s.client.Delete(s.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil && !apierrors.IsNotFound(err) {
		s.Fatal(err)
	}
}

// gone waits until an object does not exist.
func (s *env) gone(timeout time.Duration, o client.Object) {
	s.Helper()
	s.eventually(timeout, fmt.Sprintf("%T %s is gone", o, o.GetName()), func() (bool, string) {
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(o), o)
		return apierrors.IsNotFound(err), fmt.Sprintf("%v, finalizers %v", err, o.GetFinalizers())
	})
}
