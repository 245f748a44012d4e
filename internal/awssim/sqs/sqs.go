// Package sqs answers SQS requests from the simulated world.
package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/awssim/wire"
	"github.com/kerf-sh/kerf/internal/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for operation, h := range map[string]wire.Handler{
		"CreateQueue":             svc.createQueue,
		"DeleteQueue":             svc.deleteQueue,
		"GetQueueUrl":             svc.getQueueURL,
		"GetQueueAttributes":      svc.getQueueAttributes,
		"SendMessage":             svc.sendMessage,
		"ReceiveMessage":          svc.receiveMessage,
		"DeleteMessage":           svc.deleteMessage,
		"DeleteMessageBatch":      svc.deleteMessageBatch,
		"ChangeMessageVisibility": svc.changeVisibility,
		"PurgeQueue":              svc.purgeQueue,
	} {
		s.Handle(wire.SQS, operation, withQueryCode(h))
	}
}

// queryCodes are the codes of the older query protocol, which SQS still sends beside the new ones and which SDK
// clients show.
var queryCodes = map[string]string{
	"QueueDoesNotExist":    "AWS.SimpleQueueService.NonExistentQueue",
	"PurgeQueueInProgress": "AWS.SimpleQueueService.PurgeQueueInProgress",
	"QueueNameExists":      "QueueAlreadyExists",
	"UnsupportedOperation": "AWS.SimpleQueueService.UnsupportedOperation",

	"EmptyBatchRequest":            "AWS.SimpleQueueService.EmptyBatchRequest",
	"BatchEntryIdsNotDistinct":     "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
	"MessageNotInflight":           "AWS.SimpleQueueService.MessageNotInflight",
	"TooManyEntriesInBatchRequest": "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
}

func withQueryCode(h wire.Handler) wire.Handler {
	return func(ctx context.Context, r *wire.Request) (any, error) {
		v, err := h(ctx, r)
		if e, ok := errors.AsType[*world.Error](err); ok {
			err = &wire.Error{Code: e.Code, Message: e.Message, Status: e.Status}
		}
		if e, ok := errors.AsType[*wire.Error](err); ok && queryCodes[e.Code] != "" {
			e.QueryCode = queryCodes[e.Code]
		}
		return v, err
	}
}

// queueInput is what all operations on a queue have in common.
type queueInput struct {
	QueueURL string `json:"QueueUrl"`
}

// queue decodes the body into in and finds the queue that url points to.
func (s *service) queue(r *wire.Request, in any, url *string) (string, error) {
	if err := r.Decode(in); err != nil {
		return "", err
	}
	if *url == "" {
		return "", wire.Errorf("MissingParameter", "The request must contain the parameter QueueUrl.")
	}
	return s.world.QueueNameOf(*url)
}

func (s *service) createQueue(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		QueueName  string
		Attributes map[string]string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	url, err := s.world.CreateQueue(in.QueueName, in.Attributes)
	if err != nil {
		return nil, err
	}
	return map[string]string{"QueueUrl": url}, nil
}

func (s *service) deleteQueue(_ context.Context, r *wire.Request) (any, error) {
	var in queueInput
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.DeleteQueue(name)
}

func (s *service) getQueueURL(_ context.Context, r *wire.Request) (any, error) {
	var in struct{ QueueName string }
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	name, err := s.world.QueueNameOf(in.QueueName)
	if err != nil {
		return nil, err
	}
	return map[string]string{"QueueUrl": s.world.QueueURL(name)}, nil
}

