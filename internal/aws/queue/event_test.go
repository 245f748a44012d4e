package queue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/queue"
)

type sqsAttribute = types.QueueAttributeName

func TestASpotWarningIsReadInFull(t *testing.T) {
	got, err := queue.Parse([]byte(warning))
	if err != nil {
		t.Fatal(err)
	}
	want := &queue.Event{
		Kind: queue.SpotInterrupted, ID: "12345678-1234-1234-1234-123456789012", Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
		Account: "123456789012", Region: "us-east-1", Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), InstanceIDs: []string{"i-0b662ef9931388ba0"}, Action: "terminate",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnythingElseOnTheQueueIs(t *testing.T) {
	tests := []struct {
		name, body string
		kind       queue.Kind // empty: an error
	}{
		{"another kind of event", `{"version":"0","source":"aws.health","detail-type":"AWS Health Event","detail":{"service":"EC2"}}`, queue.Unknown},
		{"another version of the envelope", `{"version":"1","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1"}}`, queue.Unknown},
		{"another source", `{"version":"0","source":"mine","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"i-1"}}`, queue.Unknown},
		{"nothing", ``, ""},
		{"no JSON", `hello`, ""},
		{"JSON that is no object", `[1,2]`, ""},
		{"an object that is no event", `{"a":"b"}`, ""},
		{"a warning without detail", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning"}`, ""},
		{"a warning about no instance", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":{"instance-id":"vol-1"}}`, ""},
		{"a detail of another shape", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","detail":"x"}`, ""},
		{"a time that is none", `{"version":"0","source":"aws.ec2","detail-type":"x","time":"yesterday"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := queue.Parse([]byte(tt.body))
			if tt.kind == "" {
				if _, ok := errors.AsType[*queue.ParseError](err); !ok {
					t.Errorf("got %+v, %v, want a ParseError", got, err)
				}
				return
			}
			if err != nil || got.Kind != tt.kind {
				t.Errorf("got %+v, %v, want %s", got, err, tt.kind)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{warning, "", "{}", "null", `{"source":1}`, `{"version":"0","source":"a","detail-type":"b","detail":[`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := queue.Parse(body)
		if (e == nil) == (err == nil) {
			t.Errorf("got %v and %v", e, err)
		}
		if err != nil {
			if _, ok := errors.AsType[*queue.ParseError](err); !ok || err.Error() == "" {
				t.Errorf("got %T", err)
			}
		}
	})
}
