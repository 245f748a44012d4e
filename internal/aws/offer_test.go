package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// cluster is ten classes, all types that the facts have and the six zones of us-east-1, as Types keeps them.
type testCluster struct {
	market  *market
	book    *pricing.Book
	closed  *offering.Unavailable
	classes []*awsv1.EC2NodeClass
	kept    []*classCatalog
}

// market answers with the price history that it is given.
type market struct{ quotes []types.SpotPrice }

func (m *market) DescribeSpotPriceHistory(context.Context, *ec2.DescribeSpotPriceHistoryInput, ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	return &ec2.DescribeSpotPriceHistoryOutput{SpotPriceHistory: m.quotes}, nil
}

func newTestCluster(t testing.TB) *testCluster {
	t.Helper()
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	h := &testCluster{market: &market{}, closed: offering.NewUnavailable(nil)}
	h.book = pricing.NewBook(nil, h.market, facts, pricing.Options{Region: "us-east-1"})
	s := &instancetype.Snapshot{Generation: 1, Types: slices.Clone(facts.Types), Zones: make([][]string, len(facts.Types))}
	slices.SortFunc(s.Types, func(a, b ec2facts.Type) int { return strings.Compare(a.Name, b.Name) })
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1e", "us-east-1f"}
	var subnets []awsv1.Subnet
	for i, z := range zones {
		subnets = append(subnets, awsv1.Subnet{ID: "subnet-" + z, Zone: z, ZoneID: fmt.Sprintf("use1-az%d", i+1)})
	}
	for i := range s.Zones {
		s.Zones[i] = zones
		for _, z := range zones {
			h.market.quotes = append(h.market.quotes, types.SpotPrice{
				InstanceType: types.InstanceType(s.Types[i].Name), AvailabilityZone: new(z), SpotPrice: new("0.5"), Timestamp: new(time.Unix(0, 0)),
			})
		}
	}
	for i, family := range []awsv1.AMIFamily{
		awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyCustom, awsv1.AMIFamilyWindows2022,
		awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyCustom, awsv1.AMIFamilyWindows2025,
	} {
		class := &awsv1.EC2NodeClass{}
		class.Name, class.Spec.AMIFamily, class.Status.Subnets = fmt.Sprintf("class-%d", i), &family, subnets
		if i >= 5 {
			class.Spec.CPUOptions = &awsv1.CPUOptions{NestedVirtualization: new("enabled")}
		}
		cfg, err := instancetype.ConfigOf(class, instancetype.Options{Region: "us-east-1", MemoryOverhead: instancetype.DefaultMemoryOverhead})
		if err != nil {
			t.Fatal(err)
		}
		h.classes = append(h.classes, class)
		h.kept = append(h.kept, &classCatalog{shapes: instancetype.Shapes(s, cfg)})
	}
	h.refresh(t)
	h.offer()
	return h
}

func (h *testCluster) refresh(t testing.TB) {
	t.Helper()
	if err := h.book.RefreshSpot(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (h *testCluster) offer() {
	prices, closed := h.book.Table(), h.closed.Snapshot()
	for i, k := range h.kept {
		k.offer(offering.Input{Subnets: h.classes[i].Status.Subnets, Prices: prices, Unavailable: closed}, prices, false, nil)
	}
}

func (h *testCluster) lists() [][]*catalog.Type {
	var out [][]*catalog.Type
	for _, k := range h.kept {
		out = append(out, k.types)
	}
	return out
}

// The gate on speed: one change makes one type of each class anew, and nothing else.
func TestOneChangeCostsOneType(t *testing.T) {
	h := newTestCluster(t)
	closePool := func() {
		h.closed.MarkPool(offering.Pool{CapacityType: catalog.Spot, InstanceType: "m5.large", Zone: "us-east-1a"}, offering.NoCapacity)
	}
	for name, change := range map[string]func(){
		"a pool closes": closePool,
		"a spot price": func() {
			h.market.quotes[600].SpotPrice, h.market.quotes[600].Timestamp = new("0.4"), new(time.Unix(1, 0))
			h.refresh(t)
		},
	} {
		before := h.lists()
		change()
		h.offer()
		for c, types := range h.lists() {
			anew := 0
			for i := range types {
				if types[i] != before[c][i] {
					anew++
				}
			}
			if anew != 1 {
				t.Errorf("%s: class %d has %d types made anew, want 1", name, c, anew)
			}
		}
		again := h.lists()
		h.offer()
		for c, types := range h.lists() {
			if &types[0] != &again[c][0] {
				t.Errorf("%s: class %d was made anew though nothing changed since", name, c)
			}
		}
	}
	opened := func() {
		closePool()
		h.offer()
	}
	if n := testing.AllocsPerRun(5, opened); n > 400 {
		t.Errorf("a change costs ten classes %.0f allocations", n)
	}
}

// Ten classes x all types x six zones after one price or one pool changed.
func BenchmarkOneChange(b *testing.B) {
	b.Run("a pool closes or opens", func(b *testing.B) {
		h := newTestCluster(b)
		pool := offering.Pool{CapacityType: catalog.Spot, InstanceType: "m5.large", Zone: "us-east-1a"}
		var seen [2]*offering.Snapshot
		seen[0] = h.closed.Snapshot()
		h.closed.MarkPool(pool, offering.NoCapacity)
		seen[1] = h.closed.Snapshot()
		prices, i := h.book.Table(), 0
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			i++
			for c, k := range h.kept {
				k.offer(offering.Input{Subnets: h.classes[c].Status.Subnets, Prices: prices, Unavailable: seen[i%2]}, prices, false, nil)
			}
		}
	})
	b.Run("a spot price", func(b *testing.B) {
		h := newTestCluster(b)
		was := h.book.Table()
		h.market.quotes[600].SpotPrice, h.market.quotes[600].Timestamp = new("0.4"), new(time.Unix(1, 0))
		h.refresh(b)
		now, closed := h.book.Table(), h.closed.Snapshot()
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			for c, k := range h.kept {
				k.priced = was
				k.offer(offering.Input{Subnets: h.classes[c].Status.Subnets, Prices: now, Unavailable: closed}, now, false, nil)
			}
		}
	})
	b.Run("all anew", func(b *testing.B) {
		h := newTestCluster(b)
		prices, closed := h.book.Table(), h.closed.Snapshot()
		b.ReportAllocs()
		defer reportCPU(b)()
		for b.Loop() {
			for c, k := range h.kept {
				k.types = nil
				k.offer(offering.Input{Subnets: h.classes[c].Status.Subnets, Prices: prices, Unavailable: closed}, prices, false, nil)
			}
		}
	})
}

// reportCPU tells the CPU time that an iteration takes, of all threads: the wall time of a busy instance says little.
func reportCPU(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	from := used()
	return func() { b.ReportMetric(float64((used()-from).Nanoseconds())/float64(b.N), "cpu-ns/op") }
}
