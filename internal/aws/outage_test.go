package aws_test

import (
	"context"
	"errors"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Instances are launched from what is known while any other service than EC2 is silent; a call that waited for one would
// take longer than the test may.
func TestInstancesAreLaunchedWhileAnotherServiceIsSilent(t *testing.T) {
	s := startSim(t, awssim.Options{})
	now := time.Now()
	p := newProvider(t, s, func(o *aws.Options) { o.Now = func() time.Time { return now } })
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	for i, service := range []string{"ssm", "iam", "pricing", "sqs", "sts"} {
		t.Run(service, func(t *testing.T) {
			fault := s.World.AddFault(world.Fault{Kind: world.FaultSlow, Service: service, Delay: time.Hour})
			defer s.World.RemoveFault(fault)
			if _, err := p.Launch(t.Context(), newClaim(i), class); err != nil {
				t.Error(err)
			}
			if len(alive(s)) != i+1 {
				t.Errorf("%d instances run, want %d", len(alive(s)), i+1)
			}
		})
	}
}

// EKS is asked again for what is old; as long as it fails, what it said before serves, and it is left alone for a while.
func TestAClusterThatWasDescribedOnceIsKnownWhileEKSFails(t *testing.T) {
	s := startSim(t, awssim.Options{})
	now := time.Now()
	p, calls := newCountedProvider(t, s, func(o *aws.Options) { o.Now, o.KubernetesVersion = func() time.Time { return now }, version("1.36") })
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "eks", Code: "ServerException", Status: 500})
	now = now.Add(time.Hour)
	calls.Reset()
	for i := range 3 {
		if _, err := p.Launch(t.Context(), newClaim(i), class); err != nil {
			t.Fatal(err)
		}
	}
	if n := calls.Of("DescribeCluster"); n != 1 {
		t.Errorf("EKS was asked %d times, want once", n)
	}
}

// Where EKS can't be reached at all, as in an isolated network, nodes that need nothing of it are launched without waiting
// for it one after the other.
func TestAnEKSThatWasNeverReachedIsNotAskedForEachLaunch(t *testing.T) {
	s := startSim(t, awssim.Options{})
	now := time.Now()
	p, calls := newCountedProvider(t, s, func(o *aws.Options) {
		o.Now, o.KubernetesVersion, o.ClusterEndpoint = func() time.Time { return now }, version("1.36"), "https://cluster.example"
	})
	ready(t, p)
	fault := s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "eks", Code: "ServerException", Status: 500})
	class := newClass(s)
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
	calls.Reset()
	resolve(t, p, class)
	for i := range 3 {
		if _, err := p.Launch(t.Context(), newClaim(i), class); err != nil {
			t.Fatal(err)
		}
	}
	if n := calls.Of("DescribeCluster"); n != 1 {
		t.Errorf("EKS was asked %d times, want once", n)
	}
	s.World.RemoveFault(fault)
	now = now.Add(time.Minute)
	if _, err := p.Launch(t.Context(), newClaim(9), class); err != nil {
		t.Fatal(err)
	}
	if n := calls.Of("DescribeCluster"); n != 2 {
		t.Errorf("EKS was asked %d times, want once more when it answers again", n)
	}
}

// The API server tells the version. While it does not, that of before serves, and it is left alone for a while; a question
// without an answer keeps no class from being looked at.
func TestAVersionThatCanNotBeAskedForIsLeftAloneForAWhile(t *testing.T) {
	s := startSim(t, awssim.Options{})
	now, asked, refusal := time.Now(), 0, error(nil)
	p := newProvider(t, s, func(o *aws.Options) {
		o.Now = func() time.Time { return now }
		o.KubernetesVersion = func(context.Context) (string, error) { asked++; return "1.36", refusal }
	})
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	refusal = errors.New("the API server is away")
	now = now.Add(time.Hour)
	for range 3 {
		resolve(t, p, class)
	}
	if asked != 2 {
		t.Errorf("asked %d times, want once more than at first", asked)
	}
}

// One operation of EC2 at a time fails for as long as it likes: nothing that was resolved is lost, no instance is ended,
// and the next look after it finds everything.
func TestAnyReadThatIsThrottledTakesNothingAway(t *testing.T) {
	s := startSim(t, awssim.Options{})
	class := newClass(s)
	p := newProvider(t, s, nil)
	ready(t, p)
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(1), class); err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{
		"DescribeSubnets", "DescribeSecurityGroups", "DescribeImages", "DescribeLaunchTemplates", "DescribeInstances", "DescribeInstanceTypes",
		"DescribeInstanceTypeOfferings", "DescribeSpotPriceHistory", "GetParameter", "GetInstanceProfile", "GetProducts", "DescribeCluster",
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			fault := s.World.AddFault(world.Fault{Kind: world.FaultThrottle, Operation: op, Count: 3})
			defer s.World.RemoveFault(fault)
			r, err := p.Resolve(t.Context(), class)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Subnets) != len(class.Status.Subnets) || len(r.SecurityGroups) != len(class.Status.SecurityGroups) || len(r.AMIs) != len(class.Status.AMIs) || r.InstanceProfile != class.Status.InstanceProfile {
				t.Errorf("what was resolved is lost: %+v", r)
			}
			for _, f := range r.Findings {
				if !f.OK && !f.Unknown {
					t.Errorf("a throttle is taken for an answer: %+v", f)
				}
			}
			p.RefreshOnce(t.Context())
			if types, err := p.Types(t.Context(), class); err != nil || len(types) == 0 {
				t.Errorf("%d types, %v", len(types), err)
			}
		})
	}
	t.Cleanup(func() {
		if len(alive(s)) != 1 {
			t.Errorf("%d instances run, want 1", len(alive(s)))
		}
	})
}
