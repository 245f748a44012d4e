// Package ec2 answers EC2's query API from the simulated world: it reads requests into structures, asks the world, and
// gives back structures that package wire writes as XML. What launching, tagging or terminating means is the world's
// business; how EC2 words, filters and pages it is this package's.
package ec2

import (
	"context"
	"errors"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	reads := map[string]wire.Handler{
		"DescribeAvailabilityZones":      read(svc.describeAvailabilityZones),
		"DescribeCapacityReservations":   read(svc.describeCapacityReservations),
		"DescribeImages":                 read(svc.describeImages),
		"DescribeInstanceStatus":         read(svc.describeInstanceStatus),
		"DescribeInstanceTypeOfferings":  read(svc.describeInstanceTypeOfferings),
		"DescribeInstanceTypes":          read(svc.describeInstanceTypes),
		"DescribeInstances":              read(svc.describeInstances),
		"DescribeLaunchTemplateVersions": read(svc.describeLaunchTemplateVersions),
		"DescribeLaunchTemplates":        read(svc.describeLaunchTemplates),
		"DescribeNetworkInterfaces":      read(svc.describeNetworkInterfaces),
		"DescribePlacementGroups":        read(svc.describePlacementGroups),
		"DescribeRegions":                read(svc.describeRegions),
		"DescribeSecurityGroups":         read(svc.describeSecurityGroups),
		"DescribeSpotInstanceRequests":   read(svc.describeSpotInstanceRequests),
		"DescribeSpotPriceHistory":       read(svc.describeSpotPriceHistory),
		"DescribeSubnets":                read(svc.describeSubnets),
		"DescribeTags":                   read(svc.describeTags),
		"DescribeVolumes":                read(svc.describeVolumes),
		"DescribeVpcs":                   read(svc.describeVpcs),
		"GetEbsDefaultKmsKeyId":          read(svc.getEbsDefaultKmsKeyID),
		"GetEbsEncryptionByDefault":      read(svc.getEbsEncryptionByDefault),
	}
	writes := map[string]wire.Handler{
		"CreateFleet":                 write(svc.createFleet),
		"CreateLaunchTemplate":        write(svc.createLaunchTemplate),
		"CreateLaunchTemplateVersion": write(svc.createLaunchTemplateVersion),
		"CreateTags":                  write(svc.createTags),
		"DeleteLaunchTemplate":        write(svc.deleteLaunchTemplate),
		"DeleteTags":                  write(svc.deleteTags),
		"ModifyLaunchTemplate":        write(svc.modifyLaunchTemplate),
		"ModifySubnetAttribute":       write(svc.modifySubnetAttribute),
		"RunInstances":                write(svc.runInstances),
		"StopInstances":               write(svc.stopInstances),
		"TerminateInstances":          write(svc.terminateInstances),
	}
	for op, h := range reads {
		s.Handle(wire.EC2, op, h)
	}
	for op, h := range writes {
		s.Handle(wire.EC2, op, h)
	}
}

// read makes a handler of an operation that changes nothing: a dry run of it ends once the request has been understood.
func read[In any](do func(*wire.Request, *In) (any, error)) wire.Handler {
	return handler(func(r *wire.Request, in *In) (any, error) {
		if r.DryRun() {
			return nil, wire.DryRunOperation()
		}
		return do(r, in)
	})
}

// write makes a handler of an operation that sees to dry runs itself.
func write[In any](do func(*wire.Request, *In) (any, error)) wire.Handler { return handler(do) }

func handler[In any](do func(*wire.Request, *In) (any, error)) wire.Handler {
	return func(_ context.Context, r *wire.Request) (any, error) {
		in := new(In)
		if err := wire.DecodeForm(r.Form, in); err != nil {
			return nil, err
		}
		r.Input = in
		out, err := do(r, in)
		if e, ok := errors.AsType[*world.Error](err); ok {
			return nil, &wire.Error{Code: e.Code, Message: e.Message, Status: e.Status}
		}
		return out, err
	}
}

// done is the answer of operations that say only that they have done it.
type done struct {
	Return bool `xml:"return"`
}

// stamp writes a time as EC2 does; the zero time is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
