package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/plan"
)

const (
	// MaxFile is the size of the largest file that is read, in bytes. A decision on 100,000 pods takes about a tenth.
	MaxFile = 128 << 20
	// MaxText is how much a file may hold when it is decompressed, in bytes.
	MaxText = 512 << 20
	// headMax is the longest first line.
	headMax = 512
)

// Read reads a recorded decision.
//
// Errors say what is wrong and what to do: it is no such file, it is of another format, it is damaged, it is too large.
func Read(r io.Reader) (*Decision, error) { return read(r, MaxFile, MaxText) }

var errTooLarge = errors.New("too large")

func read(r io.Reader, maxFile, maxText int64) (*Decision, error) {
	in := bufio.NewReader(&limited{r: r, left: maxFile})
	version, err := readHead(in)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, damaged(err, maxFile, maxText)
	}
	text := &limited{r: z, left: maxText}
	dec := json.NewDecoder(text)
	var types typesDocument
	var doc decisionDocument
	if err := dec.Decode(&types); err != nil {
		return nil, damaged(err, maxFile, maxText)
	}
	if err := dec.Decode(&doc); err != nil {
		return nil, damaged(err, maxFile, maxText)
	}
	// Read to the end, so that the checksum is compared.
	var rest json.RawMessage
	if err := dec.Decode(&rest); !errors.Is(err, io.EOF) {
		if err == nil {
			err = errors.New("something follows the decision")
		}
		return nil, damaged(err, maxFile, maxText)
	}
	d, err := (&reader{types: types, doc: &doc}).decision()
	if err != nil {
		return nil, damaged(err, maxFile, maxText)
	}
	d.Kerf = version
	return d, nil
}

func readHead(in *bufio.Reader) (version string, err error) {
	line, err := in.Peek(headMax)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errTooLarge) {
		return "", fmt.Errorf("reading a recorded decision: %w", err)
	}
	end := bytes.IndexByte(line, '\n')
	if !bytes.HasPrefix(line, []byte(Magic+" ")) || end < 0 {
		return "", fmt.Errorf("this is no recorded decision: its first word is not %s; take a file that the controller's /debug/decisions or \"kerf replay --save\" wrote", Magic)
	}
	words := strings.SplitN(string(line[:end]), " ", 3)
	if len(words) < 3 {
		words = append(words, "")
	}
	format, err := strconv.Atoi(words[1])
	if err != nil || format != Format {
		return "", fmt.Errorf("it is of format %.20q and was written by kerf %.60q; this kerf reads format %d: replay it with the version that wrote it", words[1], words[2], Format)
	}
	_, err = in.Discard(end + 1)
	return words[2], err
}

func damaged(err error, maxFile, maxText int64) error {
	if errors.Is(err, errTooLarge) {
		return fmt.Errorf("it is larger than a recorded decision may be (%d MiB, or %d MiB decompressed); it can't be one", maxFile>>20, maxText>>20)
	}
	return fmt.Errorf("the file is damaged: %w; fetch or copy it again", err)
}

// limited fails, other than io.LimitReader, when there is more.
type limited struct {
	r    io.Reader
	left int64
	over bool // there was more
}

