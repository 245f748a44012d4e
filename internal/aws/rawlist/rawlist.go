// Package rawlist reads long lists in answers of EC2 item by item, past the SDK's XML decoder: an item that the caller
// understands from its text is cut out of the answer, and the SDK decodes the rest. Where a list is not of the plain form that
// EC2 writes, the SDK decodes all of it.
package rawlist

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Take is an option of a call. For each answer that is no error, begin is called, and then take for each item of the list in the
// element set, with what is between its tags. The SDK sees the items for which take returns false, and everything around the list.
// A call may be answered more than once, when it is tried again: the last answer counts. An item must not be kept or changed.
func Take(set string, begin func(), take func(item []byte) bool) func(*ec2.Options) {
	t := &taker{set: []byte(set), begin: begin, take: take}
	return func(o *ec2.Options) {
		o.APIOptions = append(o.APIOptions, func(s *middleware.Stack) error {
			if err := s.Deserialize.Insert(t, "OperationDeserializer", middleware.After); err != nil {
				return fmt.Errorf("reading %s item by item: %w", set, err)
			}
			return nil
		})
	}
}

type taker struct {
	set   []byte
	begin func()
	take  func(item []byte) bool
}

// ID implements middleware.DeserializeMiddleware.
func (t *taker) ID() string { return "kerf.RawList" }

// HandleDeserialize implements middleware.DeserializeMiddleware.
func (t *taker) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	r, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || r.StatusCode/100 != 2 {
		return out, metadata, err
	}
	t.begin()
	var whole bytes.Buffer
	if r.ContentLength > 0 {
		whole.Grow(int(min(r.ContentLength, 64<<20)) + bytes.MinRead)
	}
	body := io.Reader(&whole)
	if _, err := whole.ReadFrom(r.Body); err != nil {
		body = io.MultiReader(&whole, failing{err}) // the SDK sees what it would have seen
	} else if rest, ok := t.cut(whole.Bytes()); ok {
		body = bytes.NewReader(rest)
	}
	r.Body = answer{body, r.Body}
	return out, metadata, nil
}

// cut has the items taken, and returns the answer without those that were. It is false, and nothing is taken, if the list is
// not of the form that is known.
func (t *taker) cut(b []byte) (rest []byte, ok bool) {
	items, ok := split(b, t.set)
	if !ok {
		return nil, false
	}
	rest, kept := make([]byte, 0, len(b)/8), 0
	for _, i := range items {
		if t.take(b[i.from+len(open) : i.to-len(shut)]) {
			rest = append(rest, b[kept:i.from]...)
			kept = i.to
		}
	}
	return append(rest, b[kept:]...), true
}

// item is where an item is, with its tags.
type item struct{ from, to int }

const open, shut = "<item>", "</item>"

// split finds the items of a list.
func split(b, set []byte) (out []item, ok bool) {
	begin := bytes.Index(b, fmt.Appendf(nil, "<%s>", set))
	if begin < 0 || bytes.Contains(b, []byte("<!")) { // comments and the like could hold anything
		return nil, false
	}
	at, end := begin+len(set)+2, fmt.Appendf(nil, "</%s>", set)
	for {
		at += len(b[at:]) - len(bytes.TrimLeft(b[at:], " \t\r\n"))
		if bytes.HasPrefix(b[at:], end) {
			return out, true
		}
		if !bytes.HasPrefix(b[at:], []byte(open)) {
			return nil, false
		}
		length := itemLength(b[at:])
		if length < 0 {
			return nil, false
		}
		out = append(out, item{at, at + length})
		at += length
	}
}

// itemLength is how long the item is that b begins with; negative if it does not end. Items may have items.
func itemLength(b []byte) int {
	tag := []byte("item>")
	for at, depth := 1, 1; ; {
		n := bytes.Index(b[at+len(tag):], tag)
		if n < 0 {
			return -1
		}
		at += len(tag) + n
		switch {
		case b[at-1] == '<':
			depth++
		case b[at-1] == '/' && b[at-2] == '<':
			depth--
		}
		if depth == 0 {
			return at + len(tag)
		}
	}
}

// Fields calls f for each element of an item that has nothing but text elements. It is false if the item is of another form, or
// has text that is escaped; then f may have been called for some.
func Fields(item []byte, f func(name, text []byte)) bool {
	for {
		item = bytes.TrimLeft(item, " \t\r\n")
		if len(item) == 0 {
			return true
		}
		end := bytes.IndexByte(item, '>')
		if item[0] != '<' || end < 2 {
			return false
		}
		name := item[1:end]
		item = item[end+1:]
		if name[len(name)-1] == '/' {
			f(name[:len(name)-1], nil)
			continue
		}
		n := bytes.IndexByte(item, '<')
		if n < 0 || bytes.IndexByte(item[:n], '&') >= 0 || bytes.IndexByte(name, ' ') >= 0 {
			return false
		}
		text, rest := item[:n], item[n:]
		if len(rest) < len(name)+3 || rest[1] != '/' || !bytes.Equal(rest[2:2+len(name)], name) || rest[2+len(name)] != '>' {
			return false
		}
		f(name, text)
		item = rest[len(name)+3:]
	}
}

// answer is a body that is read from memory; closing it closes the one that it came in.
type answer struct {
	io.Reader
	io.Closer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
