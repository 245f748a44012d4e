package iampolicy

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// story is a case of a data file: a sentence and the lines below it.
type story struct {
	sentence string
	lines    []string
}

func stories(t *testing.T, file string) []story {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []story
	seen := map[string]bool{}
	for n, line := range strings.Split(string(text), "\n") {
		if sentence, ok := strings.CutPrefix(line, "- "); ok {
			if seen[sentence] {
				t.Fatalf("%s:%d: the sentence stands there twice: %s", file, n+1, sentence)
			}
			seen[sentence] = true
			out = append(out, story{sentence: sentence})
			continue
		}
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(out) == 0 {
			t.Fatalf("%s:%d: a line before the first sentence", file, n+1)
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, line)
	}
	return out
}

func context(t *testing.T, text string) Context {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatalf("context %s: %v", text, err)
	}
	c := Context{}
	for k, v := range members {
		switch v := v.(type) {
		case string:
			c.Set(k, v)
		case []any:
			var list []string
			for _, e := range v {
				list = append(list, e.(string))
			}
			c.Set(k, list...)
		default:
			t.Fatalf("context %s: %s is neither a string nor a list", text, k)
		}
	}
	return c
}

func parse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again, err := Parse(d.JSON())
	if err != nil {
		t.Fatalf("%v\n%s", err, d.JSON())
	}
	if diff := cmp.Diff(d, again); diff != "" {
		t.Errorf("read back (-first +second):\n%s", diff)
	}
	return d
}

func TestConditions(t *testing.T) {
	all := stories(t, "testdata/conditions.txt")
	for _, s := range all {
		t.Run(s.sentence, func(t *testing.T) {
			if len(s.lines) != 3 {
				t.Fatalf("want three lines, got %q", s.lines)
			}
			d := parse(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":`+s.lines[0]+`}}`)
			got := Evaluate(Call{Action: "svc:Do", Resource: "*", Context: context(t, s.lines[1])}, Policies{Identity: []Named{{"p", d}}})
			if want := map[string]bool{"yes": true, "no": false}[s.lines[2]]; got.OK() != want {
				t.Errorf("%s with %s: got %v, want %s", s.lines[0], s.lines[1], got.OK(), s.lines[2])
			}
			if c := d.Statements[0].Conditions; len(c) == 1 && !got.OK() && len(got.Near()) != 1 {
				t.Errorf("near misses: %q, want one for the one condition", got.Near())
			}
		})
	}
	if len(all) < 90 {
		t.Errorf("%d cases were read", len(all))
	}
}

// telling is a decisions.txt case on its way.
type telling struct {
	call                         Call
	policies                     Policies
	version                      string
	identity, boundary, resource []string
}

func (c *telling) read(t *testing.T, line string) bool {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "caller":
		c.call.Caller.ARN = rest
		c.call.Caller.Account = strings.Split(rest, ":")[4]
	case "service":
		c.call.Caller = Caller{Service: rest}
	case "federated":
		c.call.Caller = Caller{Federated: rest}
	case "call":
		c.call.Action, c.call.Resource, _ = strings.Cut(rest, " ")
	case "has":
		c.call.Context = context(t, rest)
	case "identity":
		c.identity = append(c.identity, rest)
	case "boundary":
		c.boundary = append(c.boundary, rest)
	case "resource":
		c.resource = append(c.resource, rest)
	case "owner":
		c.policies.ResourceOwner = rest
	case "only":
		c.policies.ResourceOnly = true
	case "version":
		c.version = rest
	default:
		return false
	}
	return true
}

func (c *telling) document(t *testing.T, statements []string) *Document {
	t.Helper()
	if len(statements) == 0 {
		return nil
	}
	version := `"Version":"` + c.version + `",`
	if c.version == "none" {
		version = ""
	}
	return parse(t, "{"+version+`"Statement":[`+strings.Join(statements, ",")+"]}")
}

