package ec2facts

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The facts file is gzip'd text: tab-separated lines, "#" comments, sections that begin with "@".
//
//	kerf-ec2facts  1
//	@source  part  date  licence  origin
//	@types   column names…
//	a row per type
//	@region  name  currency
//	zones    zone=id…
//	KIND     ARGUMENT  family  size:value…
//
// KIND is offered (value: hexadecimal mask of zones), price (argument: day of the list), estimate, spot (argument: zone),
// quotes (value: prices with "|" between them) or advice (argument: band of interruption, value: saving in percent).
// Prices are in millionths of the region's currency.
const (
	magic         = "kerf-ec2facts"
	formatVersion = "1"
)

// Encode writes the facts in the form that Decode reads. Equal facts give equal bytes.
func (f *Facts) Encode(w io.Writer) error {
	var text bytes.Buffer
	b := bufio.NewWriter(&text)
	line := func(fields ...string) { fmt.Fprintln(b, strings.Join(fields, "\t")) }
	line(magic, formatVersion)
	for _, s := range f.Sources {
		line("@source", clean(s.Part), clean(s.Date), clean(s.Licence), clean(s.Origin))
	}
	names := make([]string, len(typeColumns))
	for i, c := range typeColumns {
		names[i] = c.name
	}
	line(append([]string{"@types"}, names...)...)
	for i := range f.Types {
		for j, c := range typeColumns {
			names[j] = c.get(&f.Types[i])
		}
		line(names...)
	}
	for _, name := range f.Regions() {
		f.encodeRegion(line, f.regions[name])
	}
	if err := b.Flush(); err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text.Bytes()); err != nil {
		return fmt.Errorf("writing EC2 facts: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("writing EC2 facts: %w", err)
	}
	return nil
}

func clean(s string) string { return strings.Map(noControl, s) }

func (f *Facts) encodeRegion(line func(...string), r *Region) {
	line("@region", r.Name, r.Currency)
	if len(r.Zones) > 0 {
		row := []string{"zones"}
		for _, z := range r.Zones {
			row = append(row, z.Name+"="+z.ID)
		}
		line(row...)
	}
	rows := func(kind string, n int, cell func(i int) (arg, value string)) {
		for _, row := range f.group(kind, n, cell) {
			line(row...)
		}
	}
	rows("offered", len(r.OfferedIn), func(i int) (string, string) {
		if r.OfferedIn[i] == 0 {
			return "", ""
		}
		return "", strconv.FormatUint(uint64(r.OfferedIn[i]), 16)
	})
	rows("price", len(r.OnDemand), func(i int) (string, string) { return r.OnDemand[i].Date, amount(r.OnDemand[i].MicroUSD) })
	rows("estimate", len(r.Estimate), func(i int) (string, string) { return "", amount(r.Estimate[i]) })
	zones := make([]string, 0, len(r.SpotZone))
	for zone := range r.SpotZone {
		zones = append(zones, zone)
	}
	slices.Sort(zones)
	for _, zone := range zones {
		rows("spot", len(r.SpotZone[zone]), func(i int) (string, string) { return zone, amount(r.SpotZone[zone][i]) })
	}
	rows("quotes", len(r.SpotQuotes), func(i int) (string, string) {
		all := make([]string, len(r.SpotQuotes[i]))
		for j, q := range r.SpotQuotes[i] {
			all[j] = amount(q)
		}
		return "", strings.Join(all, "|")
	})
	rows("advice", len(r.Advice), func(i int) (string, string) {
		if !r.Advice[i].Known {
			return "", ""
		}
		return r.Advice[i].Interrupted, strconv.Itoa(r.Advice[i].SavingPercent)
	})
}

func amount(micro int64) string {
	if micro <= 0 {
		return ""
	}
	return strconv.FormatInt(micro, 10)
}

// group makes one row per argument and family of the cells that have a value.
func (f *Facts) group(kind string, n int, cell func(i int) (arg, value string)) [][]string {
	type key struct{ arg, family string }
	rows := map[key][]string{}
	var order []key
	for i := range n {
		arg, value := cell(i)
		if value == "" {
			continue
		}
		family, size := SplitName(f.Types[i].Name)
		k := key{arg, family}
		if rows[k] == nil {
			order = append(order, k)
			rows[k] = []string{kind, clean(arg), family}
		}
		rows[k] = append(rows[k], size+":"+value)
	}
	slices.SortStableFunc(order, func(a, b key) int { return strings.Compare(a.arg, b.arg) })
	out := make([][]string, len(order))
	for i, k := range order {
		out[i] = rows[k]
	}
	return out
}
