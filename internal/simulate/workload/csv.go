package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// The columns of a trace. A trace has the first; every other may be left out, and their order is free.
const (
	colArrival  = "arrival_s"
	colWorkload = "workload"
	colGroup    = "group" // another name for workload, as public traces have it
	colReplicas = "replicas"
	colDuration = "duration_s"
	colCPU      = "cpu_millicores"
	colMemory   = "memory_mib"
	colGPU      = "gpu"
	colDisk     = "disk_gib"
	colShare    = "gpu_share_millis"
	colModels   = "gpu_models"
	colClass    = "class"
	colMax      = "max_per_node"
	colTemplate = "template"
)

// Columns are the names of all columns.
var Columns = []string{colArrival, colWorkload, colGroup, colReplicas, colDuration, colCPU, colMemory, colGPU, colDisk, colShare, colModels, colClass, colMax, colTemplate}

// Limits of what a row may say. They are far above what a cluster can have, and keep a mistyped number from taking all memory.
const (
	maxTime     = 10 * 365 * 24 * time.Hour
	maxReplicas = 100_000
	maxCPU      = 1_000_000 // millicores; the largest instances have 1,920,000, one pod is far smaller
	maxMemory   = 32 << 20  // MiB
	maxGPU      = 64
	maxDisk     = 64 << 10 // GiB
)

// Error is what is wrong with a file, with its place.
type Error struct {
	File string
	Line int // from 1; 0: the whole file
	Text string
}

// Error names the place as compilers do.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Read reads a trace; name is what errors call it.
//
// Errors: *Error.
func Read(name string, in io.Reader, templates map[string]*corev1.PodTemplateSpec) (*Workload, error) {
	r := &reader{name: name, given: templates, out: &Workload{Source: name, Templates: map[string]*corev1.PodTemplateSpec{}}, known: map[string]bool{}, adjustedFrom: map[string]string{}, silent: map[place]int{}}
	rows, separator, err := rowsOf(name, in)
	if err != nil {
		return nil, err
	}
	r.csv = csv.NewReader(rows)
	r.csv.Comma = separator
	r.csv.ReuseRecord, r.csv.TrimLeadingSpace, r.csv.Comment, r.csv.FieldsPerRecord = true, separator != '\t', '#', -1
	if err := r.header(); err != nil {
		return nil, err
	}
	for {
		row, err := r.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, r.broken(err)
		}
		r.line, _ = r.csv.FieldPos(0)
		if err := r.row(row); err != nil {
			return nil, err
		}
	}
	if len(r.out.Steps) == 0 {
		return nil, &Error{File: name, Text: "there are no rows below the names of the columns"}
	}
	r.out.Sort()
	return r.out, r.needTemplates()
}

type reader struct {
	name  string
	csv   *csv.Reader
	at    map[string]int // columns
	width int
	line  int
	given map[string]*corev1.PodTemplateSpec
	// adjustedFrom are the given templates of those that rows have with requests of their own.
	adjustedFrom map[string]string
	known        map[string]bool // names of workloads that were checked
	out          *Workload
	record       []string
	// silent are the lines of rows that say nothing of their pods, by what they become.
	silent map[place]int
}

// place is where a row's pods go.
type place struct {
	at       time.Duration
	workload string
}

func (r *reader) errorf(format string, args ...any) error {
	return &Error{File: r.name, Line: r.line, Text: fmt.Sprintf(format, args...)}
}

// broken says where what is read is no CSV.
func (r *reader) broken(err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Error{File: r.name, Line: e.Line, Text: e.Err.Error()}
	}
	return &Error{File: r.name, Text: err.Error()}
}

