package instancestatus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// ec2API answers as EC2 does: it refuses more than 100 ids, ids together with a page size, and a call with an unknown id.
type ec2API struct {
	statuses map[string]types.InstanceStatus
	silent   bool // does not name the ids that it does not know
	err      error
	sizes    []int
}

func refusal(code, message string) error {
	return &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeInstanceStatus", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest}}, Err: &smithy.GenericAPIError{Code: code, Message: message},
	}}
}

func (a *ec2API) DescribeInstanceStatus(_ context.Context, in *ec2.DescribeInstanceStatusInput, _ ...func(*ec2.Options)) (*ec2.DescribeInstanceStatusOutput, error) {
	a.sizes = append(a.sizes, len(in.InstanceIds))
	if a.err != nil {
		return nil, a.err
	}
	if n := len(in.InstanceIds); n == 0 || n > 100 || in.MaxResults != nil {
		return nil, refusal("InvalidParameterCombination", "not so")
	}
	out := &ec2.DescribeInstanceStatusOutput{}
	var unknown []string
	for _, id := range in.InstanceIds {
		s, ok := a.statuses[id]
		if !ok {
			unknown = append(unknown, id)
		}
		out.InstanceStatuses = append(out.InstanceStatuses, s)
	}
	if len(unknown) > 0 {
		if a.silent {
			unknown = nil
		}
		return nil, refusal("InvalidInstanceID.NotFound", fmt.Sprintf("The instance IDs '%s' do not exist", strings.Join(unknown, ", ")))
	}
	return out, nil
}

func fleet(n int) (*ec2API, []string) {
	a := &ec2API{statuses: map[string]types.InstanceStatus{}}
	var ids []string
	for i := range n {
		id := fmt.Sprintf("i-%017x", i)
		ids = append(ids, id)
		a.statuses[id] = types.InstanceStatus{InstanceId: aws.String(id)}
	}
	return a, ids
}

func TestEachCallAsksForAtMostAHundred(t *testing.T) {
	a, ids := fleet(250)
	got, err := New(a).Read(t.Context(), slices.Concat(ids, ids[:10]))
	if err != nil || len(got) != 250 {
		t.Errorf("%d statuses, %v", len(got), err)
	}
	if diff := cmp.Diff([]int{100, 100, 50}, a.sizes); diff != "" {
		t.Error(diff)
	}
	if got, err := New(a).Read(t.Context(), nil); len(got) != 0 || err != nil || len(a.sizes) != 3 {
		t.Errorf("nothing to ask for: %v, %v, %d calls", got, err, len(a.sizes))
	}
}

func TestInstancesThatEC2DoesNotKnowAreLeftOut(t *testing.T) {
	for _, silent := range []bool{false, true} {
		a, ids := fleet(100)
		a.silent = silent
		delete(a.statuses, ids[7])
		delete(a.statuses, ids[93])
		got, err := New(a).Read(t.Context(), ids)
		if err != nil || len(got) != 98 {
			t.Errorf("%d statuses, %v", len(got), err)
		}
		if limit := 40; len(a.sizes) > limit || !silent && len(a.sizes) != 2 {
			t.Errorf("named: %v, %d calls", !silent, len(a.sizes))
		}
	}
}

func TestAMissingPermissionEndsTheReading(t *testing.T) {
	a, ids := fleet(250)
	a.err = refusal("UnauthorizedOperation", "You are not authorized to perform this operation. User: x is not authorized to perform: ec2:DescribeInstanceStatus")
	_, err := New(a).Read(t.Context(), ids)
	if cloud.ClassOf(err) != cloud.Denied || !strings.Contains(err.Error(), "ec2:DescribeInstanceStatus") || len(a.sizes) != 1 {
		t.Errorf("%d calls, %v", len(a.sizes), err)
	}
	a.err, a.sizes = errors.New("EOF"), nil
	if _, err := New(a).Read(t.Context(), ids); err == nil || len(a.sizes) != 3 {
		t.Errorf("one batch that fails ends the others: %d calls, %v", len(a.sizes), err)
	}
}

func TestWhatEC2SaysIsRead(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	summary := func(status types.SummaryStatus, since ...time.Time) *types.InstanceStatusSummary {
		s := &types.InstanceStatusSummary{Status: status}
		for _, t := range since {
			s.Details = append(s.Details, types.InstanceStatusDetails{ImpairedSince: aws.Time(t)})
		}
		return s
	}
	a := &ec2API{statuses: map[string]types.InstanceStatus{"i-00000001": {
		InstanceId: aws.String("i-00000001"), SystemStatus: summary(types.SummaryStatusImpaired, at.Add(time.Hour), at), InstanceStatus: summary(types.SummaryStatusInitializing),
		AttachedEbsStatus: &types.EbsStatusSummary{Status: types.SummaryStatusImpaired, Details: []types.EbsStatusDetails{{}}},
		Events: []types.InstanceStatusEvent{
			{InstanceEventId: aws.String("instance-event-1"), Code: types.EventCodeInstanceReboot, NotBefore: aws.Time(at), Description: aws.String("scheduled reboot")},
			{InstanceEventId: aws.String("instance-event-2"), Code: types.EventCodeInstanceStop, Description: aws.String("[Completed] stop")},
			{InstanceEventId: aws.String("instance-event-3"), Code: types.EventCodeInstanceStop, Description: aws.String("[Canceled] stop")},
			{Code: types.EventCodeInstanceRetirement, NotBefore: aws.Time(at)},
		},
	}}}
	got, err := New(a).Read(t.Context(), []string{"i-00000001"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Status{{
		InstanceID: "i-00000001", Failures: []Failure{{System, at}, {Volumes, time.Time{}}},
		Events: []queue.Maintenance{
			{ID: "instance-event-1", Code: "instance-reboot", NotBefore: at},
			{ID: "instance-retirement_20260102030405", Code: "instance-retirement", NotBefore: at},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
