package catalog

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// Overlay is what users know better than the price list: the price of offerings, or resources that their nodes have
// besides.
type Overlay struct {
	Name   string
	Weight int
	// Requirements choose offerings by the labels of their types, of themselves and of the pool.
	Requirements []requirement.Term
	// Price changes the price, nil leaves it.
	Price *PriceRule
	// Capacity is added to that of types of which any offering is chosen, in place of what they have of the resource.
	Capacity res.List
}

// PriceRule makes a price of the known one. Exactly one way is taken: Percent if it is set, else Plus, else Price.
type PriceRule struct {
	// Price in place of the known one.
	Price MicroUSD
	// Plus is added to the known price; it may be negative.
	Plus *MicroUSD
	// Percent is added to the known price in millionths of a percent: -28,000,000 makes 72 of 100.
	Percent *int64
}

// Of is the new price, never below zero; false when there is no known price to begin from and one is needed.
func (r *PriceRule) Of(known MicroUSD, priced bool) (MicroUSD, bool) {
	switch {
	case r.Percent != nil:
		const whole = 100_000_000
		n := new(big.Int).Mul(big.NewInt(int64(known)), new(big.Int).Add(big.NewInt(whole), big.NewInt(*r.Percent)))
		n.Add(n, big.NewInt(whole/2)).Div(n, big.NewInt(whole))
		if !n.IsInt64() {
			return NoPrice - 1, priced
		}
		return MicroUSD(max(0, n.Int64())), priced
	case r.Plus != nil:
		return max(0, known+*r.Plus), priced
	default:
		return r.Price, true
	}
}

// WithoutPrice is why an offering is unavailable of which only the price is missing; an overlay that sets one fixes it.
const WithoutPrice = "no price"

// OverQuota is why an offering is unavailable for which a quota of the account is used up.
const OverQuota = "quota exceeded"

// Forbidden is why an offering is unavailable that a policy does not let the controller launch.
const Forbidden = "not permitted by a policy"

// WithoutSubnet is why an offering is unavailable in whose zone the node class has no subnet.
const WithoutSubnet = "no subnet in zone"

// SortOverlays puts overlays in the order in which they are heeded: by weight, then by name, each falling.
func SortOverlays(list []Overlay) {
	slices.SortFunc(list, func(a, b Overlay) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(b.Name, a.Name))
	})
}

// Overlay returns the type as the overlays, which are sorted, leave it: of those that choose an offering the first with a
// price decides, and of each resource the first that has it. It is t itself when nothing chooses it. labels are those
// that the pool gives its nodes.
func (t *Type) Overlay(overlays []Overlay, labels map[string]string) *Type {
	var out *Type
	change := func() *Type {
		if out == nil {
			c := *t
			c.Offerings, c.Capacity = slices.Clone(t.Offerings), t.Capacity.Clone()
			if c.Listed == nil {
				c.Listed = t
			}
			out = &c
		}
		return out
	}
	priced := make([]bool, len(t.Offerings))
	var given res.List
	for i := range overlays {
		o := &overlays[i]
		if !o.choosesType(t, labels) {
			continue
		}
		chosen := false
		for at := range t.Offerings {
			if !o.choosesOffering(&t.Offerings[at]) {
				continue
			}
			chosen = true
			if o.Price != nil && !priced[at] {
				priced[at] = true
				change().Offerings[at].reprice(o.Price)
			}
		}
		if !chosen {
			continue
		}
		for name, amount := range o.Capacity {
			if _, had := given[name]; !had {
				if given == nil {
					given = res.List{}
				}
				given[name] = amount
				change().Capacity[name] = amount
			}
		}
	}
	if out == nil {
		return t
	}
	return out
}

func (o *Offering) reprice(rule *PriceRule) {
	missing := o.Unavailable == WithoutPrice
	price, ok := rule.Of(o.Price, !missing)
	if !ok {
		return
	}
	if o.Lately != nil {
		low, _ := rule.Of(o.Lately.Low, true)
		high, _ := rule.Of(o.Lately.High, true)
		if o.Lately = (&Range{low, high}); !o.Lately.Holds(price) {
			o.Lately = nil
		}
	}
	o.Price = price
	if missing {
		o.Available, o.Unavailable = true, ""
	}
}

func (o *Overlay) choosesType(t *Type, labels map[string]string) bool {
	for i := range o.Requirements {
		r := &o.Requirements[i]
		if slices.Contains(cellKeys, r.Key) {
			continue
		}
		values, known := t.labelValues(r.Key)
		if v, ok := labels[r.Key]; ok && !known {
			values = []string{v}
		}
		if !admits(r, values) {
			return false
		}
	}
	return true
}

// labelValues are the values that nodes of the type may have for a label, none when they don't have it; false when the
// type says nothing of it.
func (t *Type) labelValues(key string) ([]string, bool) {
	for i := range t.Requirements {
		if r := &t.Requirements[i]; r.Key == key {
			if r.Operator == requirement.In {
				return r.Values, true
			}
			return nil, true
		}
	}
	if key == requirement.InstanceType {
		return []string{t.Name}, true
	}
	return nil, false
}

func (o *Overlay) choosesOffering(x *Offering) bool {
	for i := range o.Requirements {
		r := &o.Requirements[i]
		at := slices.Index(cellKeys, r.Key)
		if at < 0 {
			continue
		}
		var values []string
		if v := x.cellValues()[at]; v != "" {
			values = []string{v}
		}
		if !admits(r, values) {
			return false
		}
	}
	return true
}

// admits reports whether one of the values, or having none, meets a term.
func admits(r *requirement.Term, values []string) bool {
	switch r.Operator {
	case requirement.DoesNotExist:
		return len(values) == 0
	case requirement.Exists:
		return len(values) > 0
	case requirement.NotIn:
		return len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(r.Values, v) })
	case requirement.In:
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(r.Values, v) })
	}
	if len(r.Values) != 1 {
		return false
	}
	bound, err := strconv.ParseInt(r.Values[0], 10, 64)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(values, func(v string) bool {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return false
		}
		switch r.Operator {
		case requirement.Gt:
			return n > bound
		case requirement.Gte:
			return n >= bound
		case requirement.Lt:
			return n < bound
		case requirement.Lte:
			return n <= bound
		}
		return false
	})
}
