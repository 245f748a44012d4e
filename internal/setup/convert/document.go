package convert

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// document is one object of the input.
type document struct {
	file   string
	number int // counted from one within its file
	item   bool
	text   []byte         // as it was written
	root   map[string]any // conversion takes its fields away

	apiVersion, kindOf, nameOf string
}

// newDocument remembers what a document is, whatever becomes of its fields.
func newDocument(file string, number int, text []byte, root map[string]any) *document {
	d := &document{file: file, number: number, text: text, root: root}
	d.apiVersion, _ = root["apiVersion"].(string)
	d.kindOf, _ = root["kind"].(string)
	d.nameOf, _ = look(root, "metadata", "name").(string)
	return d
}

func (d *document) version() string { return d.apiVersion }
func (d *document) kind() string    { return d.kindOf }
func (d *document) name() string    { return d.nameOf }
func (d *document) group() string   { group, _, _ := strings.Cut(d.version(), "/"); return group }

// where names the document in messages.
func (d *document) where() string {
	out := fmt.Sprintf("%s, document %d", d.file, d.number)
	if d.kind() != "" {
		out += ": " + strings.TrimSpace(d.kind()+" "+d.name())
	}
	return out
}

// read splits a file into its objects. CloudFormation templates give launch templates instead.
func (c *converter) read(f File) []*document {
	if isCloudFormation(f.Data) {
		c.cloudFormation(f, 1)
		return nil
	}
	var out []*document
	number, templates, bad := 0, 0, len(c.errs)
	for text, err := range texts(f.Data) {
		number++
		if err == nil && isCloudFormation(text) { // one of several in a stream
			c.cloudFormation(File{Name: f.Name, Data: text, Named: f.Named}, number)
			templates++
			continue
		}
		var root map[string]any
		if err == nil {
			root, err = parse(text)
		}
		d := newDocument(f.Name, number, text, root)
		switch {
		case err != nil && (f.Named || ours.Match(f.Data)):
			c.fail(d, "%w", err)
			continue
		case err != nil:
			c.report.Notes = append(c.report.Notes, fmt.Sprintf("%s: left out, for it can't be read: %v", d.where(), oneLine(err)))
			continue
		case len(d.root) == 0:
			number-- // a comment
			continue
		case d.kind() == "" || d.version() == "":
			if f.Named {
				c.fail(d, "it is no object of Kubernetes: it has no %s", d.lacks())
			} else {
				c.report.Notes = append(c.report.Notes, d.where()+": left out, for it is no object of Kubernetes")
			}
			continue
		}
		out = append(out, c.listed(d)...)
	}
	if f.Named && len(out)+templates == 0 && len(c.errs) == bad {
		c.errs = append(c.errs, fmt.Errorf("%s: there is nothing in it", f.Name))
	}
	return out
}

// lacks names what an object must have and this has not.
func (d *document) lacks() string {
	var out []string
	if d.version() == "" {
		out = append(out, "apiVersion")
	}
	if d.kind() == "" {
		out = append(out, "kind")
	}
	return strings.Join(out, " and no ")
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// listed gives the items of a list one by one.
func (c *converter) listed(d *document) []*document {
	if !strings.HasSuffix(d.kind(), "List") {
		return []*document{d}
	}
	items, ok := d.root["items"].([]any)
	if !ok {
		c.fail(d, "items: want a list")
		return nil
	}
	var out []*document
	for i, v := range items {
		root, ok := v.(map[string]any)
		if !ok {
			c.fail(d, "items[%d]: want an object", i)
			continue
		}
		if d.kind() != "List" && root["kind"] == nil { // as the API server lists a kind
			root["kind"], root["apiVersion"] = strings.TrimSuffix(d.kind(), "List"), d.version()
		}
		item := newDocument(d.file, d.number, nil, root)
		item.item = true
		out = append(out, item)
	}
	return out
}

// texts splits a file: YAML at its separators, JSON at its objects.
func texts(data []byte) func(yield func([]byte, error) bool) {
	if t := bytes.TrimSpace(data); len(t) > 0 && t[0] == '{' && json.Valid(firstObject(t)) {
		return jsonTexts(t)
	}
	return func(yield func([]byte, error) bool) {
		r := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			text, err := r.Read()
			if errors.Is(err, io.EOF) || !yield(text, err) || err != nil {
				return
			}
		}
	}
}

func firstObject(t []byte) []byte {
	var raw json.RawMessage
	if json.NewDecoder(bytes.NewReader(t)).Decode(&raw) != nil {
		return nil
	}
	return raw
}

func jsonTexts(t []byte) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		decoder := json.NewDecoder(bytes.NewReader(t))
		for {
			var raw json.RawMessage
			err := decoder.Decode(&raw)
			if errors.Is(err, io.EOF) || !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// parse reads one object. Members that are null are as if they were not there.
func parse(text []byte) (map[string]any, error) {
	raw, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object of Kubernetes, which is a map")
	}
	dropNulls(root)
	return root, nil
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			if item == nil {
				delete(v, k)
				continue
			}
			dropNulls(item)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

var (
	cfnHead  = regexp.MustCompile(`(?m)^[ \t]*"?AWSTemplateFormatVersion"?[ \t]*:`)
	cfnTypes = regexp.MustCompile(`(?m)"?Type"?[ \t]*:[ \t]*["']?AWS::[A-Za-z0-9]+::`)
	// ours are the marks of a file that has something to convert, or any object of Kubernetes.
	ours      = regexp.MustCompile(`(?m)^[ \t"'{-]*(apiVersion|kind)\b|\bkarpenter\.(sh|k8s\.aws)\b`)
	kubeHeads = regexp.MustCompile(`(?m)^apiVersion[ \t]*:|"apiVersion"[ \t]*:`)
)

// isCloudFormation tells templates from objects of Kubernetes.
func isCloudFormation(data []byte) bool {
	return !kubeHeads.Match(data) && (cfnHead.Match(data) || cfnTypes.Match(data))
}

// render writes an object as YAML, without what the API server makes.
func render(object any) []byte {
	raw, err := json.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("an object that was read or made can't be written: %v", err))
	}
	var root map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		panic(fmt.Sprintf("an object that was written can't be read: %v", err))
	}
	if status, ok := root["status"].(map[string]any); ok && len(status) == 0 {
		delete(root, "status")
	}
	if meta, ok := root["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	if template, ok := look(root, "spec", "template").(map[string]any); ok && blank(template["metadata"]) {
		delete(template, "metadata")
	}
	raw, err = json.Marshal(root)
	if err != nil {
		panic(fmt.Sprintf("an object can't be written: %v", err))
	}
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		panic(fmt.Sprintf("JSON can't be written as YAML: %v", err))
	}
	return text
}
