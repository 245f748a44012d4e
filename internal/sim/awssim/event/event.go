// Package event makes the events that AWS services put on the default event bus about instances, and puts them there:
// every change of state by itself, the others when asked. Where they go is up to the rules of the account.
package event

import (
	"fmt"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Envelope is an EventBridge event.
type Envelope = world.Event

// Kinds of event, by the names that the control page uses.
const (
	SpotInterruption       = "spot-interruption"
	Rebalance              = "rebalance"
	StateChange            = "state-change"
	ScheduledChange        = "scheduled-change"
	ReservationInterrupted = "reservation-interrupted"
)

// Kinds are all of them.
func Kinds() []string {
	return []string{SpotInterruption, Rebalance, StateChange, ScheduledChange, ReservationInterrupted}
}

// Request asks for an event about an instance, which need not exist.
type Request struct {
	Kind     string `json:"kind"`
	Instance string `json:"instance,omitempty"`
	State    string `json:"state,omitempty"` // state-change: the new state

	// Account is whose event it is; empty: this one's. Instances of other accounts are named by shared buses.
	Account string `json:"account,omitempty"`

	// What follows is for scheduled-change. Code is the type of event (AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED);
	// Start and End are the window (both two weeks ahead); Entities are further instances; Status is the state of the event
	// (open, upcoming or closed; open). Announce lets DescribeInstanceStatus show the event as well, for instances that
	// exist.
	Code     string    `json:"code,omitempty"`
	Start    time.Time `json:"startTime,omitzero"`
	End      time.Time `json:"endTime,omitzero"`
	Entities []string  `json:"entities,omitempty"`
	Status   string    `json:"status,omitempty"`
	Announce bool      `json:"announce,omitempty"`
}

// Bus puts events on the default bus of a world. It is a world.StateWatcher.
type Bus struct {
	world *world.World
	queue string
}

// NewBus makes a bus. queue is what the account calls its interruption queue, which need not exist.
func NewBus(w *world.World, queue string) *Bus { return &Bus{world: w, queue: queue} }

// Queue returns the name of the interruption queue.
func (b *Bus) Queue() string { return b.queue }

// Lost returns how often an event did not get to a target of a rule that matched it.
func (b *Bus) Lost() int { return b.world.FailureCount() }

// Make builds an event.
func (b *Bus) Make(r Request) (Envelope, error) {
	if r.Kind == ScheduledChange {
		return b.health(r)
	}
	arn := func(place string) []string {
		return []string{"arn:" + b.world.Partition() + ":ec2:" + place + ":instance/" + r.Instance}
	}
	account := b.world.Account()
	if r.Account != "" {
		account = r.Account
	}
	owned := arn(b.world.Region() + ":" + account)
	inZone := arn(b.zone(r.Instance)) // spot notices name the zone where other events name region and account
	var e Envelope
	switch r.Kind {
	case SpotInterruption:
		e = b.world.NewEvent("aws.ec2", "EC2 Spot Instance Interruption Warning", inZone,
			map[string]string{"instance-id": r.Instance, "instance-action": "terminate"})
	case Rebalance:
		e = b.world.NewEvent("aws.ec2", "EC2 Instance Rebalance Recommendation", inZone, map[string]string{"instance-id": r.Instance})
	case StateChange:
		if !slices.Contains(states, world.InstanceState(r.State)) {
			return Envelope{}, fmt.Errorf("there is no state %q of an instance", r.State)
		}
		e = b.world.NewEvent("aws.ec2", "EC2 Instance State-change Notification", owned,
			map[string]string{"instance-id": r.Instance, "state": r.State})
	case ReservationInterrupted:
		e = b.world.NewEvent("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", owned,
			map[string]string{"instance-id": r.Instance, "instance-action": "terminate"})
	default:
		return Envelope{}, fmt.Errorf("there is no event of the kind %q; there are %v", r.Kind, Kinds())
	}
	e.Account = account
	return e, nil
}

var states = []world.InstanceState{
	world.StatePending, world.StateRunning, world.StateStopping, world.StateStopped, world.StateShuttingDown, world.StateTerminated,
}

// zone is where an instance is, or the first zone for one that does not exist.
func (b *Bus) zone(instanceID string) string {
	if i, ok := b.world.Instance(instanceID); ok {
		return i.Zone
	}
	if zones := b.world.Zones(); len(zones) > 0 {
		return zones[0].Name
	}
	return b.world.Region() + "a"
}

// Send puts an event on the default bus and tells what came of it. That nobody gets it is no error.
func (b *Bus) Send(e Envelope) (world.Delivery, error) { return b.world.Emit(e) }

// Emit makes an event and puts it on the default bus.
func (b *Bus) Emit(r Request) (Envelope, world.Delivery, error) {
	e, err := b.Make(r)
	if err != nil {
		return Envelope{}, world.Delivery{}, err
	}
	if r.Kind == ScheduledChange && r.Announce {
		b.announce(r)
	}
	d, err := b.Send(e)
	return e, d, err
}

// OnState reports the state that an instance has come into.
func (b *Bus) OnState(i world.Instance) {
	if e, err := b.Make(Request{Kind: StateChange, Instance: i.ID, State: string(i.State)}); err == nil {
		_, _ = b.Send(e) // what is not delivered is counted by the world
	}
}

// TakeBack lets the owner of an interruptible capacity reservation have its instances back: each instance is warned, and ended
// when the notice has run out.
func (b *Bus) TakeBack(reservation string, notice time.Duration) ([]string, error) {
	instances, err := b.world.ReservationInstances(reservation)
	if err == nil {
		err = b.world.TakeBack(reservation)
	}
	if err != nil {
		return nil, err
	}
	for _, id := range instances {
		b.world.Clock().AfterFunc(notice, func() { _, _ = b.world.Terminate([]string{id}) }) // one that has ended meanwhile is no matter
		if _, _, err := b.Emit(Request{Kind: ReservationInterrupted, Instance: id}); err != nil {
			return nil, err
		}
	}
	return instances, nil
}

// Interrupt warns of the reclaim of a spot instance and does it when the notice has run out, as EC2 does.
func (b *Bus) Interrupt(instanceID string, notice time.Duration) error {
	i, ok := b.world.Instance(instanceID)
	if !ok || i.State != world.StateRunning && i.State != world.StatePending {
		return fmt.Errorf("interrupt %s: there is no such running instance", instanceID)
	}
	b.world.Clock().AfterFunc(notice, func() { b.world.Reclaim(instanceID) })
	_, _, err := b.Emit(Request{Kind: SpotInterruption, Instance: instanceID})
	return err
}
