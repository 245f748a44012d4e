// Package ec2facts is what Kerf knows of EC2 without asking: every instance type with its limits, which zones offer it,
// and what it cost, each dated and with its source.
//
// The facts are in one embedded file, facts.tsv.gz, which gen compiles and "kerf catalog update" writes anew from a live
// account. What was listed, what was estimated and what was borrowed from elsewhere is told apart by a Basis. Everything
// here is immutable once loaded; nothing reads a clock, a disk or a network.
package ec2facts

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"sync"
)

//go:generate go run ./gen -catalog $CATALOG -o facts.tsv.gz

//go:embed facts.tsv.gz
var embedded []byte

var load = sync.OnceValues(func() (*Facts, error) {
	f, err := Decode(bytes.NewReader(embedded))
	if err != nil {
		return nil, fmt.Errorf("reading the embedded EC2 facts: %w", err)
	}
	return f, nil
})

// Load returns the embedded facts. They are decoded once; callers share them and must not change them.
func Load() (*Facts, error) { return load() }

// Facts is the content of a facts file.
type Facts struct {
	// Sources says where the facts are from, as of when, under which licence.
	Sources []Source
	// Types is sorted by family, size and name in the way of Less; retired types are among them.
	Types []Type

	index   map[string]int
	regions map[string]*Region
}

// Source is the origin of a part of the facts.
type Source struct {
	Part    string // types, offerings, on-demand, …
	Date    string // day or days of the data
	Licence string
	Origin  string
}

// New makes Facts of types and regions, for those who write facts files. Types must be unique; slices of regions that
// are indexed by type must be as long as types. It sorts nothing.
func New(sources []Source, types []Type, regions []*Region) (*Facts, error) {
	f := &Facts{Sources: sources, Types: types, index: make(map[string]int, len(types)), regions: make(map[string]*Region, len(regions))}
	for i := range types {
		name := types[i].Name
		if _, dup := f.index[name]; dup {
			return nil, fmt.Errorf("instance type %q is listed twice", name)
		}
		if family, size := SplitName(name); family == "" || size == "" {
			return nil, fmt.Errorf("instance type %q is not of the form family.size", name)
		}
		f.index[name] = i
	}
	for _, r := range regions {
		if f.regions[r.Name] != nil {
			return nil, fmt.Errorf("region %q is listed twice", r.Name)
		}
		if err := r.check(len(types)); err != nil {
			return nil, fmt.Errorf("region %q: %w", r.Name, err)
		}
		f.regions[r.Name] = r
	}
	return f, nil
}

// Type returns the facts of an instance type.
func (f *Facts) Type(name string) (*Type, bool) {
	i, ok := f.index[name]
	if !ok {
		return nil, false
	}
	return &f.Types[i], true
}

// Regions lists the regions that anything is known of, sorted.
func (f *Facts) Regions() []string {
	out := make([]string, 0, len(f.regions))
	for name := range f.regions {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Region returns the raw tables of a region, nil when nothing is known of it.
func (f *Facts) Region(name string) *Region { return f.regions[name] }
