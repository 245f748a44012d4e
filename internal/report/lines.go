package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Lines is a chart of values over time.
type Lines struct {
	Title  string
	Series []Series
	// Format writes a value; nil: the number.
	Format func(float64) string
	// Scale writes a label of the scale, whose labels are a step apart; nil: the number.
	Scale func(v, step float64) string
	// Begin is what 0 of the points' time is. Zero: the scale counts hours and days from 0.
	Begin time.Time
}

// Series is one line.
type Series struct {
	Name string
	Hue  Hue
	// Dashed is for what is computed and not measured, such as a bound.
	Dashed bool
	// Steps holds each value until the next: prices and counts.
	Steps bool
	// Points are in the order of time. A NaN value is a gap.
	Points []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Duration // since the beginning
	Value float64
	// Low and High are the edges of a band around the value, such as the least and the most, or a confidence interval. There is no
	// band where both are 0.
	Low, High float64
}

// lineWidth and lineHeight are the size of a chart's picture, without unit.
const (
	lineWidth  = 1000.0
	lineHeight = 300.0
)

type linesView struct {
	Lines
	Width, Height float64
	Down          []tick // of the value, from the top down
	Across        []tick // of the time
	Shown         []seriesView
	Words         string // for readers that do not see the picture
}

type seriesView struct {
	Series
	Path string
	Band string // the outline of the band; empty: none
	Last string
}

type tick struct {
	Percent float64 // of the chart's height or width
	At      float64 // of lineHeight or lineWidth
	Label   string
}

func (l Lines) block() (string, any) {
	if l.Format == nil {
		l.Format = Number
	}
	if l.Scale == nil {
		l.Scale = NumberBy
	}
	var end time.Duration
	most := 0.0
	for _, s := range l.Series {
		for _, p := range s.Points {
			end = max(end, p.At)
			most = max(most, zeroIfNaN(p.Value), zeroIfNaN(p.High))
		}
	}
	if end == 0 {
		end = time.Hour
	}
	step := niceStep(most)
	top := step * max(1, math.Ceil(most/step-1e-9))
	x := func(at time.Duration) float64 { return float64(at) / float64(end) * lineWidth }
	y := func(v float64) float64 { return (1 - v/top) * lineHeight }

	view := linesView{Lines: l, Width: lineWidth, Height: lineHeight, Across: timeTicks(l.Begin, end)}
	for n := math.Round(top / step); n >= 0; n-- { // counted, for what is left of 0 after subtractions is not 0
		v := n * step
		view.Down = append(view.Down, tick{Percent: round(y(v) / lineHeight * 100), At: round(y(v)), Label: l.Scale(v, step)})
	}
	words := []string{l.Title}
	for _, s := range l.Series {
		shown := seriesView{Series: s, Path: outline(s, x, y), Band: band(s, x, y)}
		if n := len(s.Points); n > 0 {
			shown.Last = l.Format(zeroIfNaN(s.Points[n-1].Value))
			words = append(words, s.Name+": "+l.Format(zeroIfNaN(s.Points[0].Value))+" at the beginning, "+shown.Last+" at the end")
		}
		view.Shown = append(view.Shown, shown)
	}
	view.Words = strings.Join(words, "; ")
	return "lines", view
}

// outline is the path of a line.
func outline(s Series, x func(time.Duration) float64, y func(float64) float64) string {
	var b strings.Builder
	pen := false
	for _, p := range s.Points {
		if math.IsNaN(p.Value) {
			pen = false
			continue
		}
		switch {
		case !pen:
			b.WriteString("M" + at(x(p.At)) + " " + at(y(p.Value)))
		case s.Steps:
			b.WriteString("H" + at(x(p.At)) + "V" + at(y(p.Value)))
		default:
			b.WriteString("L" + at(x(p.At)) + " " + at(y(p.Value)))
		}
		pen = true
	}
	return b.String()
}

// band is the outline of the area between Low and High: there along the upper edge, and back along the lower one.
func band(s Series, x func(time.Duration) float64, y func(float64) float64) string {
	var there, back []string
	flush := func(out *strings.Builder) {
		if len(there) < 2 {
			there, back = nil, nil
			return
		}
		out.WriteString("M" + strings.Join(there, "L"))
		for i := len(back) - 1; i >= 0; i-- {
			out.WriteString("L" + back[i])
		}
		out.WriteString("Z")
		there, back = nil, nil
	}
	var out strings.Builder
	for _, p := range s.Points {
		if math.IsNaN(p.Value) || p.Low == 0 && p.High == 0 {
			flush(&out)
			continue
		}
		there = append(there, at(x(p.At))+" "+at(y(p.High)))
		back = append(back, at(x(p.At))+" "+at(y(p.Low)))
	}
	flush(&out)
	return out.String()
}

// niceStep is the distance of a scale's lines: 1, 2, 2.5 or 5 times a power of ten, three to five of them up to a value.
func niceStep(most float64) float64 {
	if most <= 0 || math.IsInf(most, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if most/(m*power) <= 5 {
			return m * power
		}
	}
	return 10 * power
}

// timeSteps are the distances between labels of time.
var timeSteps = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day,
}

const day = 24 * time.Hour

// mostTimeTicks is how many labels of time fit below a chart on a narrow screen.
const mostTimeTicks = 7

func timeTicks(begin time.Time, end time.Duration) []tick {
	step := timeSteps[len(timeSteps)-1]
	for _, s := range timeSteps {
		if end/s < mostTimeTicks {
			step = s
			break
		}
	}
	var out []tick
	for t := time.Duration(0); t <= end; t += step {
		part := float64(t) / float64(end)
		label := Elapsed(t)
		if !begin.IsZero() {
			layout := "15:04"
			switch {
			case step >= day:
				layout = "2 Jan"
			case step < time.Minute:
				layout = "15:04:05"
			}
			label = begin.Add(t).Format(layout)
		}
		out = append(out, tick{Percent: round(part * 100), At: round(part * lineWidth), Label: label})
	}
	return out
}

func at(v float64) string { return strconv.FormatFloat(round(v), 'f', -1, 64) }

// round keeps one digit after the point: a tenth of what can be seen.
func round(v float64) float64 { return math.Round(v*10) / 10 }

func zeroIfNaN(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
