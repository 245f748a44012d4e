package top

import (
	"context"
	"strings"

	"github.com/kerf-sh/kerf/internal/controller/overview"
)

// detail is a text about one object, with its pods where it is a node.
type detail struct {
	title string
	head  []string // what is known without asking
	ask   question // nil where nothing more is asked

	indent int // of what a line of the head goes on with; 0: one letter

	question int // its number
	asking   bool
	answer   *overview.Explanation
	failed   string

	at, offset int // line of the cursor, first line shown
	width      int // that lines are folded for
	lines      []detailLine
}

// detailLine is a line on the screen; pod is what Enter opens there.
type detailLine struct {
	text, pod string
	head      bool
}

// fold makes the lines for a width.
func (d *detail) fold(width int) {
	if d.width == width && d.lines != nil {
		return
	}
	d.width, d.lines = width, []detailLine{}
	add := func(text string, head bool) {
		for _, line := range folded(text, width, 1) {
			d.lines = append(d.lines, detailLine{text: line, head: head})
		}
	}
	for _, h := range d.head {
		hang := 1
		if d.indent > 0 && len(h) > d.indent && h[d.indent-1] == ' ' {
			hang = min(d.indent, width/2)
		}
		for _, line := range folded(h, width, hang) {
			d.lines = append(d.lines, detailLine{text: line})
		}
	}
	switch {
	case d.asking:
		add("", false)
		add("asking the controller …", false)
	case d.failed != "":
		add("", false)
		add("The controller could not be asked for more: "+d.failed, false)
	}
	if d.answer == nil {
		return
	}
	add("", false)
	add(d.answer.Text, false)
	if len(d.answer.Pods) == 0 {
		return
	}
	add("", false)
	add("PODS ("+counted(len(d.answer.Pods), "pod")+"; Enter opens one)", true)
	name := max(20, width-26)
	add(fit("  POD", name)+fitRight("CPU", 8)+fitRight("MEMORY", 11), true)
	for _, p := range d.answer.Pods {
		text := fit("  "+p.Pod, name) + fitRight(cores(p.CPU), 8) + fitRight(bytes(p.Memory), 11)
		line := detailLine{text: text, pod: p.Pod}
		if p.Daemon {
			line.text, line.pod = text+" daemon", ""
		}
		d.lines = append(d.lines, line)
	}
}

// take takes in the answer.
func (d *detail) take(a *overview.Explanation, err error) {
	d.asking, d.lines = false, nil
	if err != nil {
		d.failed = err.Error()
		return
	}
	d.answer = a
}

// hasPods tells whether lines can be opened.
func (d *detail) hasPods() bool { return d.answer != nil && len(d.answer.Pods) > 0 }

// openPod is the detail of the pod under the cursor; nil where there is none.
func (d *detail) openPod() *detail {
	if d.at >= len(d.lines) || d.lines[d.at].pod == "" {
		return nil
	}
	pod := d.lines[d.at].pod
	namespace, name, _ := strings.Cut(pod, "/")
	return &detail{title: "Pod " + pod, ask: func(ctx context.Context, l *overview.Link) (*overview.Explanation, error) {
		return l.Pod(ctx, namespace, name)
	}}
}
