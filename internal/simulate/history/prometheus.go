package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// reader reads one series of a metric.
type reader func(r *reading, s *series) error

// series is one series: its labels and its samples, oldest first.
type series struct {
	labels map[string]string
	raw    json.RawMessage
}

// readers are the metrics of kube-state-metrics that are read.
//
// Source: kube-state-metrics, docs/metrics/workload.
var readers = map[string]reader{
	"kube_pod_created":                          podCreated,
	"kube_pod_info":                             podInfo,
	"kube_pod_owner":                            podOwner,
	"kube_pod_start_time":                       podStart,
	"kube_pod_completion_time":                  podCompletion,
	"kube_pod_deletion_timestamp":               podDeletion,
	"kube_pod_status_phase":                     podPhase,
	"kube_pod_status_reason":                    podReason,
	"kube_pod_container_resource_requests":      func(r *reading, s *series) error { return podRequests(r, s, false) },
	"kube_pod_init_container_resource_requests": func(r *reading, s *series) error { return podRequests(r, s, true) },
	"kube_replicaset_owner":                     func(r *reading, s *series) error { return parent(r, s, "ReplicaSet", "replicaset") },
	"kube_job_owner":                            func(r *reading, s *series) error { return parent(r, s, "Job", "job_name") },
	"kube_replicaset_spec_replicas":             func(r *reading, s *series) error { return replicas(r, s, "ReplicaSet", "replicaset") },
	"kube_deployment_spec_replicas":             func(r *reading, s *series) error { return replicas(r, s, "Deployment", "deployment") },
	"kube_statefulset_replicas":                 func(r *reading, s *series) error { return replicas(r, s, "StatefulSet", "statefulset") },
	"kube_replicationcontroller_spec_replicas": func(r *reading, s *series) error {
		return replicas(r, s, "ReplicationController", "replicationcontroller")
	},
}

// counting are the metrics that have a series for every pod: a pod without a sample is gone.
var counting = map[string]bool{"kube_pod_created": true, "kube_pod_info": true, "kube_pod_owner": true}

// series reads one series of a range query, or of an instant query.
//
// Errors: it is none.
func (r *reading) series(raw []byte) error {
	var s struct {
		Metric map[string]string
		Values json.RawMessage
		Value  json.RawMessage
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if s.Metric == nil {
		return errors.New("the series has no metric")
	}
	if s.Values == nil && s.Value != nil {
		s.Values = append(append([]byte{'['}, s.Value...), ']')
	}
	name := s.Metric["__name__"]
	if c := s.Metric["cluster"]; c != "" && r.clusters[c] == "" {
		r.clusters[c] = r.Path
	}
	if name == "" {
		r.notes.add(noteNoMetricName, r.Path)
		return nil
	}
	read := readers[name]
	if read == nil {
		r.notes.add(noteOtherMetric, name)
		return nil
	}
	one := &series{labels: s.Metric, raw: s.Values}
	if err := read(r, one); err != nil {
		return err
	}
	r.took(fromPrometheus)
	return nil
}

// label is a label's value. Where the scrape's own labels won, Prometheus has put exported_ before those of the metric.
//
// Source: Prometheus documentation, scrape_config, honor_labels.
func (s *series) label(name string) string {
	if v := s.labels["exported_"+name]; v != "" {
		return v
	}
	return s.labels[name]
}

// pod is the pod that a series is of.
func (r *reading) podOf(s *series) (*pod, error) {
	name := s.label("pod")
	if name == "" {
		return nil, errors.New("the series has no label pod")
	}
	return r.pod(s.labels["uid"], s.label("namespace"), name), nil
}

// each calls f with every sample. NaN is no sample.
//
// Errors: a sample is not of the form [1764145800.123,"1"].
func (s *series) each(f func(t time.Time, v float64)) error {
	rest := bytes.TrimSpace(s.raw)
	if len(rest) < 2 || rest[0] != '[' {
		return errors.New("the series has no values")
	}
	for rest = rest[1:]; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n,")
		if len(rest) == 0 || rest[0] == ']' {
			return nil
		}
		end := bytes.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			return errBadSample
		}
		at, value, ok := bytes.Cut(rest[1:end], []byte{','})
		if !ok {
			return errBadSample
		}
		seconds, err := strconv.ParseFloat(string(bytes.TrimSpace(at)), 64)
		if err != nil || seconds < 0 || seconds > maxUnix {
			return errBadSample
		}
		v, err := strconv.ParseFloat(string(bytes.Trim(value, "\" \t\r\n")), 64)
		if err != nil {
			return errBadSample
		}
		if !math.IsNaN(v) {
			f(time.UnixMilli(int64(math.Round(seconds*1000))).UTC(), v)
		}
		rest = rest[end+1:]
	}
}

