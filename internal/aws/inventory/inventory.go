// Package inventory reads, tags and ends the instances of a cluster. All who list share one loop and its answer; reads
// and terminations of single instances that come together become one call.
package inventory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/batch"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// pageSize is the most instances that EC2 lists at once, batchSize how many ids go into one call.
const (
	pageSize  = 1000
	batchSize = 500
)

// API is what Inventory calls.
type API interface {
	DescribeInstances(context.Context, *ec2.DescribeInstancesInput, ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	TerminateInstances(context.Context, *ec2.TerminateInstancesInput, ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)
	CreateTags(context.Context, *ec2.CreateTagsInput, ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error)
}

// window is that of the batches of single reads and terminations.
func (v *Inventory) window(batcher string) batch.Options {
	return batch.Options{Idle: 50 * time.Millisecond, Max: time.Second, Items: batchSize, Joined: func(items int, waited time.Duration) {
		if v.joined != nil {
			v.joined(batcher, items, waited)
		}
	}}
}

// Inventory is the cluster's instances.
//
// Concurrency: safe.
type Inventory struct {
	api     API
	cluster string
	now     func() time.Time
	reads   *batch.Batcher[struct{}, string, *cloud.Instance]
	ends    *batch.Batcher[struct{}, string, struct{}]

	joined func(batcher string, items int, waited time.Duration)

	owner ownership
	live  cached // what List answers from
	all   cached // with terminated ones
}

// New makes an Inventory. It calls nothing.
func New(api API, cluster string, now func() time.Time) *Inventory {
	v := &Inventory{api: api, cluster: cluster, now: now}
	v.reads = batch.New(v.window("describe_instances"), func(ctx context.Context, _ struct{}, ids []string) []batch.Result[*cloud.Instance] {
		return v.readBatch(ctx, ids)
	})
	v.ends = batch.New(v.window("terminate_instances"), func(ctx context.Context, _ struct{}, ids []string) []batch.Result[struct{}] {
		return v.endBatch(ctx, ids)
	})
	v.live.fetch = func(ctx context.Context) ([]*cloud.Instance, error) {
		instances, err := v.describe(ctx, liveStates, &v.live.remembered)
		if err != nil {
			return nil, err
		}
		return v.owner.own(instances), nil
	}
	v.all.fetch = func(ctx context.Context) ([]*cloud.Instance, error) {
		instances, err := v.describe(ctx, nil, &v.all.remembered)
		return slices.DeleteFunc(instances, v.owner.foreign), err
	}
	v.live.now, v.all.now = now, now
	return v
}

// Joined has f told of the calls that are joined to one request: which, how many, and how long the first waited for the others. It
// is to be called before anything else, and f must not block.
func (v *Inventory) Joined(f func(batcher string, items int, waited time.Duration)) *Inventory {
	v.joined = f
	return v
}

// liveStates are all but terminated.
var liveStates = []string{
	string(types.InstanceStateNamePending), string(types.InstanceStateNameRunning), string(types.InstanceStateNameStopping),
	string(types.InstanceStateNameStopped), string(types.InstanceStateNameShuttingDown),
}

// List returns the cluster's instances that are not terminated, as of at most maxAge ago. The slice and the instances are
// shared and must not be changed.
func (v *Inventory) List(ctx context.Context, maxAge time.Duration) ([]*cloud.Instance, error) {
	return v.live.get(ctx, v.now().Add(-maxAge))
}

// Since returns the cluster's instances, terminated ones included as long as EC2 shows them, from a listing that was
// begun at the given time or later.
func (v *Inventory) Since(ctx context.Context, begun time.Time) ([]*cloud.Instance, error) {
	return v.all.get(ctx, begun)
}

func (v *Inventory) describe(ctx context.Context, states []string, known *remembered) ([]*cloud.Instance, error) {
	filters := []types.Filter{
		{Name: new("tag-key"), Values: []string{awsv1.TagNodePool}},
		{Name: new("tag-key"), Values: []string{awsv1.TagNodeClass}},
		{Name: new("tag:" + awsv1.TagEKSCluster), Values: []string{v.cluster}},
	}
	if states != nil {
		filters = append(filters, types.Filter{Name: new("instance-state-name"), Values: states})
	}
	what := fmt.Sprintf("listing the instances of cluster %q", v.cluster)
	var out []*cloud.Instance
	known.begin()
	pages := ec2.NewDescribeInstancesPaginator(v.api, &ec2.DescribeInstancesInput{Filters: filters, MaxResults: new(int32(pageSize))})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, known.option())
		if err != nil {
			return nil, awserr.Wrap(what, err)
		}
		instances, err := known.instances(page.Reservations)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		out = append(out, instances...)
	}
	known.end()
	return out, nil
}

// cached is the answer of one listing, shared by all who ask.
type cached struct {
	fetch func(context.Context) ([]*cloud.Instance, error)
	now   func() time.Time
	// remembered is of the one listing at a time.
	remembered remembered

	mu      sync.Mutex
	begun   time.Time
	value   []*cloud.Instance
	have    bool
	running *listing
}

type listing struct {
	begun time.Time
	done  chan struct{}
	value []*cloud.Instance
	err   error
}

// get returns the value of a listing that began at notBefore or later: the last one, the one under way, or a new one.
func (c *cached) get(ctx context.Context, notBefore time.Time) ([]*cloud.Instance, error) {
	for {
		c.mu.Lock()
		if c.have && !c.begun.Before(notBefore) {
			defer c.mu.Unlock()
			return c.value, nil
		}
		l := c.running
		if l == nil {
			l = c.startLocked(ctx)
		}
		c.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// A listing that began too early is waited for only to begin the next: one at a time.
		if !l.begun.Before(notBefore) {
			return l.value, l.err
		}
	}
}

func (c *cached) startLocked(ctx context.Context) *listing {
	l := &listing{begun: c.now(), done: make(chan struct{})}
	c.running = l
	guard.Go("aws.inventory", func() {
		l.err = guard.Run("aws.inventory", func() (err error) {
			l.value, err = c.fetch(context.WithoutCancel(ctx))
			return err
		})
		c.mu.Lock()
		c.running = nil
		if l.err == nil {
			c.value, c.begun, c.have = l.value, l.begun, true
		}
		c.mu.Unlock()
		close(l.done)
	})
	return l
}
