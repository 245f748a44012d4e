// Package sqs answers SQS requests from the simulated world.
package sqs

import (
	"context"
	"errors"
	"slices"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for operation, h := range map[string]wire.Handler{
		"CreateQueue":                  svc.createQueue,
		"DeleteQueue":                  svc.deleteQueue,
		"ListQueues":                   svc.listQueues,
		"GetQueueUrl":                  svc.getQueueURL,
		"GetQueueAttributes":           svc.getQueueAttributes,
		"SetQueueAttributes":           svc.setQueueAttributes,
		"TagQueue":                     svc.tagQueue,
		"UntagQueue":                   svc.untagQueue,
		"ListQueueTags":                svc.listQueueTags,
		"ListDeadLetterSourceQueues":   svc.listDeadLetterSources,
		"SendMessage":                  svc.sendMessage,
		"SendMessageBatch":             svc.sendMessageBatch,
		"ReceiveMessage":               svc.receiveMessage,
		"DeleteMessage":                svc.deleteMessage,
		"DeleteMessageBatch":           svc.deleteMessageBatch,
		"ChangeMessageVisibility":      svc.changeVisibility,
		"ChangeMessageVisibilityBatch": svc.changeVisibilityBatch,
		"PurgeQueue":                   svc.purgeQueue,
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
	"QueueDeletedRecently": "AWS.SimpleQueueService.QueueDeletedRecently",
	"UnsupportedOperation": "AWS.SimpleQueueService.UnsupportedOperation",

	"KmsDisabled":     "KMS.DisabledException",
	"KmsInvalidState": "KMS.InvalidStateException",
	"KmsNotFound":     "KMS.NotFoundException",

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
		Tags       map[string]string `json:"tags"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if err := s.world.QueueNameFree(in.QueueName); err != nil {
		return nil, err
	}
	url, err := s.world.CreateTaggedQueue(in.QueueName, in.Attributes, in.Tags)
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
	if err := s.world.DeleteQueue(name); err != nil {
		return nil, err
	}
	s.world.QueueDeletedByCall(name)
	return nil, nil
}

func (s *service) getQueueURL(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		QueueName string
		Owner     string `json:"QueueOwnerAWSAccountId"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if in.Owner != "" {
		in.QueueName = in.Owner + "/" + in.QueueName
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
