package queue

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sort is what decides how the detail of an event is read.
type sort struct{ version, source, detailType string }

// The detail types that mean something.
const (
	typeSpot        = "EC2 Spot Instance Interruption Warning"
	typeRebalance   = "EC2 Instance Rebalance Recommendation"
	typeHealth      = "AWS Health Event"
	typeState       = "EC2 Instance State-change Notification"
	typeReservation = "EC2 Capacity Reservation Instance Interruption Warning"
)

// readers read the detail of the sorts of message that mean something.
//
// Source: EC2 user guide and AWS Health user guide, "events in EventBridge".
var readers = map[sort]func(*Event, []byte) error{
	{"0", "aws.ec2", typeSpot}:        instance(SpotInterrupted),
	{"0", "aws.ec2", typeRebalance}:   instance(RebalanceRecommended),
	{"0", "aws.ec2", typeReservation}: instance(ReservationInterrupted),
	{"0", "aws.ec2", typeState}:       parseState,
	{"0", "aws.health", typeHealth}:   parseHealth,
}

// kindOfState is what a state asks for; the others ask for nothing.
func kindOfState(state string) Kind {
	switch state {
	case "stopping", "stopped":
		return InstanceStopped
	case "shutting-down", "terminated":
		return InstanceTerminated
	}
	return NoOp
}

var instancePattern = regexp.MustCompile(`^i-[0-9a-f]{8,17}$`)

// instance reads a detail about one instance.
func instance(kind Kind) func(*Event, []byte) error {
	return func(e *Event, detail []byte) error {
		f, err := object(detail)
		if err != nil {
			return fmt.Errorf("its detail can't be read: %w", err)
		}
		var id string
		for key, to := range map[string]*string{"instance-id": &id, "instance-action": &e.Action, "state": &e.State} {
			if err := f.text(key, to); err != nil {
				return fmt.Errorf("its detail can't be read: %w", err)
			}
		}
		if !instancePattern.MatchString(id) {
			return fmt.Errorf("its detail.instance-id %q is not an instance", id)
		}
		e.Kind, e.InstanceIDs = kind, []string{id}
		return nil
	}
}

func parseState(e *Event, detail []byte) error {
	if err := instance(NoOp)(e, detail); err != nil {
		return err
	}
	e.Kind = kindOfState(e.State)
	return nil
}

func parseProbe(e *Event, detail []byte) error {
	e.Kind, e.Probe = DoctorProbe, e.ID
	if f, err := object(detail); err == nil {
		for _, key := range []string{"id", "probe-id", "probe"} {
			var id string
			if f.text(key, &id) == nil && id != "" {
				e.Probe = id
			}
		}
	}
	return nil
}

// healthTime is how AWS Health writes times: as in mail headers, and in newer fields as RFC 3339.
func healthTime(s string) time.Time {
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

func parseHealth(e *Event, detail []byte) error {
	var d struct {
		EventARN         string          `json:"eventArn"`
		Service          string          `json:"service"`
		Code             string          `json:"eventTypeCode"`
		Category         string          `json:"eventTypeCategory"`
		StatusCode       string          `json:"statusCode"`
		StartTime        json.RawMessage `json:"startTime"`
		Description      []description   `json:"eventDescription"`
		AffectedEntities []struct {
			EntityValue string `json:"entityValue"`
		} `json:"affectedEntities"`
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		return fmt.Errorf("its detail can't be read: %w", err)
	}
	if d.Service != "EC2" || d.Category != "scheduledChange" {
		e.Kind = NoOp
		return nil
	}
	e.Kind = ScheduledChange
	e.Maintenance = &Maintenance{ID: d.EventARN, Code: d.Code, Over: d.StatusCode == "closed" || slices.ContainsFunc(d.Description, description.over)}
	if e.Maintenance.ID == "" {
		e.Maintenance.ID = e.ID
	}
	var start string
	if json.Unmarshal(d.StartTime, &start) == nil {
		e.Maintenance.NotBefore = healthTime(start)
	}
	for _, entity := range d.AffectedEntities {
		// An entity is an instance's id, or its ARN. Others, such as hosts, are not instances of ours.
		if id := entity.EntityValue[strings.LastIndexByte(entity.EntityValue, '/')+1:]; instancePattern.MatchString(id) {
			e.InstanceIDs = append(e.InstanceIDs, id)
		}
	}
	return nil
}

type description struct {
	Latest string `json:"latestDescription"`
}

func (d description) over() bool { return Over(d.Latest) }

// Over reports whether the description of scheduled work says that it is done or was called off: EC2 puts the word in
// brackets in front.
func Over(description string) bool {
	text := strings.ToLower(strings.TrimSpace(description))
	return strings.HasPrefix(text, "[completed]") || strings.HasPrefix(text, "[canceled]") || strings.HasPrefix(text, "[cancelled]")
}
