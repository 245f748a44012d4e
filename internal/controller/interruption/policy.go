package interruption

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/events"
)

// how says in what way the pods of an instance are moved.
type how int

const (
	// tell: not at all; only an event says so.
	tell how = iota
	// graceful: the NodeClaim is deleted; PodDisruptionBudgets and terminationGracePeriod hold.
	graceful
	// byNotice: like graceful, but what is still there shortly before the instance goes is deleted, past all budgets: two
	// minutes after AWS spoke it goes whatever we do.
	byNotice
	// inWindow: graceful, a while before the work that AWS has scheduled; at once when it is nearer than that.
	inWindow
	// ifGone: past all budgets when the instance no longer runs, because there is nothing left to wait for; else graceful.
	ifGone
	// atOnce: past all budgets where the node is not ready either; else graceful, for pods run on it yet.
	atOnce
)

// rule is what is done about one kind of news of an instance.
type rule struct {
	how how
	// ahead holds the drain back for a while until the replacements are there.
	ahead bool
	// closes: what was launched here is not asked for again for a while.
	closes bool
	// event is the reason of the Kubernetes event on NodeClaim and Node, says its text.
	event, eventType, says string
}

const warning, normal = corev1.EventTypeWarning, corev1.EventTypeNormal

// rules are what is done about each kind of message. Kinds that are not here ask for nothing.
var rules = map[queue.Kind]rule{
	queue.SpotInterrupted: {
		how: byNotice, ahead: true, closes: true,
		event: events.SpotInterrupted, eventType: warning, says: "AWS takes the spot instance back",
	},
	queue.RebalanceRecommended: {
		how:   tell,
		event: events.SpotRebalanceRecommendation, eventType: normal, says: "AWS sees a raised risk that it takes the spot instance back",
	},
	queue.ScheduledChange: {
		how: inWindow, ahead: true,
		event: events.InstanceUnhealthy, eventType: warning, says: "AWS has scheduled work on the instance",
	},
	queue.InstanceStopped: {
		how:   graceful,
		event: events.InstanceStopping, eventType: warning, says: "the instance stops; it was not Kerf that stopped it",
	},
	queue.InstanceTerminated: {
		how:   ifGone,
		event: events.InstanceTerminating, eventType: warning, says: "the instance is being terminated; it was not Kerf that ended it",
	},
	queue.ReservationInterrupted: {
		how: byNotice, ahead: true, closes: true,
		event: events.CapacityReservationInstanceInterrupted, eventType: warning, says: "AWS takes the instance's capacity reservation back",
	},
}

// EventOf is the reason of the events that tell of a kind of message; empty where none does.
func EventOf(kind queue.Kind) string { return rules[kind].event }

// replaced is the rule for a rebalance recommendation where settings ask for replacement.
func replaced(r rule) rule {
	r.how, r.ahead, r.closes = graceful, true, true
	return r
}

// unhealthy is what is done about each status check that has failed for a while.
var unhealthy = map[instancestatus.Category]rule{
	instancestatus.Instance: {
		how: atOnce, event: events.InstanceUnhealthy, eventType: warning, says: "the instance fails EC2's instance status check",
	},
	instancestatus.System: {
		how: atOnce, event: events.InstanceUnhealthy, eventType: warning, says: "the instance fails EC2's system status check",
	},
	// A volume that does not answer may be a data volume of one pod; what to do is not for Kerf to say.
	instancestatus.Volumes: {
		how: tell, event: events.AttachedVolumeUnhealthy, eventType: warning, says: "EC2 can't reach a volume that is attached to the instance",
	},
}

// leftAlone is the rule for an instance of a zone that traffic is shifted away from.
func leftAlone(r rule) rule {
	r.how, r.says = tell, r.says+"; it stays, for traffic is shifted away from its zone"
	return r
}

// crowded is the rule for an instance that is one of many with failing checks.
func crowded(r rule) rule {
	r.how, r.says = tell, r.says+"; it stays, for so many others fail theirs that it is rather a fault of what they share, and instances in their place would fail as well"
	return r
}

// The kinds of news that do not come by message; the words are values of the label reason of disrupted NodeClaims.
const kindUnhealthy queue.Kind = "instance_unhealthy"

const (
	// notice is the time that AWS gives between an interruption warning and the end of the instance (EC2 user guide, "Spot
	// Instance interruption notices").
	notice = 2 * time.Minute
	// margin is how long before that the last pod has to be gone, for clocks that differ and for volumes to be let go.
	margin = 5 * time.Second
	// overtime is how long the pods of an instance have that runs though its notice is over. It may go at any moment; but EC2 has let it
	// run, and 30 seconds is what pods are given to end by default (Kubernetes: terminationGracePeriodSeconds).
	overtime = 30 * time.Second
	// impairedFor is how long a status check must have failed: checks fail for a moment now and then.
	impairedFor = 2 * time.Minute
)

// ends reports whether scheduled work ends the instance, so that nothing on it is worth waiting for when its time has
// come. After a reboot the pods are there again.
func ends(m *queue.Maintenance) bool {
	code := strings.ToLower(m.Code)
	return strings.Contains(code, "retire") || strings.Contains(code, "stop") || strings.Contains(code, "terminat")
}
