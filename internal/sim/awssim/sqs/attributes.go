package sqs

import (
	"context"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

func (s *service) setQueueAttributes(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		Attributes map[string]string
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.SetQueueAttributes(name, in.Attributes)
}

func (s *service) tagQueue(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		Tags map[string]string
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.TagQueue(name, in.Tags, nil)
}

func (s *service) untagQueue(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		TagKeys []string
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	return nil, s.world.TagQueue(name, nil, in.TagKeys)
}

func (s *service) listQueueTags(_ context.Context, r *wire.Request) (any, error) {
	var in queueInput
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	tags, err := s.world.QueueTags(name)
	if err != nil || len(tags) == 0 {
		return struct{}{}, err
	}
	return map[string]any{"Tags": tags}, nil
}

// listing is what operations that list queues have in common.
type listing struct {
	MaxResults *int
	NextToken  string
}

const maxListed = 1000

// urls answers with a page of the URLs of queues, which goes on behind the queue whose name is the token.
func (s *service) urls(member string, names []string, in listing) (any, error) {
	limit := maxListed
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > maxListed {
			return nil, wire.Errorf("InvalidParameterValue", "Value %d for parameter MaxResults is invalid. Reason: Must be between 1 and %d.", limit, maxListed)
		}
	}
	answer := map[string]any{}
	list := []string{}
	last := ""
	for _, n := range names {
		if n <= in.NextToken {
			continue
		}
		if len(list) == limit {
			if in.MaxResults != nil {
				answer["NextToken"] = last
			}
			break
		}
		list, last = append(list, s.world.QueueURL(n)), n
	}
	answer[member] = list
	return answer, nil
}

func (s *service) listQueues(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		listing
		QueueNamePrefix string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range s.world.QueueNames() {
		if strings.HasPrefix(n, in.QueueNamePrefix) {
			names = append(names, n)
		}
	}
	return s.urls("QueueUrls", names, in.listing)
}

func (s *service) listDeadLetterSources(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		queueInput
		listing
	}
	name, err := s.queue(r, &in, &in.QueueURL)
	if err != nil {
		return nil, err
	}
	names, err := s.world.DeadLetterSources(name)
	if err != nil {
		return nil, err
	}
	return s.urls("queueUrls", names, in.listing)
}
