package history

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Account is what was read, what was made of it, and what it does not say.
type Account struct {
	Files []File `json:"files"`
	// From and To are the time that the sources speak of; Sources say it of each kind.
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Sources []Source  `json:"sources"`
	// Pods were there in that time; LeftOut are those of them that are no workload, by why.
	Pods    int            `json:"pods"`
	LeftOut map[string]int `json:"leftOut"`
	// Kinds are how many workloads there are of each kind of owner; "single pod" is pods that nothing owns.
	Kinds   map[string]int `json:"workloads"`
	Daemons int            `json:"daemonSets"`
	// Demand is how many pods the workload starts, those that took another one's place not counted again; Peak is the most at
	// one time; Steps are the rows of the trace.
	Demand int `json:"demand"`
	Peak   int `json:"peak"`
	Steps  int `json:"steps"`
	// Malformed is how many lines, objects or series were not understood, FirstMalformed where the first is and why.
	Malformed      int    `json:"malformed"`
	FirstMalformed string `json:"firstMalformed,omitempty"`
	// Unknown is what the history does not say, and what stands in for it.
	Unknown []Unknown `json:"unknown"`
}

// Source is from when to when a kind of source says something.
type Source struct {
	Kind string    `json:"kind"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Observations are how often it says which pods there are, if it says that of all.
	Observations int `json:"observations,omitempty"`
}

const barePods = "single pod"

func (a *Account) leave(why string) { a.LeftOut[why]++ }

// many is a number of things in words.
func many(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// filesShown is how many files an error names.
const filesShown = 10

// taken says of each file what it was taken for.
func (a *Account) taken() string {
	var out strings.Builder
	for i, f := range a.Files {
		if i == filesShown {
			fmt.Fprintf(&out, "\n  and %d more", len(a.Files)-i)
			break
		}
		what := "of no format that is read"
		if f.Format != "" {
			what = f.Format + ", " + many(f.Records, "record")
		}
		if f.Malformed > 0 {
			what += fmt.Sprintf(", %d not understood, the first: %s", f.Malformed, f.problem)
		}
		fmt.Fprintf(&out, "\n  %s: %s", f.Path, what)
	}
	return out.String()
}

const stamp = "2006-01-02 15:04:05"

// Text writes the account for people to read.
func (a *Account) Text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	line("History\t%s to %s UTC (%s)", a.From.Format(stamp), a.To.Format(stamp), a.To.Sub(a.From).Round(time.Second))
	unread := 0
	byFormat := map[string][]File{}
	for _, f := range a.Files {
		if f.Format == "" {
			unread++
			continue
		}
		byFormat[f.Format] = append(byFormat[f.Format], f)
	}
	for _, format := range sortedKeys(byFormat) {
		bytes, records := int64(0), 0
		for _, f := range byFormat[format] {
			bytes += f.Bytes
			records += f.Records
		}
		line("Read\t%s: %s, %s, %.1f MB", format, many(len(byFormat[format]), "file"), many(records, "record"), float64(bytes)/1e6)
	}
	for _, s := range a.Sources {
		text := fmt.Sprintf("%s: %s to %s", s.Kind, s.From.Format(stamp), s.To.Format(stamp))
		if s.Observations > 0 {
			text += ", " + many(s.Observations, "observation")
		}
		line("From\t%s", text)
	}
	if unread > 0 {
		line("Not read\t%s of other formats", many(unread, "file"))
	}
	var kinds []string
	for _, k := range sortedKeys(a.Kinds) {
		kinds = append(kinds, many(a.Kinds[k], k))
	}
	line("Workloads\t%s; %s", strings.Join(kinds, ", "), many(a.Daemons, "DaemonSet"))
	line("Pods\t%d in that time, %d of them demand, at most %d at once", a.Pods, a.Demand, a.Peak)
	for _, why := range sortedKeys(a.LeftOut) {
		line("Left out\t%d %s", a.LeftOut[why], why)
	}
	if a.Malformed > 0 {
		line("Not understood\t%d, the first: %s", a.Malformed, a.FirstMalformed)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(a.Unknown) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nNot known, or assumed:")
	for _, u := range a.Unknown {
		example := ""
		if u.Example != "" {
			example = ", such as " + u.Example
		}
		fmt.Fprintf(out, "  - %s (%d%s)\n", u.What, u.Count, example)
	}
	return nil
}
