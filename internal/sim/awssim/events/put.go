package events

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// Bounds of PutEvents: entries and bytes of one request.
const (
	maxEntries    = 10
	maxEntryBytes = 1 << 20
)

type entry struct {
	Source, DetailType, Detail, EventBusName, TraceHeader string
	Resources                                             []string
	Time                                                  *float64 // seconds since 1970
}

func (e entry) size() int {
	n := len(e.Source) + len(e.DetailType) + len(e.Detail)
	if e.Time != nil {
		n += 14
	}
	for _, r := range e.Resources {
		n += len(r)
	}
	return n
}

// put is what became of an entry: an id, or an error.
type put struct {
	EventID      string `json:"EventId,omitempty"`
	ErrorCode    string `json:",omitempty"`
	ErrorMessage string `json:",omitempty"`
}

func (s *service) putEvents(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ Entries []entry }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if len(in.Entries) == 0 || len(in.Entries) > maxEntries {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length between 1 and %d", maxEntries)
	}
	total := 0
	for _, e := range in.Entries {
		total += e.size()
	}
	if total > maxEntryBytes {
		return nil, &wire.Error{Code: "ValidationException", Message: "Total size of the entries in the request is over the limit.", Status: 400}
	}
	out := make([]put, len(in.Entries))
	failed := 0
	for i, e := range in.Entries {
		if out[i] = s.putEvent(e); out[i].ErrorCode != "" {
			failed++
		}
	}
	return map[string]any{"FailedEntryCount": failed, "Entries": out}, nil
}

// putEvent judges one event and puts it on the bus. AWS's own sources are for AWS only.
func (s *service) putEvent(e entry) put {
	missing := func(name string) put {
		return put{ErrorCode: "InvalidArgument", ErrorMessage: "Parameter " + name + " is not valid. Reason: " + name + " is a required argument."}
	}
	var detail json.RawMessage
	switch {
	case e.Source == "":
		return missing("Source")
	case e.DetailType == "":
		return missing("DetailType")
	case e.Detail == "":
		return missing("Detail")
	case len(e.DetailType) > 128:
		return put{ErrorCode: "InvalidArgument", ErrorMessage: "Parameter DetailType is not valid. Reason: it is longer than 128 characters."}
	case strings.HasPrefix(e.Source, "aws."):
		return put{ErrorCode: "NotAuthorizedForSourceException", ErrorMessage: "Not authorized for the source."}
	case s.bus(e.EventBusName) != nil:
		return put{ErrorCode: "ResourceNotFoundException", ErrorMessage: "Event bus " + e.EventBusName + " does not exist."}
	case !strings.HasPrefix(strings.TrimSpace(e.Detail), "{") || json.Unmarshal([]byte(e.Detail), &detail) != nil:
		return put{ErrorCode: "MalformedDetail", ErrorMessage: "Detail is malformed."}
	}
	event := s.world.NewEvent(e.Source, e.DetailType, e.Resources, detail)
	if e.Time != nil {
		event.Time = time.Unix(int64(*e.Time), 0).UTC().Format(time.RFC3339)
	}
	if _, err := s.world.Emit(event); err != nil {
		return put{ErrorCode: "InternalFailure", ErrorMessage: err.Error()}
	}
	return put{EventID: event.ID}
}

// eventFields must be in an event that is tested.
var eventFields = []string{"id", "account", "source", "time", "region", "resources", "detail-type"}

func (s *service) testEventPattern(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ EventPattern, Event string }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	p, err := eventpattern.Parse([]byte(in.EventPattern))
	if err != nil {
		return nil, wire.Errorf("InvalidEventPatternException", "Event pattern is not valid. Reason: %v", err)
	}
	var event map[string]json.RawMessage
	if err := json.Unmarshal([]byte(in.Event), &event); err != nil {
		return nil, wire.Errorf("ValidationException", "Parameter Event is not valid. Reason: it is no JSON object: %v", err)
	}
	for _, f := range eventFields {
		if event[f] == nil {
			return nil, wire.Errorf("ValidationException", "Parameter Event is not valid. Reason: it has no field %q.", f)
		}
	}
	return map[string]bool{"Result": p.Match(in.Event)}, nil
}