func (s *service) getQueueAttributes(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		AttributeNames []string
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	all, err := s.world.QueueAttributes(name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(in.AttributeNames, "All") {
		for k := range all {
			if !slices.Contains(in.AttributeNames, k) {
				delete(all, k)
			}
		}
	}
	return map[string]any{"Attributes": all}, nil
}

func (s *service) sendMessage(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		MessageBody       string
		DelaySeconds      *int
		MessageAttributes map[string]world.MessageAttributes
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	delay := -time.Second
	if in.DelaySeconds != nil {
		if *in.DelaySeconds < 0 || *in.DelaySeconds > 900 {
			return nil, wire.Errorf("InvalidParameterValue", "Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", *in.DelaySeconds)
		}
		delay = time.Duration(*in.DelaySeconds) * time.Second
	}
	m, err := s.world.SendMessage(name, r.Principal.PrincipalID, in.MessageBody, in.MessageAttributes, delay)
	if err != nil {
		return nil, err
	}
	r.Detail = m.ID
	answer := map[string]string{"MessageId": m.ID, "MD5OfMessageBody": digest([]byte(m.Body))}
	if len(m.Attributes) > 0 {
		answer["MD5OfMessageAttributes"] = attributesDigest(m.Attributes)
	}
	return answer, nil
}

type receiveInput struct {
	queueInput
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
}

func (s *service) receiveMessage(ctx context.Context, r *wire.Request) (any, error) {
	var in receiveInput
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	ask := world.Receive{Max: 1, Wait: seconds(in.WaitTimeSeconds), Visibility: seconds(in.VisibilityTimeout)}
	if in.MaxNumberOfMessages != nil {
		ask.Max = *in.MaxNumberOfMessages
	}
	got, err := s.world.ReceiveMessages(ctx, name, ask)
	if err != nil {
		return nil, err
	}
	r.Detail = strconv.Itoa(len(got)) + " messages"
	if len(got) == 0 {
		return struct{}{}, nil
	}
	out := make([]map[string]any, len(got))
	for i, m := range got {
		out[i] = show(m, in)
	}
	return map[string]any{"Messages": out}, nil
}

// seconds turns an optional number into a duration; one that is not given, or below zero, is left to the queue.
func seconds(n *int) time.Duration {
	if n == nil {
		return -time.Second
	}
	return time.Duration(*n) * time.Second
}

func show(m world.Message, in receiveInput) map[string]any {
	out := map[string]any{
		"MessageId": m.ID, "ReceiptHandle": m.ReceiptHandle, "Body": m.Body, "MD5OfBody": digest([]byte(m.Body)),
	}
	system := map[string]string{
		"SentTimestamp":                    strconv.FormatInt(m.Sent.UnixMilli(), 10),
		"SenderId":                         m.SenderID,
		"ApproximateReceiveCount":          strconv.Itoa(m.ReceiveCount),
		"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.FirstReceived.UnixMilli(), 10),
	}
	wanted := append(slices.Clone(in.AttributeNames), in.MessageSystemAttributeNames...)
	if keepNamed(system, wanted); len(system) > 0 {
		out["Attributes"] = system
	}
	if keepNamed(m.Attributes, in.MessageAttributeNames); len(m.Attributes) > 0 {
		out["MessageAttributes"] = m.Attributes
		out["MD5OfMessageAttributes"] = attributesDigest(m.Attributes)
	}
	return out
}

func keepNamed[V any](m map[string]V, names []string) {
	if slices.Contains(names, "All") || slices.Contains(names, ".*") {
		return
	}
	for k := range m {
		if !slices.Contains(names, k) {
			delete(m, k)
		}
	}
}

func (s *service) deleteMessage(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		ReceiptHandle string
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.DeleteMessage(name, in.ReceiptHandle)
}

const maxBatch = 10

func (s *service) deleteMessageBatch(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		Entries []struct {
			ID            string `json:"Id"`
			ReceiptHandle string
		}
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	if len(in.Entries) == 0 {
		return nil, wire.Errorf("EmptyBatchRequest", "There should be at least one DeleteMessageBatchRequestEntry in the request.")
	}
	if len(in.Entries) > maxBatch {
		return nil, wire.Errorf("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(in.Entries))
	}
	seen := map[string]bool{}
	for _, e := range in.Entries {
		if seen[e.ID] {
			return nil, wire.Errorf("BatchEntryIdsNotDistinct", "Id %s repeated.", e.ID)
		}
		seen[e.ID] = true
	}
	done, failed := []map[string]string{}, []map[string]any{}
	for _, e := range in.Entries {
		if err := s.world.DeleteMessage(name, e.ReceiptHandle); err != nil {
			failed = append(failed, batchFailure(e.ID, err))
			continue
		}
		done = append(done, map[string]string{"Id": e.ID})
	}
	return map[string]any{"Successful": done, "Failed": failed}, nil
}

func batchFailure(id string, err error) map[string]any {
	code, message := "InternalError", err.Error()
	if e, ok := errors.AsType[*world.Error](err); ok {
		code, message = e.Code, e.Message
	}
	return map[string]any{"Id": id, "SenderFault": true, "Code": code, "Message": message}
}

func (s *service) changeVisibility(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		ReceiptHandle     string
		VisibilityTimeout json.Number
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	n, err := in.VisibilityTimeout.Int64()
	if err != nil || n < 0 || n > 43200 {
		return nil, wire.Errorf("InvalidParameterValue", "Value %s for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200.", in.VisibilityTimeout)
	}
	return nil, s.world.ChangeMessageVisibility(name, in.ReceiptHandle, time.Duration(n)*time.Second)
}

func (s *service) purgeQueue(_ context.Context, r *wire.Request) (any, error) {
	var in queueInput
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.PurgeQueue(name)
}
