package history_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func exportDumps(t *testing.T, r *recorder, folder string) {
	for at, pods := range r.dumps {
		list := map[string]any{"kind": "PodList", "apiVersion": "v1", "metadata": map[string]any{}, "items": pods}
		write(t, filepath.Join(folder, "pods-"+at.Format("20060102T150405Z")+".json"), marshal(t, list))
	}
}

// during are the changes while the history is recorded; those before are what was there.
func (r *recorder) during() []seen {
	return slices.DeleteFunc(slices.Clone(r.seen), func(s seen) bool { return s.at.Before(r.begin) })
}

func exportWatch(t *testing.T, r *recorder, folder string) {
	var out []byte
	add := func(what watch.EventType, o runtime.Object) {
		out = append(append(out, marshal(t, map[string]any{"type": what, "object": o})...), '\n')
	}
	for _, first := range r.dumps[r.begin] {
		first.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
		add(watch.Added, &first)
	}
	for _, s := range r.during() {
		if s.pod != nil {
			add(s.what, s.pod)
		}
	}
	write(t, filepath.Join(folder, "watch.json"), out)
}

func exportEvents(t *testing.T, r *recorder, folder string) {
	items := []any{}
	event := func(at time.Time, kind, name, uid, reason, message string) {
		items = append(items, map[string]any{
			"kind": "Event", "apiVersion": "v1", "metadata": map[string]any{"name": "x", "namespace": "default", "creationTimestamp": at.Format(time.RFC3339)},
			"involvedObject": map[string]any{"kind": kind, "namespace": "default", "name": name, "uid": uid}, "reason": reason, "message": message,
			"firstTimestamp": at.Format(time.RFC3339), "lastTimestamp": at.Format(time.RFC3339), "count": 1, "eventTime": nil,
		})
	}
	bound, ran, going, wanted := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]int32{}
	for _, s := range r.seen {
		late := !s.at.Before(r.begin)
		if rs := s.set; rs != nil {
			if was := wanted[rs.Name]; was != *rs.Spec.Replicas && late {
				way := "up"
				if was > *rs.Spec.Replicas {
					way = "down"
				}
				event(s.at, "Deployment", rs.OwnerReferences[0].Name, "", "ScalingReplicaSet", fmt.Sprintf("Scaled %s replica set %s from %d to %d", way, rs.Name, was, *rs.Spec.Replicas))
			}
			wanted[rs.Name] = *rs.Spec.Replicas
			continue
		}
		p, id := s.pod, string(s.pod.UID)
		if s.what == watch.Added && late {
			event(s.at, p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name, "", "SuccessfulCreate", "Created pod: "+p.Name)
		}
		if p.Spec.NodeName != "" && !bound[id] && late {
			event(s.at, "Pod", p.Name, id, "Scheduled", "Successfully assigned default/"+p.Name+" to "+p.Spec.NodeName)
		}
		if p.Status.Phase == corev1.PodRunning && !ran[id] && late {
			event(s.at, "Pod", p.Name, id, "Started", "Started container main")
			ran[id] = true
		}
		if p.DeletionTimestamp != nil && !going[id] && late {
			event(s.at, "Pod", p.Name, id, "Killing", "Stopping container main")
		}
		if p.Status.Phase == corev1.PodSucceeded && !going[id] && late {
			event(s.at, "Job", p.OwnerReferences[0].Name, "", "Completed", "Job completed")
		}
		bound[id], going[id] = bound[id] || p.Spec.NodeName != "", going[id] || p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded
	}
	write(t, filepath.Join(folder, "events.json"), marshal(t, map[string]any{"apiVersion": "v1", "kind": "List", "items": items}))
}

func exportAudit(t *testing.T, r *recorder, folder string)    { writeAudit(t, r, folder, true) }
func exportPodAudit(t *testing.T, r *recorder, folder string) { writeAudit(t, r, folder, false) }

