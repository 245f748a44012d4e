package ec2facts

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxText bounds the unpacked size of a facts file, so that a damaged one cannot fill the memory.
const maxText = 64 << 20

// Decode reads a facts file. A file that does not follow the format is refused with the number of the line.
func Decode(r io.Reader) (*Facts, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("opening the facts file: %w (it must be gzip'd text, as kerf catalog update writes it)", err)
	}
	facts, err := read(io.LimitReader(z, maxText))
	if err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("reading the facts file: %w", err)
	}
	return facts, nil
}

// read reads the unpacked text.
func read(text io.Reader) (*Facts, error) {
	d := &decoder{sizes: map[string]map[string]int{}}
	lines := bufio.NewScanner(text)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := d.line(n, lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d of the facts file: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the facts file: %w", err)
	}
	if d.columns == nil || len(d.types) == 0 {
		return nil, fmt.Errorf("the facts file lists no instance types")
	}
	return New(d.sources, d.types, d.regions)
}

type decoder struct {
	sources []Source
	columns []*column // nil entries are columns of a newer writer, which are skipped
	types   []Type
	sizes   map[string]map[string]int // family → size → index
	regions []*Region
	inTypes bool
}

func (d *decoder) line(n int, s string) error {
	if n == 1 {
		name, version, _ := strings.Cut(s, "\t")
		if name != magic || version != formatVersion {
			return fmt.Errorf("it begins with %.40q, not with %q", s, magic+"\t"+formatVersion)
		}
		return nil
	}
	if s == "" || s[0] == '#' {
		return nil
	}
	fields := strings.Split(s, "\t")
	switch fields[0] {
	case "@source":
		if len(fields) != 5 {
			return fmt.Errorf("a source has %d fields instead of 5", len(fields))
		}
		d.sources = append(d.sources, Source{fields[1], fields[2], fields[3], fields[4]})
		return nil
	case "@types":
		d.inTypes = true
		return d.header(fields[1:])
	case "@region":
		if len(fields) != 3 {
			return fmt.Errorf("a region has %d fields instead of 3", len(fields))
		}
		if len(d.types) == 0 {
			return fmt.Errorf("region %q comes before the types", fields[1])
		}
		d.inTypes = false
		d.regions = append(d.regions, &Region{Name: fields[1], Currency: fields[2]})
		return nil
	}
	switch {
	case d.inTypes:
		return d.typeRow(fields)
	case len(d.regions) > 0:
		return d.regionRow(d.regions[len(d.regions)-1], fields)
	}
	return fmt.Errorf("%.40q belongs to no section", s)
}

func (d *decoder) header(names []string) error {
	known := make(map[string]*column, len(typeColumns))
	for i := range typeColumns {
		known[typeColumns[i].name] = &typeColumns[i]
	}
	for _, name := range names {
		d.columns = append(d.columns, known[name])
		delete(known, name)
	}
	// A column of a newer reader is absent in an older file: its types have the zero value. Without the name there is no type.
	if _, absent := known["type"]; absent {
		return errors.New(`the types have no column "type"`)
	}
	return nil
}

func (d *decoder) typeRow(fields []string) error {
	if len(fields) != len(d.columns) {
		return fmt.Errorf("a type has %d fields instead of %d", len(fields), len(d.columns))
	}
	var t Type
	for i, c := range d.columns {
		if c == nil {
			continue
		}
		if err := c.set(&t, fields[i]); err != nil {
			return fmt.Errorf("type %q, column %q: %w", fields[0], c.name, err)
		}
	}
	family, size := SplitName(t.Name)
	if d.sizes[family] == nil {
		d.sizes[family] = map[string]int{}
	}
	d.sizes[family][size] = len(d.types)
	d.types = append(d.types, t)
	return nil
}

func (d *decoder) regionRow(r *Region, fields []string) error {
	if fields[0] == "zones" {
		for _, f := range fields[1:] {
			name, id, ok := strings.Cut(f, "=")
			if !ok || name == "" {
				return fmt.Errorf("zone %q is not of the form name=id", f)
			}
			r.Zones = append(r.Zones, Zone{Name: name, ID: id})
		}
		return nil
	}
	if len(fields) < 3 {
		return fmt.Errorf("a row of %q has %d fields, at least 3 are needed", fields[0], len(fields))
	}
	set, err := d.setter(r, fields[0], fields[1])
	if err != nil {
		return err
	}
	family := d.sizes[fields[2]]
	for _, cell := range fields[3:] {
		size, value, _ := strings.Cut(cell, ":")
		i, ok := family[size]
		if !ok {
			return fmt.Errorf("%s of region %q names the type %q, which is not listed", fields[0], r.Name, fields[2]+"."+size)
		}
		if err := set(i, value); err != nil {
			return fmt.Errorf("%s of %q in region %q: %w", fields[0], fields[2]+"."+size, r.Name, err)
		}
	}
	return nil
}

// setter gives the way to store the cells of a row of a kind.
func (d *decoder) setter(r *Region, kind, arg string) (func(int, string) error, error) {
	n := len(d.types)
	switch kind {
	case "offered":
		sized(&r.OfferedIn, n)
		return func(i int, v string) error {
			mask, err := strconv.ParseUint(v, 16, 32)
			if err == nil && mask >= 1<<len(r.Zones) {
				err = fmt.Errorf("mask %s has more zones than the region's %d", v, len(r.Zones))
			}
			r.OfferedIn[i] = uint32(mask)
			return err
		}, nil
	case "price":
		sized(&r.OnDemand, n)
		return func(i int, v string) (err error) {
			r.OnDemand[i].Date = arg
			r.OnDemand[i].MicroUSD, err = micro(v)
			return err
		}, nil
	case "estimate":
		sized(&r.Estimate, n)
		return func(i int, v string) (err error) {
			r.Estimate[i], err = micro(v)
			return err
		}, nil
	case "spot":
		if r.SpotZone == nil {
			r.SpotZone = map[string][]int64{}
		}
		if r.SpotZone[arg] == nil {
			r.SpotZone[arg] = make([]int64, n)
		}
		prices := r.SpotZone[arg]
		return func(i int, v string) (err error) {
			prices[i], err = micro(v)
			return err
		}, nil
	case "quotes":
		sized(&r.SpotQuotes, n)
		return func(i int, v string) error {
			for q := range strings.SplitSeq(v, "|") {
				m, err := micro(q)
				if err != nil {
					return err
				}
				r.SpotQuotes[i] = append(r.SpotQuotes[i], m)
			}
			return nil
		}, nil
	case "advice":
		sized(&r.Advice, n)
		return func(i int, v string) error {
			p, err := count(v)
			if err == nil && p > 100 {
				err = fmt.Errorf("a saving of %d %% is more than everything", p)
			}
			r.Advice[i] = Advice{Known: true, SavingPercent: p, Interrupted: arg}
			return err
		}, nil
	}
	return nil, fmt.Errorf("unknown kind of row %q in region %q", kind, r.Name)
}

func sized[T any](s *[]T, n int) {
	if *s == nil {
		*s = make([]T, n)
	}
}

func micro(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil && v <= 0 {
		err = fmt.Errorf("price %d is not positive", v)
	}
	return v, err
}
