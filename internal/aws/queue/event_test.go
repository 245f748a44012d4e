package queue_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/queue"
)

type sqsAttribute = types.QueueAttributeName

func sample(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func samples(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	out := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		out[name] = sample(t, name)
	}
	return out
}

func TestASpotWarningIsReadInFull(t *testing.T) {
	got, err := queue.Parse(sample(t, "spot"))
	if err != nil {
		t.Fatal(err)
	}
	want := &queue.Event{
		Kind: queue.SpotInterrupted, ID: "12345678-1234-1234-1234-123456789012", Version: "0", Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
		Account: "123456789012", Region: "us-east-1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), InstanceIDs: []string{"i-0b662ef9931388ba0"}, Action: "terminate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEverySampleIsOfItsKind(t *testing.T) {
	start := time.Date(2026, 1, 16, 3, 0, 0, 0, time.UTC)
	one := []string{"i-0abcd1111abcd1111"}
	type want struct {
		kind        queue.Kind
		ids         []string
		maintenance *queue.Maintenance
		probe       string
	}
	wants := map[string]want{
		"spot":                {kind: queue.SpotInterrupted, ids: []string{"i-0b662ef9931388ba0"}},
		"spot_hibernate":      {kind: queue.SpotInterrupted, ids: []string{"i-0b662ef9931388ba0"}},
		"spelling":            {kind: queue.SpotInterrupted, ids: []string{"i-0b662ef9931388ba0"}},
		"foreign":             {kind: queue.SpotInterrupted, ids: []string{"i-0fffffffffffffff0"}},
		"rebalance":           {kind: queue.RebalanceRecommended, ids: []string{"i-0123456789abcdef0"}},
		"reservation":         {kind: queue.ReservationInterrupted, ids: []string{"i-0123456789abcdef0"}},
		"state_pending":       {kind: queue.NoOp, ids: one},
		"state_running":       {kind: queue.NoOp, ids: one},
		"state_stopping":      {kind: queue.InstanceStopped, ids: one},
		"state_stopped":       {kind: queue.InstanceStopped, ids: one},
		"state_short_id":      {kind: queue.InstanceStopped, ids: []string{"i-abcd1111"}},
		"state_shutting-down": {kind: queue.InstanceTerminated, ids: one},
		"state_terminated":    {kind: queue.InstanceTerminated, ids: one},
		"health_retirement": {kind: queue.ScheduledChange, ids: []string{"i-0abcd1111abcd1111", "i-0abcd1111abcd2222"}, maintenance: &queue.Maintenance{
			ID:   "arn:aws:health:us-west-2::event/EC2/AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED/AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED_20260102",
			Code: "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED", NotBefore: start}},
		"health_reboot_closed": {kind: queue.ScheduledChange, ids: one, maintenance: &queue.Maintenance{
			ID:   "arn:aws:health:us-west-2::event/EC2/AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED/X_1",
			Code: "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED", NotBefore: start, Over: true}},
		"health_canceled": {kind: queue.ScheduledChange, ids: one, maintenance: &queue.Maintenance{
			ID:   "arn:aws:health:us-west-2::event/EC2/AWS_EC2_INSTANCE_STOP_SCHEDULED/X_2",
			Code: "AWS_EC2_INSTANCE_STOP_SCHEDULED", NotBefore: start, Over: true}},
		"health_issue":         {kind: queue.NoOp},
		"health_other_service": {kind: queue.NoOp},
		"probe":                {kind: queue.DoctorProbe, probe: "k3rf"},
		"unknown_version":      {kind: queue.Unknown},
		"unknown_kind":         {kind: queue.Unknown},
	}
	for name, body := range samples(t) {
		t.Run(name, func(t *testing.T) {
			w, ok := wants[name]
			if !ok {
				t.Fatal("the sample is in no row")
			}
			got, err := queue.Parse(body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, want{got.Kind, got.InstanceIDs, got.Maintenance, got.Probe}, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoEvent(t *testing.T) {
	tests := []struct {
		name, body string
		kind       queue.Kind // empty: an error
	}{
		{"another source", `{"version":"0","source":"mine","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1"}}`, queue.Unknown},
		{"a time that is none is left out", `{"version":"0","source":"aws.ec2","detail-type":"x","time":"yesterday"}`, queue.Unknown},
		{"keys in capitals are other keys", `{"version":"0","Source":"aws.ec2","detail-type":"x"}`, ""},
		{"nothing", ``, ""},
		{"no JSON", `hello`, ""},
		{"null", `null`, ""},
		{"JSON that is no object", `[1,2]`, ""},
		{"an object that is no event", `{"a":"b"}`, ""},
		{"a source that is a number", `{"version":"0","source":1,"detail-type":"x"}`, ""},
		{"a warning without detail", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning"}`, ""},
		{"a warning about no instance", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"vol-1"}}`, ""},
		{"a detail of another shape", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":"x"}`, ""},
		{"a message cut off", sample(t, "spot")[:200], ""},
		{"bytes that are no text", "\xff\xfe\x00\x01", ""},
		{"a warning with one byte that is no text", strings.Replace(sample(t, "spot"), "terminate", "termin\xffate", 1), queue.SpotInterrupted},
		{"256 KiB of spaces around a warning", strings.Repeat(" ", 256<<10-len(sample(t, "spot"))) + sample(t, "spot"), queue.SpotInterrupted},
		{"256 KiB that begin like a warning", sample(t, "spot")[:300] + strings.Repeat("x", 256<<10-300), ""},
		{"256 KiB of brackets", strings.Repeat("[", 256<<10), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := queue.Parse(tt.body)
			if tt.kind == "" {
				e, ok := errors.AsType[*queue.ParseError](err)
				if !ok {
					t.Fatalf("got %+v, %v, want a ParseError", got, err)
				}
				if len(e.Error()) > 600 {
					t.Errorf("the error quotes too much: %d bytes", len(e.Error()))
				}
				return
			}
			if err != nil || got.Kind != tt.kind {
				t.Errorf("got %+v, %v, want %s", got, err, tt.kind)
			}
		})
	}
}

func TestMessagesAboutOthersAreKnownWithoutParsing(t *testing.T) {
	certain := []string{"spot", "spot_hibernate", "foreign", "rebalance", "reservation", "state_pending", "state_running", "state_stopping", "state_stopped", "state_short_id", "state_shutting-down", "state_terminated"}
	for name, body := range samples(t) {
		event, err := queue.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		kind, ok := queue.Foreign(body, func(string) bool { return false })
		if ok != slices.Contains(certain, name) || ok && kind != event.Kind {
			t.Errorf("%s: foreign %v, kind %q, want %q", name, ok, kind, event.Kind)
		}
		for _, id := range event.InstanceIDs {
			if _, ok := queue.Foreign(body, func(s string) bool { return s == id }); ok {
				t.Errorf("%s: %s is ours, but the message passes for foreign", name, id)
			}
		}
	}
}

func TestWhatHidesMustBeParsed(t *testing.T) {
	spot := sample(t, "state_stopped")
	for name, body := range map[string]string{
		"an escape":                  strings.Replace(spot, `"i-0abcd`, `"\u0069-0abcd`, 1),
		"a key that is there twice":  strings.Replace(spot, `{"version":"0"`, `{"version":"0","source":"x"`, 1),
		"a version further in":       strings.Replace(strings.Replace(spot, `"version":"0",`, "", 1), `"detail":{`, `"detail":{"version":"0",`, 1),
		"a state outside the detail": strings.Replace(strings.Replace(spot, `,"state":"stopped"`, "", 1), `,"detail"`, `,"x":{"state":"stopped"},"detail"`, 1),
		"a message cut off":          spot[:len(spot)-12],
		"the other spelling":         strings.Replace(spot, "detail-type", "detail_type", 1),
	} {
		if kind, ok := queue.Foreign(body, func(string) bool { return false }); ok {
			t.Errorf("%s: certain of %q", name, kind)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s)
	}
	for _, s := range []string{"", "{}", "null", `{"source":1}`, `{"version":"0","source":"a","detail-type":"b","detail":[`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, err := queue.Parse(body)
		if (e == nil) == (err == nil) {
			t.Errorf("got %v and %v", e, err)
		}
		if err != nil {
			if _, ok := errors.AsType[*queue.ParseError](err); !ok || err.Error() == "" {
				t.Errorf("got %T", err)
			}
			return
		}
		if e.Kind == "" || e.Source == "" || e.DetailType == "" {
			t.Errorf("an event without kind, source or detail-type: %+v", e)
		}
	})
}

// FuzzForeign holds the quick look against the full one: it may be unsure, but never wrong about a message that can be
// read.
func FuzzForeign(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s, "i-0abcd1111abcd1111")
		f.Add(s, "i-0b662ef9931388ba0")
	}
	f.Fuzz(func(t *testing.T, body, id string) {
		kind, ok := queue.Foreign(body, func(s string) bool { return s == id })
		if !ok {
			return
		}
		e, err := queue.Parse(body)
		if err != nil {
			return
		}
		if e.Kind != kind {
			t.Errorf("%q: the quick look says %q, the full one %q", body, kind, e.Kind)
		}
		if slices.Contains(e.InstanceIDs, id) {
			t.Errorf("%q names %s, but passes for foreign", body, id)
		}
	})
}

func BenchmarkForeign(b *testing.B) {
	body := sample(b, "state_terminated")
	ours := func(string) bool { return false }
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := queue.Foreign(body, ours); !ok {
			b.Fatal("not certain")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	body := sample(b, "state_terminated")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := queue.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
}
