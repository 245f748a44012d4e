package cfn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDepth bounds how deep a template may be nested. CloudFormation has no published bound; nothing real comes near.
const maxDepth = 200

// reader turns text into nodes and collects what is wrong with it.
type reader struct{ errs Errors }

func (r *reader) fail(p Pos, path, format string, args ...any) {
	const enough = 20
	if len(r.errs) < enough {
		r.errs = append(r.errs, &Error{Pos: p, Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

// read turns a template into one node; functions are not told from maps yet in JSON, short forms are in YAML.
func (r *reader) read(data []byte) *Node {
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		r.fail(Pos{1, 1}, "", "the template is empty")
		return nil
	}
	if trimmed[0] == '{' && json.Valid(data) {
		return r.readJSON(data)
	}
	return r.readYAML(data)
}

func (r *reader) readYAML(data []byte) *Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		r.fail(Pos{}, "", "the template is neither YAML nor JSON: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	var more yaml.Node
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		r.fail(Pos{}, "", "the file has more than one YAML document; a template is one")
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		r.fail(Pos{1, 1}, "", "the template is empty")
		return nil
	}
	return r.yamlNode(doc.Content[0], "", 0)
}

// yamlNode returns nil where it has reported an error.
func (r *reader) yamlNode(y *yaml.Node, path string, depth int) *Node {
	p := Pos{y.Line, y.Column}
	if depth > maxDepth {
		r.fail(p, path, "nested deeper than %d levels", maxDepth)
		return nil
	}
	if name, ok := shortForms[y.Tag]; ok {
		return r.shortForm(y, name, path, depth)
	}
	switch y.Tag {
	case "!!binary", "!!set", "!!omap", "!!pairs":
		r.fail(p, path, "CloudFormation does not take the YAML type %s", y.Tag)
		return nil
	}
	if strings.HasPrefix(y.Tag, "!") && !strings.HasPrefix(y.Tag, "!!") && y.Tag != "!" && !inRules(path) {
		r.fail(p, path, "no function is called %s; known are %s", y.Tag, knownShortForms())
		return nil
	}
	return r.yamlPlain(y, path, depth)
}

func (r *reader) yamlPlain(y *yaml.Node, path string, depth int) *Node {
	n := &Node{Pos: Pos{y.Line, y.Column}}
	switch y.Kind {
	case yaml.AliasNode:
		r.fail(n.Pos, path, "CloudFormation takes no YAML aliases (*%s): write the value out", y.Value)
		return nil
	case yaml.ScalarNode:
		return r.yamlScalar(y, n, path)
	case yaml.SequenceNode:
		n.Kind = List
		for i, c := range y.Content {
			if item := r.yamlNode(c, at(path, i), depth+1); item != nil {
				n.Items = append(n.Items, item)
			}
		}
		return n
	case yaml.MappingNode:
		n.Kind = Map
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := y.Content[i]
			if key.Kind != yaml.ScalarNode {
				r.fail(Pos{key.Line, key.Column}, path, "a key must be plain text")
				continue
			}
			if key.Tag == "!!merge" {
				r.fail(Pos{key.Line, key.Column}, path, "CloudFormation takes no YAML merges (<<): write the members out")
				continue
			}
			if item := r.yamlNode(y.Content[i+1], join(path, key.Value), depth+1); item != nil {
				r.put(n, key.Value, item, Pos{key.Line, key.Column}, path)
			}
		}
		return r.longForm(n, path)
	}
	r.fail(n.Pos, path, "not a value")
	return nil
}

func (r *reader) put(n *Node, key string, item *Node, p Pos, path string) {
	if n.Get(key) != nil {
		r.fail(p, path, "the key %q stands here twice", key)
		return
	}
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, item)
}

// decimal is a number that both YAML and JSON write so. Others, such as 0755 or 1_000, stay the text they are: an account
// id with a leading zero is not an octal number.
var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

func (r *reader) yamlScalar(y *yaml.Node, n *Node, path string) *Node {
	switch y.Tag {
	case "!!null":
		r.fail(n.Pos, path, "null values are not allowed in templates")
		return nil
	case "!!bool":
		n.Kind, n.Value = Bool, strings.EqualFold(y.Value, "true")
		return n
	case "!!int", "!!float":
		return number(n, y.Value)
	}
	n.Value = y.Value // also dates, which are texts to CloudFormation
	return n
}

func number(n *Node, text string) *Node {
	n.Value = text
	if !decimal.MatchString(text) {
		return n
	}
	if i, err := strconv.Atoi(text); err == nil {
		n.Kind, n.Value = Number, i
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsInf(f, 0) {
		n.Kind, n.Value = Number, f
	}
	return n
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// jsonReader reads JSON with the lines of its values.
type jsonReader struct {
	*reader
	data    []byte
	decoder *json.Decoder
	offset  int64 // up to which line and column are counted
	pos     Pos
}

func (r *reader) readJSON(data []byte) *Node {
	j := &jsonReader{reader: r, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), pos: Pos{1, 1}}
	j.decoder.UseNumber()
	return j.value("", 0)
}

// here is the place of the token that has just been read, which ends at the decoder's offset.
func (j *jsonReader) here() Pos {
	end := j.decoder.InputOffset()
	for ; j.offset < end-1 && j.offset < int64(len(j.data)); j.offset++ {
		if j.data[j.offset] == '\n' {
			j.pos = Pos{j.pos.Line + 1, 0}
		}
		j.pos.Column++
	}
	return j.pos
}

func (j *jsonReader) value(path string, depth int) *Node {
	token, err := j.decoder.Token()
	if err != nil { // the text was valid as a whole
		j.fail(Pos{}, path, "%v", err)
		return nil
	}
	n := &Node{Pos: j.here()}
	if depth > maxDepth {
		if len(j.errs) == 0 {
			j.fail(n.Pos, path, "nested deeper than %d levels", maxDepth)
		}
		j.skip(token)
		return nil
	}
	switch v := token.(type) {
	case nil:
		j.fail(n.Pos, path, "null values are not allowed in templates")
		return nil
	case string:
		n.Value = v
	case bool:
		n.Kind, n.Value = Bool, v
	case json.Number:
		return number(n, v.String())
	case json.Delim:
		if v == '[' {
			return j.list(n, path, depth)
		}
		return j.object(n, path, depth)
	}
	return n
}

// skip reads past the rest of a value that begins with a token.
func (j *jsonReader) skip(token json.Token) {
	open := 0
	for {
		switch token {
		case json.Delim('['), json.Delim('{'):
			open++
		case json.Delim(']'), json.Delim('}'):
			open--
		}
		if open <= 0 {
			return
		}
		var err error
		if token, err = j.decoder.Token(); err != nil {
			return
		}
	}
}

func (j *jsonReader) list(n *Node, path string, depth int) *Node {
	n.Kind = List
	for i := 0; j.decoder.More(); i++ {
		if item := j.value(at(path, i), depth+1); item != nil {
			n.Items = append(n.Items, item)
		}
	}
	_, _ = j.decoder.Token() // the bracket
	return n
}

func (j *jsonReader) object(n *Node, path string, depth int) *Node {
	n.Kind = Map
	for j.decoder.More() {
		token, err := j.decoder.Token()
		key, ok := token.(string)
		if err != nil || !ok {
			return nil
		}
		p := j.here()
		if item := j.value(join(path, key), depth+1); item != nil {
			j.put(n, key, item, p, path)
		}
	}
	_, _ = j.decoder.Token() // the bracket
	return j.longForm(n, path)
}
