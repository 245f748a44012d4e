package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/batch"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// alone is how many calls run at once when a batch has to be taken apart.
const alone = 10

// Get reads one instance, past all caches.
//
// Errors: *cloud.Error of class NotFound when it does not exist or is terminated.
func (v *Inventory) Get(ctx context.Context, instanceID string) (*cloud.Instance, error) {
	m, err := v.reads.Do(ctx, struct{}{}, instanceID)
	if err != nil {
		return nil, awserr.Wrap("reading instance "+instanceID, err)
	}
	return m, nil
}

// Terminate starts to end one instance.
//
// Errors: *cloud.Error of class NotFound when EC2 does not know it.
func (v *Inventory) Terminate(ctx context.Context, instanceID string) error {
	_, err := v.ends.Do(ctx, struct{}{}, instanceID)
	return awserr.Wrap("terminating instance "+instanceID, err)
}

func notFound(id string) error {
	return &cloud.Error{Op: "looking for instance " + id, Class: cloud.NotFound, Err: errors.New("it does not exist or is terminated")}
}

func terminated(m *cloud.Instance) error {
	return &cloud.Error{Op: "looking for instance " + m.InstanceID, Class: cloud.NotFound, Err: fmt.Errorf("it is terminated: %w", m.Ended)}
}

func (v *Inventory) readBatch(ctx context.Context, ids []string) []batch.Result[*cloud.Instance] {
	out := make([]batch.Result[*cloud.Instance], len(ids))
	found, err := v.describeIDs(ctx, unique(ids))
	split := byOne(err) && len(ids) > 1
	each(len(ids), split, fails(out), func(i int) {
		m, err := found[ids[i]], err
		if split {
			var one map[string]*cloud.Instance
			one, err = v.describeIDs(ctx, ids[i:i+1])
			m = one[ids[i]]
		}
		switch {
		case err != nil:
			out[i].Err = err
		case m == nil:
			out[i].Err = notFound(ids[i])
		case m.State == string(types.InstanceStateNameTerminated):
			out[i].Err = terminated(m)
		case v.owner.foreign(m):
			out[i].Err = &cloud.Error{Op: "looking for instance " + ids[i], Class: cloud.NotFound,
				Err: fmt.Errorf("it belongs to another cluster: its tag %s is %s", awsv1.TagClusterUID, m.Tags[awsv1.TagClusterUID])}
		default:
			out[i].Value = m
		}
	})
	return out
}

func (v *Inventory) describeIDs(ctx context.Context, ids []string) (map[string]*cloud.Instance, error) {
	got, err := v.api.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
	if err != nil {
		return nil, awserr.Wrap(fmt.Sprintf("describing %d instances", len(ids)), err)
	}
	out := make(map[string]*cloud.Instance, len(ids))
	for r := range got.Reservations {
		for i := range got.Reservations[r].Instances {
			if m, ok := ToInstance(&got.Reservations[r].Instances[i]); ok {
				out[m.InstanceID] = m
			}
		}
	}
	return out, nil
}

func (v *Inventory) endBatch(ctx context.Context, ids []string) []batch.Result[struct{}] {
	out := make([]batch.Result[struct{}], len(ids))
	err := v.terminateIDs(ctx, unique(ids))
	split := byOne(err) && len(ids) > 1
	each(len(ids), split, fails(out), func(i int) {
		if split {
			out[i].Err = v.terminateIDs(ctx, ids[i:i+1])
		} else {
			out[i].Err = err
		}
	})
	return out
}

func (v *Inventory) terminateIDs(ctx context.Context, ids []string) error {
	_, err := v.api.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	return awserr.Wrap(fmt.Sprintf("terminating %d instances", len(ids)), err)
}

// Tag puts tags on instances: id to tags. Instances with equal tags share a call. Those that no longer exist are skipped.
func (v *Inventory) Tag(ctx context.Context, tags map[string]map[string]string) error {
	groups := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(tags)) {
		if len(tags[id]) > 0 {
			groups[tagKey(tags[id])] = append(groups[tagKey(tags[id])], id)
		}
	}
	keys := slices.Sorted(maps.Keys(groups))
	errs := make([]error, len(keys))
	each(len(keys), true, func(i int, err error) { errs[i] = err }, func(i int) {
		for ids := range slices.Chunk(groups[keys[i]], batchSize) {
			errs[i] = errors.Join(errs[i], v.tagSome(ctx, ids, tags[ids[0]]))
		}
	})
	return errors.Join(errs...)
}

func (v *Inventory) tagSome(ctx context.Context, ids []string, tags map[string]string) error {
	in := &ec2.CreateTagsInput{Resources: ids}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	_, err := v.api.CreateTags(ctx, in)
	err = awserr.Wrap(fmt.Sprintf("tagging %s", strings.Join(ids, ", ")), err)
	if !cloud.IsNotFound(err) {
		return err
	}
	if len(ids) == 1 {
		return nil
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, v.tagSome(ctx, []string{id}, tags))
	}
	return errors.Join(errs...)
}

func tagKey(tags map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		b.WriteString(k + "\x00" + tags[k] + "\x00")
	}
	return b.String()
}

func unique(ids []string) []string {
	out := slices.Sorted(slices.Values(ids))
	return slices.Compact(out)
}

// byOne reports whether a call for many instances may have failed because of one of them: an ID that is not known or
// malformed, one that is protected, or that the policy does not allow. Then each is asked for alone. A call that was
// throttled or not answered would only be made hundreds of times more.
func byOne(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode()/100 == 4 && cloud.ClassOf(err) != cloud.Throttled
}

// fails notes what an item of a batch failed with.
func fails[T any](out []batch.Result[T]) func(int, error) {
	return func(i int, err error) { out[i].Err = err }
}

// each calls f for 0 to n-1, several at once if parallel; failed is told of those that panic.
func each(n int, parallel bool, failed func(int, error), f func(int)) {
	g := guard.Group{Limit: 1}
	if parallel {
		g.Limit = alone
	}
	for i := range n {
		g.Go("aws.instances", func() error {
			if err := guard.Run("aws.instances", func() error { f(i); return nil }); err != nil {
				failed(i, err)
			}
			return nil
		})
	}
	_ = g.Wait() // each has its own
}
