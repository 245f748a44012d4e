package record

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

// Write writes the decision to w. The same decision gives the same bytes.
//
// Errors: those of w.
func Write(w io.Writer, d *Decision) error {
	e, err := Encode(d, nil)
	if err != nil {
		return err
	}
	_, err = e.WriteTo(w)
	return err
}

// File is a decision as it stands in a file.
type File struct {
	head     string
	types    *Types
	decision []byte
}

// Types is the compressed list of instance types of a file, with what it was made of. Files share it.
type Types struct {
	lists []listKey
	index map[listKey]int // numbers of lists, from 1
	bytes []byte
}

// listKey tells lists of types apart by identity: they are shared and never change.
type listKey struct {
	first **catalog.Type
	n     int
}

func keyOf(types []*catalog.Type) listKey {
	if len(types) == 0 {
		return listKey{}
	}
	return listKey{&types[0], len(types)}
}

// WriteTo writes the file.
func (e *File) WriteTo(w io.Writer) (int64, error) {
	total := int64(0)
	for _, part := range [][]byte{[]byte(e.head), e.types.bytes, e.decision} {
		n, err := w.Write(part)
		total += int64(n)
		if err != nil {
			return total, fmt.Errorf("writing a recorded decision: %w", err)
		}
	}
	return total, nil
}

// Types is the part of the file that others may share.
func (e *File) Types() *Types { return e.types }

// Size is the size of the list in bytes.
func (m *Types) Size() int { return len(m.bytes) }

// Size is the size of the file in bytes.
func (e *File) Size() int { return len(e.head) + len(e.types.bytes) + len(e.decision) }

// Encode returns the file of a decision. It shares the types that are known already, if they are the same; nil shares none.
//
// Errors: a pod without a class, and what can't be written as JSON.
func Encode(d *Decision, known *Types) (*File, error) {
	version := strings.Join(strings.Fields(d.Kerf), " ")
	e := &File{head: fmt.Sprintf("%s %d %s\n", Magic, Format, version)}
	var err error
	if e.types, err = encodeTypes(d.Problem.Pools, known); err != nil {
		return nil, err
	}
	w := &writer{types: e.types, classes: map[*cluster.Class]int{}, classByText: map[string]int{}, pods: map[cluster.PodRef]int{},
		choiceIndex: map[plan.TypeChoice]int{}, listByKey: map[choicesKey]int{}, listByText: map[string]int{}}
	doc := &decisionDocument{ID: d.ID, Problem: w.problem(d.Problem), Claims: d.Claims, Dropped: d.Dropped, Disruption: d.Disruption, Asked: d.Asked}
	if d.Plan != nil {
		doc.Plan = w.plan(d.Plan)
	}
	doc.Left = w.unplaced(d.Left)
	if w.err != nil {
		return nil, w.err
	}
	doc.Classes, doc.Choices, doc.ChoiceLists = w.classTable, w.choices, w.choiceLists
	e.decision, err = compress(doc)
	return e, err
}

func encodeTypes(pools []*cluster.Pool, known *Types) (*Types, error) {
	m := &Types{index: map[listKey]int{}}
	doc := typesDocument{Types: []*catalog.Type{}, Lists: [][]int{}}
	at := map[*catalog.Type]int{}
	for _, p := range pools {
		key := keyOf(p.Types)
		if key.n == 0 || m.index[key] > 0 {
			continue
		}
		var list []int
		for _, t := range p.Types {
			i, ok := at[t]
			if !ok {
				i = len(doc.Types)
				at[t] = i
				doc.Types = append(doc.Types, t)
			}
			list = append(list, i)
		}
		doc.Lists = append(doc.Lists, list)
		m.lists = append(m.lists, key)
		m.index[key] = len(doc.Lists)
	}
	if known.same(m) {
		return known, nil
	}
	var err error
	m.bytes, err = compress(doc)
	return m, err
}

// same reports whether both hold the same lists in the same order.
func (m *Types) same(o *Types) bool {
	if m == nil || len(m.lists) != len(o.lists) {
		return false
	}
	for i := range m.lists {
		if m.lists[i] != o.lists[i] {
			return false
		}
	}
	return true
}

func compress(doc any) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed) // a controller writes far more decisions than anybody reads
	if err != nil {
		return nil, fmt.Errorf("compressing a decision: %w", err)
	}
	if err := json.NewEncoder(z).Encode(doc); err != nil {
		return nil, fmt.Errorf("writing a decision as JSON: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compressing a decision: %w", err)
	}
	return b.Bytes(), nil
}

