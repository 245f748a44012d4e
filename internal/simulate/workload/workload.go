// Package workload says what pods a cluster is asked to run over time: read from a CSV trace, made of a built-in shape,
// taken from manifests or from a snapshot of a cluster. It knows nothing of how a cluster runs them.
package workload

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Workload is what a cluster is asked to run. Times count from its start.
type Workload struct {
	// Source says in words what it was made from: "trace.csv", "shape day, 1000 pods".
	Source string
	// Steps are in order of time; those of one moment happen in the order in which they stand.
	Steps []Step
	// Templates are the pods' templates by name.
	Templates map[string]*corev1.PodTemplateSpec
	// Daemons run on every node that their template allows, from the start.
	Daemons []*appsv1.DaemonSet
	// Objects are there from the start and are no pods: PodDisruptionBudgets, PriorityClasses, StorageClasses, volumes, claims.
	Objects []*unstructured.Unstructured
	// Partial says in words which part of a built-in shape's curve this is, where it is not all of it.
	Partial string
	// Drawn says that the steps are drawn from the seed: another seed has other steps.
	Drawn bool
	// Begun is when a history begins; zero for what has no time of its own.
	Begun time.Time
	// Region is where the cluster of a history is; empty where its sources do not say.
	Region string
	// Covers is how long the source speaks of, where that goes on behind the last step: nothing changes then.
	Covers time.Duration
	// Notes say what of the source is not simulated, or is replaced by something like it.
	Notes []Note
}

// Step is one change of what is to run.
type Step struct {
	At time.Duration
	// Workload is "namespace/name", or a name in the namespace default. Without one the pods belong to nobody else.
	Workload string
	// Template is a key of Workload.Templates; of a workload that is known and gets more or fewer pods it may be empty.
	Template string
	// Replicas is how many pods the workload has from now on if there is a Workload and no Duration (0 ends it), else how many
	// pods begin now.
	Replicas int
	// Duration is how long the pods run and then end; one that is evicted begins again. Zero: they do not end by themselves.
	Duration time.Duration
}

// NameLabel is on the pods of a workload, and says which.
const NameLabel = "simulate.kerf.sh/workload"

// Split is the namespace and the name of a workload.
func Split(workload string) (namespace, name string) {
	namespace, name, ok := strings.Cut(workload, "/")
	if !ok {
		return "default", namespace
	}
	return namespace, name
}

// PodLabels are the labels of the pods of a workload: those of their template, and its name.
func (w *Workload) PodLabels(template, name string) map[string]string {
	out := map[string]string{}
	if t := w.Templates[template]; t != nil {
		maps.Copy(out, t.Labels)
	}
	out[NameLabel] = short(name)
	return out
}

