package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// fleets is an EC2 that launches each request once, by its token.
type fleets struct {
	mu     sync.Mutex
	asked  int
	tokens map[string]*ec2.CreateFleetOutput
	all    []*cloud.Instance
	// answer, if set, is what comes of the n-th request: its answer, if it is carried out, or another one.
	answer func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error)
}

func (f *fleets) CreateFleet(_ context.Context, in *ec2.CreateFleetInput, _ ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
	f.mu.Lock()
	f.asked++
	n := f.asked
	f.mu.Unlock()
	if f.answer == nil {
		return f.carryOut(in), nil
	}
	return f.answer(n, func() *ec2.CreateFleetOutput { return f.carryOut(in) })
}

func (f *fleets) carryOut(in *ec2.CreateFleetInput) *ec2.CreateFleetOutput {
	f.mu.Lock()
	defer f.mu.Unlock()
	if out := f.tokens[*in.ClientToken]; out != nil {
		return out
	}
	tags := map[string]string{}
	for _, t := range in.TagSpecifications[0].Tags {
		tags[*t.Key] = *t.Value
	}
	out := &ec2.CreateFleetOutput{Instances: []types.CreateFleetInstance{{InstanceType: "m5.large", AvailabilityZone: aws.String("a")}}}
	for range *in.TargetCapacitySpecification.TotalTargetCapacity {
		id := fmt.Sprint("i-", len(f.all))
		f.all = append(f.all, &cloud.Instance{InstanceID: id, State: "running", Tags: tags, LaunchedAt: time.Now()})
		out.Instances[0].InstanceIds = append(out.Instances[0].InstanceIds, id)
	}
	f.tokens[*in.ClientToken] = out
	return out
}

func (f *fleets) Since(context.Context, time.Time) ([]*cloud.Instance, error) { return f.all, nil }

func newFleets() *fleets { return &fleets{tokens: map[string]*ec2.CreateFleetOutput{}} }

// begun is a launcher that has no predecessor.
func begun(api *fleets, o Options) *Launcher {
	b := NewLauncher(api, api, o)
	b.Begin(nil)
	return b
}

func orderOf(name, pool string) Order {
	return Order{UID: "uid-" + name, Name: name, Created: time.Now(), Request: Request{
		CapacityType: "on-demand", Context: name[:1], Subnets: []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}},
		Templates: []Template{{Name: "t", Overrides: []Override{{InstanceType: pool, Zone: "a"}}}},
	}}
}

var errReplyLost = errors.New("the connection was reset")

// Whatever panics on the way of a request: its claims are told, and get one instance each by their next tries.
func TestAPanicOnTheWayOfALaunchLeavesNoClaimWaiting(t *testing.T) {
	lost := func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
		out := carryOut()
		if n == 1 {
			return nil, errReplyLost
		}
		return out, nil
	}
	refused := func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
		if n == 1 {
			return nil, &smithy.GenericAPIError{Code: "UnauthorizedOperation", Fault: smithy.FaultClient}
		}
		return carryOut(), nil
	}
	empty := func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
		if n == 1 {
			return &ec2.CreateFleetOutput{Errors: []types.CreateFleetError{{ErrorCode: aws.String("InsufficientInstanceCapacity")}}}, nil
		}
		return carryOut(), nil
	}
	type options func(o *Options, once func())
	settled := func(o *Options, once func()) {
		o.Place = func(r *Request, n Need) Placement {
			p := firstSubnets(r, n)
			p.Settle = func(map[string]int) { once() }
			return p
		}
	}
	for name, tc := range map[string]struct {
		plant  options
		answer func(int, func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error)
		// tries before the one that gets an instance; asked is how often EC2 is asked.
		tries, asked int
	}{
		"Sequential": {plant: func(o *Options, once func()) { o.Sequential = func(*Request) bool { once(); return false } }, tries: 1, asked: 1},
		"Place": {plant: func(o *Options, once func()) {
			o.Place = func(r *Request, n Need) Placement { once(); return firstSubnets(r, n) }
		}, tries: 1, asked: 1},
		"Closed":                         {plant: func(o *Options, once func()) { o.Closed = func(*Request, *Override) bool { once(); return false } }, tries: 1, asked: 1},
		"Joined":                         {plant: func(o *Options, once func()) { o.Joined = func(int, time.Duration) { once() } }, asked: 1},
		"Failed of a refusal":            {plant: func(o *Options, once func()) { o.Failed = func(PoolError) { once() } }, answer: refused, tries: 1, asked: 2},
		"Failed of a pool":               {plant: func(o *Options, once func()) { o.Failed = func(PoolError) { once() } }, answer: empty, tries: 1, asked: 2},
		"Failed of a lost reply":         {plant: func(o *Options, once func()) { o.Failed = func(PoolError) { once() } }, answer: lost, tries: 1, asked: 2},
		"Refused":                        {plant: func(o *Options, once func()) { o.Refused = func(*Request, []PoolError) { once() } }, answer: empty, tries: 1, asked: 2},
		"Settle":                         {plant: settled, tries: 1, asked: 1},
		"Settle of a refusal":            {plant: settled, answer: refused, tries: 1, asked: 2},
		"Settle of a request sent again": {plant: settled, answer: lost, tries: 2, asked: 2},
		"the call": {answer: func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
			if out := carryOut(); n > 1 {
				return out, nil
			}
			panic("planted")
		}, tries: 1, asked: 1},
		"an answer without a body": {answer: func(n int, carryOut func() *ec2.CreateFleetOutput) (*ec2.CreateFleetOutput, error) {
			if out := carryOut(); n > 1 {
				return out, nil
			}
			return nil, nil //nolint:nilnil // that is the defect
		}, tries: 1, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, o, panicked := newFleets(), Options{}, false
				api.answer = tc.answer
				if tc.plant != nil {
					tc.plant(&o, func() {
						if !panicked {
							panicked = true
							panic("planted")
						}
					})
				}
				b := begun(api, o)
				orders := []Order{orderOf("c-1", "m5.large"), orderOf("c-2", "m5.large")}
				got := make([]*Launched, len(orders))
				for try := range tc.tries + 1 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					var wg sync.WaitGroup
					errs := make([]error, len(orders))
					for i := range orders {
						wg.Go(func() { got[i], errs[i] = b.Launch(ctx, orders[i]) })
					}
					wg.Wait()
					if err := errors.Join(errs...); (err != nil) != (try < tc.tries) || errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("try %d: %v", try, err)
					}
					time.Sleep(retryEvery)
				}
				if len(api.all) != len(orders) || api.asked != tc.asked || got[0] == nil || got[1] == nil || got[0].InstanceID == got[1].InstanceID {
					t.Errorf("%d instances of %d requests; the claims have %v", len(api.all), api.asked, got)
				}
				for i := range orders {
					if found, err := b.Found(t.Context(), orders[i]); err != nil || found != got[i] {
						t.Errorf("found for %s: %v, %v", orders[i].Name, found, err)
					}
				}
			})
		})
	}
}
