// Package queue receives what EventBridge puts on the cluster's SQS queue and reads it. It knows nothing of Kubernetes.
package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/cloud"
)

const (
	// maxMessages is the most that SQS hands out at once.
	maxMessages = 10
	// longPoll is how long an empty queue is waited on, visibility how long a received message is hidden from others.
	longPoll   = 20 * time.Second
	visibility = 20 * time.Second
)

// API is what Queue calls.
type API interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// Queue is the interruption queue, by name. Its URL is looked up until that succeeds, and again when the queue turns out
// to be gone, so that it may be made or made anew while the controller runs.
//
// Concurrency: safe; several receivers may share one.
type Queue struct {
	api  API
	name string

	mu  sync.Mutex
	url string

	malformed atomic.Int64
}

// New makes a Queue. It calls nothing.
func New(api API, name string) *Queue { return &Queue{api: api, name: name} }

// Name is the queue's name.
func (q *Queue) Name() string { return q.name }

// Malformed is how many messages could not be read so far.
func (q *Queue) Malformed() int64 { return q.malformed.Load() }

// Delivery is one received message. It comes back after the visibility time unless it is deleted.
type Delivery struct {
	ID     string
	SentAt time.Time
	// Event is what the message says; nil when Err is set.
	Event *Event
	// Err is a *ParseError when the message is not what EventBridge sends. Such a message is best deleted: it will never
	// be better.
	Err error

	handle string
}

// Receive waits for messages, up to 20 seconds; none is no error.
//
// Errors: *cloud.Error; class NotFound when there is no queue of that name.
func (q *Queue) Receive(ctx context.Context) ([]Delivery, error) {
	url, err := q.lookUp(ctx)
	if err != nil {
		return nil, err
	}
	out, err := q.api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    &url,
		MaxNumberOfMessages:         maxMessages,
		WaitTimeSeconds:             int32(longPoll / time.Second),
		VisibilityTimeout:           int32(visibility / time.Second),
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameSentTimestamp},
		MessageAttributeNames:       []string{"All"},
	})
	if err != nil {
		return nil, q.failed("receiving from", err)
	}
	deliveries := make([]Delivery, len(out.Messages))
	for i, m := range out.Messages {
		deliveries[i] = q.read(m)
	}
	return deliveries, nil
}

func (q *Queue) read(m types.Message) Delivery {
	d := Delivery{ID: deref(m.MessageId), handle: deref(m.ReceiptHandle)}
	if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64); err == nil {
		d.SentAt = time.UnixMilli(ms)
	}
	if d.Event, d.Err = Parse([]byte(deref(m.Body))); d.Err != nil {
		q.malformed.Add(1)
	}
	return d
}

// Delete removes messages for good, ten to a call.
func (q *Queue) Delete(ctx context.Context, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	url, err := q.lookUp(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for start := 0; start < len(deliveries); start += maxMessages {
		errs = append(errs, q.deleteSome(ctx, url, deliveries[start:min(start+maxMessages, len(deliveries))]))
	}
	return errors.Join(errs...)
}

func (q *Queue) deleteSome(ctx context.Context, url string, deliveries []Delivery) error {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &url}
	for i := range deliveries {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: new(strconv.Itoa(i)), ReceiptHandle: &deliveries[i].handle})
	}
	out, err := q.api.DeleteMessageBatch(ctx, in)
	if err != nil {
		return q.failed("deleting messages from", err)
	}
	var errs []error
	for _, f := range out.Failed {
		errs = append(errs, &cloud.Error{
			Op: fmt.Sprintf("deleting a message from queue %q", q.name), Class: cloud.Unavailable,
			Err: fmt.Errorf("%s: %s", deref(f.Code), deref(f.Message)),
		})
	}
	return errors.Join(errs...)
}

// Check reports whether the queue can be found, for readiness and start-up messages.
func (q *Queue) Check(ctx context.Context) error {
	_, err := q.lookUp(ctx)
	return err
}

func (q *Queue) lookUp(ctx context.Context) (string, error) {
	q.mu.Lock()
	url := q.url
	q.mu.Unlock()
	if url != "" {
		return url, nil
	}
	out, err := q.api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &q.name})
	if err != nil {
		return "", q.failed("finding", err)
	}
	if url = deref(out.QueueUrl); url == "" {
		return "", q.failed("finding", errors.New("the answer has no URL"))
	}
	q.mu.Lock()
	q.url = url
	q.mu.Unlock()
	return url, nil
}

// failed wraps an error and forgets the URL if it leads nowhere.
func (q *Queue) failed(doing string, err error) error {
	err = awserr.Wrap(fmt.Sprintf("%s queue %q", doing, q.name), err)
	if cloud.IsNotFound(err) {
		q.mu.Lock()
		q.url = ""
		q.mu.Unlock()
		err = awserr.Wrap("create the queue, or set INTERRUPTION_QUEUE to the name of one in this region", err)
	}
	return err
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
