// Package instancestatus reads what EC2 says of the health of given instances: failed status checks, and work that AWS
// has scheduled on them. It asks for those instances only, not for the whole account.
package instancestatus

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// batchSize is how many instances one call asks for.
//
// Source: EC2 API reference, DescribeInstanceStatus: at most 100 ids where they are given explicitly.
const batchSize = 100

// API is what Reader calls.
type API interface {
	DescribeInstanceStatus(context.Context, *ec2.DescribeInstanceStatusInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error)
}

// Category is which check fails; the words are the values of the metric label category.
type Category string

// The categories.
const (
	Instance Category = "InstanceStatus"
	System   Category = "SystemStatus"
	Volumes  Category = "AttachedEBSStatus"
	// Scheduled is work that AWS has scheduled; it is no failed check.
	Scheduled Category = "EventStatus"
)

// Status is what EC2 says of one running instance. An instance about which there is nothing to say has neither failures
// nor events.
type Status struct {
	InstanceID string
	Failures   []Failure
	// Events are those that are not over.
	Events []queue.Maintenance
}

// Failure is a check that fails.
type Failure struct {
	Category Category
	// Since is when it began; zero when EC2 does not tell.
	Since time.Time
}

// Reader reads statuses.
//
// Concurrency: safe.
type Reader struct{ api API }

// New makes a Reader. It calls nothing.
func New(api API) *Reader { return &Reader{api: api} }

// Read returns the status of those of the given instances that run, in no order. Instances that EC2 does not know are
// left out.
//
// Errors: *cloud.Error, joined; what could be read is returned all the same. One of class Denied ends the reading.
func (r *Reader) Read(ctx context.Context, ids []string) ([]Status, error) {
	var out []Status
	var errs []error
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), batchSize) {
		got, err := r.some(ctx, some)
		out = append(out, got...)
		if err != nil {
			errs = append(errs, err)
			if class := cloud.ClassOf(err); class == cloud.Denied || class == cloud.Throttled || ctx.Err() != nil {
				break
			}
		}
	}
	return out, errors.Join(errs...)
}

var idPattern = regexp.MustCompile(`i-[0-9a-f]{8,17}`)

// some reads a batch. One unknown id makes EC2 refuse it whole: those that it names are left out, and where it names none
// the batch is halved until they are found.
func (r *Reader) some(ctx context.Context, ids []string) ([]Status, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := r.api.DescribeInstanceStatus(ctx, &ec2.DescribeInstanceStatusInput{InstanceIds: ids})
	err = awserr.Wrap(fmt.Sprintf("reading the status of %d instances", len(ids)), err)
	switch {
	case err == nil:
		return statuses(out.InstanceStatuses), nil
	case !cloud.IsNotFound(err):
		return nil, err
	case len(ids) == 1:
		return nil, nil
	}
	named := idPattern.FindAllString(err.Error(), -1)
	known := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(named, id) })
	if len(known) < len(ids) {
		return r.some(ctx, known)
	}
	first, err1 := r.some(ctx, ids[:len(ids)/2])
	second, err2 := r.some(ctx, ids[len(ids)/2:])
	return append(first, second...), errors.Join(err1, err2)
}

func statuses(in []types.InstanceStatus) []Status {
	var out []Status
	for i := range in {
		s := &in[i]
		if s.InstanceId == nil {
			continue
		}
		v := Status{InstanceID: *s.InstanceId}
		v.check(System, s.SystemStatus)
		v.check(Instance, s.InstanceStatus)
		if a := s.AttachedEbsStatus; a != nil && a.Status == types.SummaryStatusImpaired {
			f := Failure{Category: Volumes}
			for _, d := range a.Details {
				f.began(d.ImpairedSince)
			}
			v.Failures = append(v.Failures, f)
		}
		for _, e := range s.Events {
			if m, ok := event(&e); ok {
				v.Events = append(v.Events, m)
			}
		}
		out = append(out, v)
	}
	return out
}

func (s *Status) check(c Category, summary *types.InstanceStatusSummary) {
	if summary == nil || summary.Status != types.SummaryStatusImpaired {
		return
	}
	f := Failure{Category: c}
	for _, d := range summary.Details {
		f.began(d.ImpairedSince)
	}
	s.Failures = append(s.Failures, f)
}

// began keeps the earliest time.
func (f *Failure) began(since *time.Time) {
	if since != nil && (f.Since.IsZero() || since.Before(f.Since)) {
		f.Since = *since
	}
}

// event reads scheduled work; what is over says nothing any more. EC2 shows it for a week and puts the word in front of
// its description.
func event(e *types.InstanceStatusEvent) (queue.Maintenance, bool) {
	m := queue.Maintenance{Code: string(e.Code)}
	if e.InstanceEventId != nil {
		m.ID = *e.InstanceEventId
	}
	if e.NotBefore != nil {
		m.NotBefore = *e.NotBefore
	}
	if m.ID == "" {
		m.ID = m.Code + "_" + m.NotBefore.UTC().Format("20060102150405")
	}
	return m, e.Description == nil || !queue.Over(*e.Description)
}
