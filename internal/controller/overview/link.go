package overview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/explain"
	"github.com/kerf-sh/kerf/internal/engine/pack"
	"github.com/kerf-sh/kerf/internal/guard"
)

// Connection is a way to the controller that leads.
type Connection struct {
	// URL of its metrics port.
	URL string
	// HTTP makes requests with the user's rights; nil is http.DefaultClient.
	HTTP *http.Client
	// Close ends the connection; nil where there is nothing to end.
	Close func()
}

// Link asks the controller that leads, over a connection that is made anew when it fails: another replica may lead then.
//
// Concurrency: safe.
type Link struct {
	connect func(context.Context) (Connection, error)

	mu   sync.Mutex // of conn; held while a connection is made
	conn *Connection

	reading sync.Mutex // of client
	client  Client
}

// NewLink makes a link. Nothing is asked before the first call.
func NewLink(connect func(context.Context) (Connection, error)) *Link { return &Link{connect: connect} }

// readWithin bounds one answer to Read, and how long nothing may come of one to Pass: a connection to a host that is gone does not
// always fail.
const readWithin = 20 * time.Second

// Read returns the whole overview. Its nodes and classes may be kept; they do not change.
//
// Errors: those of Client.Read, and of making a connection.
func (l *Link) Read(ctx context.Context) (d *Document, err error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	err = l.with(ctx, func(c *Connection) error {
		within, cancel := context.WithTimeout(ctx, readWithin)
		defer cancel()
		l.client.URL, l.client.HTTP = c.URL, c.HTTP
		d, err = l.client.Read(within)
		return err
	})
	return d, err
}

// Problem is Client.Problem.
func (l *Link) Problem(ctx context.Context) (p *pack.Problem, took time.Duration, err error) {
	err = l.with(ctx, func(c *Connection) error {
		client := Client{URL: c.URL, HTTP: c.HTTP}
		p, took, err = client.Problem(ctx)
		return err
	})
	return p, took, err
}

// Explanation is what is known of an object, in sentences.
type Explanation struct {
	Text string `json:"text"`
	// Pods are those of a node, where one was asked for.
	Pods []PodLine `json:"pods,omitempty"`
}

// PodLine is a pod of a node.
type PodLine struct {
	Pod    string `json:"pod"`    // namespace/name
	CPU    int64  `json:"cpu"`    // thousandths of a core
	Memory int64  `json:"memory"` // bytes
	Daemon bool   `json:"daemon,omitempty"`
}

// Node explains a node, and lists its pods.
func (l *Link) Node(ctx context.Context, name string) (*Explanation, error) {
	return l.explain(ctx, func(from decisions.Server) (*Explanation, error) {
		now, _, err := from.Now(ctx, name)
		if err != nil {
			return nil, err
		}
		why, err := explain.Node(ctx, from, name)
		if err != nil {
			return nil, err
		}
		out := &Explanation{Text: why.String()}
		if now.Node != nil {
			for _, p := range now.Node.Pods {
				out.Pods = append(out.Pods, PodLine{Pod: p.String(), CPU: p.Class.Requests["cpu"], Memory: p.Class.Requests["memory"], Daemon: p.Daemon || p.Mirror})
			}
		}
		return out, nil
	})
}

// Pod explains a pod.
func (l *Link) Pod(ctx context.Context, namespace, name string) (*Explanation, error) {
	return l.explain(ctx, func(from decisions.Server) (*Explanation, error) {
		why, err := explain.Pod(ctx, from, namespace, name)
		if err != nil {
			return nil, err
		}
		return &Explanation{Text: why.String()}, nil
	})
}

// Decision tells a decision; the ID is one of Document.Decisions.
func (l *Link) Decision(ctx context.Context, id string) (*Explanation, error) {
	return l.explain(ctx, func(from decisions.Server) (*Explanation, error) {
		d, err := from.Decision(ctx, id)
		if err != nil {
			return nil, err
		}
		if d.Plan != nil {
			return &Explanation{Text: d.Plan.String()}, nil
		}
		return &Explanation{Text: d.Disruption.String()}, nil
	})
}

func (l *Link) explain(ctx context.Context, ask func(decisions.Server) (*Explanation, error)) (out *Explanation, err error) {
	err = l.with(ctx, func(c *Connection) error {
		out, err = ask(decisions.Server{URL: c.URL, Client: c.HTTP})
		return err
	})
	return out, err
}

// Dial makes the connection where there is none yet, so that what can't be reached is known before anything is asked.
func (l *Link) Dial(ctx context.Context) error {
	_, err := l.connection(ctx)
	return err
}

// Pass asks for a path with the headers given, and hands on the answer as it is; its body is closed afterwards. The answer may take
// as long as it goes on: a file may be large, and the connection slow.
//
// Errors: *RefusedError for an answer other than 200; a connection that fails, or is silent for readWithin; that of to, after which
// nothing is asked again.
func (l *Link) Pass(ctx context.Context, path string, header http.Header, to func(*http.Response) error) error {
	var passing error
	err := l.with(ctx, func(c *Connection) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		silent := guard.AfterFunc(readWithin, "overview.link", func() { cancel(errSilent) })
		defer silent.Stop()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.URL, "/")+path, nil)
		if err != nil {
			return fmt.Errorf("asking the controller: %w", err)
		}
		req.Header = header
		client := cmp.Or(c.HTTP, http.DefaultClient)
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("asking the controller: %w", unlessSilent(ctx, err))
		}
		resp.Body = &watchedBody{resp.Body, silent}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
			said := strings.TrimSpace(string(text))
			if resp.StatusCode == http.StatusNotFound && strings.HasPrefix(path, Path) {
				said = ErrNotServed.Error() + ": it is an older Kerf, or Karpenter"
			}
			return &RefusedError{Status: resp.StatusCode, Text: said}
		}
		silent.Stop() // from here on it runs while the body is read
		if passing = to(resp); passing != nil {
			passing = fmt.Errorf("handing on the answer of the controller: %w", unlessSilent(ctx, passing))
		}
		return nil
	})
	return cmp.Or(err, passing)
}

// errSilent is the end of a request of which nothing comes: a connection to a host that is gone does not always fail.
var errSilent = fmt.Errorf("nothing came for %s", readWithin)

// unlessSilent is err, or that nothing came where that ended the request.
func unlessSilent(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

// watchedBody is the body of an answer. The timer runs while its reader waits for more, and not while what was read is used.
type watchedBody struct {
	io.ReadCloser
	silent *time.Timer
}

// Read is part of io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.silent.Reset(readWithin)
	defer b.silent.Stop()
	return b.ReadCloser.Read(p)
}

// with runs f over the connection, and once more over a new one where the first fails.
func (l *Link) with(ctx context.Context, f func(*Connection) error) error {
	for attempt := 0; ; attempt++ {
		c, err := l.connection(ctx)
		if err != nil {
			return err
		}
		err = f(c)
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused || ctx.Err() != nil || errors.Is(err, ErrNotServed) {
			return err
		}
		l.drop(c)
		if attempt > 0 {
			return err
		}
	}
}

// connection is the one in use, or a new one.
func (l *Link) connection(ctx context.Context) (*Connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return l.conn, nil
	}
	made, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	l.conn = &made
	return l.conn, nil
}

// drop gives up a connection that failed.
func (l *Link) drop(c *Connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c && c != nil {
		l.conn = nil
		if c.Close != nil {
			c.Close()
		}
	}
}

// Close ends the connection.
func (l *Link) Close() {
	l.mu.Lock()
	c := l.conn
	l.mu.Unlock()
	l.drop(c)
}
