package catalog

import "slices"

// Short reports whether EC2 lacks what is offered, for now.
func (o *Offering) Short() bool { return !o.Available && !o.Opens.IsZero() && o.Price > 0 }

// Passing reports whether what is offered is closed, and only for a while.
func (o *Offering) Passing() bool { return !o.Available && o.ForNow && o.Price > 0 }

// Opened are types of which some offerings are open that are closed, and whether there are any. Types without are shared.
//
// Cost: a look at each offering; only types with one that is opened are copied.
func Opened(types []*Type, these func(*Type, *Offering) bool) (opened []*Type, found bool) {
	opened = types
	for i, t := range types {
		var open *Type
		for j := range t.Offerings { // by number: a copy of each would be made for the call
			if !these(t, &t.Offerings[j]) {
				continue
			}
			if open == nil {
				other := *t
				open = &other
				open.Offerings = slices.Clone(t.Offerings)
			}
			o := &open.Offerings[j]
			o.Available, o.Unavailable = true, ""
		}
		if open == nil {
			continue
		}
		if !found {
			opened, found = slices.Clone(types), true
		}
		opened[i] = open
	}
	return opened, found
}
