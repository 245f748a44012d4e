package iampolicy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Limits that AWS sets to policies, in characters without white space.
//
// Source: IAM User Guide, "IAM and AWS STS quotas", checked 2026-11.
const (
	ManagedPolicyLimit = 6144
	RoleInlineLimit    = 10240 // all inline policies of one role together
	TrustPolicyLimit   = 2048  // can be raised to 4096 for an account
)

// Size counts the characters of a policy as IAM does for its limits: white space between the tokens does not count.
func Size(text []byte) int {
	n := 0
	quoted, escaped := false, false
	for len(text) > 0 {
		r, width := utf8.DecodeRune(text)
		text = text[width:]
		if !quoted && (r == ' ' || r == '\t' || r == '\n' || r == '\r') {
			continue
		}
		n++
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = quoted
		case r == '"':
			quoted = !quoted
		}
	}
	return n
}

// JSON writes the document without white space, members in the order of the grammar, single values as strings. Equal
// documents give equal bytes.
func (d *Document) JSON() []byte {
	var b writer
	b.open('{')
	b.text("Version", d.Version)
	b.text("Id", d.ID)
	b.name("Statement")
	b.open('[')
	for i := range d.Statements {
		b.comma()
		b.statement(&d.Statements[i])
	}
	b.close(']')
	b.close('}')
	return b.Bytes()
}

// MarshalJSON writes the document as JSON does.
func (d *Document) MarshalJSON() ([]byte, error) { return d.JSON(), nil }

// UnmarshalJSON reads the document as Parse does.
func (d *Document) UnmarshalJSON(text []byte) error {
	read, err := Parse(text)
	if err != nil {
		return err
	}
	*d = *read
	return nil
}

// Indent writes the document for people to read.
func (d *Document) Indent() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, d.JSON(), "", "  "); err != nil {
		panic(fmt.Sprintf("iampolicy: JSON wrote what is not JSON: %v", err))
	}
	return b.Bytes()
}

type writer struct {
	bytes.Buffer
	more bool // something stands before the next member or element
}

func (b *writer) open(c byte) {
	b.WriteByte(c)
	b.more = false
}

func (b *writer) close(c byte) {
	b.WriteByte(c)
	b.more = true
}

func (b *writer) comma() {
	if b.more {
		b.WriteByte(',')
	}
	b.more = true
}

func (b *writer) name(name string) {
	b.comma()
	b.quoted(name)
	b.WriteByte(':')
}

func (b *writer) quoted(s string) {
	e := json.NewEncoder(&b.Buffer)
	e.SetEscapeHTML(false) // < would count for six characters
	_ = e.Encode(s)        // strings always can be
	b.Truncate(b.Len() - 1)
}

// text writes a member unless it is empty.
func (b *writer) text(name, value string) {
	if value != "" {
		b.name(name)
		b.quoted(value)
	}
}

// list writes a member with a string or a list of them, unless it is nil.
func (b *writer) list(name string, values []string) {
	if values != nil {
		b.name(name)
		b.values(values)
	}
}

func (b *writer) values(values []string) {
	if len(values) == 1 {
		b.quoted(values[0])
		return
	}
	b.open('[')
	for _, v := range values {
		b.comma()
		b.quoted(v)
	}
	b.close(']')
}

func (b *writer) statement(s *Statement) {
	b.open('{')
	b.text("Sid", s.Sid)
	b.text("Effect", string(s.Effect))
	b.principals("Principal", s.Principal)
	b.principals("NotPrincipal", s.NotPrincipal)
	b.list("Action", s.Actions)
	b.list("NotAction", s.NotActions)
	b.list("Resource", s.Resources)
	b.list("NotResource", s.NotResources)
	if len(s.Conditions) > 0 {
		b.name("Condition")
		b.conditions(s.Conditions)
	}
	b.close('}')
}

func (b *writer) principals(name string, p *Principals) {
	if p == nil {
		return
	}
	b.name(name)
	if p.Any {
		b.quoted("*")
		return
	}
	b.open('{')
	b.list("AWS", p.AWS)
	b.list("Service", p.Service)
	b.list("Federated", p.Federated)
	b.list("CanonicalUser", p.CanonicalUser)
	b.close('}')
}

// conditions gathers the keys of an operator under its first place, whatever the order.
func (b *writer) conditions(all []Condition) {
	b.open('{')
	written := map[string]bool{}
	for _, c := range all {
		if written[c.Operator] {
			continue
		}
		written[c.Operator] = true
		b.name(c.Operator)
		b.open('{')
		for _, same := range all {
			if same.Operator == c.Operator {
				b.name(same.Key)
				b.values(same.Values)
			}
		}
		b.close('}')
	}
	b.close('}')
}
