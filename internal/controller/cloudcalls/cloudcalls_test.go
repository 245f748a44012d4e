package cloudcalls_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/cloudcalls"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// answers is a cloud that answers every call with the same error.
type answers struct {
	cloud.Provider
	err error
}

func (a answers) Types(context.Context, *awsv1.EC2NodeClass) ([]*catalog.Type, error) {
	return []*catalog.Type{{Name: "t"}}, a.err
}
func (a answers) Launch(context.Context, *karpv1.NodeClaim, *awsv1.EC2NodeClass) (*cloud.Instance, error) {
	return &cloud.Instance{InstanceID: "i-1"}, a.err
}
func (a answers) Find(context.Context, *karpv1.NodeClaim) (*cloud.Instance, error) {
	return &cloud.Instance{InstanceID: "i-1"}, a.err
}
func (a answers) Terminate(context.Context, string) error { return a.err }
func (a answers) Get(context.Context, string) (*cloud.Instance, error) {
	return &cloud.Instance{InstanceID: "i-1"}, a.err
}
func (a answers) List(context.Context, time.Duration) ([]*cloud.Instance, error) {
	return []*cloud.Instance{{InstanceID: "i-1"}}, a.err
}
func (a answers) Tag(context.Context, map[string]map[string]string) error { return a.err }
func (a answers) Resolve(context.Context, *awsv1.EC2NodeClass) (*cloud.Resolution, error) {
	return &cloud.Resolution{InstanceProfile: "p"}, a.err
}
func (a answers) Release(context.Context, *awsv1.EC2NodeClass) error { return a.err }

// Every call is counted under its controller, and its answer is handed on.
func TestCallsAreCountedByMethod(t *testing.T) {
	for kind, err := range map[string]error{
		"none": nil, "": errors.New("x"), "InsufficientCapacityError": &cloud.Error{Class: cloud.Exhausted}, "NodeClaimNotFoundError": &cloud.Error{Class: cloud.NotFound}, "NodeClassNotReadyError": &cloud.Error{Class: cloud.ClassNotReady},
	} {
		m := obs.NewMetrics(prometheus.NewRegistry())
		c := cloudcalls.Of("tester", answers{err: err}, m)
		ctx := t.Context()
		var got []error
		note := func(there bool, err error) {
			if !there {
				t.Error("an answer is lost")
			}
			got = append(got, err)
		}
		types, e := c.Types(ctx, nil)
		note(len(types) == 1, e)
		launched, e := c.Launch(ctx, nil, nil)
		note(launched != nil, e)
		found, e := c.Find(ctx, nil)
		note(found != nil, e)
		note(true, c.Terminate(ctx, ""))
		one, e := c.Get(ctx, "")
		note(one != nil, e)
		list, e := c.List(ctx, 0)
		note(len(list) == 1, e)
		note(true, c.Tag(ctx, nil))
		resolved, e := c.Resolve(ctx, nil)
		note(resolved != nil, e)
		note(true, c.Release(ctx, nil))
		methods := []string{"GetInstanceTypes", "Create", "Find", "Delete", "Get", "List", "Tag", "Resolve", "Release"}
		for i, method := range methods {
			if !errors.Is(got[i], err) {
				t.Errorf("%s gives %v, want %v", method, got[i], err)
			}
			want := 1.0
			if err == nil {
				want = 0
			}
			if n := testutil.ToFloat64(m.CloudErrors.WithLabelValues("tester", method, "aws", kind)); n != want {
				t.Errorf("%s: %v errors %q, want %v", method, n, kind, want)
			}
		}
		if n := testutil.CollectAndCount(m.CloudDuration); n != len(methods) {
			t.Errorf("%d methods were timed, want %d", n, len(methods))
		}
	}
}
