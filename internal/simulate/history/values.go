package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

// values reads one JSON value after the other, each as it comes: lists of any length need the memory of one element.
//
// Errors: the text is no JSON from some place on.
func (r *reading) values(in io.Reader) error {
	d := json.NewDecoder(in)
	for {
		err := r.value(d)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			r.line = r.in.lineAt(d.InputOffset())
			return fmt.Errorf("what follows is not read: %s", plainError(err))
		}
	}
}

// value reads the next value at the top.
//
// Errors: it is no JSON; io.EOF: there is none.
func (r *reading) value(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case string: // a message, as jq prints .events[].message
		r.at(d)
		r.message([]byte(t), time.Time{})
	case json.Delim:
		switch t {
		case '[':
			return r.elements(d, r.element)
		case '{':
			return r.members(d)
		}
	}
	return nil
}

// at notes where the reading is, for errors.
func (r *reading) at(d *json.Decoder) { r.offset = d.InputOffset() }

// wrong notes that a value was not understood.
func (r *reading) wrong(err error) {
	if r.problem == "" {
		r.line = r.in.lineAt(r.offset)
	}
	r.bad(err)
}

// elements reads the elements of an array, one at a time.
func (r *reading) elements(d *json.Decoder, each func(raw []byte) error) error {
	for d.More() {
		r.at(d)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return eof(err)
		}
		if err := each(raw); err != nil {
			r.wrong(err)
		}
	}
	_, err := d.Token()
	return eof(err)
}

// eof makes of an end within a value what it is.
func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// members reads an object at the top: a list of objects, an answer of an API, or a single object.
func (r *reading) members(d *json.Decoder) error {
	r.at(d)
	rest := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return eof(err)
		}
		name, _ := key.(string)
		each := map[string]func([]byte) error{"items": r.item, "events": r.entry, "logEvents": r.entry, "results": r.insight}[name]
		switch {
		case each != nil || name == "data":
			if err := r.streamed(d, name, each, rest); err != nil {
				return err
			}
		default:
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return eof(err)
			}
			rest[name] = raw
			if name == "kind" {
				var kind string
				_ = json.Unmarshal(raw, &kind)
				r.list = strings.TrimSuffix(kind, "List")
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return eof(err)
	}
	r.single(rest)
	return nil
}

// streamed reads a member that can be as long as the file.
func (r *reading) streamed(d *json.Decoder, name string, each func([]byte) error, rest map[string]json.RawMessage) error {
	t, err := d.Token()
	switch {
	case err != nil:
		return eof(err)
	case t == json.Delim('[') && each != nil:
		rest[name] = nil
		return r.elements(d, each)
	case t == json.Delim('{') && name == "data":
		return r.data(d, rest)
	case t == json.Delim('['), t == json.Delim('{'):
		return skip(d)
	}
	return nil
}

// skip reads to the end of an array or object that has begun.
func skip(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return eof(err)
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}

// data reads the answer of Prometheus.
func (r *reading) data(d *json.Decoder, rest map[string]json.RawMessage) error {
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return eof(err)
		}
		if key == "result" {
			t, err := d.Token()
			if err != nil {
				return eof(err)
			}
			if t == json.Delim('[') {
				rest["result"] = nil
				if err := r.elements(d, r.series); err != nil {
					return err
				}
				continue
			}
			if t == json.Delim('{') {
				if err := skip(d); err != nil {
					return err
				}
			}
			continue
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return eof(err)
		}
	}
	_, err := d.Token()
	return eof(err)
}

// single reads an object at the top by what it has, once its lists are read.
func (r *reading) single(rest map[string]json.RawMessage) {
	kind := r.list
	r.list = ""
	text := func(name string) string {
		var s string
		_ = json.Unmarshal(rest[name], &s)
		return s
	}
	_, items := rest["items"]
	switch {
	case items:
		if text("format") == snapshot.Format {
			_ = json.Unmarshal(rest["takenAt"], &r.taken)
			r.isDump = true
		}
		if kind == "Pod" {
			r.isDump = true // also one without pods
		}
	case text("status") == "error":
		r.wrong(fmt.Errorf("Prometheus answered with an error: %s", text("error")))
	case rest["object"] != nil && rest["type"] != nil:
		r.watched(text("type"), rest["object"])
	case rest["@message"] != nil || rest["message"] != nil || kind != "" && rest["apiVersion"] != nil:
		raw, err := json.Marshal(rest)
		if err == nil && rest["message"] == nil && kind != "Event" && !strings.HasPrefix(text("apiVersion"), "audit.k8s.io/") {
			r.watched("", raw) // as "kubectl get --watch" prints them
			return
		}
		if err == nil {
			err = r.element(raw)
		}
		if err != nil {
			r.wrong(err)
		}
	case text("status") != "" && rest["statistics"] != nil && text("status") != "Complete":
		r.wrong(fmt.Errorf("the query of CloudWatch Logs Insights was not complete but %s when its results were fetched", text("status")))
	}
}

// element reads a value by what it is: an object of Kubernetes, an audit event, an entry of a log, a result of Insights.
func (r *reading) element(raw []byte) error {
	var head struct {
		Kind, APIVersion string
		Message          json.RawMessage
		AtMessage        json.RawMessage `json:"@message"`
		AtTimestamp      string          `json:"@timestamp"`
		Metric           json.RawMessage
	}
	if len(raw) > 0 && raw[0] == '[' {
		return r.insight(raw)
	}
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		r.message([]byte(s), time.Time{})
		return nil
	}
	if err := json.Unmarshal(raw, &head); err != nil && head.Kind == "" {
		return err
	}
	switch {
	case strings.HasPrefix(head.APIVersion, "audit.k8s.io/"):
		if err := r.audit(raw, time.Time{}); err != nil {
			return err
		}
		r.took(fromAudit)
	case head.AtMessage != nil:
		message := string(head.AtMessage)
		if message[0] == '"' { // the console exports what is JSON as JSON, and the rest as text
			if err := json.Unmarshal(head.AtMessage, &message); err != nil {
				return err
			}
		}
		return r.insightRow(head.AtTimestamp, message)
	case head.Kind != "":
		return r.kubeObject(head.Kind, raw)
	case head.Message != nil:
		return r.entry(raw)
	case head.Metric != nil:
		return r.series(raw)
	}
	return nil
}

// item reads an element of a list of Kubernetes objects, of which those of a PodList name no kind.
func (r *reading) item(raw []byte) error {
	var head struct{ Kind, APIVersion string }
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	if strings.HasPrefix(head.APIVersion, "audit.k8s.io/") {
		return r.element(raw)
	}
	if head.Kind == "" {
		head.Kind = r.list
	}
	return r.kubeObject(head.Kind, raw)
}

// kubeObject reads an Event, or an object as of the time of the file.
func (r *reading) kubeObject(kind string, raw []byte) error {
	if kind == "Event" {
		if err := r.event(raw); err != nil {
			return err
		}
		r.took(fromEvents)
		return nil
	}
	p, known, err := r.object(kind, raw, time.Time{}, false)
	if err != nil || !known {
		return err
	}
	r.took(fromDumps)
	if t := newest(raw); t.After(r.newest) {
		r.newest = t
	}
	if p != nil {
		r.dump, r.isDump = append(r.dump, p), true
	}
	return nil
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
