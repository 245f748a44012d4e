// Package crdtest reads the table of objects that the API must accept or refuse.
//
// A file is named after a kind. Its first document is the base, a whole object that must be
// accepted. Every other document is a merge patch to the base, headed by comments: a sentence that
// names the case, then a verdict, then what the stored object must read.
//
//	# a zero weight
//	# refuse: greater than or equal to 1
//	spec: {weight: 0}
//	---
//	# no disruption stanza
//	# accept
//	# reads: spec.disruption.consolidateAfter = "0s"
//	spec: {disruption: null}
//
// Verdicts are accept and refuse with a part of the message. A prefix says how the object arrives
// when it is not created: "update, " changes a stored base, "status, " goes to the status
// sub-resource of a stored base.
package crdtest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// Way is how an object reaches the API server.
type Way int

// The ways of a case.
const (
	Create Way = iota
	Update
	Status
)

// Case is one object and what must become of it.
type Case struct {
	// File is the name of the table without its ending.
	File string
	Name string
	Way  Way
	// Base is what is stored before, for Update and Status.
	Base map[string]any
	// Object is what is sent.
	Object map[string]any
	// Refuse is part of the message of the refusal; empty when the object must be accepted.
	Refuse string
	// Reads maps a path in the stored object, with dots, to the JSON that must be there.
	Reads map[string]any
}

// Load reads all tables in fsys.
func Load(fsys fs.FS) ([]Case, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		cases, err := parse(strings.TrimSuffix(path.Base(name), ".yaml"), string(text))
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		all = append(all, cases...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no tables found")
	}
	return all, nil
}

func parse(file, text string) ([]Case, error) {
	documents := strings.Split(strings.TrimPrefix(text, "---\n"), "\n---\n")
	var base map[string]any
	if err := yaml.UnmarshalStrict([]byte(documents[0]), &base); err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	cases := []Case{{File: file, Name: "the base", Object: base}}
	seen := map[string]bool{}
	for _, document := range documents[1:] {
		c, err := parseCase(base, document)
		if err != nil {
			return nil, err
		}
		if seen[c.Name] {
			return nil, fmt.Errorf("two cases are named %q", c.Name)
		}
		seen[c.Name] = true
		c.File = file
		cases = append(cases, c)
	}
	return cases, nil
}

func parseCase(base map[string]any, document string) (Case, error) {
	c := Case{Base: base, Reads: map[string]any{}}
	var header []string
	for line := range strings.Lines(document) {
		comment, found := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !found {
			break
		}
		header = append(header, comment)
	}
	if len(header) < 2 {
		return Case{}, fmt.Errorf("want a sentence and a verdict before %q", document)
	}
	c.Name = header[0]
	if err := c.parseVerdict(header[1]); err != nil {
		return Case{}, fmt.Errorf("case %q: %w", c.Name, err)
	}
	for _, line := range header[2:] {
		if err := c.parseReads(line); err != nil {
			return Case{}, fmt.Errorf("case %q: %w", c.Name, err)
		}
	}
	var patch map[string]any
	if err := yaml.UnmarshalStrict([]byte(document), &patch); err != nil {
		return Case{}, fmt.Errorf("case %q: %w", c.Name, err)
	}
	c.Object = merge(clone(base), patch).(map[string]any)
	return c, nil
}

func (c *Case) parseVerdict(text string) error {
	if rest, found := strings.CutPrefix(text, "update, "); found {
		c.Way, text = Update, rest
	} else if rest, found := strings.CutPrefix(text, "status, "); found {
		c.Way, text = Status, rest
	}
	message, refused := strings.CutPrefix(text, "refuse: ")
	switch {
	case text == "accept":
	case refused && message != "":
		c.Refuse = message
	default:
		return fmt.Errorf("verdict %q: write accept, or refuse: and part of the message", text)
	}
	return nil
}

func (c *Case) parseReads(line string) error {
	reads, found := strings.CutPrefix(line, "reads: ")
	path, want, hasValue := strings.Cut(reads, " = ")
	if !found || !hasValue {
		return fmt.Errorf("header %q: write reads: path = JSON", line)
	}
	var value any
	if err := json.Unmarshal([]byte(want), &value); err != nil {
		return fmt.Errorf("header %q: %w", line, err)
	}
	c.Reads[path] = value
	return nil
}

// Read returns the value at a path with dots in an object; nil when it is not there.
func Read(object map[string]any, path string) any {
	var at any = object
	for _, step := range strings.Split(path, ".") {
		m, isMap := at.(map[string]any)
		if !isMap {
			return nil
		}
		at = m[step]
	}
	return at
}

// merge applies a merge patch as RFC 7386 describes it.
func merge(target, patch any) any {
	changes, isMap := patch.(map[string]any)
	if !isMap {
		return patch
	}
	into, isMap := target.(map[string]any)
	if !isMap {
		into = map[string]any{}
	}
	for key, value := range changes {
		if value == nil {
			delete(into, key)
		} else {
			into[key] = merge(into[key], value)
		}
	}
	return into
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		next := make(map[string]any, len(v))
		for key, value := range v {
			next[key] = clone(value)
		}
		return next
	case []any:
		next := make([]any, len(v))
		for i, value := range v {
			next[i] = clone(value)
		}
		return next
	default:
		return v
	}
}
