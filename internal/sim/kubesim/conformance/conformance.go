// Package conformance plays one script of calls against a Kubernetes API and writes down what it answers, in a form that
// is the same for every server that behaves the same. So a simulated API is compared with a real one.
package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// step is one call, or the same call again until it answers as expected.
type step struct {
	says   string // a sentence: what is tried
	method string
	path   string
	kind   string // content type, JSON if empty
	body   string
	// show are the fields of the answer that are compared, items of lists by their number.
	show []string
	// keep is the name by which later steps use the answer, as ${name.metadata.uid}.
	keep string
	// until repeats the call until a field has a value, as "status.observedGeneration=1", while controllers may need time.
	until string
	// watch reads events for a second and shows type and name of each.
	watch bool
	// silent says that the answer is not compared.
	silent bool
}

// patience bounds the repetition of a step.
const patience = 20 * time.Second

// player plays steps.
type player struct {
	client *http.Client
	base   string
	kept   map[string]map[string]any
	out    strings.Builder
}

// Play plays the script against the API at base, as in https://127.0.0.1:6443, and returns what was answered, a line a
// step. The cluster has to be fresh and to have the CRDs of api/crds.
//
// Errors: calls that got no answer.
func Play(ctx context.Context, client *http.Client, base string) (string, error) {
	p := &player{client: client, base: strings.TrimSuffix(base, "/"), kept: map[string]map[string]any{}}
	for _, s := range script() {
		if err := p.play(ctx, s); err != nil {
			return p.out.String(), fmt.Errorf("%s: %w", s.says, err)
		}
	}
	return p.out.String(), nil
}

func (p *player) play(ctx context.Context, s step) error {
	if s.watch {
		return p.watch(ctx, s)
	}
	code, answer, err := p.call(ctx, s)
	for began := time.Now(); err == nil && s.until != "" && !holds(answer, s.until) && time.Since(began) < patience; code, answer, err = p.call(ctx, s) {
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	if s.keep != "" {
		p.kept[s.keep] = answer
	}
	if s.silent {
		if code >= 300 {
			return fmt.Errorf("answered with %d: %v", code, answer["message"])
		}
		return nil
	}
	fmt.Fprintf(&p.out, "%s\n\t%d%s\n", s.says, code, shown(answer, s.show))
	return nil
}

func holds(answer map[string]any, condition string) bool {
	field, want, _ := strings.Cut(condition, "=")
	return fmt.Sprint(lookUp(answer, field)) == want
}

func (p *player) request(ctx context.Context, s step) (*http.Request, error) {
	path, err := p.fill(s.path)
	if err != nil {
		return nil, err
	}
	body, err := p.fill(s.body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, s.method, p.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.kind != "" {
		r.Header.Set("Content-Type", s.kind)
	}
	return r, nil
}

func (p *player) call(ctx context.Context, s step) (int, map[string]any, error) {
	r, err := p.request(ctx, s)
	if err != nil {
		return 0, nil, err
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, err
	}
	answer := map[string]any{}
	if json.Unmarshal(text, &answer) != nil {
		answer["text"] = string(text)
	}
	return resp.StatusCode, answer, nil
}

func (p *player) watch(ctx context.Context, s step) error {
	r, err := p.request(ctx, s)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	q.Set("watch", "true")
	q.Set("timeoutSeconds", "1")
	r.URL.RawQuery = q.Encode()
	resp, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Fprintf(&p.out, "%s\n\t%d", s.says, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Type   string
			Object map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		if e.Type == "BOOKMARK" && lookUp(e.Object, `metadata.annotations.k8s\.io/initial-events-end`) != "true" {
			continue
		}
		fmt.Fprintf(&p.out, " %s %s%s", e.Type, text(lookUp(e.Object, "metadata.name")), shown(e.Object, s.show))
	}
	p.out.WriteByte('\n')
	return lines.Err()
}

var variable = regexp.MustCompile(`\$\{(\w+)\.([^}]+)\}`)

// fill puts values of earlier answers into a text.
//
// Errors: an answer that was not kept or has no such field.
func (p *player) fill(text string) (string, error) {
	var missing string
	out := variable.ReplaceAllStringFunc(text, func(v string) string {
		m := variable.FindStringSubmatch(v)
		found := lookUp(p.kept[m[1]], m[2])
		if found == nil {
			missing = v
		}
		return fmt.Sprint(found)
	})
	if missing != "" {
		return "", fmt.Errorf("nothing is known of %s", missing)
	}
	return out, nil
}

// lookUp finds a field by its path. Dots within a name are escaped, items of lists are numbers.
func lookUp(v any, path string) any {
	for _, part := range strings.Split(strings.ReplaceAll(path, `\.`, "\x00"), ".") {
		part = strings.ReplaceAll(part, "\x00", ".")
		switch at := v.(type) {
		case map[string]any:
			v = at[part]
		case []any:
			n := int(part[0] - '0')
			if n >= len(at) {
				return nil
			}
			v = at[n]
		default:
			return nil
		}
	}
	return v
}

// uids are replaced in texts; of addresses and numbers of versions none are shown.
var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // what came as JSON goes as JSON
	return uids.ReplaceAllString(strings.TrimSpace(b.String()), "<uid>")
}

// shown is what is compared of an answer: of a refusal the reason, the message and the causes, of an object the fields.
func shown(answer map[string]any, fields []string) string {
	u := unstructured.Unstructured{Object: answer}
	if u.GetKind() == "Status" && answer["status"] == "Failure" {
		fields = []string{"reason", "message", "details.causes", "details.retryAfterSeconds"}
	}
	var b strings.Builder
	for _, f := range fields {
		if f == "items" {
			fmt.Fprintf(&b, " items=%s", text(names(answer)))
			continue
		}
		if f == "details.causes" {
			b.WriteString(causes(answer))
			continue
		}
		if v := lookUp(answer, f); v != nil {
			fmt.Fprintf(&b, " %s=%s", f, text(v))
		} else if f != "details.retryAfterSeconds" {
			fmt.Fprintf(&b, " no %s", f)
		}
	}
	return b.String()
}

// causes are those of a refusal, each once: a real server looks at some things twice.
func causes(answer map[string]any) string {
	all, _ := lookUp(answer, "details.causes").([]any)
	var seen []string
	for _, c := range all {
		if t := text(c); !slices.Contains(seen, t) {
			seen = append(seen, t)
		}
	}
	if len(seen) == 0 {
		return ""
	}
	return " causes=" + strings.Join(seen, ",")
}

func names(list map[string]any) []string {
	out := []string{}
	items, _ := list["items"].([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(lookUp(item, "metadata.name")))
	}
	return out
}

// query writes the parameters of a path.
func query(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	return "?" + strings.NewReplacer("%24", "$", "%7B", "{", "%7D", "}").Replace(q.Encode())
}
