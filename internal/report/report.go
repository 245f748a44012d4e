// Package report writes one HTML page that can be sent to somebody: pictures first, tables below. The page is one file. It loads
// nothing, needs no script, follows the reader's choice of light or dark, and prints.
//
// A page is made of sections, and a section of blocks: Bars, Lines, Table, Notes, Text and Code. Charts are inline SVG; all text is
// HTML, so it keeps its size on a narrow screen.
package report

import (
	_ "embed" // the look and the template of a page
	"html/template"
	"io"
)

// Page is a whole report.
type Page struct {
	Title string
	// Subtitle says of what the report is, and of when.
	Subtitle string
	// Figures are the few numbers that a reader must see, the most important first. More than five do not fit in a row.
	Figures  []Figure
	Sections []Section
	// Footer says by what the page was made and what its numbers stand on.
	Footer []string
}

// Figure is one number in large type.
type Figure struct {
	Label string // what it is: "costs now"
	Value string // "$12.40/h"
	Note  string // in small type: "$9,052 a month"
	Tone  Tone
}

// Section is a part of the page with a heading.
type Section struct {
	Title string
	Intro string // one or two sentences below the heading; may be empty
	// Blocks are shown in this order.
	Blocks []Block
}

// Block is one of Bars, Lines, Table, Notes, Text and Code.
type Block interface {
	// block is the name of the block's template, and what that template shows.
	block() (name string, view any)
}

// Tone says whether something is good or bad.
type Tone string

// The tones.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
)

// Text is a paragraph.
type Text string

func (t Text) block() (string, any) { return "text", string(t) }

// Notes is a list of remarks.
type Notes []Note

// Note is one remark.
type Note struct {
	Text   string
	Detail string // a second line in small type; may be empty
	Advice string // a third, what to do about it; may be empty
	Value  string // at the right: what it costs, say; may be empty
	Tone   Tone
}

func (n Notes) block() (string, any) { return "notes", n }

//go:embed page.html
var pageHTML string

//go:embed style.css
var style string

var page = template.Must(template.New("page").Parse(pageHTML))

// Write writes the page as HTML.
func (p Page) Write(w io.Writer) error {
	type shown struct {
		Name string
		View any
	}
	type section struct {
		Section
		Shown []shown
	}
	sections := make([]section, len(p.Sections))
	for i, s := range p.Sections {
		sections[i].Section = s
		for _, b := range s.Blocks {
			name, view := b.block()
			sections[i].Shown = append(sections[i].Shown, shown{name, view})
		}
	}
	return page.Execute(w, struct {
		Page
		Style    template.CSS
		Sections []section
	}{p, template.CSS(style), sections})
}