func (l *limited) Read(p []byte) (int, error) {
	if l.over {
		return 0, errTooLarge
	}
	if l.left <= 0 {
		// The end may be just here.
		n, err := l.r.Read(p[:min(1, len(p))])
		if n > 0 {
			l.over = true
			return 0, errTooLarge
		}
		return 0, err
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// reader turns documents back into values.
type reader struct {
	types typesDocument
	doc   *decisionDocument
	lists [][]*catalog.Type

	choiceLists [][]plan.TypeChoice
	err         error
}

func (r *reader) decision() (*Decision, error) {
	for i, t := range r.types.Types {
		if t == nil {
			r.fail("instance type %d is missing", i+1)
		}
	}
	for i, c := range r.doc.Classes {
		if c == nil {
			r.fail("pod class %d is missing", i+1)
		}
	}
	r.makeLists()
	r.makeChoiceLists()
	d := &Decision{ID: r.doc.ID, Problem: r.problem(), Claims: r.doc.Claims, Dropped: r.doc.Dropped, Disruption: r.doc.Disruption, Asked: r.doc.Asked}
	d.Left = r.unplaced(d.Problem, r.doc.Left)
	if d.Asked != nil && d.Disruption == nil {
		r.fail("it was asked which nodes go, and there is no answer")
	}
	if r.doc.Plan != nil {
		d.Plan = r.plan(d.Problem)
		for _, c := range d.Claims {
			if c.NewNode < 0 || c.NewNode >= len(d.Plan.NewNodes) {
				r.fail("NodeClaim %q is of new node %d, of which there are %d", c.Name, c.NewNode, len(d.Plan.NewNodes))
			}
		}
	}
	return d, r.err
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) makeLists() {
	for i, list := range r.types.Lists {
		types := make([]*catalog.Type, 0, len(list))
		for _, at := range list {
			if at < 0 || at >= len(r.types.Types) {
				r.fail("list %d of instance types refers to type %d of %d", i+1, at, len(r.types.Types))
				return
			}
			types = append(types, r.types.Types[at])
		}
		r.lists = append(r.lists, types)
	}
}

func (r *reader) problem() *pack.Problem {
	doc := &r.doc.Problem
	p := pack.Problem(doc.problemFields)
	p.Nodes, p.Pools, p.Daemons = nil, nil, nil
	for i := range doc.Nodes {
		n := cluster.Node(doc.Nodes[i].nodeFields)
		n.Pods = r.pods(doc.Nodes[i].Pods)
		p.Nodes = append(p.Nodes, &n)
	}
	p.Pending = r.pods(doc.Pending)
	for i := range doc.Pools {
		pool := cluster.Pool(doc.Pools[i].poolFields)
		pool.Types = nil
		if at := doc.Pools[i].Types; at != 0 {
			if at < 0 || at > len(r.lists) {
				r.fail("pool %q refers to list %d of instance types, of which there are %d", pool.Name, at, len(r.lists))
				break
			}
			pool.Types = r.lists[at-1]
		}
		p.Pools = append(p.Pools, &pool)
	}
	for _, dd := range doc.Daemons {
		d := cluster.Daemon(dd.daemonFields)
		if d.Class = r.class(dd.Class); d.Class == nil {
			r.fail("DaemonSet %q has no pod class", d.Name)
		}
		p.Daemons = append(p.Daemons, d)
	}
	return &p
}

func (r *reader) pods(docs []podDocument) []*cluster.Pod {
	var out []*cluster.Pod
	for i := range docs {
		pod := cluster.Pod(docs[i].podFields)
		if pod.Class = r.class(docs[i].Class); pod.Class == nil {
			r.fail("pod %s has no class", pod.PodRef)
		}
		out = append(out, &pod)
	}
	return out
}

func (r *reader) class(at int) *cluster.Class {
	if at < 0 || at > len(r.doc.Classes) {
		r.fail("a pod refers to class %d, of which there are %d", at, len(r.doc.Classes))
		return nil
	}
	if at == 0 {
		return nil
	}
	return r.doc.Classes[at-1]
}

func (r *reader) plan(p *pack.Problem) *plan.Plan {
	doc := r.doc.Plan
	out := plan.Plan(doc.planFields)
	out.NewNodes, out.Placements, out.Unplaced = nil, nil, nil
	for i := range doc.NewNodes {
		n := plan.NewNode(doc.NewNodes[i].newNodeFields)
		n.Types = r.choices(doc.NewNodes[i].Types)
		n.Pods = r.refs(p, doc.NewNodes[i].Pods, doc.NewNodes[i].Strangers)
		out.NewNodes = append(out.NewNodes, n)
	}
	for i := range doc.Placements {
		x := plan.Placement(doc.Placements[i].placementFields)
		x.Pods = r.refs(p, doc.Placements[i].Pods, doc.Placements[i].Strangers)
		out.Placements = append(out.Placements, x)
	}
	out.Unplaced = r.unplaced(p, doc.Unplaced)
	return &out
}

func (r *reader) unplaced(p *pack.Problem, list []unplacedDocument) (out []plan.Unplaced) {
	for i := range list {
		x := plan.Unplaced(list[i].unplacedFields)
		x.Pods = r.refs(p, list[i].Pods, list[i].Strangers)
		out = append(out, x)
	}
	return out
}

func (r *reader) choices(at int) []plan.TypeChoice {
	if at < 0 || at > len(r.choiceLists) {
		r.fail("a new node refers to list %d of types, of which there are %d", at, len(r.choiceLists))
		return nil
	}
	if at == 0 {
		return nil
	}
	return r.choiceLists[at-1]
}

func (r *reader) makeChoiceLists() {
	for i, steps := range r.doc.ChoiceLists {
		list := make([]plan.TypeChoice, 0, len(steps))
		at := -1
		for _, step := range steps {
			if at += step; at < 0 || at >= len(r.doc.Choices) {
				r.fail("list %d of types refers to choice %d of %d", i+1, at, len(r.doc.Choices))
				return
			}
			list = append(list, r.doc.Choices[at])
		}
		r.choiceLists = append(r.choiceLists, list)
	}
}

func (r *reader) refs(p *pack.Problem, pods []int, strangers []cluster.PodRef) []cluster.PodRef {
	var out []cluster.PodRef
	for _, at := range pods {
		switch {
		case at > 0 && at <= len(p.Pending):
			out = append(out, p.Pending[at-1].PodRef)
		case at == 0 && len(strangers) > 0:
			out, strangers = append(out, strangers[0]), strangers[1:]
		default:
			r.fail("the plan refers to pod %d, of which there are %d", at, len(p.Pending))
			return out
		}
	}
	return out
}
