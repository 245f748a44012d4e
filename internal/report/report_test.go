package report_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/report"
)

// sample has every kind of block.
func sample() report.Page {
	day := report.Lines{Title: "Bill over a day", Format: report.Money("$").Amount, Series: []report.Series{
		{Name: "consolidateAfter 30s", Hue: report.Hue0, Steps: true},
		{Name: "consolidateAfter 10m", Hue: report.Hue1},
		{Name: "provable floor", Hue: report.Rest, Dashed: true},
	}}
	for i := range 289 {
		at := time.Duration(i) * 5 * time.Minute
		wave := math.Sin(float64(i) / 288 * 2 * math.Pi)
		day.Series[0].Points = append(day.Series[0].Points, report.Point{At: at, Value: 8 + 3*wave})
		day.Series[1].Points = append(day.Series[1].Points, report.Point{At: at, Value: 9 + 3*wave, Low: 8.4 + 3*wave, High: 9.8 + 3*wave})
		day.Series[2].Points = append(day.Series[2].Points, report.Point{At: at, Value: 7 + 3*wave})
	}
	day.Series[0].Points[40].Value = math.NaN()
	return report.Page{
		Title: "Audit", Subtitle: `cluster <shop> & "co", 26 Nov 2026`,
		Figures: []report.Figure{{Label: "costs now", Value: "$12.40/h", Note: "$9,052 a month"}, {Label: "could be saved", Value: "$4.10/h", Note: "33 %", Tone: report.Good}, {Label: "risks", Value: "7", Tone: report.Bad}},
		Sections: []report.Section{
			{Title: "Where the difference lies", Intro: "Each bar is what one cause costs.", Blocks: []report.Block{
				report.Bars{
					Title: "Bill", Segments: []report.Segment{{"on-demand", report.Hue1}, {"spot", report.Hue0}},
					Rows: []report.Bar{{Label: "now", Value: "$12.40/h", Parts: []float64{9.3, 3.1}, Mark: 8.3}, {Label: "floor", Detail: "proved", Value: "$8.30/h", Parts: []float64{8.3, 0}}},
				},
				report.Bars{Rows: []report.Bar{{Label: "requests above use", Value: "$2.00/h", Parts: []float64{2}, Tone: report.Warn}, {Label: "nothing", Value: "$0", Parts: []float64{-1}}}},
			}},
			{Title: "Over time", Blocks: []report.Block{day, report.Text("As kerf audit <file> had it.")}},
			{Title: "Risks", Blocks: []report.Block{
				report.Notes{{Text: "shop/web has one replica", Detail: "on i-1", Tone: report.Bad, Value: "$1"}, {Text: "fine", Tone: report.Good}},
				report.Table{
					Title: "Pools", Columns: []report.Column{{Title: "pool"}, {Title: "$/h", Number: true}}, Fold: 1,
					Rows: [][]report.Cell{report.Cells("a", "1"), {{Text: "b", Detail: "two", Tone: report.Warn}, {Text: "2"}}, report.Cells("c", "3")},
				},
				report.Table{Title: "None", Empty: "There is none."},
			}},
		},
		Footer: []string{"Made by kerf audit."},
	}
}

