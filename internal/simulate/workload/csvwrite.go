package workload

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Write writes the steps as a trace. Rows name their templates, which WriteTemplates writes; a template that says no more
// than its requests of CPU, memory, GPUs and disk is written as those.
func (w *Workload) Write(out io.Writer) error {
	c := csv.NewWriter(out)
	if err := c.Write([]string{colArrival, colWorkload, colReplicas, colDuration, colCPU, colMemory, colGPU, colDisk, colTemplate}); err != nil {
		return err
	}
	plain := map[string]*Requests{}
	for name, t := range w.Templates {
		if q := plainRequests(t); q != nil {
			plain[name] = q
		}
	}
	for i := range w.Steps {
		s := &w.Steps[i]
		row := []string{seconds(s.At), s.Workload, strconv.Itoa(s.Replicas), "", "", "", "", "", ""}
		if s.Duration > 0 {
			row[3] = seconds(s.Duration)
		}
		if q := plain[s.Template]; q != nil {
			for k, n := range []int64{q.MilliCPU, q.MemoryMiB, q.GPU, q.DiskGiB} {
				row[4+k] = strconv.FormatInt(n, 10)
			}
		} else {
			row[8] = s.Template
		}
		if err := c.Write(row); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// plainRequests are the requests of a template that says nothing else; nil of any other.
func plainRequests(t *corev1.PodTemplateSpec) *Requests {
	if len(t.Spec.Containers) != 1 {
		return nil
	}
	var q Requests
	list := t.Spec.Containers[0].Resources.Requests
	q.MilliCPU = list.Cpu().MilliValue()
	q.MemoryMiB = list.Memory().Value() >> 20
	q.DiskGiB = list.StorageEphemeral().Value() >> 30
	if g, ok := list[GPU]; ok {
		q.GPU = g.Value()
	}
	want, err := json.Marshal(q.Template())
	if err != nil {
		return nil
	}
	if is, err := json.Marshal(t); err != nil || string(is) != string(want) {
		return nil
	}
	return &q
}

// Named are the templates that rows of Write name, in order: those that say more than requests.
func (w *Workload) Named() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w.Templates)) {
		if plainRequests(w.Templates[name]) == nil {
			out = append(out, name)
		}
	}
	return out
}

// WriteTemplates writes the templates that rows of Write name as a List of PodTemplates, which ReadTemplates reads.
func (w *Workload) WriteTemplates(out io.Writer) error {
	list := struct {
		APIVersion string               `json:"apiVersion"`
		Kind       string               `json:"kind"`
		Items      []corev1.PodTemplate `json:"items"`
	}{"v1", "List", []corev1.PodTemplate{}}
	for _, name := range w.Named() {
		list.Items = append(list.Items, corev1.PodTemplate{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodTemplate"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Template: *w.Templates[name],
		})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("write templates: %w", err)
	}
	b := bufio.NewWriter(out)
	_, _ = b.Write(text)
	_ = b.WriteByte('\n')
	return b.Flush()
}
