package pricing_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/aws/aws-sdk-go-v2/service/pricing"

	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// partly answers as the Price List API does, without one type.
type partly struct {
	pricing.ProductsAPI
	without string
	asked   int
}

func (p *partly) GetProducts(ctx context.Context, in *api.GetProductsInput, o ...func(*api.Options)) (*api.GetProductsOutput, error) {
	p.asked++
	out, err := p.ProductsAPI.GetProducts(ctx, in, o...)
	if err == nil && p.without != "" {
		out.PriceList = slices.DeleteFunc(out.PriceList, func(item string) bool { return strings.Contains(item, p.without) })
	}
	return out, err
}

// A type that one price list lacks keeps its price until three in a row lack it.
func TestAPriceThatOneListLacksIsKeptUntilOthersLackItToo(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	clock := world.NewManualClock(now)
	_, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large", "m5.metal", "c5.large"}, Clock: clock}})
	list := &partly{ProductsAPI: aws.Pricing}
	book := pricing.NewBook(list, aws.EC2, facts, pricing.Options{Region: "us-east-1", Now: clock.Now})
	for _, step := range []struct {
		wait    time.Duration
		without string
		asked   bool
		priced  bool
	}{
		{0, "", true, true},
		{pricing.OnDemandSoon, "", true, true}, // confirms the first
		{pricing.OnDemandPeriod - time.Second, `"c5.large"`, false, true},
		{time.Second, `"c5.large"`, true, true},
		{pricing.OnDemandSoon, `"c5.large"`, true, true},
		{pricing.OnDemandSoon, "", true, true}, // there again
		{pricing.OnDemandPeriod, `"c5.large"`, true, true},
		{pricing.OnDemandSoon, `"c5.large"`, true, true},
		{pricing.OnDemandSoon, `"c5.large"`, true, false},
		{pricing.OnDemandPeriod - time.Second, `"c5.large"`, false, false},
	} {
		clock.Advance(step.wait)
		before := list.asked
		list.without = step.without
		if err := book.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if asked := list.asked > before; asked != step.asked {
			t.Errorf("%s: asked %v, want %v", clock.Now(), asked, step.asked)
		}
		if _, ok := book.Table().OnDemand("c5.large"); ok != step.priced {
			t.Errorf("%s: c5.large has a price: %v, want %v", clock.Now(), ok, step.priced)
		}
	}
}
