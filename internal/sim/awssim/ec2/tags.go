package ec2

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// maxTagged is how many resources one call may tag.
const maxTagged = 1000

type createTagsInput struct {
	Resources []string    `query:"ResourceId"`
	Tags      []world.Tag `query:"Tag"`
}

func (s *service) createTags(r *wire.Request, in *createTagsInput) (any, error) {
	if err := checkTagged(in.Resources); err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter tagSet")
	}
	if r.DryRun() {
		return nil, wire.DryRunOperation()
	}
	if err := s.world.Tag(in.Resources, in.Tags); err != nil {
		return nil, err
	}
	r.Detail = fmt.Sprintf("%d resources, %d tags", len(in.Resources), len(in.Tags))
	return done{true}, nil
}

func checkTagged(ids []string) error {
	switch {
	case len(ids) == 0:
		return wire.Errorf("MissingParameter", "The request must contain the parameter resourceIdSet")
	case len(ids) > maxTagged:
		return wire.Errorf("InvalidParameterValue", "%d resources are named; at most %d can be", len(ids), maxTagged)
	}
	return nil
}

type deleteTagsInput struct {
	Resources []string `query:"ResourceId"`
	Tags      []struct {
		Key   string  `query:"Key"`
		Value *string `query:"Value"`
	} `query:"Tag"`
}

func (s *service) deleteTags(r *wire.Request, in *deleteTagsInput) (any, error) {
	if err := checkTagged(in.Resources); err != nil {
		return nil, err
	}
	if r.DryRun() {
		return nil, wire.DryRunOperation()
	}
	var keys map[string]*string
	if len(in.Tags) > 0 {
		keys = map[string]*string{}
		for _, t := range in.Tags {
			keys[t.Key] = t.Value
		}
	}
	if err := s.world.Untag(in.Resources, keys); err != nil {
		return nil, err
	}
	return done{true}, nil
}

type describeTagsInput struct {
	paging
	Filters []filter `query:"Filter"`
}

type describeTagsOutput struct {
	Tags      []tagRecord `xml:"tagSet>item"`
	NextToken string      `xml:"nextToken,omitempty"`
}

type tagRecord struct {
	ResourceID   string `xml:"resourceId"`
	ResourceType string `xml:"resourceType"`
	Key          string `xml:"key"`
	Value        string `xml:"value"`
}

var tagFilters = filterable[world.TagRecord]{attributes: map[string]func(*world.TagRecord) []string{
	"key":           one(func(t *world.TagRecord) string { return t.Key }),
	"resource-id":   one(func(t *world.TagRecord) string { return t.ResourceID }),
	"resource-type": one(func(t *world.TagRecord) string { return t.ResourceType }),
	"value":         one(func(t *world.TagRecord) string { return t.Value }),
}}

func (s *service) describeTags(_ *wire.Request, in *describeTagsInput) (any, error) {
	all, token, err := describe(s.world.AllTags(), nil, in.Filters, in.paging, describing[world.TagRecord]{
		id: func(t *world.TagRecord) string { return t.ResourceID + "\x00" + t.Key }, filters: tagFilters, limits: limits{min: 5, max: 1000, size: 1000},
	})
	if err != nil {
		return nil, err
	}
	out := describeTagsOutput{NextToken: token}
	for _, t := range all {
		out.Tags = append(out.Tags, tagRecord(t))
	}
	return out, nil
}
