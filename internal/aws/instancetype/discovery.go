package instancetype

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/guard"
)

// Period is how often types and offerings are worth asking for again.
const Period = 12 * time.Hour

// Soon is when they are asked for again after an answer that no other has confirmed: the first one, and one that lacks what the
// answer before it had.
const Soon = 5 * time.Minute

// API is what Discovery needs of EC2.
type API interface {
	DescribeInstanceTypes(context.Context, *ec2.DescribeInstanceTypesInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeInstanceTypeOfferings(context.Context, *ec2.DescribeInstanceTypeOfferingsInput, ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error)
}

// Snapshot is the instance types of a region at one moment. It is immutable.
type Snapshot struct {
	// Generation differs between snapshots with different content.
	Generation uint64
	// Types is sorted by name and holds only types that some zone offers.
	Types []ec2facts.Type
	// Zones has, for each of Types in order, the names of the zones that offer it, sorted.
	Zones [][]string
	// Skipped says, by type, why a type that EC2 lists is left out.
	Skipped map[string]string
	// At is when EC2 was asked.
	At time.Time
}

// Find returns the position of a type, false when the snapshot does not have it.
func (s *Snapshot) Find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.Types, name, func(t ec2facts.Type, name string) int { return strings.Compare(t.Name, name) })
}

// Discovery keeps the Snapshot. All methods may be called from many goroutines; readers never wait for the network.
type Discovery struct {
	api     API
	known   *ec2facts.Facts
	now     func() time.Time
	current atomic.Pointer[Snapshot]

	mu      sync.Mutex       // orders the swaps of current; never held over a call
	lacking map[offering]int // how many answers in a row have lacked what current has
	sure    bool             // the last answer had all that the one before it had
}

// NewDiscovery returns a discovery that has no snapshot yet. known supplements what EC2 does not tell; now is the clock,
// nil for time.Now.
func NewDiscovery(api API, known *ec2facts.Facts, now func() time.Time) *Discovery {
	if now == nil {
		now = time.Now
	}
	return &Discovery{api: api, known: known, now: now}
}

// Snapshot returns the newest snapshot, nil before the first success of Refresh.
func (d *Discovery) Snapshot() *Snapshot { return d.current.Load() }

// Refresh asks EC2 again when the snapshot is missing or older than Period; Soon while its last answer is not confirmed. Call
// it every minute or so.
func (d *Discovery) Refresh(ctx context.Context) error {
	d.mu.Lock()
	period := Soon
	if d.sure {
		period = Period
	}
	d.mu.Unlock()
	if s := d.current.Load(); s != nil && d.now().Sub(s.At) < period {
		return nil
	}
	return d.RefreshNow(ctx)
}

// RefreshNow asks EC2 for all types and offerings. On an error the last snapshot stays, and what an answer lacks stays for a
// while: see keep.
func (d *Discovery) RefreshNow(ctx context.Context) error {
	at := d.now()
	var found []ec2facts.Type
	var skipped map[string]string
	var zones map[string][]string
	var errs [2]error
	var g guard.Group
	g.Go("aws.types", func() error { found, skipped, errs[0] = Describe(ctx, d.api, d.known, Runnable()); return nil })
	g.Go("aws.types", func() error { zones, errs[1] = DescribeOfferings(ctx, d.api); return nil })
	if err := g.Wait(); err != nil {
		return fmt.Errorf("reading instance types: %w", err)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	next := &Snapshot{At: at, Skipped: skipped}
	for _, t := range found {
		if z := zones[t.Name]; len(z) > 0 {
			next.Types = append(next.Types, t)
			next.Zones = append(next.Zones, z)
		} else {
			skipped[t.Name] = "no zone of the region offers it"
		}
	}
	if len(next.Types) == 0 {
		return fmt.Errorf("listing instance types: EC2 described %d types and offers %d, but none is in both lists", len(found), len(zones))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next.Generation = 1
	if last := d.current.Load(); last != nil {
		if last.At.After(at) {
			return nil // a later question was answered first
		}
		d.lacking = keep(next, last, d.lacking)
		d.sure = len(d.lacking) == 0
		next.Generation = last.Generation
		if !sameContent(last, next) {
			next.Generation++
		}
	}
	d.current.Store(next)
	return nil
}

// Runnable are the filters for types that an image of ours can boot.
func Runnable() []types.Filter {
	return []types.Filter{
		{Name: new("supported-virtualization-type"), Values: []string{"hvm"}},
		{Name: new("processor-info.supported-architecture"), Values: []string{"x86_64", "arm64"}},
	}
}

// Describe lists the types that pass filters, sorted by name, and says which descriptions it could not use.
func Describe(ctx context.Context, api ec2.DescribeInstanceTypesAPIClient, known *ec2facts.Facts, filters []types.Filter) ([]ec2facts.Type, map[string]string, error) {
	var out []ec2facts.Type
	skipped := map[string]string{}
	pages := ec2.NewDescribeInstanceTypesPaginator(api, &ec2.DescribeInstanceTypesInput{
		Filters: filters, MaxResults: new(int32(100)),
	})
	var token string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, nil, awserr.Wrap("listing instance types", err)
		}
		if token, err = another(token, page.NextToken); err != nil {
			return nil, nil, awserr.Wrap("listing instance types", err)
		}
		for i := range page.InstanceTypes {
			t, err := FromAPI(&page.InstanceTypes[i], known)
			if err != nil {
				skipped[t.Name] = err.Error()
				continue
			}
			out = append(out, t)
		}
	}
	byName := func(a, b ec2facts.Type) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(out, byName)
	return slices.CompactFunc(out, func(a, b ec2facts.Type) bool { return a.Name == b.Name }), skipped, nil
}

// DescribeOfferings lists, by type, the zones that offer it, sorted.
func DescribeOfferings(ctx context.Context, api ec2.DescribeInstanceTypeOfferingsAPIClient) (map[string][]string, error) {
	out := map[string][]string{}
	pages := ec2.NewDescribeInstanceTypeOfferingsPaginator(api, &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, MaxResults: new(int32(1000)),
	})
	var token string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("listing instance type offerings", err)
		}
		if token, err = another(token, page.NextToken); err != nil {
			return nil, awserr.Wrap("listing instance type offerings", err)
		}
		for _, o := range page.InstanceTypeOfferings {
			name, zone := string(o.InstanceType), aws.ToString(o.Location)
			if at, found := slices.BinarySearch(out[name], zone); !found {
				out[name] = slices.Insert(out[name], at, zone)
			}
		}
	}
	return out, nil
}