func TestDecisions(t *testing.T) {
	all := stories(t, "testdata/decisions.txt")
	for _, s := range all {
		t.Run(s.sentence, func(t *testing.T) {
			c := telling{version: Version2012}
			c.call.Caller = Caller{ARN: "arn:aws:iam::111122223333:role/R", Account: "111122223333"}
			for _, line := range s.lines[:len(s.lines)-1] {
				if !c.read(t, line) {
					t.Fatalf("what is %q?", line)
				}
			}
			if d := c.document(t, c.identity); d != nil {
				c.policies.Identity = []Named{{"identity", d}}
			}
			c.policies.Boundary = c.document(t, c.boundary)
			c.policies.Resource = c.document(t, c.resource)
			got := Evaluate(c.call, c.policies)
			want := s.lines[len(s.lines)-1]
			if text := strings.TrimSpace(fmt.Sprintf("%s %s %s", got.Outcome, got.Policy, got.Sid)); text != want {
				t.Errorf("got %q, want %q; near: %q", text, want, got.Near())
			}
		})
	}
	if len(all) < 60 {
		t.Errorf("%d cases were read", len(all))
	}
}

func TestNearMissesSayWhatWasWanted(t *testing.T) {
	d := parse(t, `{"Version":"2012-10-17","Statement":[
		{"Sid":"Tagged","Effect":"Allow","Action":"ec2:TerminateInstances","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/kubernetes.io/cluster/c":"owned"}}},
		{"Sid":"Two","Effect":"Allow","Action":"ec2:*","Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/a":"1","aws:RequestTag/b":"2"}}},
		{"Effect":"Allow","Action":"ec2:TerminateInstances","Resource":"arn:aws:ec2:us-east-1:1:fleet/*"}]}`)
	c := Call{Action: "ec2:TerminateInstances", Resource: "arn:aws:ec2:us-east-1:1:instance/i-1", Context: Context{}}
	c.Context.Set("aws:ResourceTag/kubernetes.io/cluster/c", "shared")
	got := Evaluate(c, Policies{Identity: []Named{{"Lifecycle", d}}}).Near()
	want := []string{
		`statement Tagged of Lifecycle wants aws:ResourceTag/kubernetes.io/cluster/c StringEquals "owned"; the call has "shared"`,
		`statement 3 of Lifecycle allows it on arn:aws:ec2:us-east-1:1:fleet/*, not on arn:aws:ec2:us-east-1:1:instance/i-1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("near misses (-want +got):\n%s", diff)
	}
	boundary := parse(t, `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:*","Resource":"*"}}`)
	c.Context.Set("aws:ResourceTag/kubernetes.io/cluster/c", "owned")
	got = Evaluate(c, Policies{Identity: []Named{{"Lifecycle", d}}, Boundary: boundary}).Near()
	if len(got) == 0 || !strings.Contains(got[0], "permissions boundary does not allow ec2:TerminateInstances") {
		t.Errorf("with a boundary: %q", got)
	}
}

func TestMissingKeysAreThoseThatMatter(t *testing.T) {
	d := parse(t, `{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Action":"ec2:Run*","Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/A":"1","ec2:Region":"x"}}},
		{"Effect":"Deny","Action":"ec2:RunInstances","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":"false"}}},
		{"Effect":"Allow","Action":"s3:*","Resource":"*","Condition":{"StringEquals":{"s3:prefix":"x"}}}]}`)
	c := Call{Action: "ec2:RunInstances", Resource: "*", Context: Context{"aws:requesttag/a": {"2"}}}
	if diff := cmp.Diff([]string{"aws:SecureTransport", "ec2:Region"}, MissingKeys(c, Policies{Identity: []Named{{"p", d}}, Boundary: d})); diff != "" {
		t.Errorf("missing keys (-want +got):\n%s", diff)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	var statements []Statement
	for i := range 40 {
		statements = append(statements, Statement{
			Sid: fmt.Sprint("S", i), Effect: Allow, Actions: []string{"ec2:RunInstances", "ec2:CreateFleet"},
			Resources:  []string{"arn:aws:ec2:us-east-1:*:instance/*", "arn:aws:ec2:us-east-1:*:volume/*"},
			Conditions: []Condition{{"StringEquals", "aws:RequestTag/kubernetes.io/cluster/c", []string{fmt.Sprint(i)}}},
		})
	}
	p := Policies{Identity: []Named{{"p", &Document{Version: Version2012, Statements: statements}}}}
	c := Call{Action: "ec2:CreateFleet", Resource: "arn:aws:ec2:us-east-1:111122223333:volume/*", Context: Context{}}
	c.Context.Set("aws:RequestTag/kubernetes.io/cluster/c", "39")
	b.ReportAllocs()
	for b.Loop() {
		if !Evaluate(c, p).OK() {
			b.Fatal("denied")
		}
	}
}
