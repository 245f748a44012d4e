package intake

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// Overlay converts a NodeOverlay.
//
// Errors name the field and what it may be; the schema admits objects that make no sense.
func Overlay(o *v1alpha1.NodeOverlay) (catalog.Overlay, error) {
	out := catalog.Overlay{Name: o.Name, Capacity: Resources(o.Spec.Capacity)}
	if o.Spec.Weight != nil {
		out.Weight = int(*o.Spec.Weight)
	}
	for i, r := range o.Spec.Requirements {
		t := requirement.Term{Key: Key(r.Key), Operator: requirement.Operator(r.Operator), Values: r.Values}
		if _, err := requirement.NewVocabulary().Parse([]requirement.Term{t}); err != nil {
			return out, fmt.Errorf("spec.requirements[%d]: %w", i, err)
		}
		out.Requirements = append(out.Requirements, t)
	}
	for name, amount := range out.Capacity {
		if amount < 0 {
			return out, fmt.Errorf("spec.capacity[%s]: %d is negative", name, amount)
		}
	}
	var err error
	switch spec := &o.Spec; {
	case spec.Price != nil && spec.PriceAdjustment != nil:
		return out, fmt.Errorf("spec.price and spec.priceAdjustment: set one of the two, not both")
	case spec.Price != nil:
		out.Price, err = overlayPrice(*spec.Price)
	case spec.PriceAdjustment != nil:
		out.Price, err = overlayAdjustment(*spec.PriceAdjustment)
	}
	return out, err
}

func overlayPrice(text string) (*catalog.PriceRule, error) {
	n, ok := millionths(text)
	if !ok || n < 0 || strings.ContainsAny(text, "+-") {
		return nil, fmt.Errorf("spec.price: %q is not a price per hour such as 0.096", text)
	}
	return &catalog.PriceRule{Price: catalog.MicroUSD(n)}, nil
}

func overlayAdjustment(text string) (*catalog.PriceRule, error) {
	signed, share := strings.CutSuffix(text, "%")
	n, ok := millionths(signed)
	if !ok || !strings.HasPrefix(text, "+") && !strings.HasPrefix(text, "-") {
		return nil, fmt.Errorf("spec.priceAdjustment: %q is neither an amount with a sign such as -0.01 nor a percentage with a sign such as -28%%", text)
	}
	if !share {
		return &catalog.PriceRule{Plus: new(catalog.MicroUSD(n))}, nil
	}
	if n < -100_000_000 {
		return nil, fmt.Errorf("spec.priceAdjustment: %q takes off more than all; the least is -100%%", text)
	}
	return &catalog.PriceRule{Percent: &n}, nil
}

// millionths reads a decimal number exactly, what is below a millionth cut off; false for what is none or has no place in
// sums of money.
func millionths(text string) (int64, bool) {
	if strings.Trim(text, "+-.0123456789") != "" {
		return 0, false // exponents, fractions and the like, which the next line would take
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() || n.Int64() > maxAmount || n.Int64() < -maxAmount {
		return 0, false
	}
	return n.Int64(), true
}