// short makes a name fit for the value of a label.
func short(name string) string {
	if len(name) <= 63 {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s-%08x", strings.TrimRight(name[:54], "-."), h.Sum32())
}

// Sets tells whether the step sets a workload's number of pods, rather than starting pods.
func (s *Step) Sets() bool { return s.Workload != "" && s.Duration == 0 }

// Note is something that a simulation leaves out or replaces.
type Note struct {
	What    string `json:"what"`
	Count   int    `json:"count"`
	Example string `json:"example,omitempty"` // where: a line, or an object's name
}

// note adds to the count of a note, or makes it.
func (w *Workload) note(what, example string, count int) {
	for i := range w.Notes {
		if w.Notes[i].What == what {
			w.Notes[i].Count += count
			return
		}
	}
	w.Notes = append(w.Notes, Note{What: what, Count: count, Example: example})
}

// Sort puts the steps in order of time, keeping the order of those of one moment.
func (w *Workload) Sort() {
	slices.SortStableFunc(w.Steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
}

// End is when the last thing happens that is known: a step, or the end of pods that end by themselves, were they to start
// at once; or the end of what the source speaks of.
func (w *Workload) End() time.Duration {
	end := w.Covers
	for i := range w.Steps {
		end = max(end, w.Steps[i].At+w.Steps[i].Duration)
	}
	return end
}

// Peak is the most pods at one time until a horizon, daemons left out, were all pods to start at once. A horizon of zero is
// the end.
func (w *Workload) Peak(horizon time.Duration) int {
	type change struct {
		at time.Duration
		by int
	}
	var all []change
	sizes := map[string]int{}
	for i := range w.Steps {
		s := &w.Steps[i]
		switch {
		case horizon > 0 && s.At > horizon:
		case s.Sets():
			all = append(all, change{s.At, s.Replicas - sizes[s.Workload]})
			sizes[s.Workload] = s.Replicas
		default:
			all = append(all, change{s.At, s.Replicas})
			if s.Duration > 0 {
				all = append(all, change{s.At + s.Duration, -s.Replicas})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now, most := 0, 0
	for _, c := range all {
		now += c.by
		most = max(most, now)
	}
	return most
}

// Pods is how many pods the steps start in all, evictions left out.
func (w *Workload) Pods() int {
	total := 0
	sizes := map[string]int{}
	for i := range w.Steps {
		s := &w.Steps[i]
		if s.Sets() {
			total += max(0, s.Replicas-sizes[s.Workload])
			sizes[s.Workload] = s.Replicas
		} else {
			total += s.Replicas
		}
	}
	return total
}

// Check tells what can't be played of a workload. Sources of this package are checked as they are read; workloads that are
// made elsewhere are to be checked by their makers.
func (w *Workload) Check() error {
	known := map[string]bool{}
	for i := range w.Steps {
		s := &w.Steps[i]
		switch {
		case s.At < 0 || s.Duration < 0:
			return fmt.Errorf("step %d of %s: a time before the start", i+1, w.Source)
		case s.Replicas < 0:
			return fmt.Errorf("step %d of %s: %d pods", i+1, w.Source, s.Replicas)
		case s.Template == "" && (!s.Sets() || !known[s.Workload]):
			return fmt.Errorf("step %d of %s: workload %q has no template", i+1, w.Source, s.Workload)
		case s.Template != "" && w.Templates[s.Template] == nil:
			return fmt.Errorf("step %d of %s: there is no template %q", i+1, w.Source, s.Template)
		case i > 0 && s.At < w.Steps[i-1].At:
			return fmt.Errorf("step %d of %s is before the one that it stands behind", i+1, w.Source)
		}
		if s.Sets() {
			known[s.Workload] = true
		}
	}
	return nil
}

// Window is the workload between two moments of it, played at a speed: at 60 an hour of it takes a minute. What runs at its
// beginning arrives then, and runs for as long as it has left. An end of zero is none.
func (w *Workload) Window(from, to time.Duration, speed float64) *Workload {
	out := *w
	out.Steps = nil
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	if to > 0 {
		out.Covers = min(w.Covers, to)
	}
	out.Covers = scaled(max(0, out.Covers-from))
	for _, s := range w.Steps {
		switch {
		case to > 0 && s.At >= to:
			continue
		case s.Duration > 0 && s.At+s.Duration <= from:
			continue
		case s.At < from && s.Duration > 0:
			s.Duration -= from - s.At
		}
		if s.Duration > 0 {
			s.Duration = max(scaled(s.Duration), time.Second)
		}
		s.At = scaled(max(0, s.At-from))
		out.Steps = append(out.Steps, s)
	}
	if from > 0 {
		out.lastOfEach()
	}
	return &out
}

// lastOfEach keeps of the steps at the start that set a workload's pods the last of each workload, with the template that
// it had by then.
func (w *Workload) lastOfEach() {
	last, template := map[string]int{}, map[string]string{}
	for i, s := range w.Steps {
		if s.At == 0 && s.Sets() {
			last[s.Workload] = i
			template[s.Workload] = cmp.Or(s.Template, template[s.Workload])
		}
	}
	kept := w.Steps[:0]
	for i, s := range w.Steps {
		if s.At == 0 && s.Sets() {
			if last[s.Workload] != i {
				continue
			}
			s.Template = template[s.Workload]
		}
		kept = append(kept, s)
	}
	w.Steps = kept
}
