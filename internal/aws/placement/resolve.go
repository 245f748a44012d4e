// Package placement finds the placement group that a node class selects, and chooses among the partitions of one.
package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// answerAge is how long an answer is believed. It is a little less than the pause between two looks at a class.
const answerAge = 50 * time.Second

// missingAge is how long it is believed that there is no such group; somebody is about to make it, as a rule.
const missingAge = 5 * time.Second

// API is what Resolver calls.
type API interface {
	DescribePlacementGroups(context.Context, *ec2.DescribePlacementGroupsInput, ...func(*ec2.Options)) (*ec2.DescribePlacementGroupsOutput, error)
}

// Resolver finds placement groups. All methods may be called from many goroutines.
type Resolver struct {
	api API
	now func() time.Time

	mu      sync.Mutex
	answers map[awsv1.PlacementGroupSelector]answer
}

type answer struct {
	group *awsv1.PlacementGroup // nil: there is none
	at    time.Time
}

// NewResolver returns a Resolver.
func NewResolver(api API, now func() time.Time) *Resolver {
	return &Resolver{api: api, now: now, answers: map[awsv1.PlacementGroupSelector]answer{}}
}

// Resolve finds the available group that a class selects; nil for classes that select none. When EC2 does not answer, the
// group stays what the class had, and the finding is unknown.
func (r *Resolver) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (*awsv1.PlacementGroup, cloud.Finding) {
	f := cloud.Finding{Condition: awsv1.ConditionTypePlacementGroupReady}
	selector := class.Spec.PlacementGroupSelector
	if selector == nil {
		f.OK = true
		return nil, f
	}
	group, err := r.ask(ctx, *selector)
	switch {
	case err != nil:
		f.Unknown, f.Reason = true, awsv1.ReasonPlacementGroupResolutionFailed
		f.Message = fmt.Sprintf("EC2NodeClass %q: %v", class.Name, err)
		return class.Status.PlacementGroup, f
	case group == nil:
		f.Reason = awsv1.ReasonPlacementGroupNotFound
		f.Message = fmt.Sprintf("EC2NodeClass %q: there is no available placement group with the %s that spec.placementGroupSelector gives", class.Name, named(selector))
	default:
		f.OK = true
	}
	return group, f
}

func named(s *awsv1.PlacementGroupSelector) string {
	if s.ID != "" {
		return fmt.Sprintf("id %q", s.ID)
	}
	return fmt.Sprintf("name %q", s.Name)
}

// ask answers from memory or from EC2.
func (r *Resolver) ask(ctx context.Context, selector awsv1.PlacementGroupSelector) (*awsv1.PlacementGroup, error) {
	now := r.now()
	r.mu.Lock()
	last, ok := r.answers[selector]
	r.mu.Unlock()
	age := answerAge
	if last.group == nil {
		age = missingAge
	}
	if ok && now.Sub(last.at) < age {
		return last.group, nil
	}
	in := &ec2.DescribePlacementGroupsInput{Filters: []types.Filter{{Name: new("state"), Values: []string{string(types.PlacementGroupStateAvailable)}}}}
	if selector.ID != "" {
		in.GroupIds = []string{selector.ID}
	} else {
		in.Filters = append(in.Filters, types.Filter{Name: new("group-name"), Values: []string{selector.Name}})
	}
	out, err := r.api.DescribePlacementGroups(ctx, in)
	var group *awsv1.PlacementGroup
	if err == nil {
		group = first(out.PlacementGroups)
	} else if err = awserr.Wrap("describing placement groups", err); !unknownGroup(err) {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[selector] = answer{group, now}
	return group, nil
}

// unknownGroup reports whether EC2 says that there is no group of the id.
func unknownGroup(err error) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Reason == awserr.ReasonPlacementGroupNotFound
}

// first is the group that can be worked with; of several, which an account can't have under one name, that of the least id.
func first(groups []types.PlacementGroup) *awsv1.PlacementGroup {
	slices.SortFunc(groups, func(a, b types.PlacementGroup) int {
		return strings.Compare(aws.ToString(a.GroupId), aws.ToString(b.GroupId))
	})
	for i := range groups {
		g := &groups[i]
		if aws.ToString(g.GroupId) == "" || g.Strategy == "" {
			continue
		}
		out := &awsv1.PlacementGroup{ID: *g.GroupId, Name: aws.ToString(g.GroupName), Strategy: string(g.Strategy)}
		if g.Strategy == types.PlacementStrategyPartition {
			out.PartitionCount = aws.ToInt32(g.PartitionCount)
		}
		return out
	}
	return nil
}
