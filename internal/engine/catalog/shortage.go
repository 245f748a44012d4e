package catalog

import "slices"

// Short reports whether EC2 lacks what is offered, for now.
func (o *Offering) Short() bool { return !o.Available && !o.Opens.IsZero() && o.Price > 0 }

// Passing reports whether what is offered is closed, and only for a while.
func (o *Offering) Passing() bool { return !o.Available && o.ForNow && o.Price > 0 }

// Opened are types of which some offerings are open that are closed, and whether there are any. Types without are shared.
func Opened(types []*Type, these func(*Type, *Offering) bool) (opened []*Type, found bool) {
	opened = types
	for i, t := range types {
		if !slices.ContainsFunc(t.Offerings, func(o Offering) bool { return these(t, &o) }) {
			continue
		}
		if !found {
			opened, found = slices.Clone(types), true
		}
		open := *t
		open.Offerings = slices.Clone(t.Offerings)
		for j := range open.Offerings {
			if o := &open.Offerings[j]; these(t, o) {
				o.Available, o.Unavailable = true, ""
			}
		}
		opened[i] = &open
	}
	return opened, found
}
