// Package queue receives what EventBridge puts on the cluster's SQS queue and reads it. It knows nothing of Kubernetes.
package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// maxMessages is the most that SQS hands out at once.
	maxMessages = 10
	// LongPoll is the longest that SQS waits for a message.
	LongPoll = 20 * time.Second
	// Visibility is how long a received message is hidden from other receivers; one that is not deleted by then comes again.
	Visibility = 20 * time.Second
)

// API is what Queue calls.
type API interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Queue is the interruption queue. Its URL is looked up until that succeeds, and again when the queue turns out to be
// gone, so that it may be made or made anew while the controller runs.
//
// Concurrency: safe; several receivers may share one.
type Queue struct {
	api API
	ref Reference

	mu  sync.Mutex
	url string
}

// New makes a Queue. It calls nothing.
func New(api API, ref Reference) *Queue { return &Queue{api: api, ref: ref, url: ref.URL} }

// Name is the queue's name.
func (q *Queue) Name() string { return q.ref.Name }

// Delivery is one received message. It comes back after the visibility time unless it is deleted.
type Delivery struct {
	ID     string
	SentAt time.Time
	// Receives is how often the message was handed out so far, this time included; 0 when SQS does not tell.
	Receives int
	// Body is for Foreign and Parse.
	Body string

	handle string
}

// Receive waits for messages, up to wait (at most LongPoll); none is no error.
//
// Errors: *cloud.Error; see ReasonOf.
func (q *Queue) Receive(ctx context.Context, wait time.Duration) ([]Delivery, error) {
	url, err := q.lookUp(ctx)
	if err != nil {
		return nil, err
	}
	out, err := q.api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:            &url,
		MaxNumberOfMessages: maxMessages,
		WaitTimeSeconds:     int32(min(wait, LongPoll) / time.Second),
		VisibilityTimeout:   int32(Visibility / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{
			types.MessageSystemAttributeNameSentTimestamp, types.MessageSystemAttributeNameApproximateReceiveCount,
		},
	})
	if err != nil {
		return nil, q.failed("receiving from", err)
	}
	deliveries := make([]Delivery, len(out.Messages))
	for i, m := range out.Messages {
		deliveries[i] = read(m)
	}
	return deliveries, nil
}

func read(m types.Message) Delivery {
	d := Delivery{ID: aws.ToString(m.MessageId), Body: aws.ToString(m.Body), handle: aws.ToString(m.ReceiptHandle)}
	if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		d.SentAt = time.UnixMilli(ms)
	}
	if n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)]); err == nil {
		d.Receives = n
	}
	return d
}

// Delete removes messages for good, ten to a call, and returns how many are gone.
//
// Errors: *cloud.Error, joined; see ReasonOf.
func (q *Queue) Delete(ctx context.Context, deliveries []Delivery) (int, error) {
	if len(deliveries) == 0 {
		return 0, nil
	}
	url, err := q.lookUp(ctx)
	if err != nil {
		return 0, err
	}
	done := 0
	var errs []error
	for start := 0; start < len(deliveries); start += maxMessages {
		n, err := q.deleteSome(ctx, url, deliveries[start:min(start+maxMessages, len(deliveries))])
		done += n
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

func (q *Queue) deleteSome(ctx context.Context, url string, deliveries []Delivery) (int, error) {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
	for i := range deliveries {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: new(strconv.Itoa(i)), ReceiptHandle: &deliveries[i].handle})
	}
	out, err := q.api.DeleteMessageBatch(ctx, in)
	if err != nil {
		return 0, q.failed("deleting messages from", err)
	}
	var errs []error
	for _, f := range out.Failed {
		errs = append(errs, &cloud.Error{
			Op: fmt.Sprintf("deleting a message from queue %s", q.ref), Class: cloud.Unavailable,
			Err: fmt.Errorf("%s: %s", aws.ToString(f.Code), aws.ToString(f.Message)),
		})
	}
	return len(deliveries) - len(errs), errors.Join(errs...)
}

func (q *Queue) lookUp(ctx context.Context) (string, error) {
	q.mu.Lock()
	url := q.url
	q.mu.Unlock()
	if url != "" {
		return url, nil
	}
	in := &sqs.GetQueueUrlInput{QueueName: &q.ref.Name}
	if q.ref.Account != "" {
		in.QueueOwnerAWSAccountId = &q.ref.Account
	}
	out, err := q.api.GetQueueUrl(ctx, in)
	if err != nil {
		return "", q.failed("finding", err)
	}
	if url = aws.ToString(out.QueueUrl); url == "" {
		return "", q.failed("finding", errors.New("the answer has no URL"))
	}
	q.mu.Lock()
	q.url = url
	q.mu.Unlock()
	return url, nil
}

// failed wraps an error and forgets the URL if it leads nowhere.
func (q *Queue) failed(doing string, err error) error {
	err = awserr.Wrap(fmt.Sprintf("%s queue %s", doing, q.ref), explain(err))
	if ReasonOf(err) == ReasonNotFound {
		q.mu.Lock()
		q.url = q.ref.URL
		q.mu.Unlock()
		what := "create the queue, or set INTERRUPTION_QUEUE to the name of one in this region"
		if q.ref.Account != "" {
			what += fmt.Sprintf(" (INTERRUPTION_QUEUE says account %s: is it the controller's?)", q.ref.Account)
		}
		err = awserr.Wrap(what, err)
	}
	return err
}
