package iampolicy

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// naive says by trying everything what a pattern matches.
func naive(pattern, s []rune) bool {
	if len(pattern) == 0 {
		return len(s) == 0
	}
	switch pattern[0] {
	case '*':
		for i := range len(s) + 1 {
			if naive(pattern[1:], s[i:]) {
				return true
			}
		}
		return false
	case '?':
		return len(s) > 0 && naive(pattern[1:], s[1:])
	}
	return len(s) > 0 && s[0] == pattern[0] && naive(pattern[1:], s[1:])
}

func TestWildcardsMatchAsTryingEverythingDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab:é**?")), 0, 9, -1).Draw(t, "pattern")
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab:é*")), 0, 12, -1).Draw(t, "text")
		want := naive([]rune(pattern), []rune(s))
		if got := plain(pattern).match(s); got != want {
			t.Fatalf("%q on %q: %v, want %v", pattern, s, got, want)
		}
		// The same by way of a variable: its value is plain text, what stands beside it is a pattern.
		ctx := Context{"v": {s}}
		g, ok := fill("${V}"+pattern, Version2012, ctx)
		if !ok {
			t.Fatal("a variable with one value is not filled in")
		}
		tail := rapid.StringOfN(rapid.RuneFrom([]rune("ab*")), 0, 6, -1).Draw(t, "tail")
		if got, want := g.match(s+tail), naive([]rune(pattern), []rune(tail)); got != want {
			t.Fatalf("${v}%q with v=%q on %q: %v, want %v", pattern, s, s+tail, got, want)
		}
	})
}

// TestADenyIsNeverOutvoted adds any statements to a Deny that matches.
func TestADenyIsNeverOutvoted(t *testing.T) {
	statement := rapid.Custom(func(t *rapid.T) Statement {
		s := Statement{
			Effect:  rapid.SampledFrom([]Effect{Allow, Deny}).Draw(t, "effect"),
			Actions: []string{rapid.SampledFrom([]string{"*", "a:*", "a:B", "b:*"}).Draw(t, "action")},
		}
		if rapid.Bool().Draw(t, "not") {
			s.NotResources = []string{rapid.SampledFrom([]string{"x", "y*"}).Draw(t, "resource")}
		} else {
			s.Resources = []string{rapid.SampledFrom([]string{"*", "x", "y*"}).Draw(t, "resource")}
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		document := func(name string) *Document {
			return &Document{Version: Version2012, Statements: rapid.SliceOfN(statement, 0, 4).Draw(t, name)}
		}
		p := Policies{Identity: []Named{{"one", document("one")}, {"two", document("two")}}}
		if rapid.Bool().Draw(t, "bounded") {
			p.Boundary = document("boundary")
		}
		call := Call{Caller: Caller{ARN: "arn:aws:iam::111122223333:role/R", Account: "111122223333"}, Action: "a:B", Resource: "x"}
		matches := func(d *Document, e Effect) bool {
			if d == nil {
				return false
			}
			for _, s := range d.Statements {
				r := len(s.Resources) > 0 && (s.Resources[0] == "*" || s.Resources[0] == "x") || len(s.NotResources) > 0 && s.NotResources[0] != "x"
				if s.Effect == e && s.Actions[0] != "b:*" && r {
					return true
				}
			}
			return false
		}
		want := ImplicitDeny
		switch one, two := p.Identity[0].Document, p.Identity[1].Document; {
		case matches(one, Deny), matches(two, Deny), matches(p.Boundary, Deny):
			want = ExplicitDeny
		case (matches(one, Allow) || matches(two, Allow)) && (p.Boundary == nil || matches(p.Boundary, Allow)):
			want = Allowed
		}
		if got := Evaluate(call, p); got.Outcome != want {
			t.Fatalf("got %+v, want %s", got, want)
		}
	})
}

func seeds(f *testing.F) {
	for _, s := range []string{
		`{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:*","Resource":"*"}}`,
		`{"Id":"q","Statement":[{"Sid":"x y","Effect":"Deny","NotPrincipal":{"AWS":["1","*"],"Service":"a.b"},"NotAction":["s3:Get?"],"NotResource":"arn:aws:s3:::${aws:username}/*"}]}`,
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Condition":{"ForAllValues:StringLikeIfExists":{"aws:TagKeys":["a*","${aws:x, 'd}'}"]},"ArnLike":{"aws:SourceArn":"arn:aws:*:*:*:*"},"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"DateLessThan":{"aws:CurrentTime":"2020-01-01"},"NumericEquals":{"n":1e3},"BinaryEquals":{"b":"QQ=="},"Null":{"k":true}}}]}`,
	} {
		f.Add(s, "aws:TagKeys", "arn:aws:sqs:us-east-1:111122223333:q")
	}
}

func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text, _, _ string) {
		d, err := Parse([]byte(text))
		if err != nil {
			return
		}
		written := d.JSON()
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Fatalf("read back (-first +second):\n%s", diff)
		}
		if string(again.JSON()) != string(written) {
			t.Fatalf("written twice:\n%s\n%s", written, again.JSON())
		}
		if Size(written) != utf8.RuneCount(written) {
			t.Fatalf("%d characters of %d count, but there is no white space: %s", Size(written), utf8.RuneCount(written), written)
		}
	})
}

func FuzzEvaluate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text, key, value string) {
		d, err := Parse([]byte(text))
		if err != nil {
			return
		}
		c := Call{Caller: Caller{ARN: value, Account: key}, Action: "s3:GetObject", Resource: value, Context: Context{}}
		c.Context.Set(key, strings.Split(value, ",")...)
		for _, p := range []Policies{
			{Identity: []Named{{"p", d}}}, {Identity: []Named{{"p", d}}, Boundary: d},
			{Resource: d, ResourceOwner: key}, {Resource: d, ResourceOnly: true, Identity: []Named{{"p", d}}},
		} {
			got := Evaluate(c, p)
			if (got.Outcome == ImplicitDeny) != (got.Policy == "") {
				t.Fatalf("%s by the policy %q", got.Outcome, got.Policy)
			}
			again := Evaluate(c, p)
			if got.Outcome != again.Outcome || got.Policy != again.Policy || got.Sid != again.Sid || !slices.Equal(got.Near(), again.Near()) {
				t.Fatalf("twice: %+v, %+v", got, again)
			}
		}
		_, _, _ = d.CheckIdentity(), d.CheckTrust(), d.CheckResource()
	})
}
