package convert

import (
	"fmt"
	"io"
	"strings"
)

// Outcome is what became of a field.
type Outcome string

// Outcomes.
const (
	// Kept fields mean the same and read the same; they may have moved.
	Kept Outcome = "kept"
	// Translated fields are spelled otherwise, or spell out what used to be a default.
	Translated Outcome = "translated"
	// Lost fields have no place any more.
	Lost Outcome = "lost"
)

// Field is what became of one field.
type Field struct {
	// Path of the field in the input; empty for the whole object. A field that is not set and whose default counted ends
	// in " (not set)".
	Path    string  `json:"path,omitempty"`
	Outcome Outcome `json:"outcome"`
	// To says where the field went, and as what.
	To  string `json:"to,omitempty"`
	Why string `json:"why,omitempty"`
	// Do says what to decide before the output is used; empty when there is nothing to decide.
	Do string `json:"do,omitempty"`
}

// ObjectReport is what became of one object.
type ObjectReport struct {
	File       string   `json:"file"`
	Document   int      `json:"document,omitempty"` // counted from one; 0 for a launch template
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind"`
	Name       string   `json:"name,omitempty"`
	Becomes    []string `json:"becomes,omitempty"` // kind and name of each
	Fields     []Field  `json:"fields"`
}

func (r *ObjectReport) add(f Field) { r.Fields = append(r.Fields, f) }

// Report is what became of all of the input.
type Report struct {
	Objects []*ObjectReport `json:"objects"`
	Notes   []string        `json:"notes,omitempty"`
	Summary Summary         `json:"summary"`
}

// Summary counts.
type Summary struct {
	Kept       int `json:"kept"`
	Translated int `json:"translated"`
	Lost       int `json:"lost"`
	// Decide is how many fields there is something to decide about.
	Decide int `json:"decide"`
}

// Count counts the fields by what became of them.
func (r *Report) Count() Summary {
	var s Summary
	for _, o := range r.Objects {
		for _, f := range o.Fields {
			switch f.Outcome {
			case Kept:
				s.Kept++
			case Translated:
				s.Translated++
			default:
				s.Lost++
			}
			if f.Do != "" {
				s.Decide++
			}
		}
	}
	return s
}

// Counted is the report with its summary, as programs read it.
func (r *Report) Counted() *Report {
	out := *r
	out.Summary = r.Count()
	if out.Objects == nil {
		out.Objects = []*ObjectReport{}
	}
	return &out
}

// WriteDecisions writes what there is to decide, and nothing else.
func (r *Report) WriteDecisions(w io.Writer) error {
	var b strings.Builder
	for _, o := range r.Objects {
		titled := false
		for _, f := range o.Fields {
			if f.Do == "" {
				continue
			}
			if !titled {
				b.WriteString(o.title() + "\n")
				titled = true
			}
			b.WriteString(f.line())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, o := range r.Objects {
		b.WriteString(o.title() + "\n")
		for _, f := range o.Fields {
			b.WriteString(f.line())
		}
	}
	for _, n := range r.Notes {
		b.WriteString("note: " + n + "\n")
	}
	s := r.Count()
	fmt.Fprintf(&b, "%d kept, %d translated, %d lost; %s\n", s.Kept, s.Translated, s.Lost, decisions(s.Decide))
	_, err := io.WriteString(w, b.String())
	return err
}

func decisions(n int) string {
	switch n {
	case 0:
		return "nothing to decide"
	case 1:
		return "1 needs a decision, marked with !"
	}
	return fmt.Sprintf("%d need a decision, marked with !", n)
}

func (o *ObjectReport) title() string {
	out := o.File
	if o.Document > 0 {
		out += fmt.Sprintf(", document %d", o.Document)
	}
	out += ": " + o.Kind
	if o.Name != "" {
		out += " " + o.Name
	}
	if len(o.Becomes) > 0 {
		out += " -> " + strings.Join(o.Becomes, ", ")
	}
	return out
}

func (f Field) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-10s", f.Outcome)
	if f.Path != "" {
		b.WriteString(" " + f.Path)
	}
	if f.To != "" {
		b.WriteString(" -> " + f.To)
	}
	if f.Why != "" {
		if f.Path != "" || f.To != "" {
			b.WriteString(":")
		}
		b.WriteString(" " + f.Why)
	}
	b.WriteString("\n")
	if f.Do != "" {
		b.WriteString("           ! " + f.Do + "\n")
	}
	return b.String()
}
