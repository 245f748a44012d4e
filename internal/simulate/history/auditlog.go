package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// auditEvent is what is used of an Event of audit.k8s.io/v1.
//
// Source: Kubernetes documentation, kube-apiserver Audit Configuration (v1).
type auditEvent struct {
	Kind, APIVersion         string
	Level, Stage             string
	RequestURI, Verb         string
	User                     struct{ Username string }
	ObjectRef                *auditRef
	ResponseStatus           *struct{ Code int }
	RequestObject            json.RawMessage
	ResponseObject           json.RawMessage
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

type auditRef struct{ Resource, Namespace, Name, UID, APIGroup, Subresource string }

// auditKinds are the kinds of the resources that are read.
var auditKinds = map[string]string{
	"pods": "Pod", "deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "replicationcontrollers": "ReplicationController",
	"daemonsets": "DaemonSet", "jobs": "Job", "poddisruptionbudgets": "PodDisruptionBudget", "priorityclasses": "PriorityClass",
}

// auditVerbs are those that change something.
var auditVerbs = map[string]bool{"create": true, "update": true, "patch": true, "delete": true, "deletecollection": true}

// movers are who deletes pods to move them, without an eviction.
//
// Source: the user names of the controllers of kube-controller-manager and of the scheduler.
var movers = map[string]bool{
	"system:serviceaccount:kube-system:pod-garbage-collector": true, "system:serviceaccount:kube-system:node-controller": true,
	"system:serviceaccount:kube-system:taint-eviction-controller": true, "system:kube-scheduler": true,
	"system:serviceaccount:kube-system:node-lifecycle-controller": true,
}

var (
	compactRef      = []byte(`"objectRef":{"resource":"`)
	compactVerb     = []byte(`"verb":"`)
	compactStamp    = []byte(`"stageTimestamp":"`)
	completedStage  = []byte(`"stage":"ResponseComplete"`)
	compactStageKey = []byte(`"stage":"`)
)

// dull tells at the cost of a few searches that an audit event says nothing of pods: most of a log are reads, leases and
// events. It never says so of one that does. Fields lie in the order that the API server writes them in; of any other form
// it knows nothing.
func dull(text []byte) bool {
	if i := bytes.Index(text, compactVerb); i >= 0 {
		rest := text[i+len(compactVerb):]
		if end := bytes.IndexByte(rest, '"'); end >= 0 && !auditVerbs[string(rest[:end])] {
			return true
		}
	}
	if bytes.Contains(text, compactStageKey) && !bytes.Contains(text, completedStage) {
		return true
	}
	i := bytes.Index(text, compactRef)
	if i < 0 {
		return false
	}
	rest := text[i+len(compactRef):]
	end := bytes.IndexByte(rest, '"')
	return end >= 0 && auditKinds[string(rest[:end])] == ""
}

// stamped is when a dull event was answered.
func stamped(text []byte) time.Time {
	i := bytes.LastIndex(text, compactStamp)
	if i < 0 {
		return time.Time{}
	}
	value, _, _ := bytes.Cut(text[i+len(compactStamp):], []byte{'"'})
	t, _ := time.Parse(time.RFC3339, string(value))
	return t
}

// audit notes what an audit event says. The time is that of the log's line, for where the event has none.
//
// Errors: the text is no audit event.
func (l *ledger) audit(text []byte, at time.Time) error {
	if dull(text) {
		l.covers(fromAudit, cmp.Or(at, stamped(text)))
		return nil
	}
	var e auditEvent
	if err := json.Unmarshal(text, &e); err != nil {
		e = auditEvent{}
		// Behind the event may be other columns, as aws --output text has them.
		if json.NewDecoder(bytes.NewReader(text)).Decode(&e) != nil && !l.rescue(text, at, &e) {
			return err
		}
	}
	if e.ObjectRef == nil && e.Verb == "" {
		return errNotAudit
	}
	if t := e.time(); !t.IsZero() {
		at = t
	}
	l.covers(fromAudit, at)
	if e.ObjectRef == nil || !auditVerbs[e.Verb] || e.Stage != "" && e.Stage != "ResponseComplete" ||
		e.ResponseStatus != nil && (e.ResponseStatus.Code < 200 || e.ResponseStatus.Code > 299) || strings.Contains(e.RequestURI, "dryRun=All") {
		return nil
	}
	kind := auditKinds[e.ObjectRef.Resource]
	switch {
	case kind == "" || at.IsZero():
		return nil
	case kind == "Pod":
		return l.auditPod(&e, at)
	}
	return l.auditOwner(&e, kind, at)
}

// time is when the answer was given.
func (e *auditEvent) time() time.Time {
	if !e.StageTimestamp.IsZero() {
		return e.StageTimestamp
	}
	return e.RequestReceivedTimestamp
}

// rescue reads of an event that was cut off as far as it goes: what was done to what stands before the objects.
//
// Source: falcosecurity/plugins#297: CloudWatch Logs cuts long entries and ends them with [Truncated...].
func (l *ledger) rescue(text []byte, at time.Time, e *auditEvent) bool {
	*e = auditEvent{}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for {
		key, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		name, _ := json.Marshal(key)
		one := append(append(append([]byte{'{'}, name...), ':'), value...)
		if json.Unmarshal(append(one, '}'), e) != nil {
			return false
		}
	}
	if e.Verb == "" || e.ObjectRef == nil || at.IsZero() && e.time().IsZero() {
		return false
	}
	l.notes.add(noteTruncated, e.ObjectRef.Namespace+"/"+e.ObjectRef.Name)
	return true
}

func (l *ledger) auditPod(e *auditEvent, at time.Time) error {
	r := e.ObjectRef
	switch r.Subresource {
	case "":
	case "status":
		return l.auditStatus(e, at)
	case "binding":
		if p := l.named(r); p != nil && e.Verb == "create" {
			p.heardBirth(at)
			p.there(at)
		}
		return nil
	case "eviction":
		if p := l.named(r); p != nil && e.Verb == "create" {
			p.there(at)
			p.ends(at, evicted)
		}
		return nil
	default:
		return nil
	}
	switch e.Verb {
	case "deletecollection":
		return l.deletedTogether(e, at)
	case "delete":
		var p *pod
		if is(e.ResponseObject, "Pod") {
			var err error
			if p, _, err = l.object("Pod", e.ResponseObject, time.Time{}, true); err != nil {
				return err
			}
		} else if p = l.named(r); p == nil {
			return nil
		}
		p.there(at)
		if movers[e.User.Username] {
			p.ends(at, evicted)
		} else {
			p.ends(at, deleted)
		}
		return nil
	}
	if is(e.ResponseObject, "Pod") {
		p, _, err := l.object("Pod", e.ResponseObject, at, true)
		if err == nil && e.Verb == "create" {
			p.heardBirth(at)
		}
		return err
	}
	if e.Verb != "create" {
		if p := l.named(r); p != nil {
			p.there(at)
		}
		return nil
	}
	// Without the response, the name that the API server gave is not known (kubernetes/kubernetes#100466); the binding
	// that follows has it.
	l.notes.add(noteNoResponse, "pods in "+r.Namespace)
	if is(e.RequestObject, "Pod") && r.Name != "" {
		p := l.named(r)
		p.heardBirth(at)
		p.there(at)
		return l.podSpec(p, e.RequestObject)
	} else if p := l.named(r); p != nil {
		p.heardBirth(at)
		p.there(at)
	}
	return nil
}

// deletedTogether notes which pods a deletion of many took, if the log has the answer.
func (l *ledger) deletedTogether(e *auditEvent, at time.Time) error {
	var list struct{ Items []json.RawMessage }
	if len(e.ResponseObject) > 0 && json.Unmarshal(e.ResponseObject, &list) == nil && len(list.Items) > 0 {
		for _, raw := range list.Items {
			p, _, err := l.object("Pod", raw, time.Time{}, true)
			if err != nil {
				return err
			}
			p.there(at)
			p.ends(at, deleted)
		}
		return nil
	}
	l.notes.add(noteCollection, "namespace "+e.ObjectRef.Namespace)
	return nil
}

// auditStatus notes what a kubelet says of a pod: a patch, or the whole pod.
func (l *ledger) auditStatus(e *auditEvent, at time.Time) error {
	var o struct {
		Kind     string
		Metadata struct{ UID string }
		Status   lightStatus
	}
	for _, raw := range []json.RawMessage{e.RequestObject, e.ResponseObject} {
		if len(raw) > 0 && raw[0] == '{' { // a JSON patch is a list of operations
			if err := json.Unmarshal(raw, &o); err != nil {
				return err
			}
		}
	}
	r := *e.ObjectRef
	if r.UID == "" {
		r.UID = o.Metadata.UID
	}
	if is(e.ResponseObject, "Pod") {
		_, _, err := l.object("Pod", e.ResponseObject, at, true)
		return err
	}
	p := l.named(&r)
	if p == nil {
		return nil
	}
	p.there(at)
	if o.Status.Phase == "Running" && p.started.IsZero() {
		p.started = at
	}
	l.podStatus(p, &o.Status)
	if o.Status.Phase == "Succeeded" || o.Status.Phase == "Failed" {
		p.ends(at, finished)
	}
	return nil
}

// named is the pod that a reference names; nil if it names none.
func (l *ledger) named(r *auditRef) *pod {
	if r.Name == "" {
		return nil
	}
	return l.pod(r.UID, r.Namespace, r.Name)
}

func (l *ledger) auditOwner(e *auditEvent, kind string, at time.Time) error {
	r := e.ObjectRef
	switch {
	case r.Subresource == "scale":
		var o struct {
			Spec   struct{ Replicas int }
			Status struct{ Replicas int }
		}
		if !is(e.ResponseObject, "Scale") {
			l.notes.add(noteNoResponse, r.Resource+" in "+r.Namespace)
			return nil
		}
		if err := json.Unmarshal(e.ResponseObject, &o); err != nil {
			return err
		}
		l.owner(ref{kind, r.Namespace, r.Name}).wants(change{at: at, n: o.Spec.Replicas, before: -1, had: o.Status.Replicas, exact: true})
		return nil
	case r.Subresource != "" && r.Subresource != "status":
		return nil
	case e.Verb == "delete":
		if is(e.ResponseObject, kind) { // it goes when what it owns has gone: what it was is of use
			if _, _, err := l.object(kind, e.ResponseObject, time.Time{}, true); err != nil {
				return err
			}
			l.undated = nil
		}
		if kind != "DaemonSet" && r.Name != "" {
			o := l.owner(ref{kind, r.Namespace, r.Name})
			if o.deleted.IsZero() || at.Before(o.deleted) {
				o.deleted = at
			}
		}
		return nil
	case e.Verb == "deletecollection":
		return nil
	}
	if !is(e.ResponseObject, kind) {
		if scaledKinds[kind] {
			l.notes.add(noteNoResponse, r.Resource+" in "+r.Namespace)
		}
		return nil
	}
	_, _, err := l.object(kind, e.ResponseObject, at, true)
	return err
}

// is tells whether an object is of a kind. The API server writes the kind first.
func is(raw json.RawMessage, kind string) bool {
	if len(raw) < 2 || raw[0] != '{' {
		return false
	}
	if rest, ok := bytes.CutPrefix(raw, []byte(`{"kind":"`)); ok {
		name, _, _ := bytes.Cut(rest, []byte{'"'})
		return string(name) == kind
	}
	var o struct{ Kind string }
	return json.Unmarshal(raw, &o) == nil && o.Kind == kind
}
