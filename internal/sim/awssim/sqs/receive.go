package sqs

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

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
	if err := s.world.QueueUsable(name); err != nil {
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
	if m.SourceARN != "" {
		system["DeadLetterQueueSourceArn"] = m.SourceARN
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

type visibilityEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string
	VisibilityTimeout json.Number
}

func (s *service) changeOne(name string, e visibilityEntry) error {
	n, err := e.VisibilityTimeout.Int64()
	if err != nil || n < 0 || n > 43200 {
		return wire.Errorf("InvalidParameterValue", "Value %s for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200.", e.VisibilityTimeout)
	}
	return s.world.ChangeMessageVisibility(name, e.ReceiptHandle, time.Duration(n)*time.Second)
}

func (s *service) changeVisibility(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		visibilityEntry
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.changeOne(name, in.visibilityEntry)
}

func (s *service) changeVisibilityBatch(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		Entries []visibilityEntry
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return batch("ChangeMessageVisibilityBatchRequestEntry", in.Entries, func(e visibilityEntry) string { return e.ID },
		func(e visibilityEntry) (map[string]string, error) { return nil, s.changeOne(name, e) })
}

func (s *service) purgeQueue(_ context.Context, r *wire.Request) (any, error) {
	var in queueInput
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.PurgeQueue(name)
}
