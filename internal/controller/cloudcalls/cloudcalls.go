// Package cloudcalls counts and times the calls that controllers make of the cloud, each under the name of its controller.
package cloudcalls

import (
	"context"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// provider is the value of the label of that name: dashboards group by it.
const provider = "aws"

// Of is a cloud whose calls count as those of a controller.
//
// Concurrency: safe if the cloud is.
func Of(controller string, c cloud.Provider, m *obs.Metrics) cloud.Provider {
	return &measured{Provider: c, controller: controller, metrics: m}
}

type measured struct {
	cloud.Provider
	controller string
	metrics    *obs.Metrics
}

// call makes a call and notes how long it took and how it failed. Methods have the names that Karpenter's have, where it has them.
func (p *measured) call(method string, do func() error) error {
	begun := time.Now()
	err := do()
	p.metrics.CloudDuration.WithLabelValues(p.controller, method, provider).Observe(time.Since(begun).Seconds())
	if err != nil {
		p.metrics.CloudErrors.WithLabelValues(p.controller, method, provider, kindOf(err)).Inc()
	}
	return err
}

// kindOf is the name that Karpenter has for a kind of error, empty where it has none.
func kindOf(err error) string {
	switch cloud.ClassOf(err) {
	case cloud.Exhausted:
		return "InsufficientCapacityError"
	case cloud.NotFound:
		return "NodeClaimNotFoundError"
	case cloud.ClassNotReady:
		return "NodeClassNotReadyError"
	}
	return ""
}

// Types implements cloud.Provider.
func (p *measured) Types(ctx context.Context, class *awsv1.EC2NodeClass) (out []*catalog.Type, err error) {
	err = p.call("GetInstanceTypes", func() error { out, err = p.Provider.Types(ctx, class); return err })
	return out, err
}

// Launch implements cloud.Provider.
func (p *measured) Launch(ctx context.Context, claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass) (out *cloud.Instance, err error) {
	err = p.call("Create", func() error { out, err = p.Provider.Launch(ctx, claim, class); return err })
	return out, err
}

// Find implements cloud.Provider.
func (p *measured) Find(ctx context.Context, claim *karpv1.NodeClaim) (out *cloud.Instance, err error) {
	err = p.call("Find", func() error { out, err = p.Provider.Find(ctx, claim); return err })
	return out, err
}

// Terminate implements cloud.Provider.
func (p *measured) Terminate(ctx context.Context, providerID string) error {
	return p.call("Delete", func() error { return p.Provider.Terminate(ctx, providerID) })
}

// Get implements cloud.Provider.
func (p *measured) Get(ctx context.Context, providerID string) (out *cloud.Instance, err error) {
	err = p.call("Get", func() error { out, err = p.Provider.Get(ctx, providerID); return err })
	return out, err
}

// List implements cloud.Provider.
func (p *measured) List(ctx context.Context, maxAge time.Duration) (out []*cloud.Instance, err error) {
	err = p.call("List", func() error { out, err = p.Provider.List(ctx, maxAge); return err })
	return out, err
}

// Tag implements cloud.Provider.
func (p *measured) Tag(ctx context.Context, tags map[string]map[string]string) error {
	return p.call("Tag", func() error { return p.Provider.Tag(ctx, tags) })
}

// Resolve implements cloud.Provider.
func (p *measured) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) (out *cloud.Resolution, err error) {
	err = p.call("Resolve", func() error { out, err = p.Provider.Resolve(ctx, class); return err })
	return out, err
}

// Release implements cloud.Provider.
func (p *measured) Release(ctx context.Context, class *awsv1.EC2NodeClass) error {
	return p.call("Release", func() error { return p.Provider.Release(ctx, class) })
}
