package pricing

import (
	"context"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// plain leaves all decoding to the SDK.
type plain struct{ *ec2.Client }

func (p plain) DescribeSpotPriceHistory(ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput, _ ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	return p.Client.DescribeSpotPriceHistory(ctx, in)
}

func market(t testing.TB, types ...string) (*awssim.Server, *ec2.Client) {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: types}})
	if err != nil {
		t.Fatal(err)
	}
	sim.Start()
	t.Cleanup(func() { _ = sim.Close() })
	for _, kv := range sim.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	s, err := session.New(t.Context(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return sim, s.EC2
}

func TestQuotesAreReadAsTheSDKReadsThem(t *testing.T) {
	sim, api := market(t)
	sim.World.SetSpotPrice("m5.large", "us-east-1a", 31234)
	since := time.Now().Add(-time.Minute)
	got, err := fetchSpot(t.Context(), api, since)
	if err != nil {
		t.Fatal(err)
	}
	want, err := fetchSpot(t.Context(), plain{api}, since)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < 2000 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d pools, the SDK reads %d, or others", len(got), len(want))
	}
}

// What a page of prices that is not as usual holds is read nonetheless, by the SDK.
func TestAQuoteThatIsNotUnderstoodIsLeftToTheSDK(t *testing.T) {
	const good = "<instanceType>m5.large</instanceType><availabilityZone>us-east-1a</availabilityZone><spotPrice>0.0312</spotPrice><timestamp>2026-01-01T00:00:00.000Z</timestamp>"
	var q quoteReader
	if !q.take([]byte(good)) || len(q.page) != 1 || q.page[0].of != (pool{"m5.large", "us-east-1a"}) || q.page[0].quote.price != 31200 {
		t.Errorf("read %v", q.page)
	}
	for _, change := range [][2]string{{"m5.large", "m5&amp;large"}, {"0.0312", "dear"}, {"0.0312", "0"}, {"2026-01-01T00:00:00.000Z", "today"}, {"us-east-1a", ""}, {"us-east-1a", "<x>us-east-1a</x>"}} {
		if q.take([]byte(strings.Replace(good, change[0], change[1], 1))) {
			t.Errorf("with %q it is taken", change[1])
		}
	}
}

func BenchmarkQuotes(b *testing.B) {
	_, api := market(b)
	for name, api := range map[string]HistoryAPI{"here": api, "SDK": plain{api}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := fetchSpot(b.Context(), api, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
