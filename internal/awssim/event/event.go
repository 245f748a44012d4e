// Package event makes the messages that EventBridge would put on the interruption queue, and puts them there: state
// changes of every instance by itself, the others when asked.
package event

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/awssim/world"
)

// Envelope is an EventBridge event.
type Envelope struct {
	Version    string   `json:"version"`
	ID         string   `json:"id"`
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`
	Account    string   `json:"account"`
	Time       string   `json:"time"` // RFC 3339, whole seconds
	Region     string   `json:"region"`
	Resources  []string `json:"resources"`
	Detail     any      `json:"detail"`
}

// Kinds of event, by the names that the control page uses.
const (
	SpotInterruption       = "spot-interruption"
	Rebalance              = "rebalance"
	StateChange            = "state-change"
	ScheduledChange        = "scheduled-change"
	ReservationInterrupted = "reservation-interrupted"
)

// sender is who SQS says sent an event.
const sender = "events.amazonaws.com"

// Bus delivers events to one queue. It is a world.Lifecycle.
type Bus struct {
	world *world.World
	queue string

	mu     sync.Mutex
	serial int
	lost   int
}

// NewBus makes a bus whose rules all target one queue, which need not exist.
func NewBus(w *world.World, queue string) *Bus { return &Bus{world: w, queue: queue} }

// Queue returns the name of the queue that events go to.
func (b *Bus) Queue() string { return b.queue }

// Lost returns how many events could not be delivered.
func (b *Bus) Lost() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// Make builds an event of a kind about an instance that may or may not exist. state is used by state changes only.
func (b *Bus) Make(kind, instanceID, zone, state string) (Envelope, error) {
	b.mu.Lock()
	b.serial++
	serial := b.serial
	b.mu.Unlock()
	now := b.world.Now().UTC()
	partition, region, account := b.world.Partition(), b.world.Region(), b.world.Account()
	e := Envelope{
		Version: "0", ID: fmt.Sprintf("%08x-6b65-4266-8000-%012x", serial, now.Unix()), Source: "aws.ec2", Account: account,
		Time: now.Format(time.RFC3339), Region: region,
		Resources: []string{"arn:" + partition + ":ec2:" + region + ":" + account + ":instance/" + instanceID},
	}
	// Spot notices name the zone where other events name region and account.
	inZone := []string{"arn:" + partition + ":ec2:" + zone + ":instance/" + instanceID}
	switch kind {
	case SpotInterruption:
		e.DetailType, e.Resources = "EC2 Spot Instance Interruption Warning", inZone
		e.Detail = map[string]string{"instance-id": instanceID, "instance-action": "terminate"}
	case Rebalance:
		e.DetailType, e.Resources = "EC2 Instance Rebalance Recommendation", inZone
		e.Detail = map[string]string{"instance-id": instanceID}
	case StateChange:
		e.DetailType = "EC2 Instance State-change Notification"
		e.Detail = map[string]string{"instance-id": instanceID, "state": state}
	case ReservationInterrupted:
		e.DetailType = "EC2 Capacity Reservation Instance Interruption Warning"
		e.Detail = map[string]string{"instance-id": instanceID, "instance-action": "terminate"}
	case ScheduledChange:
		e.DetailType, e.Source = "AWS Health Event", "aws.health"
		e.Detail = health(now, region, instanceID)
	default:
		return Envelope{}, fmt.Errorf("there is no event of the kind %q", kind)
	}
	return e, nil
}

// notice is how long ahead the provider announces a retirement.
const notice = 14 * 24 * time.Hour

func health(now time.Time, region string, instances ...string) map[string]any {
	entities := make([]map[string]string, len(instances))
	for i, id := range instances {
		entities[i] = map[string]string{"entityValue": id}
	}
	code := "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED"
	return map[string]any{
		"eventArn": "arn:aws:health:" + region + "::event/EC2/" + code + "/" + code + "_" + now.Format("20060102150405"),
		"service":  "EC2", "eventTypeCode": code, "eventTypeCategory": "scheduledChange",
		"startTime": now.Add(notice).Format(time.RFC1123), "endTime": now.Add(notice).Format(time.RFC1123),
		"eventDescription": []map[string]string{{
			"language": "en_US", "latestDescription": "The hardware of these instances is to be retired.",
		}},
		"affectedEntities": entities,
	}
}

// Send puts an event on the queue.
func (b *Bus) Send(e Envelope) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if _, err := b.world.SendMessage(b.queue, sender, string(body), nil, -1); err != nil {
		b.mu.Lock()
		b.lost++
		b.mu.Unlock()
		return fmt.Errorf("deliver %s to queue %s: %w", e.DetailType, b.queue, err)
	}
	return nil
}

// changed reports a state; that nobody has made the queue is no failure of the instance.
func (b *Bus) changed(i world.Instance, state world.InstanceState) {
	if e, err := b.Make(StateChange, i.ID, i.Zone, string(state)); err == nil {
		_ = b.Send(e) // counted as lost
	}
}

// OnRunning reports that an instance runs.
func (b *Bus) OnRunning(i world.Instance) { b.changed(i, world.StateRunning) }

// OnTerminating reports that an instance shuts down.
func (b *Bus) OnTerminating(i world.Instance) { b.changed(i, world.StateShuttingDown) }

// OnTerminated reports that an instance is gone.
func (b *Bus) OnTerminated(i world.Instance) { b.changed(i, world.StateTerminated) }

// Interrupt warns of the reclaim of a spot instance and does it when the notice has run out, as EC2 does.
func (b *Bus) Interrupt(instanceID string, notice time.Duration) error {
	i, ok := b.world.Instance(instanceID)
	if !ok || i.State != world.StateRunning && i.State != world.StatePending {
		return fmt.Errorf("interrupt %s: there is no such running instance", instanceID)
	}
	e, err := b.Make(SpotInterruption, i.ID, i.Zone, "")
	if err != nil {
		return err
	}
	err = b.Send(e)
	b.world.Clock().AfterFunc(notice, func() { b.world.Reclaim(instanceID) })
	return err
}
