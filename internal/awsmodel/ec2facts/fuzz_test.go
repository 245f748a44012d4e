package ec2facts

import (
	"math/big"
	"strings"
	"testing"
)

func FuzzParseMicro(f *testing.F) {
	for _, s := range []string{"0.0960000000", "1", ".5", "5.", "", "-1", "1e3", "99999999999.9999999", "0.0000005"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseMicro(s)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q was read as %d, but is no number", s, got)
		}
		off := want.Sub(want.Mul(want, big.NewRat(1_000_000, 1)), big.NewRat(got, 1))
		if off.Cmp(big.NewRat(1, 2)) > 0 || off.Cmp(big.NewRat(-1, 2)) < 0 {
			t.Errorf("%q was read as %d, which is off by %v", s, got, off)
		}
	})
}

func FuzzRead(f *testing.F) {
	var names []string
	for _, c := range typeColumns {
		names = append(names, c.name)
	}
	f.Add(magic + "\t" + formatVersion + "\n@types\t" + strings.Join(names, "\t") + "\nm5.large" + strings.Repeat("\t", len(names)-1) +
		"\n@region\tr\tUSD\nzones\tr-a=x\noffered\t\tm5\tlarge:1\nprice\t2026-01-01\tm5\tlarge:5\nspot\tr-a\tm5\tlarge:3\nquotes\t\tm5\tlarge:1|2\nadvice\t<5\tm5\tlarge:9\n")
	f.Fuzz(func(t *testing.T, text string) {
		facts, err := read(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, region := range append(facts.Regions(), "nowhere") {
			facts.Offerings(region)
			facts.OnDemand(region)
			for i := range facts.Types {
				facts.Spot(region, region+"-a", facts.Types[i].Name)
			}
		}
	})
}