// maxUnix is the year 2200: a time beyond it is none.
const maxUnix = 7258118400

var errBadSample = errors.New(`a sample is not of the form [1764145800.123,"1"]`)

// unix is a value that is a time.
func unix(v float64) time.Time {
	if v <= 0 || v > maxUnix {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Round(v * 1000))).UTC()
}

// alive notes that the pod was there at each sample, and returns the last value.
func alive(r *reading, s *series) (p *pod, last float64, err error) {
	if p, err = r.podOf(s); err != nil {
		return nil, 0, err
	}
	all := counting[s.labels["__name__"]]
	err = s.each(func(t time.Time, v float64) {
		last = v
		if all {
			r.count(p, metrics, t)
		} else {
			p.there(t)
		}
		r.covers(fromPrometheus, t)
	})
	return p, last, err
}

func podCreated(r *reading, s *series) error {
	p, v, err := alive(r, s)
	if t := unix(v); err == nil && !t.IsZero() {
		p.created = t
	}
	return err
}

func podInfo(r *reading, s *series) error {
	p, _, err := alive(r, s)
	if err == nil {
		p.ownedBy(s.label("created_by_kind"), s.label("created_by_name"))
		p.on(s.label("node"))
	}
	return err
}

// on notes the node of a pod: those of Fargate have names of their own.
func (p *pod) on(node string) { p.fargate = p.fargate || strings.HasPrefix(node, "fargate-") }

func podOwner(r *reading, s *series) error {
	p, _, err := alive(r, s)
	if err == nil && s.label("owner_is_controller") != "false" {
		p.ownedBy(s.label("owner_kind"), s.label("owner_name"))
	}
	return err
}

// ownedBy notes what created a pod; kube-state-metrics writes <none> where nothing did.
func (p *pod) ownedBy(kind, name string) {
	if kind == "" || kind == "<none>" || name == "" || name == "<none>" {
		return
	}
	p.owner = ref{kind, p.namespace, name}
	p.mirror = p.mirror || kind == "Node"
}

func podStart(r *reading, s *series) error {
	p, v, err := alive(r, s)
	if t := unix(v); err == nil && !t.IsZero() && (p.started.IsZero() || t.Before(p.started)) {
		p.started = t
	}
	return err
}

// podDeletion: the metric is there from when the deletion was asked for; its value is when the grace period ends.
func podDeletion(r *reading, s *series) error {
	p, err := r.podOf(s)
	if err != nil {
		return err
	}
	first := true
	return s.each(func(t time.Time, v float64) {
		if until := unix(v); first && !until.IsZero() && until.Before(t) {
			t = until
		}
		if first {
			p.ends(t, deleted)
		}
		first = false
	})
}

func podReason(r *reading, s *series) error {
	p, err := r.podOf(s)
	if err != nil {
		return err
	}
	reason := s.label("reason")
	return s.each(func(t time.Time, v float64) {
		if v == 1 && (reason == "Evicted" || reason == "NodeLost" || reason == "NodeAffinity" || reason == "Shutdown") {
			p.ends(t, evicted)
		}
	})
}

func podRequests(r *reading, s *series, init bool) error {
	p, err := r.podOf(s)
	if err != nil {
		return err
	}
	_, v, err := alive(r, s)
	if err != nil {
		return err
	}
	r.metered = true
	p.on(s.label("node"))
	if p.asks == nil {
		p.asks = &asks{}
	}
	p.asks.add(s.label("container"), s.label("resource"), v, init)
	return nil
}

func parent(r *reading, s *series, kind, label string) error {
	if k, n := s.label("owner_kind"), s.label("owner_name"); k != "" && k != "<none>" && n != "" {
		r.owner(ref{kind, s.label("namespace"), s.label(label)}).parent = ref{k, s.label("namespace"), n}
	}
	return nil
}

func replicas(r *reading, s *series, kind, label string) error {
	name := s.label(label)
	if name == "" {
		return errors.New("the series has no label " + label)
	}
	o := r.owner(ref{kind, s.label("namespace"), name})
	return s.each(func(t time.Time, v float64) {
		r.covers(fromPrometheus, t)
		if v >= 0 && v <= math.MaxInt32 {
			o.wants(change{at: t, n: int(v), before: -1, had: -1})
		}
	})
}
