package queue_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awssim"
	"github.com/kerf-sh/kerf/internal/awssim/world"
	"github.com/kerf-sh/kerf/internal/cloud"
)

const warning = `{"version":"0","id":"12345678-1234-1234-1234-123456789012","detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2",
"account":"123456789012","time":"2026-01-02T03:04:05Z","region":"us-east-1","resources":["arn:aws:ec2:us-east-1b:instance/i-0b662ef9931388ba0"],
"detail":{"instance-id":"i-0b662ef9931388ba0","instance-action":"terminate"}}`

func start(t *testing.T) (*awssim.Server, *sqs.Client) {
	t.Helper()
	s, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Close() })
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	clients, err := session.New(t.Context(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, clients.SQS
}

func send(t *testing.T, api *sqs.Client, name string, bodies ...string) {
	t.Helper()
	url, err := api.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bodies {
		if _, err := api.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &b}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMessagesAreReadAndDeleted(t *testing.T) {
	_, api := start(t)
	q := queue.New(api, "kerf")
	send(t, api, "kerf", warning, "not JSON", `{"version":"0","source":"aws.ec2","detail-type":"EC2 Instance Rebalance Recommendation","detail":{"instance-id":"i-1"}}`)
	var got []queue.Delivery
	for len(got) < 3 {
		more, err := q.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
	}
	kinds := map[queue.Kind]int{}
	bad := 0
	for _, d := range got {
		if time.Since(d.SentAt) > time.Minute {
			t.Errorf("sent at %v", d.SentAt)
		}
		if d.Event == nil {
			bad++
			if p, ok := errors.AsType[*queue.ParseError](d.Err); !ok || !strings.Contains(p.Error(), "not JSON") {
				t.Errorf("got %v", d.Err)
			}
			continue
		}
		kinds[d.Event.Kind]++
	}
	if kinds[queue.SpotInterrupted] != 1 || kinds[queue.Unknown] != 1 || bad != 1 || q.Malformed() != 1 {
		t.Errorf("kinds %v, %d bad, %d counted", kinds, bad, q.Malformed())
	}
	if err := q.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if err := q.Delete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	url, err := api.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("kerf")})
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is left, hidden or not.
	out, err := api.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl, AttributeNames: []sqsAttribute{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"} {
		if out.Attributes[k] != "0" {
			t.Errorf("%s is %s", k, out.Attributes[k])
		}
	}
}

func TestAQueueMayComeAndGo(t *testing.T) {
	s, api := start(t)
	q := queue.New(api, "late")
	_, err := q.Receive(t.Context())
	if !cloud.IsNotFound(err) || !strings.Contains(err.Error(), `"late"`) || !strings.Contains(err.Error(), "INTERRUPTION_QUEUE") {
		t.Fatalf("got %v", err)
	}
	url, err := s.World.CreateQueue("late", nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, api, "late", warning)
	if got, err := q.Receive(t.Context()); err != nil || len(got) != 1 {
		t.Fatalf("after it was made: %v, %v", got, err)
	}
	if _, err := api.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Receive(t.Context()); !cloud.IsNotFound(err) {
		t.Fatalf("after it was deleted: %v", err)
	}
	if _, err := s.World.CreateQueue("late", nil); err != nil {
		t.Fatal(err)
	}
	send(t, api, "late", warning)
	if got, err := q.Receive(t.Context()); err != nil || len(got) != 1 {
		t.Errorf("after it was made anew: %v, %v", got, err)
	}
}
