package changeplan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// File is what a user gives.
type File struct {
	Name string // as messages name it
	Data []byte
}

// Document is an object of a file that a plan can be made for.
type Document struct {
	File string
	Kind string // KindPool or KindClass
	Name string
	// Tree is the object.
	Tree map[string]any
	root *yaml.Node
}

// Kinds of objects that decide about nodes.
const (
	KindPool  = "NodePool"
	KindClass = "EC2NodeClass"
)

var versions = map[string]string{KindPool: karpv1.GroupVersion.String(), KindClass: awsv1.GroupVersion.String()}

// At is an error with its place.
type At struct {
	File string
	Line int // from 1; 0: not known
	Path string
	Text string
	// Syntax is set where the file is no YAML from there on; else it is an object that is wrong.
	Syntax bool
}

// ErrSyntax is in the tree of errors of a file that is no YAML.
var ErrSyntax = errors.New("no YAML")

// Unwrap makes errors of syntax known as such.
func (e *At) Unwrap() error {
	if e.Syntax {
		return ErrSyntax
	}
	return nil
}

// Error names the place as compilers do.
func (e *At) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	return b.String() + e.Text
}

// Parse reads the NodePools and EC2NodeClasses of a file of YAML or JSON. Objects of other kinds are left out, and named in
// skipped.
//
// Errors: *At, joined, one for each place.
func Parse(f File) (documents []*Document, skipped []string, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(f.Data))
	var errs []error
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, errors.Join(append(errs, yamlError(f, err))...)
		}
		for _, root := range objects(&n) {
			d, what, err := newDocument(f, root)
			switch {
			case err != nil:
				errs = append(errs, err)
			case d != nil:
				documents = append(documents, d)
			case what != "":
				skipped = append(skipped, what)
			}
		}
	}
	return documents, skipped, errors.Join(errs...)
}

var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?line (\d+): `)

func yamlError(f File, err error) error {
	text := err.Error() + Unbuilt(f)
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ := strconv.Atoi(m[1])
		return &At{File: f.Name, Line: line, Text: strings.TrimPrefix(text, m[0]), Syntax: true}
	}
	return &At{File: f.Name, Text: strings.TrimPrefix(text, "yaml: "), Syntax: true}
}

// objects are the roots of a document: itself, or the items of a list.
func objects(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.DocumentNode {
		if len(n.Content) == 0 {
			return nil
		}
		n = n.Content[0]
	}
	if kind := member(n, "kind"); kind != nil && strings.HasSuffix(kind.Value, "List") {
		if items := member(n, "items"); items != nil && items.Kind == yaml.SequenceNode {
			return items.Content
		}
	}
	return []*yaml.Node{n}
}

func newDocument(f File, root *yaml.Node) (d *Document, skipped string, err error) {
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, "", nil // nothing but a comment
	}
	no := func(n *yaml.Node, format string, args ...any) (*Document, string, error) {
		return nil, "", &At{File: f.Name, Line: n.Line, Text: fmt.Sprintf(format, args...)}
	}
	if root.Kind != yaml.MappingNode {
		return no(root, "this is no object of Kubernetes, which is a map%s", Unbuilt(f))
	}
	kind, version, name := member(root, "kind"), member(root, "apiVersion"), member(member(root, "metadata"), "name")
	switch {
	case kind == nil && version == nil:
		return no(root, "this is no object of Kubernetes: it has no apiVersion and no kind%s", Unbuilt(f))
	case version == nil:
		return no(root, "this is no object of Kubernetes: it has no apiVersion%s", Unbuilt(f))
	case kind == nil:
		return no(root, "this is no object of Kubernetes: it has no kind%s", Unbuilt(f))
	}
	want, known := versions[kind.Value]
	label := kind.Value
	if name != nil {
		label += " " + name.Value
	}
	switch {
	case !known && (kind.Value == "Provisioner" || kind.Value == "AWSNodeTemplate"):
		return no(kind, "%s is of an older API: make NodePools and EC2NodeClasses of it with kerf convert", label)
	case !known:
		return nil, fmt.Sprintf("%s:%d: %s", f.Name, root.Line, label), nil
	case version.Value != want:
		return no(version, "%s of apiVersion %q: want %s (kerf convert translates older ones)", label, version.Value, want)
	case name == nil || name.Value == "":
		return no(root, "%s has no metadata.name", kind.Value)
	}
	var tree any
	if err := root.Decode(&tree); err != nil {
		return nil, "", yamlError(f, err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return no(root, "%s: %v", label, err)
	}
	d = &Document{File: f.Name, Kind: kind.Value, Name: name.Value, root: root}
	if err := json.Unmarshal(text, &d.Tree); err != nil {
		return no(root, "%s: %v", label, err)
	}
	return d, "", nil
}

func member(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// Line is where the object begins.
func (d *Document) Line() int { return d.root.Line }

// where makes an error of a field of the object. A field that is not there has the line of the nearest one above it.
func (d *Document) where(path, text string) error {
	n, line := d.root, d.root.Line
	for _, step := range steps(path) {
		var next *yaml.Node
		if i, err := strconv.Atoi(step); err == nil && n != nil && n.Kind == yaml.SequenceNode && i >= 0 && i < len(n.Content) {
			next = n.Content[i]
			line = next.Line
		} else if n != nil && n.Kind == yaml.MappingNode {
			for j := 0; j+1 < len(n.Content); j += 2 {
				if n.Content[j].Value == step {
					next, line = n.Content[j+1], n.Content[j].Line
				}
			}
		}
		if n = next; n == nil {
			break
		}
	}
	return &At{File: d.File, Line: line, Path: path, Text: text}
}

// steps splits spec.a[0].b[key.with/dots] into its names.
func steps(path string) []string {
	var out []string
	for path != "" {
		switch {
		case path[0] == '.':
			path = path[1:]
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return append(out, path[1:])
			}
			out, path = append(out, strings.Trim(path[1:end], `"`)), path[end+1:]
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			out, path = append(out, path[:end]), path[end:]
		}
	}
	return out
}
