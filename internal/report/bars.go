package report

// Bars is a chart of horizontal bars that share one scale.
type Bars struct {
	Title string
	// Segments names the parts of stacked bars for the legend, in the order of Bar.Parts. Nil: bars have one part and no legend.
	Segments []Segment
	Rows     []Bar
	// Max is the end of the scale; 0: the longest bar.
	Max float64
}

// Segment is a part that all bars of a chart may have.
type Segment struct {
	Name string
	Hue  Hue
}

// Bar is one bar.
type Bar struct {
	Label  string
	Detail string // below the label in small type; may be empty
	Value  string // at the end of the bar: "$4.20/h"
	// Parts are the lengths of the bar's parts; negative ones count as 0.
	Parts []float64
	// Mark is a place on the scale that is marked by a line, such as a bound; 0: none.
	Mark float64
	// Tone is of a bar with one part and no segments; Plain is the Hue, which is that of the same thing in other charts.
	Tone Tone
	Hue  Hue
}

// Hue is a colour of the page. The page has each of them for light and for dark.
type Hue int

// The hues, in the order in which a chart takes them.
const (
	Hue0 Hue = iota
	Hue1
	Hue2
	Hue3
	Hue4
	Hue5
	Hue6
	Hue7
	// Rest is for what is left, or of no concern.
	Rest
)

// Hues is how many hues there are besides Rest. A chart with more series than that needs another form.
const Hues = int(Rest)

var hueClasses = [...]string{"h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "rest"}

// Class is the name of the hue in the style sheet; hues beyond the last are Rest.
func (h Hue) Class() string {
	if h < 0 || int(h) >= len(hueClasses) {
		h = Rest
	}
	return hueClasses[h]
}

// barScale is the width of a bar's picture. It has no unit: the picture is as wide as the page lets it be.
const barScale = 1000

type barsView struct {
	Bars
	Shown []barView
}

type barView struct {
	Bar
	Rects  []rect
	Marked bool
	At     float64 // where the mark is, of barScale
}

type rect struct {
	X, Width float64
	Class    string
	Name     string
}

func (b Bars) block() (string, any) {
	most := b.Max
	for _, row := range b.Rows {
		most = max(most, row.Mark, total(row.Parts))
	}
	view := barsView{Bars: b}
	for _, row := range b.Rows {
		shown := barView{Bar: row}
		x := 0.0
		for i, part := range row.Parts {
			if part <= 0 || most <= 0 {
				continue
			}
			r := rect{X: round(x), Width: round(part / most * barScale), Class: string(row.Tone), Name: row.Label}
			if r.Class == "" {
				r.Class = row.Hue.Class()
			}
			if i < len(b.Segments) {
				r.Class, r.Name = b.Segments[i].Hue.Class(), b.Segments[i].Name
			}
			x += part / most * barScale
			shown.Rects = append(shown.Rects, r)
		}
		if row.Mark > 0 {
			shown.Marked, shown.At = true, round(row.Mark/most*barScale)
		}
		view.Shown = append(view.Shown, shown)
	}
	return "bars", view
}

func total(parts []float64) float64 {
	sum := 0.0
	for _, part := range parts {
		sum += max(part, 0)
	}
	return sum
}
