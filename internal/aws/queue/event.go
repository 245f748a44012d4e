package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Kind says what an Event tells.
type Kind string

// The kinds of event; the words are the values of the metric label message_type.
const (
	// SpotInterrupted: EC2 takes a spot instance back in two minutes.
	SpotInterrupted Kind = "spot_interrupted"
	// RebalanceRecommended: EC2 sees a raised risk that it takes a spot instance back.
	RebalanceRecommended Kind = "rebalance_recommendation"
	// ScheduledChange: AWS will reboot, stop or retire instances at a known time.
	ScheduledChange Kind = "scheduled_change"
	// InstanceStopped: an instance stops or has stopped.
	InstanceStopped Kind = "instance_stopped"
	// InstanceTerminated: an instance shuts down or is terminated.
	InstanceTerminated Kind = "instance_terminated"
	// ReservationInterrupted: an instance in an interruptible capacity reservation is taken back in two minutes.
	ReservationInterrupted Kind = "capacity_reservation_interrupted"
	// DoctorProbe: a message with which "kerf doctor" proves that messages arrive.
	DoctorProbe Kind = "doctor_probe"
	// NoOp: a message of a known sort that asks for nothing.
	NoOp Kind = "no_op"
	// Unknown: a well-formed message of a sort, or of an envelope version, that Kerf does not act on.
	Unknown Kind = "unknown"
)

// ProbeSource is the event source of DoctorProbe.
const ProbeSource = "kerf.sh/doctor"

// Event is one EventBridge event.
type Event struct {
	Kind Kind
	ID   string
	// Version, Source and DetailType are the envelope's own words.
	Version, Source, DetailType string
	Account, Region             string
	// Time is when the event was made; zero when the envelope does not tell.
	Time time.Time
	// InstanceIDs that the event is about.
	InstanceIDs []string
	// Action that follows an interruption: terminate, stop or hibernate.
	Action string
	// State of a state change.
	State string
	// Maintenance is set for ScheduledChange.
	Maintenance *Maintenance
	// Probe is the id of a DoctorProbe.
	Probe string
}

// Maintenance is work that AWS has scheduled on instances.
type Maintenance struct {
	// ID tells this event from others about the same instance.
	ID string
	// Code is the sort of work, such as AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED or instance-retirement.
	Code string
	// NotBefore is when the work may begin; zero when that is not told.
	NotBefore time.Time
	// Over: the work is done or was called off.
	Over bool
}

// ParseError is a message that is not an EventBridge event.
type ParseError struct {
	Body string // the beginning of the message
	Err  error
}

// Error says what is wrong and how to keep such messages away.
func (e *ParseError) Error() string {
	return fmt.Sprintf("the message %q is not an EventBridge event (%v): it is deleted; let only EventBridge rules write to the queue", e.Body, e.Err)
}

// Unwrap gives the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// shown is how much of a bad message an error quotes.
const shown = 120

// Parse reads a message. It is lenient where nothing depends on it: a time that can't be read is left out, and
// "detail_type" does for "detail-type".
//
// Errors: *ParseError.
func Parse(body string) (*Event, error) {
	e, err := parse([]byte(body))
	if err != nil {
		text := string(bytes.ToValidUTF8([]byte(body[:min(len(body), shown)]), []byte("?")))
		if len(body) > shown {
			text += "…"
		}
		return nil, &ParseError{Body: text, Err: err}
	}
	return e, nil
}

func parse(body []byte) (*Event, error) {
	envelope, err := object(body)
	if err != nil {
		return nil, err
	}
	e := &Event{Kind: Unknown}
	var detailType, spelled, made string
	for key, to := range map[string]*string{
		"version": &e.Version, "id": &e.ID, "source": &e.Source, "account": &e.Account, "region": &e.Region,
		"detail-type": &detailType, "detail_type": &spelled, "time": &made,
	} {
		if err := envelope.text(key, to); err != nil {
			return nil, err
		}
	}
	if e.DetailType = detailType; detailType == "" {
		e.DetailType = spelled
	}
	if e.Source == "" || e.DetailType == "" {
		return nil, errors.New("it has no source or no detail-type")
	}
	if t, err := time.Parse(time.RFC3339, made); err == nil {
		e.Time = t
	}
	detail := envelope["detail"]
	if e.Source == ProbeSource {
		return e, parseProbe(e, detail)
	}
	if read := readers[sort{e.Version, e.Source, e.DetailType}]; read != nil {
		if err := read(e, detail); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// fields is a JSON object whose keys are taken as they are written: encoding/json alone would take "Source" for "source".
type fields map[string]json.RawMessage

func object(raw []byte) (fields, error) {
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("it is null")
	}
	return f, nil
}

// text reads a string; one that is missing or null leaves to as it is.
func (f fields) text(key string, to *string) error {
	raw, ok := f[key]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("its %s is not a string: %w", key, err)
	}
	return nil
}
