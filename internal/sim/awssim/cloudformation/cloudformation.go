// Package cloudformation answers CloudFormation requests: it keeps stacks, works out their templates and makes, changes and
// removes their resources with the operations of the other simulated services, one after the other.
package cloudformation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct {
	world  *world.World
	server *wire.Server

	mu     sync.Mutex
	rand   *rand.Rand
	stacks []*stack // all that ever were, oldest first
}

// Register adds the operations to a server, which must have those of the services whose resources are deployed.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w, server: s, rand: rand.New(rand.NewPCG(w.Options().Seed, 0x636c6f7564))}
	for operation, h := range map[string]wire.Handler{
		"CreateStack":                 svc.createStack,
		"UpdateStack":                 svc.updateStack,
		"DeleteStack":                 svc.deleteStack,
		"ContinueUpdateRollback":      svc.continueRollback,
		"DescribeStacks":              svc.describeStacks,
		"ListStacks":                  svc.listStacks,
		"DescribeStackEvents":         svc.describeStackEvents,
		"DescribeStackResource":       svc.describeStackResource,
		"DescribeStackResources":      svc.describeStackResources,
		"ListStackResources":          svc.listStackResources,
		"ListExports":                 svc.listExports,
		"ListImports":                 svc.listImports,
		"GetTemplate":                 svc.getTemplate,
		"GetTemplateSummary":          svc.getTemplateSummary,
		"ValidateTemplate":            svc.validateTemplate,
		"CreateChangeSet":             svc.createChangeSet,
		"DescribeChangeSet":           svc.describeChangeSet,
		"ListChangeSets":              svc.listChangeSets,
		"ExecuteChangeSet":            svc.executeChangeSet,
		"DeleteChangeSet":             svc.deleteChangeSet,
		"UpdateTerminationProtection": svc.updateTerminationProtection,
	} {
		s.Handle(wire.CloudFormation, operation, wire.Takes(parameters[operation], h))
	}
}

func (svc *service) uuidLocked() string {
	a, b := svc.rand.Uint64(), svc.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, (b>>48)&0xfff, b&0xffffffffffff)
}

// madeName makes a name such as stack-Queue-1ABCDEFGHIJKL, cut so that the made part fits.
func (c *change) madeName(prefix string, longest int) string {
	const size = 12
	if most := longest - size - 1; len(prefix) > most {
		prefix = prefix[:most]
	}
	return prefix + "-" + c.random(size)
}

func (svc *service) random(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	svc.mu.Lock()
	defer svc.mu.Unlock()
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[svc.rand.IntN(len(letters))]
	}
	return string(b)
}

// begin runs an operation of a stack until it ends or the world does.
func (svc *service) begin(caller wire.Identity, s *stack, run func(*operation)) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-svc.world.Closed():
			cancel()
		case <-ctx.Done():
		}
	}()
	go func() {
		defer cancel()
		op := &operation{service: svc, stack: s, calls: calls{ctx, svc.server, caller}}
		run(op)
		op.end()
	}()
}
