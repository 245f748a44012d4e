package queue_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

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

func TestMessagesAreReceivedAndDeleted(t *testing.T) {
	_, api := start(t)
	q := queue.New(api, queue.Reference{Name: "kerf"})
	bodies := []string{sample(t, "spot"), "not JSON", sample(t, "rebalance")}
	send(t, api, "kerf", bodies...)
	var got []queue.Delivery
	for len(got) < 3 {
		more, err := q.Receive(t.Context(), queue.LongPoll)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, more...)
	}
	for _, d := range got {
		if time.Since(d.SentAt) > time.Minute || d.Receives != 1 || d.ID == "" || !slices.Contains(bodies, d.Body) {
			t.Errorf("got %+v", d)
		}
	}
	if n, err := q.Delete(t.Context(), got); n != 3 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	if n, err := q.Delete(t.Context(), nil); n != 0 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
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
	q := queue.New(api, queue.Reference{Name: "late"})
	_, err := q.Receive(t.Context(), queue.LongPoll)
	if !cloud.IsNotFound(err) || !strings.Contains(err.Error(), `"late"`) || !strings.Contains(err.Error(), "INTERRUPTION_QUEUE") {
		t.Fatalf("got %v", err)
	}
	url, err := s.World.CreateQueue("late", nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, api, "late", sample(t, "spot"))
	if got, err := q.Receive(t.Context(), queue.LongPoll); err != nil || len(got) != 1 {
		t.Fatalf("after it was made: %v, %v", got, err)
	}
	if _, err := api.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Receive(t.Context(), queue.LongPoll); !cloud.IsNotFound(err) {
		t.Fatalf("after it was deleted: %v", err)
	}
	if _, err := s.World.CreateQueue("late", nil); err != nil {
		t.Fatal(err)
	}
	send(t, api, "late", sample(t, "spot"))
	if got, err := q.Receive(t.Context(), queue.LongPoll); err != nil || len(got) != 1 {
		t.Errorf("after it was made anew: %v, %v", got, err)
	}
}

func TestAQueueIsFoundByArnAndUrl(t *testing.T) {
	s, api := start(t)
	url, err := s.World.CreateQueue("mine", nil)
	if err != nil {
		t.Fatal(err)
	}
	account := s.World.Account()
	for _, named := range []string{"mine", "arn:aws:sqs:us-east-1:" + account + ":mine", url} {
		ref, err := queue.ParseReference(named)
		if err != nil || ref.In("us-east-1") != nil {
			t.Fatal(err)
		}
		send(t, api, "mine", sample(t, "spot"))
		q := queue.New(api, ref)
		got, err := q.Receive(t.Context(), queue.LongPoll)
		if err != nil || len(got) != 1 || got[0].Body != sample(t, "spot") {
			t.Fatalf("%s: %v, %v", named, got, err)
		}
		if n, err := q.Delete(t.Context(), got); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", named, n, err)
		}
	}
}

// The owner is part of the question, so that a queue of one's own of the same name is not taken for it.
func TestAQueueOfAnotherAccountIsNotTakenForOnesOwn(t *testing.T) {
	s, api := start(t)
	if _, err := s.World.CreateQueue("mine", nil); err != nil {
		t.Fatal(err)
	}
	ref, err := queue.ParseReference("arn:aws:sqs:us-east-1:999988887777:mine")
	if err != nil {
		t.Fatal(err)
	}
	_, err = queue.New(api, ref).Receive(t.Context(), queue.LongPoll)
	if !cloud.IsNotFound(err) || !strings.Contains(err.Error(), "999988887777: is it the controller's?") {
		t.Errorf("got %v", err)
	}
}