// writeAudit writes an audit log as CloudWatch Logs exports it, in files whose order is not that of time.
func writeAudit(t *testing.T, r *recorder, folder string, sets bool) {
	files := [3]strings.Builder{}
	n := 0
	line := func(at time.Time, verb, user, resource, name, sub string, code int, request, response any) {
		e := map[string]any{
			"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": fmt.Sprint(n), "stage": "ResponseComplete", "verb": verb,
			"user": map[string]any{"username": user}, "objectRef": map[string]any{"resource": resource, "namespace": "default", "name": name, "subresource": sub},
			"responseStatus": map[string]any{"code": code}, "requestReceivedTimestamp": at.Format(time.RFC3339Nano), "stageTimestamp": at.Format(time.RFC3339Nano),
		}
		if request != nil {
			e["requestObject"] = request
		}
		if response != nil {
			e["responseObject"] = response
		}
		fmt.Fprintf(&files[n%3], "%s %s\n", at.Format("2006-01-02T15:04:05.000Z"), marshal(t, e))
		n++
	}
	bound, going, done := map[string]bool{}, map[string]bool{}, map[string]bool{}
	// What was there shows itself by what is written of it: here the kubelets' word on each pod.
	for _, p := range r.dumps[r.begin] {
		line(r.begin, "patch", "system:node:"+p.Spec.NodeName, "pods", p.Name, "status", 200, map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": map[string]any{"phase": "Running"}}, nil)
		if !sets { // and else whose it is would not be known
			line(r.begin, "update", "someone", "pods", p.Name, "", 200, nil, podAnswer(&p))
		}
	}
	has := map[string]int32{} // pods by ReplicaSet, which the simulated cluster does not count
	for _, s := range r.seen {
		if s.set == nil && s.what == watch.Added {
			has[s.pod.OwnerReferences[0].Name]++
		} else if s.set == nil && s.pod.DeletionTimestamp != nil && !going[string(s.pod.UID)] {
			has[s.pod.OwnerReferences[0].Name]--
			going[string(s.pod.UID)] = s.at.Before(r.begin)
		}
		if s.at.Before(r.begin) {
			continue
		}
		if s.set != nil {
			if answer := s.set.DeepCopy(); sets {
				answer.Status.Replicas = has[answer.Name]
				line(s.at, "update", "system:serviceaccount:kube-system:deployment-controller", "replicasets", answer.Name, "", 200, nil, answer)
			}
			continue
		}
		p, id := s.pod, string(s.pod.UID)
		if s.what == watch.Added {
			line(s.at, "create", "system:serviceaccount:kube-system:replicaset-controller", "pods", "", "", 201, nil, podAnswer(p))
		}
		if p.Spec.NodeName != "" && !bound[id] {
			line(s.at, "create", "system:kube-scheduler", "pods", p.Name, "binding", 201, nil, nil)
		}
		if p.DeletionTimestamp != nil && !going[id] {
			line(s.at, "create", "someone", "pods", p.Name, "eviction", 429, nil, nil)
			line(s.at, "delete", "someone", "pods", p.Name, "", 200, nil, podAnswer(p))
		}
		if !done[id] && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodRunning) {
			line(s.at, "patch", "system:node:"+p.Spec.NodeName, "pods", p.Name, "status", 200, map[string]any{"metadata": map[string]any{"uid": p.UID}, "status": map[string]any{"phase": p.Status.Phase}}, nil)
		}
		bound[id], going[id], done[id] = bound[id] || p.Spec.NodeName != "", going[id] || p.DeletionTimestamp != nil, done[id] || p.Status.Phase == corev1.PodSucceeded
	}
	line(r.end, "list", "someone", "pods", "", "", 200, nil, nil)
	for i := range files {
		var packed strings.Builder
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(files[i].String())); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "task", fmt.Sprint("kube-apiserver-audit-", 9-i), "000000.gz"), []byte(packed.String()))
	}
}

func podAnswer(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	return p
}

// exportPrometheus writes the series that a scrape each half minute and a query with a step of one minute give.
func exportPrometheus(t *testing.T, r *recorder, folder string) {
	type series struct {
		Metric map[string]string `json:"metric"`
		Values [][2]any          `json:"values"`
	}
	files := map[string]map[string]*series{}
	sample := func(at time.Time, name string, p *corev1.Pod, more map[string]string, value string) {
		labels := map[string]string{"__name__": name, "namespace": p.Namespace, "pod": p.Name, "uid": string(p.UID), "job": "kube-state-metrics"}
		for k, v := range more {
			labels[k] = v
		}
		id := string(marshal(t, labels))
		if files[name] == nil {
			files[name] = map[string]*series{}
		}
		if files[name][id] == nil {
			files[name][id] = &series{Metric: labels}
		}
		files[name][id].Values = append(files[name][id].Values, [2]any{at.Unix(), value})
	}
	pods, next := map[string]*corev1.Pod{}, 0
	for at := r.begin; !at.After(r.end); at = at.Add(time.Minute) {
		for ; next < len(r.seen) && !r.seen[next].at.After(at); next++ {
			if p := r.seen[next].pod; p != nil && r.seen[next].what == watch.Deleted {
				delete(pods, string(p.UID))
			} else if p != nil {
				pods[string(p.UID)] = p
			}
		}
		for _, p := range pods {
			owner := p.OwnerReferences[0]
			sample(at, "kube_pod_created", p, nil, fmt.Sprint(p.CreationTimestamp.Unix()))
			sample(at, "kube_pod_owner", p, map[string]string{"owner_kind": owner.Kind, "owner_name": owner.Name, "owner_is_controller": "true"}, "1")
			requests := p.Spec.Containers[0].Resources.Requests
			sample(at, "kube_pod_container_resource_requests", p, map[string]string{"container": "main", "resource": "cpu", "unit": "core"}, fmt.Sprint(requests.Cpu().AsApproximateFloat64()))
			sample(at, "kube_pod_container_resource_requests", p, map[string]string{"container": "main", "resource": "memory", "unit": "byte"}, fmt.Sprint(requests.Memory().Value()))
			if p.Status.StartTime != nil {
				sample(at, "kube_pod_start_time", p, nil, fmt.Sprint(p.Status.StartTime.Unix()))
			}
			if p.Status.Phase == corev1.PodSucceeded {
				for _, c := range p.Status.Conditions {
					if c.Type == corev1.PodReady {
						sample(at, "kube_pod_completion_time", p, nil, fmt.Sprint(c.LastTransitionTime.Unix()))
					}
				}
			}
		}
	}
	for name, all := range files {
		var result []*series
		for _, s := range all {
			result = append(result, s)
		}
		write(t, filepath.Join(folder, name+".json"), marshal(t, map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}}))
	}
}