// writer turns values into documents and fills the tables.
type writer struct {
	types       *Types
	classTable  []*cluster.Class
	classes     map[*cluster.Class]int
	classByText map[string]int
	pods        map[cluster.PodRef]int

	choices     []plan.TypeChoice
	choiceIndex map[plan.TypeChoice]int
	choiceLists [][]int
	listByKey   map[choicesKey]int
	listByText  map[string]int
	err         error
}

type choicesKey struct {
	first *plan.TypeChoice
	n     int
}

func (w *writer) problem(p *pack.Problem) problemDocument {
	out := problemDocument{problemFields: problemFields(*p)}
	for _, n := range p.Nodes {
		out.Nodes = append(out.Nodes, nodeDocument{nodeFields: nodeFields(*n), Pods: w.podList(n.Pods)})
	}
	out.Pending = w.podList(p.Pending)
	for i, pod := range p.Pending {
		w.pods[pod.PodRef] = i + 1
	}
	for _, pool := range p.Pools {
		out.Pools = append(out.Pools, poolDocument{poolFields: poolFields(*pool), Types: w.types.index[keyOf(pool.Types)]})
	}
	for _, d := range p.Daemons {
		out.Daemons = append(out.Daemons, daemonDocument{daemonFields: daemonFields(d), Class: w.class(d.Class)})
	}
	return out
}

func (w *writer) podList(pods []*cluster.Pod) []podDocument {
	var out []podDocument
	for _, pod := range pods {
		if pod.Class == nil && w.err == nil {
			w.err = fmt.Errorf("pod %s can't be recorded: it has no class", pod.PodRef)
		}
		out = append(out, podDocument{podFields: podFields(*pod), Class: w.class(pod.Class)})
	}
	return out
}

// class is the number of a class; equal classes have one number, wherever they come from.
func (w *writer) class(c *cluster.Class) int {
	if c == nil {
		return 0
	}
	if n, ok := w.classes[c]; ok {
		return n
	}
	text, err := json.Marshal(c)
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("writing pod class %s: %w", c.ID, err)
	}
	n, ok := w.classByText[string(text)]
	if !ok {
		w.classTable = append(w.classTable, c)
		n = len(w.classTable)
		w.classByText[string(text)] = n
	}
	w.classes[c] = n
	return n
}

func (w *writer) plan(p *plan.Plan) *planDocument {
	out := &planDocument{planFields: planFields(*p)}
	for i := range p.NewNodes {
		n := &p.NewNodes[i]
		pods, strangers := w.refs(n.Pods)
		out.NewNodes = append(out.NewNodes, newNodeDocument{newNodeFields: newNodeFields(*n), Types: w.choice(n.Types), Pods: pods, Strangers: strangers})
	}
	for _, x := range p.Placements {
		pods, strangers := w.refs(x.Pods)
		out.Placements = append(out.Placements, placementDocument{placementFields: placementFields(x), Pods: pods, Strangers: strangers})
	}
	out.Unplaced = w.unplaced(p.Unplaced)
	return out
}

func (w *writer) unplaced(list []plan.Unplaced) (out []unplacedDocument) {
	for _, x := range list {
		pods, strangers := w.refs(x.Pods)
		out = append(out, unplacedDocument{unplacedFields: unplacedFields(x), Pods: pods, Strangers: strangers})
	}
	return out
}

func (w *writer) refs(refs []cluster.PodRef) (pods []int, strangers []cluster.PodRef) {
	for _, ref := range refs {
		n := w.pods[ref]
		if n == 0 {
			strangers = append(strangers, ref)
		}
		pods = append(pods, n)
	}
	return pods, strangers
}

// choice is the number of a list of types; equal lists have one number.
func (w *writer) choice(types []plan.TypeChoice) int {
	if len(types) == 0 {
		return 0
	}
	key := choicesKey{&types[0], len(types)}
	if n, ok := w.listByKey[key]; ok {
		return n
	}
	steps := make([]int, len(types))
	text := make([]byte, 0, 3*len(types))
	last := -1
	for i, t := range types {
		at, ok := w.choiceIndex[t]
		if !ok {
			at = len(w.choices)
			w.choices = append(w.choices, t)
			w.choiceIndex[t] = at
		}
		steps[i], last = at-last, at
		text = binary.AppendVarint(text, int64(steps[i]))
	}
	n, ok := w.listByText[string(text)]
	if !ok {
		w.choiceLists = append(w.choiceLists, steps)
		n = len(w.choiceLists)
		w.listByText[string(text)] = n
	}
	w.listByKey[key] = n
	return n
}