func written(t *testing.T, p report.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if into := os.Getenv("KERF_REPORT_SAMPLE"); into != "" {
		if err := os.WriteFile(into, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// A reader opens the file from a mail: nothing may be loaded, and nothing may run.
func TestThePageIsOneFileThatLoadsNothing(t *testing.T) {
	html := written(t, sample())
	for _, foreign := range []string{`<script`, `<link`, `<img`, `src=`, `href=`, `url\(`, `@import`, `http:`, `https:`, ` on[a-z]+=`} {
		if found := regexp.MustCompile(foreign).FindString(html); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
}

func TestTextOfUsersIsEscapedAndTheMarkupIsWhole(t *testing.T) {
	html := written(t, sample())
	for _, want := range []string{
		"cluster &lt;shop&gt; &amp; &#34;co&#34;", "kerf audit &lt;file&gt;", "There is none.", "<summary>2 more</summary>", "$9,052 a month",
		`aria-label="now: $12.40/h"`, "provable floor: $7.00 at the beginning",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(html, "ZgotmplZ") || strings.Contains(html, "NaN") {
		t.Error("the page has a value that the template refused, or a number that is none")
	}
	d := xml.NewDecoder(strings.NewReader(html))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the markup is not whole: %v", err)
		}
	}
}

// Two pages, one look: the colours are those of the page of kerf ui.
func TestColoursAreThoseOfThePage(t *testing.T) {
	read := func(name string) map[string][]string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]string{}
		for _, m := range regexp.MustCompile(`(--[a-z0-9-]+): ([^;]+);`).FindAllStringSubmatch(string(data), -1) {
			out[m[1]] = append(out[m[1]], m[2])
		}
		return out
	}
	own, theirs := read("style.css"), read("../web/page/style.css")
	if len(own) < 20 {
		t.Fatalf("found %d colours", len(own))
	}
	for name, values := range own {
		if got := theirs[name]; len(values) != 2 || len(got) < 2 || got[0] != values[0] || got[1] != values[1] {
			t.Errorf("%s is %v, and %v in kerf ui", name, values, got)
		}
	}
}

func TestFormats(t *testing.T) {
	for want, got := range map[string]string{
		"$0": report.Money("$").Amount(0), "$0.0042": report.Money("$").Amount(0.0042), "$12.40": report.Money("$").Amount(12.4), "$9,052": report.Money("$").Amount(9052.4), "−$3.00": report.Money("$").Amount(-3),
		"$100": report.Money("$").Amount(99.999), "$0.000042": report.Money("$").Amount(0.000042), "1,234,567": report.Number(1234567), "0.5": report.Number(0.5), "3.1 %": report.Percent(0.031), "33 %": report.Percent(0.333), "100 %": report.Percent(1),
		"1d2h": report.Elapsed(26 * time.Hour), "1m30s": report.Elapsed(90 * time.Second), "6h": report.Elapsed(6 * time.Hour), "250ms": report.Elapsed(250 * time.Millisecond),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A scale has as many digits as its labels need to differ, and its 0 is 0.
func TestLabelsOfAScaleDiffer(t *testing.T) {
	for _, most := range []float64{0.0000123, 0.00031, 0.0042, 0.017, 0.23, 0.9, 1, 3.3, 12.4, 99, 1234, 250000} {
		chart := report.Lines{
			Format: report.Money("$").Amount, Scale: report.Money("$").PerHourBy,
			Series: []report.Series{{Name: "a", Points: []report.Point{{Value: most}, {At: time.Hour, Value: most / 3}}}},
		}
		html := written(t, report.Page{Title: "scale", Sections: []report.Section{{Blocks: []report.Block{chart}}}})
		seen := map[string]bool{}
		for _, m := range regexp.MustCompile(`<span style="top:[0-9.]+%">([^<]+)</span>`).FindAllStringSubmatch(html, -1) {
			if seen[m[1]] || m[1] != "$0/h" && strings.Trim(m[1], "$0./h") == "" {
				t.Errorf("up to %g: the label %s says nothing, or is there twice", most, m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) < 3 || !seen["$0/h"] {
			t.Errorf("up to %g there are the labels %v", most, seen)
		}
	}
}

// A chart of nothing, of one point and of zeros must not divide by zero.
func TestChartsOfNothing(t *testing.T) {
	for _, points := range [][]report.Point{nil, {{}}, {{At: time.Hour}, {At: 2 * time.Hour}}, {{Value: math.NaN()}}} {
		html := written(t, report.Page{Title: "none", Sections: []report.Section{{Blocks: []report.Block{
			report.Lines{Series: []report.Series{{Name: "a", Points: points}}}, report.Bars{Rows: []report.Bar{{Label: "zero", Parts: []float64{0}}}},
		}}}})
		if strings.Contains(html, "NaN") || strings.Contains(html, "Inf") {
			t.Errorf("%v: the page has a number that is none", points)
		}
	}
}
