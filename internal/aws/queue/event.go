package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Kind says what an Event tells.
type Kind string

// The kinds of event; the words are the values of the metric label message_type.
const (
	// SpotInterrupted: EC2 takes spot instances back in two minutes.
	SpotInterrupted Kind = "spot_interrupted"
	// NoOp: a message of a known sort that asks for nothing.
	NoOp Kind = "no_op"
	// Unknown: a well-formed message of a sort that Kerf does not act on.
	Unknown Kind = "unknown"
)

// Event is one EventBridge event.
type Event struct {
	Kind Kind
	ID   string
	// Source and DetailType are the envelope's own words.
	Source, DetailType string
	Account, Region    string
	Time               time.Time
	// InstanceIDs that the event is about.
	InstanceIDs []string
	// Action that follows a spot interruption: terminate, stop or hibernate.
	Action string
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

type envelope struct {
	Version    string          `json:"version"`
	ID         string          `json:"id"`
	DetailType string          `json:"detail-type"`
	Source     string          `json:"source"`
	Account    string          `json:"account"`
	Region     string          `json:"region"`
	Time       time.Time       `json:"time"`
	Detail     json.RawMessage `json:"detail"`
}

type sort struct{ version, source, detailType string }

// parsers read the detail of the sorts of message that mean something.
var parsers = map[sort]func(*Event, []byte) error{
	{"0", "aws.ec2", "EC2 Spot Instance Interruption Warning"}: parseSpotInterruption,
}

// Parse reads a message.
//
// Errors: *ParseError.
func Parse(body []byte) (*Event, error) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, parseError(body, err)
	}
	if e.Source == "" || e.DetailType == "" {
		return nil, parseError(body, fmt.Errorf("it has no source or no detail-type"))
	}
	out := &Event{Kind: Unknown, ID: e.ID, Source: e.Source, DetailType: e.DetailType, Account: e.Account, Region: e.Region, Time: e.Time}
	parse := parsers[sort{e.Version, e.Source, e.DetailType}]
	if parse == nil {
		return out, nil
	}
	if err := parse(out, e.Detail); err != nil {
		return nil, parseError(body, err)
	}
	return out, nil
}

func parseSpotInterruption(e *Event, detail []byte) error {
	var d struct {
		InstanceID string `json:"instance-id"`
		Action     string `json:"instance-action"`
	}
	if err := json.Unmarshal(detail, &d); err != nil {
		return fmt.Errorf("its detail can't be read: %w", err)
	}
	if !strings.HasPrefix(d.InstanceID, "i-") {
		return fmt.Errorf("its detail.instance-id %q is not an instance", d.InstanceID)
	}
	e.Kind, e.InstanceIDs, e.Action = SpotInterrupted, []string{d.InstanceID}, d.Action
	return nil
}

func parseError(body []byte, err error) error {
	text := string(bytes.ToValidUTF8(body, []byte("?")))
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return &ParseError{Body: text, Err: err}
}
