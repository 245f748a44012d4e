package network

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// silent never tells of subnets.
type silent struct {
	API
	asked *atomic.Int64
}

func (s silent) DescribeSubnets(ctx context.Context, _ *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	s.asked.Add(1)
	<-ctx.Done()
	return nil, errors.New("RequestLimitExceeded")
}

// Launches wait for what is known of subnets once, and not for long.
func TestLaunchesDoNotWaitForSubnetsAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		r := NewResolver(silent{asked: &asked}, NewLedger(nil), time.Minute, nil)
		class := &awsv1.EC2NodeClass{}
		class.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}
		begun := time.Now()
		for range 100 {
			_ = r.Know(t.Context(), class)
		}
		if took := time.Since(begun); asked.Load() != 1 || took > askWithin {
			t.Errorf("100 launches asked %d times and took %s", asked.Load(), took)
		}
		time.Sleep(answerWithin)
		if err := r.Know(t.Context(), class); asked.Load() != 2 || err == nil {
			t.Errorf("asked %d times, and was told %v; want again after a while", asked.Load(), err)
		}
		time.Sleep(answerWithin) // EC2 is asked for as long, whoever waits for it
	})
}

// slow tells of a subnet after a while.
type slow struct{ API }

func (slow) DescribeSubnets(ctx context.Context, _ *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	select {
	case <-time.After(askWithin + 2*time.Second):
		return &ec2.DescribeSubnetsOutput{Subnets: []types.Subnet{{SubnetId: new("subnet-1"), AvailabilityZone: new("a"), AvailabilityZoneId: new("use1-az1"), AvailableIpAddressCount: new(int32(9)), State: types.SubnetStateAvailable}}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestEachWaitsForSubnetsAsLongAsItWants though all wait for one answer: a launch not for long, and who has time gets it.
func TestEachWaitsForSubnetsAsLongAsItWants(t *testing.T) {
	for name, launchFirst := range map[string]bool{"the launch asks": true, "the launch joins": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewResolver(slow{}, NewLedger(time.Now), time.Minute, nil)
				class := &awsv1.EC2NodeClass{}
				class.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
				class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}
				launch := func() {
					begun := time.Now()
					if err := r.Know(t.Context(), class); err == nil || time.Since(begun) != askWithin {
						t.Errorf("the launch waited %s and got %v", time.Since(begun), err)
					}
				}
				reconcile := func() {
					if found, f := r.Subnets(t.Context(), class); len(found) != 1 || f.Unknown {
						t.Errorf("who has time got %v, %+v", found, f)
					}
				}
				first, then := reconcile, launch
				if launchFirst {
					first, then = launch, reconcile
				}
				var both sync.WaitGroup
				both.Go(first)
				synctest.Wait()
				both.Go(then)
				both.Wait()
				if free, known := r.ledger.Free("subnet-1"); free != 9 || !known {
					t.Errorf("%d addresses are known to be free (%v), want 9", free, known)
				}
			})
		})
	}
}
