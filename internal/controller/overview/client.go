package overview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Client reads the overview of a controller, and keeps what it has read, so that it needs to be told of changes only.
//
// Concurrency: not safe.
type Client struct {
	// URL of the controller's metrics port, without a path.
	URL  string
	HTTP *http.Client // nil is http.DefaultClient

	have    *Document
	nodes   map[string]*Node
	classes []*Class
}

// ErrNotServed is the error of a controller that serves no overview: an older Kerf, or Karpenter.
var ErrNotServed = errors.New("the controller serves no overview")

// Read returns the whole overview. It is the caller's until the next call.
//
// Errors: ErrNotServed; what the controller says, with its status; a connection that fails.
func (c *Client) Read(ctx context.Context) (*Document, error) {
	at := Path
	if c.have != nil {
		at += "?since=" + url.QueryEscape(c.have.Version)
	}
	d := &Document{}
	if err := c.get(ctx, at, func(_ http.Header, r io.Reader) error { return json.NewDecoder(r).Decode(d) }); err != nil {
		return nil, err
	}
	c.merge(d)
	return c.have, nil
}

// Problem reads what a decision on the cluster of now would be made of. took is how long the controller worked for it.
//
// Errors: those of Read.
func (c *Client) Problem(ctx context.Context) (p *pack.Problem, took time.Duration, err error) {
	began := time.Now()
	err = c.get(ctx, ProblemPath, func(h http.Header, r io.Reader) error {
		took = time.Since(began)
		var ms float64
		if _, err := fmt.Sscanf(h.Get(timingHeader), timingForm, &ms); err == nil {
			took = time.Duration(ms * float64(time.Millisecond))
		}
		d, err := record.Read(r)
		if err == nil {
			p = d.Problem
		}
		return err
	})
	return p, took, err
}

// Class is one that nodes and lines name by its number; nil where there is none.
func (c *Client) Class(number int) *Class {
	if number < 0 || number >= len(c.classes) {
		return nil
	}
	return c.classes[number]
}

// merge makes a whole of what is known and what is new.
func (c *Client) merge(d *Document) {
	if d.Full || c.have == nil {
		c.nodes, c.classes = map[string]*Node{}, nil
	} else {
		d.History = slices.Concat(c.have.History, d.History)
		d.Events = append(d.Events, c.have.Events...)
		if d.Blocked == nil {
			d.Blocked = c.have.Blocked
		}
	}
	d.History = d.History[max(0, len(d.History)-historyMost):]
	d.Events = d.Events[:min(len(d.Events), heardMost)]
	for _, class := range d.Classes {
		if class.Number == len(c.classes) {
			c.classes = append(c.classes, class)
		}
	}
	d.Classes = c.classes
	for _, n := range d.Nodes {
		c.nodes[n.Name] = n
	}
	for _, name := range d.Gone {
		delete(c.nodes, name)
	}
	d.Nodes, d.Gone, d.Full = make([]*Node, 0, len(c.nodes)), nil, true
	for _, n := range c.nodes {
		d.Nodes = append(d.Nodes, n)
	}
	slices.SortFunc(d.Nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	c.have = d
}

// answerMost bounds what is read of an answer.
const answerMost = 256 << 20

// RefusedError is an answer of a controller that is none. Another connection would bring the same.
type RefusedError = decisions.RefusedError

func (c *Client) get(ctx context.Context, path string, read func(http.Header, io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+path, nil)
	if err != nil {
		return fmt.Errorf("asking the controller: %w", err)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking the controller: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return fmt.Errorf("%s: %w: it is an older Kerf, or Karpenter", c.URL, ErrNotServed)
	default:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return &RefusedError{Status: resp.StatusCode, Text: fmt.Sprintf("the controller answers %s: %s", resp.Status, bytes.TrimSpace(text))}
	}
	if err := read(resp.Header, io.LimitReader(resp.Body, answerMost)); err != nil {
		return fmt.Errorf("reading the answer of the controller: %w", err)
	}
	return nil
}
