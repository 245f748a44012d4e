package history

import (
	"cmp"
	"errors"
	"slices"
)

// Unknown is something that the history does not say, or that was assumed in place of it.
type Unknown struct {
	What    string `json:"what"`
	Count   int    `json:"count"`
	Example string `json:"example,omitempty"`
}

// notes count what is not known.
type notes struct {
	order []string
	by    map[string]*Unknown
}

func newNotes() *notes { return &notes{by: map[string]*Unknown{}} }

func (n *notes) add(what, example string) { n.addCount(what, example, 1) }

func (n *notes) addCount(what, example string, count int) {
	if count == 0 {
		return
	}
	u := n.by[what]
	if u == nil {
		u = &Unknown{What: what, Example: example}
		n.by[what] = u
		n.order = append(n.order, what)
	}
	u.Count += count
}

// all are in the order of noteOrder, others behind them as they came.
func (n *notes) all() []Unknown {
	out := make([]Unknown, 0, len(n.order))
	for _, what := range n.order {
		out = append(out, *n.by[what])
	}
	rank := func(u Unknown) int {
		if i := slices.Index(noteOrder, u.What); i >= 0 {
			return i
		}
		return len(noteOrder)
	}
	slices.SortStableFunc(out, func(a, b Unknown) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// What may be unknown, in words.
const (
	noteBefore       = "pods that were there before the history begins: they start at its beginning"
	noteNoBirth      = "pods whose creation the history does not have: they start at its beginning"
	noteCutJobs      = "pods of Jobs that still ran when the history ends: they end there"
	noteNoRequests   = "pods whose requests are not known: 100m of CPU and 128 MiB of memory are assumed"
	noteConstraints  = "pods whose constraints (affinity, spread, tolerations, node selectors) are not known: they can go anywhere"
	noteBetween      = "pods that ended between two observations: the middle is taken"
	noteGuessedOwner = "pods whose Deployment or Job is guessed from their name"
	noteVolumes      = "volumes of PersistentVolumeClaims: the zone that they bind pods to is not kept"
	noteTruncated    = "audit events that were cut off: what was done is read, the object is not"
	noteNoResponse   = "audit events without the object that the API server answered with (level Metadata or Request)"
	noteCollection   = "deletions of many pods at once that do not say which: they end when something else says so"
	noteNoMetricName = "series without a metric's name: select series, do not aggregate them"
	noteOtherMetric  = "series of metrics that are not read"
	noteRolled       = "pods that ended between two observations while a new ReplicaSet of the Deployment got pods: they end when those began"
	noteReplaced     = "pods that took the place of one that was evicted, deleted or lost: no new demand"
	noteRerun        = "pods of Jobs that were moved before they ended: only the run that ended counts"
	notePresumed     = "workloads of which only a change of their size is known: the size before it is presumed since the beginning"
	noteOnlyChanges  = "Events and audit logs name only what has changed: workloads without a change are missing; add a dump of the pods (kubectl get pods -A -o json)"
	noteNoOwner      = "pods whose owner is not known: they are pods of their own, though they may be of a Job or a DaemonSet"
	noteDaemonPods   = "DaemonSets that are rebuilt from their pods"
	noteUnsureTime   = "dumps whose time is that of the newest entry in them: neither their name nor the file's time says better"
	noteScaled       = "pods that ended when Events told that their ReplicaSet got smaller: which ones is presumed"
	noteContradicts  = "pods more than Events told that their ReplicaSet was to have: later Events or dumps still name them, so they are kept"
	noteGap          = "stretches of time of which no source speaks: what was there before is played on, and what came and went in them is missing"
	noteFarDump      = "a dump from hours before or after the time of the other sources: it adds pods, requests and constraints, and no time"
	noteOneDump      = "a single dump says what there was, not what came and went: add later ones, or another source"
)

// noteOrder is the order in which they are said.
var noteOrder = []string{
	noteGap, noteFarDump, noteOnlyChanges, noteOneDump, noteBefore, noteNoBirth, notePresumed, noteBetween, noteScaled, noteContradicts, noteRolled, noteCutJobs, noteNoRequests, noteConstraints, noteVolumes, noteGuessedOwner, noteNoOwner,
	noteReplaced, noteRerun, noteDaemonPods, noteNoResponse, noteTruncated, noteCollection, noteUnsureTime, noteNoMetricName, noteOtherMetric,
}

var (
	errNoName   = errors.New("the object has no name")
	errNoTime   = errors.New("the Event has no object or no time")
	errNotAudit = errors.New("it is no audit event")
)

// Kinds of sources, as an Account names them.
const (
	fromEvents     = "Kubernetes Events"
	fromDumps      = "dumps of pods"
	fromWatch      = "watch of pods"
	fromPrometheus = "Prometheus"
	fromAudit      = "audit log"
)
