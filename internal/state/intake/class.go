package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// memoSize is how many keys a generation of the memo holds before the older one is dropped.
const memoSize = 1 << 13

// Compiler makes classes of pods. Pods that look the same share one *cluster.Class; the memo behind it is bounded.
//
// A class holds only those labels of its pods that some selector could ask for: a label that nobody looks at can't
// change a decision, and such labels (a job's ID, a StatefulSet's ordinal) would make every pod a class of its own. The
// set of keys that are looked at grows as selectors are seen; Fresh tells which keys classes made earlier may lack.
//
// Concurrency: not safe; the caller locks.
type Compiler struct {
	// DefaultSpreads are the spread constraints of pods that have none; see ParseDefaultSpreads.
	DefaultSpreads []corev1.TopologySpreadConstraint

	visible    map[string]bool
	fresh      []string
	young, old map[string]*cluster.Class
	byID       map[string]*cluster.Class
	key        key
	compiled   int
}

// NewCompiler returns a Compiler that has seen no selector yet.
func NewCompiler() *Compiler {
	return &Compiler{visible: map[string]bool{}, young: map[string]*cluster.Class{}, byID: map[string]*cluster.Class{}}
}

// Fresh are the label keys that came into sight since the last call. Classes that were made before, of pods that have such
// a label, must be made again.
func (c *Compiler) Fresh() []string {
	fresh := c.fresh
	c.fresh = nil
	return fresh
}

// Keys is how many label keys are in sight.
func (c *Compiler) Keys() int { return len(c.visible) }

// Forget drops all label keys but those that these pods ask for. Classes that were made before stay as good as they were.
func (c *Compiler) Forget(but iter.Seq[*corev1.Pod], look Lookup) {
	fresh := c.fresh
	c.visible = map[string]bool{}
	for pod := range but {
		c.see(c.withDefaults(pod, look))
	}
	c.fresh = fresh // the others were in sight before
}

// Compiled counts the classes that had to be compiled, for tests and metrics.
func (c *Compiler) Compiled() int { return c.compiled }

// Class returns the class of the pod.
//
// Cost: one pass over the spec without allocation when a pod of that look was seen before.
func (c *Compiler) Class(pod *corev1.Pod, look Lookup) *cluster.Class {
	pod = c.withDefaults(pod, look)
	c.see(pod)
	var v volumes
	if len(pod.Spec.Volumes) > 0 {
		v.terms, v.problem = volumeTerms(pod, look)
		v.own, v.shared = attachments(pod, look)
	}
	c.key.b = c.key.b[:0]
	c.key.pod(pod, c.visible)
	c.key.volumes(&v)
	eachAffinityTerm(pod, func(t *corev1.PodAffinityTerm) {
		if t.NamespaceSelector != nil {
			c.key.strs(termNamespaces(pod.Namespace, *t, look))
		}
	})
	if class, ok := c.young[string(c.key.b)]; ok {
		return class
	}
	class, ok := c.old[string(c.key.b)]
	if !ok {
		class = c.intern(c.compile(pod, look, &v))
	}
	if len(c.young) >= memoSize {
		c.age()
	}
	c.young[string(c.key.b)] = class
	return class
}

// age drops what was not asked for since the last time.
func (c *Compiler) age() {
	c.old, c.young = c.young, map[string]*cluster.Class{}
	clear(c.byID)
	for _, class := range c.old {
		c.byID[class.ID] = class
	}
}

// intern makes equal classes one pointer even when their pods are written differently.
func (c *Compiler) intern(class *cluster.Class) *cluster.Class {
	if have, ok := c.byID[class.ID]; ok {
		return have
	}
	c.byID[class.ID] = class
	return class
}

// see notes the label keys that the pod's selectors ask for.
func (c *Compiler) see(pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		t := &pod.Spec.TopologySpreadConstraints[i]
		c.seeSelector(t.LabelSelector)
		c.seeKeys(t.MatchLabelKeys)
	}
	if pod.Spec.Affinity == nil {
		return
	}
	eachAffinityTerm(pod, func(t *corev1.PodAffinityTerm) {
		c.seeSelector(t.LabelSelector)
		c.seeKeys(t.MatchLabelKeys)
		c.seeKeys(t.MismatchLabelKeys)
	})
}

func (c *Compiler) seeSelector(s *metav1.LabelSelector) {
	if s == nil {
		return
	}
	for k := range s.MatchLabels {
		c.seeKey(k)
	}
	for i := range s.MatchExpressions {
		c.seeKey(s.MatchExpressions[i].Key)
	}
}

func (c *Compiler) seeKeys(keys []string) {
	for _, k := range keys {
		c.seeKey(k)
	}
}

func (c *Compiler) seeKey(k string) {
	if !c.visible[k] {
		c.visible[k] = true
		c.fresh = append(c.fresh, k)
	}
}

// volumes is what a pod's volumes mean for its node.
type volumes struct {
	terms   [][]requirement.Term
	problem string
	own     res.List
	shared  []cluster.SharedVolume
}

func (c *Compiler) compile(pod *corev1.Pod, look Lookup, v *volumes) *cluster.Class {
	c.compiled++
	spec := &pod.Spec
	class := &cluster.Class{
		Namespace:   pod.Namespace,
		Requests:    PodRequests(pod),
		Selector:    nodeSelector(spec),
		Tolerations: tolerations(spec.Tolerations),
		HostPorts:   hostPorts(pod),
		Volumes:     v.terms,
		Attach:      v.own,
		Shared:      v.shared,
		Unplaceable: v.problem,
	}
	if spec.Priority != nil {
		class.Priority = *spec.Priority
	}
	for k, v := range pod.Labels {
		if c.visible[k] {
			if class.Labels == nil {
				class.Labels = map[string]string{}
			}
			class.Labels[k] = v
		}
	}
	unplaceable := func(format string, args ...any) {
		if class.Unplaceable == "" {
			class.Unplaceable = fmt.Sprintf(format, args...)
		}
	}
	if n := len(spec.ResourceClaims); n > 0 {
		unplaceable("asks for devices by %d resource claim(s) (spec.resourceClaims), which Kerf does not launch instances for; ask for the device as a resource of a device plug-in, or give the pod a node of its own", n)
	}
	var err error
	if class.Spreads, err = spreads(pod); err != nil {
		unplaceable("%v", err)
	}
	if a := spec.Affinity; a != nil {
		c.compileAffinity(pod, a, class, look, unplaceable)
	}
	class.ID = classID(class)
	return class
}

func (c *Compiler) compileAffinity(pod *corev1.Pod, a *corev1.Affinity, class *cluster.Class, look Lookup, unplaceable func(string, ...any)) {
	if n := a.NodeAffinity; n != nil {
		var problem string
		if class.Affinity, problem = requiredAffinity(n.RequiredDuringSchedulingIgnoredDuringExecution); problem != "" {
			unplaceable("%s", problem)
		}
		class.Preferred = preferredAffinity(n.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	var err error
	if p := a.PodAffinity; p != nil {
		if class.PodAffinity, err = podAffinity(pod, p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, look); err != nil {
			unplaceable("%v", err)
		}
	}
	if p := a.PodAntiAffinity; p != nil {
		if class.AntiAffinity, err = podAffinity(pod, p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, look); err != nil {
			unplaceable("%v", err)
		}
	}
}

// classID hashes everything but the ID. JSON writes maps in key order, so equal classes give equal text.
func classID(class *cluster.Class) string {
	text, err := json.Marshal(class)
	if err != nil {
		panic(fmt.Sprintf("class of strings and numbers can't be written: %v", err)) // no field of Class can fail
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}
