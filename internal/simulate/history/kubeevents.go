package history

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// kubeEvent is an Event of v1 or of events.k8s.io/v1, which calls some fields otherwise.
type kubeEvent struct {
	Metadata struct{ CreationTimestamp time.Time }
	Reason   string

	InvolvedObject, Regarding                eventObject
	Message, Note                            string
	FirstTimestamp, DeprecatedFirstTimestamp time.Time
	LastTimestamp, DeprecatedLastTimestamp   time.Time
	EventTime                                time.Time
	Series                                   struct{ LastObservedTime time.Time }
}

type eventObject struct{ Kind, Namespace, Name, UID string }

// times are when the event was first and last observed.
func (e *kubeEvent) times() (first, last time.Time) {
	var s span
	for _, t := range []time.Time{
		e.FirstTimestamp, e.DeprecatedFirstTimestamp, e.LastTimestamp, e.DeprecatedLastTimestamp, e.EventTime, e.Series.LastObservedTime,
	} {
		s.add(t)
	}
	if s.from.IsZero() {
		s.add(e.Metadata.CreationTimestamp)
	}
	return s.from, s.to
}

// Messages of controllers.
//
// Source: the events that kubectl describe shows of ReplicaSets, StatefulSets, Jobs, CronJobs and Deployments. Deployments
// have said "to 3", "to 3 from 1" (1.25) and "from 1 to 3" (1.31; kubernetes/kubernetes#101142 and #125118).
var (
	podMade    = regexp.MustCompile(`^(?:Created pod: |[Cc]reate Pod )(\S+)`)
	podRemoved = regexp.MustCompile(`^(?:Deleted pod: |[Dd]elete Pod )(\S+)`)
	jobMade    = regexp.MustCompile(`^Created job (\S+)`)
	jobSeen    = regexp.MustCompile(`^Saw completed job: ([^,\s]+)`)
	setScaled  = regexp.MustCompile(`^Scaled (?:up|down) replica set (\S+) (?:from (\d+) )?to (\d+)(?: from (\d+))?`)
)

// combined is what client-go writes before the message when there are more than ten Events alike in ten minutes.
//
// Source: client-go, the event aggregator of tools/record.
const combined = "(combined from similar events): "

// movedBy are reasons of events about a pod that is moved.
//
// Source: the kubelet (Evicted), the scheduler (Preempted), the taint eviction controller, Karpenter and the Vertical Pod
// Autoscaler (EvictedByVPA, EvictedPod).
var movedBy = map[string]bool{"Evicted": true, "Preempted": true, "TaintManagerEviction": true, "EvictedByVPA": true, "EvictedPod": true, "ScaleDown": true}

// event notes what an Event says.
func (l *ledger) event(raw []byte) error {
	var e kubeEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	about, message := e.InvolvedObject, e.Message
	if about.Kind == "" {
		about = e.Regarding
	}
	if message == "" {
		message = e.Note
	}
	first, last := e.times()
	if rest, ok := strings.CutPrefix(message, combined); ok { // the message is that of the last
		message, first = rest, last
	}
	if about.Kind == "" || first.IsZero() {
		return errNoTime
	}
	// One that recurs is kept since it was last observed: its first time is no beginning of what is known.
	l.covers(fromEvents, last)
	switch about.Kind {
	case "Pod":
		l.podEvent(&e, about, message, first, last)
	case "ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "Job":
		l.ownerEvent(&e, about, message, first, last)
	case "Deployment":
		if m := setScaled.FindStringSubmatch(message); e.Reason == "ScalingReplicaSet" && m != nil {
			o := l.owner(ref{"ReplicaSet", about.Namespace, m[1]})
			o.parent = ref{"Deployment", about.Namespace, strings.Clone(about.Name)}
			n, _ := strconv.Atoi(m[3])
			before := -1
			for _, text := range []string{m[2], m[4]} {
				if text != "" {
					before, _ = strconv.Atoi(text)
				}
			}
			o.wants(change{at: first, n: n, before: before, had: -1, told: true})
			if last.After(first) { // the same again and again: what was in between is not known
				o.wants(change{at: last, n: n, before: before, had: -1, told: true})
			}
		}
	case "CronJob":
		if m := jobMade.FindStringSubmatch(message); m != nil {
			o := l.owner(ref{"Job", about.Namespace, m[1]})
			o.parent, o.created = ref{"CronJob", about.Namespace, strings.Clone(about.Name)}, first
		} else if m := jobSeen.FindStringSubmatch(message); m != nil {
			l.owner(ref{"Job", about.Namespace, m[1]}).finish(first)
		}
	}
	return nil
}

func (o *owner) finish(t time.Time) {
	if o.finished.IsZero() || t.Before(o.finished) {
		o.finished = t
	}
}

func (l *ledger) podEvent(e *kubeEvent, about eventObject, message string, first, last time.Time) {
	p := l.pod(about.UID, about.Namespace, about.Name)
	switch {
	case e.Reason == "Scheduled", e.Reason == "FailedScheduling":
		p.heardBirth(first)
		p.there(first)
	case e.Reason == "Killing" && strings.HasPrefix(message, "Stopping container"):
		// A container that fails its probe is killed too, with another message, and the pod stays.
		p.there(first)
		p.ends(first, deleted)
	case movedBy[e.Reason] && !strings.HasPrefix(message, "Cancelling"):
		p.there(first)
		p.ends(first, evicted)
	default:
		if e.Reason == "Started" && (p.started.IsZero() || first.Before(p.started)) {
			p.started = first
		}
		p.there(first)
		if p.ended.IsZero() {
			p.there(last)
		}
	}
}

// heardBirth notes when something was first heard of a pod as of a new one; what the API says of its creation is better.
func (p *pod) heardBirth(t time.Time) {
	if p.heard.IsZero() || t.Before(p.heard) {
		p.heard = t
	}
}

func (l *ledger) ownerEvent(e *kubeEvent, about eventObject, message string, first, last time.Time) {
	r := ref{about.Kind, about.Namespace, strings.Clone(about.Name)}
	if e.Reason == "SuccessfulCreate" {
		if m := podMade.FindStringSubmatch(message); m != nil {
			p := l.pod("", about.Namespace, m[1])
			p.owner = r
			p.heardBirth(first)
			p.there(first)
		}
	}
	if e.Reason == "SuccessfulDelete" {
		if m := podRemoved.FindStringSubmatch(message); m != nil {
			p := l.pod("", about.Namespace, m[1])
			p.owner = r
			p.there(first)
			p.ends(last, deleted)
		}
	}
	if about.Kind == "Job" && (e.Reason == "Completed" || e.Reason == "BackoffLimitExceeded" || e.Reason == "DeadlineExceeded") {
		l.owner(r).finish(first)
	}
}
