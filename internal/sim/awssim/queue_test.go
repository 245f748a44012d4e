package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestQueueHidesDeletesAndRedelivers(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	_, cfg := start(t, awssim.Options{World: world.Options{Clock: clock}})
	c := sqs.NewFromConfig(cfg)
	ctx := t.Context()
	if _, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none")}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" && code(err) != "QueueDoesNotExist" {
		t.Errorf("a queue that does not exist: %v", err)
	}
	url, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("kerf")})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one", "two", "three"} {
		if _, err := c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &body, MessageAttributes: map[string]sqstypes.MessageAttributeValue{
			"k": {DataType: aws.String("String"), StringValue: aws.String("v")},
		}}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Second)
	}
	receive := func() []sqstypes.Message {
		t.Helper()
		out, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: url.QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 20, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameSentTimestamp, sqstypes.MessageSystemAttributeNameApproximateReceiveCount},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages
	}
	first := receive()
	if len(first) != 3 || *first[0].Body != "one" || *first[0].MessageAttributes["k"].StringValue != "v" {
		t.Fatalf("received %+v", first)
	}
	if got := first[1].Attributes["SentTimestamp"]; got != "1767323046000" {
		t.Errorf("sent at %s ms", got)
	}
	if again := receive(); len(again) != 0 {
		t.Errorf("hidden messages were received: %+v", again)
	}
	if _, err := c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url.QueueUrl, ReceiptHandle: first[0].ReceiptHandle}); err != nil {
		t.Error(err)
	}
	clock.Advance(21 * time.Second)
	second := receive()
	if len(second) != 2 || second[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("after the visibility timeout: %+v", second)
	}
	batch, err := c.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url.QueueUrl, Entries: []sqstypes.DeleteMessageBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: second[0].ReceiptHandle}, {Id: aws.String("b"), ReceiptHandle: aws.String("not base64!")},
		{Id: aws.String("c"), ReceiptHandle: first[2].ReceiptHandle}, // older than the newest receipt
	}})
	if err != nil || len(batch.Successful) != 2 || len(batch.Failed) != 1 || *batch.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("batch: %+v, %v", batch, err)
	}
	attributes, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
	if err != nil || attributes.Attributes["ApproximateNumberOfMessagesNotVisible"] != "1" || attributes.Attributes["MessageRetentionPeriod"] != "300" {
		t.Errorf("attributes: %v, %v", attributes, err)
	}
	clock.Advance(5 * time.Minute)
	if left := receive(); len(left) != 0 {
		t.Errorf("messages outlive the retention period: %+v", left)
	}
	if _, err := c.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url.QueueUrl}); err != nil {
		t.Error(err)
	}
	if _, err := c.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url.QueueUrl}); !strings.Contains(code(err), "PurgeQueueInProgress") {
		t.Errorf("a second purge at once: %v", err)
	}
}

func TestLongPollEndsWithTheFirstMessage(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s, cfg := start(t, awssim.Options{World: world.Options{Clock: clock}})
	c := sqs.NewFromConfig(cfg)
	url := s.World.QueueURL("kerf")
	poll := func() chan []sqstypes.Message {
		got := make(chan []sqstypes.Message, 1)
		go func() {
			out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
			if err != nil {
				t.Error(err)
				got <- nil
				return
			}
			got <- out.Messages
		}()
		await(t, "the poll waits", func() bool { return clock.Waiting() > 0 })
		return got
	}
	got := poll()
	if _, err := s.World.SendMessage("kerf", "x", "hello", nil, 0); err != nil {
		t.Fatal(err)
	}
	if m := <-got; len(m) != 1 || *m[0].Body != "hello" {
		t.Errorf("received %+v", m)
	}
	got = poll()
	clock.Advance(20 * time.Second)
	if m := <-got; len(m) != 0 {
		t.Errorf("received %+v from an empty queue", m)
	}
}
