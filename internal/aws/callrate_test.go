package aws_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// tenClasses are ready classes of several families on the same subnets.
func tenClasses(t *testing.T, s *awssim.Server, p *aws.Provider) []*awsv1.EC2NodeClass {
	t.Helper()
	var out []*awsv1.EC2NodeClass
	for i := range 10 {
		class := newClass(s)
		class.Name, class.UID = fmt.Sprintf("class-%d", i), types.UID(fmt.Sprintf("class-uid-%d", i))
		class.Spec.AMISelectorTerms[0].Alias = []string{"al2023@latest", "bottlerocket@latest", "windows2022@latest", "al2023@latest", "windows2025@latest"}[i%5]
		if i >= 5 {
			class.Spec.BlockDeviceMappings = nil
			class.Spec.Kubelet = &awsv1.KubeletConfiguration{MaxPods: new(int32(50 + i))}
		}
		resolve(t, p, class)
		out = append(out, class)
	}
	return out
}

// The whole region, ten classes, an hour in which nothing happens: every loop of the provider at its own period.
func TestAQuietHourCostsFewCalls(t *testing.T) {
	const minutes = 60
	clock := world.NewManualClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	s := startSim(t, awssim.Options{World: world.Options{Types: []string{}, Clock: clock}})
	p, calls := newCountedProvider(t, s, func(o *aws.Options) {
		o.SubnetRefreshInterval, o.AMIRefreshInterval, o.Now = time.Minute, time.Minute, clock.Now
	})
	ready(t, p)
	classes := tenClasses(t, s, p)
	instance, err := p.Launch(t.Context(), newClaim(1), classes[0])
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(instancetype.Soon)
	p.RefreshOnce(t.Context()) // the lists of types and prices are read a second time soon after the start, then twice a day
	calls.Reset()
	s.World.ForgetCalls()
	for minute := range minutes {
		clock.Advance(time.Minute)
		var wait sync.WaitGroup
		for _, class := range classes { // nodeclass controller: each class once a minute, all at the same moment
			wait.Go(func() {
				if _, err := p.Resolve(t.Context(), class); err != nil {
					t.Error(err)
				}
				if _, err := p.Types(t.Context(), class); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		p.RefreshOnce(t.Context())
		if _, err := p.Statuses().Read(t.Context(), []string{instance.InstanceID}); err != nil { // once a minute
			t.Fatal(err)
		}
		if minute%2 == 0 { // garbage collection
			if _, err := p.List(t.Context(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
		if minute%30 == 0 {
			p.CollectTemplatesOnce(t.Context())
			if _, err := p.CollectProfiles(t.Context(), map[string]bool{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What reached AWS, page by page.
	total, counts := 0, s.World.CallCounts()
	var lines []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		total += counts[op]
		lines = append(lines, fmt.Sprintf("%-32s %6.2f a minute", op, float64(counts[op])/minutes))
	}
	t.Logf("%d classes, %.2f calls a minute without the long polls of the queue:\n%s", len(classes), float64(total)/minutes, strings.Join(lines, "\n"))
	if perMinute := float64(total) / minutes; perMinute > quietCalls {
		t.Errorf("%.2f calls a minute, want at most %d", perMinute, quietCalls)
	}
}

// quietCalls is how many calls a minute may cost in which nothing happens. The queue's receiver adds three long polls.
const quietCalls = 7