// header reads the names of the columns.
func (r *reader) header() error {
	names, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return &Error{File: r.name, Text: "it is empty; its first line has to name the columns, of which " + colArrival + " is needed"}
	}
	if err != nil {
		return r.broken(err)
	}
	r.line, _ = r.csv.FieldPos(0)
	r.at, r.width = map[string]int{}, len(names)
	for i, name := range names {
		name = strings.ToLower(strings.TrimSpace(name))
		if !slices.Contains(Columns, name) {
			return r.errorf("there is no column %q%s (there are %s)", name, meant(name), strings.Join(Columns, ", "))
		}
		if name == colGroup {
			name = colWorkload
		}
		if _, twice := r.at[name]; twice {
			return r.errorf("the column %s is there twice (%s is another name of %s)", name, colGroup, colWorkload)
		}
		r.at[name] = i
	}
	if _, ok := r.at[colArrival]; !ok {
		return r.errorf("the column %s is missing: seconds from the start of the trace until the pods are there", colArrival)
	}
	return nil
}

// meant asks for a column that somebody may have meant who wrote another name: one that begins with it, or one with few other letters.
func meant(name string) string {
	near := requirement.Nearest(name, Columns)
	for _, column := range Columns {
		if begin := strings.TrimRight(name, "s_"); len(begin) > 2 && strings.HasPrefix(column, begin) {
			near = column
			break
		}
	}
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

func (r *reader) text(column string) string {
	if i, ok := r.at[column]; ok && i < len(r.record) {
		return strings.TrimSpace(r.record[i])
	}
	return ""
}

// number is a whole number in a range; otherwise what an empty field means.
func (r *reader) number(column string, otherwise, least, most int64) (int64, error) {
	text := r.text(column)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil { // spreadsheets and notebooks write 4.0
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1e15 {
			return 0, r.errorf("%s is %q; want a whole number", column, text)
		}
		n = int64(f)
	}
	if n < least || n > most {
		return 0, r.errorf("%s is %d; want %d to %d", column, n, least, most)
	}
	return n, nil
}

// seconds is a time.
func (r *reader) seconds(column string) (time.Duration, error) {
	text := r.text(column)
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return 0, r.errorf("%s is %q; want seconds, as in 90 or 0.5", column, text)
	}
	if f < 0 || f > maxTime.Seconds() {
		return 0, r.errorf("%s is %s; want 0 to %.0f", column, text, maxTime.Seconds())
	}
	return time.Duration(math.Round(f * float64(time.Second))), nil
}

func (r *reader) row(record []string) error {
	r.record = record
	if len(record) != r.width {
		return r.errorf("it has %d fields, and there are %d columns", len(record), r.width)
	}
	at, err := r.seconds(colArrival)
	if err != nil {
		return err
	}
	s := Step{At: at}
	if r.text(colDuration) != "" {
		if s.Duration, err = r.seconds(colDuration); err != nil {
			return err
		}
		if s.Duration < time.Second { // zero would be "does not end"
			s.Duration = time.Second
			r.out.note(colDuration+" below 1: the pods run for one second", fmt.Sprintf("line %d", r.line), 1)
		}
	}
	n, err := r.number(colReplicas, 1, 0, maxReplicas)
	if err != nil {
		return err
	}
	s.Replicas = int(n)
	if s.Workload, err = r.workload(); err != nil {
		return err
	}
	if s.Template, err = r.template(s.Workload); err != nil {
		return err
	}
	if s.Replicas == 0 && !s.Sets() {
		return nil
	}
	if at := (place{s.At, s.Workload}); s.Template == "" && r.silent[at] == 0 {
		r.silent[at] = r.line
	}
	r.out.Steps = append(r.out.Steps, s)
	return nil
}

// workload is the name of the workload of a row, with its namespace.
func (r *reader) workload() (string, error) {
	text := r.text(colWorkload)
	if text == "" {
		return "", nil
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		namespace, name = "default", text
	}
	if full := namespace + "/" + name; r.known[full] {
		return full, nil
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", r.errorf("%s is %q: %s", colWorkload, text, problems[0])
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return "", r.errorf("%s is %q, whose namespace can't be: %s", colWorkload, text, problems[0])
	}
	full := namespace + "/" + name
	r.known[full] = true
	return full, nil
}

