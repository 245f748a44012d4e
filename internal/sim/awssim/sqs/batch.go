package sqs

import (
	"context"
	"errors"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const maxBatch = 10

// batch does the entries of a batch one by one and tells of each what became of it. kind is what SQS calls them.
func batch[E any](kind string, entries []E, id func(E) string, do func(E) (map[string]string, error)) (any, error) {
	if len(entries) == 0 {
		return nil, wire.Errorf("EmptyBatchRequest", "There should be at least one %s in the request.", kind)
	}
	if len(entries) > maxBatch {
		return nil, wire.Errorf("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, len(entries))
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[id(e)] {
			return nil, wire.Errorf("BatchEntryIdsNotDistinct", "Id %s repeated.", id(e))
		}
		seen[id(e)] = true
	}
	done, failed := []map[string]string{}, []map[string]any{}
	for _, e := range entries {
		answer, err := do(e)
		if err != nil {
			failed = append(failed, batchFailure(id(e), err))
			continue
		}
		if answer == nil {
			answer = map[string]string{}
		}
		answer["Id"] = id(e)
		done = append(done, answer)
	}
	return map[string]any{"Successful": done, "Failed": failed}, nil
}

func batchFailure(id string, err error) map[string]any {
	code, message := "InternalError", err.Error()
	if e, ok := errors.AsType[*world.Error](err); ok {
		code, message = e.Code, e.Message
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		code, message = e.Code, e.Message
	}
	return map[string]any{"Id": id, "SenderFault": true, "Code": code, "Message": message}
}

type deletion struct {
	ID            string `json:"Id"`
	ReceiptHandle string
}

func (s *service) deleteMessageBatch(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		Entries []deletion
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return batch("DeleteMessageBatchRequestEntry", in.Entries, func(e deletion) string { return e.ID },
		func(e deletion) (map[string]string, error) { return nil, s.world.DeleteMessage(name, e.ReceiptHandle) })
}
