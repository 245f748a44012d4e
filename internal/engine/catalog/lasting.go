package catalog

import "slices"

// Range of prices per hour.
type Range struct {
	Low  MicroUSD `json:"low"`
	High MicroUSD `json:"high"`
}

// Holds reports whether the range says more than the price does.
func (r *Range) Holds(price MicroUSD) bool { return r != nil && (r.Low < price || r.High > price) }

// Least is the least that the offering has cost in the hours that its range is of.
func (o *Offering) Least() MicroUSD {
	if o.Lately == nil {
		return o.Price
	}
	return min(o.Price, o.Lately.Low)
}

// Lasting is the type at prices that a saving may be reckoned with that has to last: each offering at the most that it has
// cost lately. It is t itself when none has cost more than it does now.
func (t *Type) Lasting() *Type {
	var out *Type
	for i := range t.Offerings {
		o := &t.Offerings[i]
		if o.Lately == nil || o.Lately.High <= o.Price {
			continue
		}
		if out == nil {
			c := *t
			c.Offerings = slices.Clone(t.Offerings)
			out = &c
		}
		out.Offerings[i].Price = o.Lately.High
	}
	if out == nil {
		return t
	}
	return out
}