// template finds or makes the template of a row, and returns its key; empty if the row says nothing of its pods.
func (r *reader) template(workload string) (string, error) {
	if name := r.text(colTemplate); name != "" {
		t := r.given[name]
		if t == nil {
			if len(r.given) == 0 {
				return "", r.errorf("%s is %q, and no file with templates is given (--templates FILE)", colTemplate, name)
			}
			return "", r.errorf("there is no template %q; there are %s", name, strings.Join(slices.Sorted(keys(r.given)), ", "))
		}
		return r.adjusted(name, t)
	}
	q, err := r.requests()
	if err != nil {
		return "", err
	}
	if q == nil {
		return "", nil
	}
	most, err := r.number(colMax, 0, 0, maxReplicas)
	if err != nil {
		return "", err
	}
	where := fmt.Sprintf("line %d", r.line)
	switch {
	case most == 1 && workload != "":
		q.Alone, q.Group = true, workload
	case most > 0 && workload == "":
		r.out.note(colMax+" of pods without a workload: they are placed as if it were not there", where, 1)
	case most > 1:
		r.out.note(colMax+" above 1: the pods are placed as if it were not there (1 becomes an anti-affinity)", where, 1)
	}
	key := q.name()
	if r.out.Templates[key] == nil {
		r.out.Templates[key] = q.Template()
	}
	return key, nil
}

// requests are what the pods of a row request; nil if the row has no field about it.
func (r *reader) requests() (*Requests, error) {
	said := false
	var q Requests
	for i, into := range []*int64{&q.MilliCPU, &q.MemoryMiB, &q.GPU, &q.DiskGiB} {
		c := &requestColumns[i]
		n, err := r.number(c.name, 0, 0, c.most)
		if err != nil {
			return nil, err
		}
		said, *into = said || r.text(c.name) != "", n
	}
	share, err := r.number(colShare, 0, 0, 1000*maxGPU)
	if err != nil {
		return nil, err
	}
	if !said && share == 0 {
		return nil, nil
	}
	where := fmt.Sprintf("line %d", r.line)
	if q.MilliCPU == 0 || q.MemoryMiB == 0 {
		r.out.note("pods without "+colCPU+" or without "+colMemory+": they request none of it, so that it never keeps them from a node", where, 1)
	}
	if share > 0 && share < 1000*max(q.GPU, 1) {
		q.GPU = max(q.GPU, (share+999)/1000)
		r.out.note("parts of a GPU ("+colShare+"): each pod gets whole GPUs", where, 1)
	}
	if q.GPU > 0 {
		known, unknown := models(r.text(colModels))
		q.Models = known
		if len(unknown) > 0 {
			r.out.note("models of GPUs that EC2 does not have are not asked for; without another model, any GPU will do", where+": "+strings.Join(unknown, "|"), 1)
		}
	}
	q.Class = r.text(colClass)
	if q.Class != "" {
		r.out.note(colClass+" is a label of the pods ("+classLabel+") and changes nothing else", where, 1)
	}
	return &q, nil
}

// needTemplates gives steps that say nothing of their pods the template of their workload, once all are in order.
func (r *reader) needTemplates() error {
	now := map[string]string{}
	for i := range r.out.Steps {
		s := &r.out.Steps[i]
		// A row that says nothing of requests leaves them as they were; with the template that its workload has, too.
		if before := now[s.Workload]; s.Template == "" || s.Sets() && before != "" && s.Template == r.adjustedFrom[before] {
			s.Template = before
		}
		if s.Template == "" && s.Sets() && s.Replicas == 0 {
			continue
		}
		if s.Template == "" {
			who := "the row"
			if s.Workload != "" {
				who = s.Workload
			}
			return &Error{File: r.name, Line: r.silent[place{s.At, s.Workload}], Text: fmt.Sprintf("%s does not say what its pods request, and no row before second %.0f does: fill in %s and %s, or %s",
				who, s.At.Seconds(), colCPU, colMemory, colTemplate)}
		}
		if s.Sets() {
			now[s.Workload] = s.Template
		}
	}
	r.out.Steps = slices.DeleteFunc(r.out.Steps, func(s Step) bool { return s.Template == "" })
	used := map[string]bool{}
	for i := range r.out.Steps {
		used[r.out.Steps[i].Template] = true
	}
	maps.DeleteFunc(r.out.Templates, func(name string, _ *corev1.PodTemplateSpec) bool { return !used[name] })
	return nil
}

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
