package sqs

import (
	"context"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// sending is a message as senders give it.
type sending struct {
	ID                string `json:"Id"`
	MessageBody       string
	DelaySeconds      *int
	MessageAttributes map[string]world.MessageAttributes
}

// send puts one message on a queue and returns what SQS says of it.
func (s *service) send(r *wire.Request, queue string, in sending) (map[string]string, error) {
	delay := -time.Second
	if in.DelaySeconds != nil {
		if *in.DelaySeconds < 0 || *in.DelaySeconds > 900 {
			return nil, wire.Errorf("InvalidParameterValue", "Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.", *in.DelaySeconds)
		}
		delay = time.Duration(*in.DelaySeconds) * time.Second
	}
	m, err := s.world.SendMessage(queue, r.Principal.PrincipalID, in.MessageBody, in.MessageAttributes, delay)
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

func (s *service) sendMessage(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		sending
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := s.world.QueueUsable(name); err != nil {
		return nil, err
	}
	return s.send(r, name, in.sending)
}

// maxBatchBytes is how large all messages of a batch may be together.
const maxBatchBytes = 1 << 20

func (s *service) sendMessageBatch(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		Entries []sending
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := s.world.QueueUsable(name); err != nil {
		return nil, err
	}
	total := 0
	for _, e := range in.Entries {
		total += len(e.MessageBody)
	}
	if total > maxBatchBytes {
		return nil, wire.Errorf("BatchRequestTooLong", "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxBatchBytes, total)
	}
	return batch("SendMessageBatchRequestEntry", in.Entries, func(e sending) string { return e.ID },
		func(e sending) (map[string]string, error) { return s.send(r, name, e) })
}
