// Package web serves the page that shows a cluster: kerf ui, kerf local and kerf demo open it. It holds no data of its own; what the
// page shows comes from the controller, by a connection that bears the user's rights.
package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/overview"
	"github.com/kerf-sh/kerf/internal/engine/explain"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

//go:embed page
var files embed.FS

// Connection is a way to the controller that leads.
type Connection struct {
	// URL of its metrics port.
	URL string
	// HTTP makes requests with the user's rights; nil is http.DefaultClient.
	HTTP *http.Client
	// Close ends the connection; nil where there is nothing to end.
	Close func()
}

// Options of a page.
type Options struct {
	// Connect finds the controller that leads; it is asked again when a connection fails.
	Connect func(context.Context) (Connection, error)
	// FloorEvery is how often the floor is found anew while somebody looks; 0: as Floors does.
	FloorEvery time.Duration
	Log        *slog.Logger
}

// Server serves the page.
//
// Concurrency: safe.
type Server struct {
	o     Options
	key   string
	mux   *http.ServeMux
	floor overview.Floors

	mu   sync.Mutex
	conn *Connection
}

// New makes a server. Who knows the URL of Address may look; others on the same host may not.
func New(o Options) *Server {
	s := &Server{o: o, key: rand.Text(), mux: http.NewServeMux()}
	s.floor.Every, s.floor.Problem = o.FloorEvery, s.problem
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	s.mux.Handle("GET /", http.FileServerFS(page))
	s.mux.HandleFunc("GET /api/overview", s.serveOverview)
	s.mux.HandleFunc("GET /api/floor", s.serveFloor)
	s.mux.HandleFunc("GET /api/nodes/{name}", s.serveNode)
	s.mux.HandleFunc("GET /api/pods/{namespace}/{name}", s.servePod)
	s.mux.HandleFunc("GET /api/decisions/{id}", s.serveDecision)
	s.mux.HandleFunc("GET /api/decisions/{id}/file", s.serveFile)
	return s
}

// Address is the URL to open for a server that listens at an address.
func (s *Server) Address(at net.Addr) string { return fmt.Sprintf("http://%s/?key=%s", at, s.key) }

const keyCookie = "kerf-key"

// policy lets the page load what it is made of and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// ServeHTTP lets those in who know the key: other users of the host and pages of other sites don't.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if !loopbackName(r.Host) {
		http.Error(w, "this page is served to its own host only; open the address that kerf printed", http.StatusForbidden)
		return
	}
	if key := r.URL.Query().Get("key"); r.URL.Path == "/" && s.knows(key) {
		http.SetCookie(w, &http.Cookie{Name: s.cookie(r), Value: key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if c, err := r.Cookie(s.cookie(r)); err != nil || !s.knows(c.Value) {
		http.Error(w, "open the address that kerf printed, with its key: this one alone shows nothing to others on the host", http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Server) knows(key string) bool {
	return subtle.ConstantTimeCompare([]byte(key), []byte(s.key)) == 1
}

// cookie is named for the port: browsers send cookies of one host to all its ports, and several pages may be open.
func (s *Server) cookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return keyCookie + "-" + port
}

// loopbackName reports whether a page calls this host by a name of its own: a site can lead a name of its own here.
func loopbackName(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// connection is the one in use, or a new one.
func (s *Server) connection(ctx context.Context) (*Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		return s.conn, nil
	}
	made, err := s.o.Connect(ctx)
	if err != nil {
		return nil, err
	}
	s.conn = &made
	return s.conn, nil
}

// drop gives up a connection that failed.
func (s *Server) drop(c *Connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == c && c != nil {
		s.conn = nil
		if c.Close != nil {
			c.Close()
		}
	}
}

// Close ends the connection to the controller.
func (s *Server) Close() {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	s.drop(c)
}

// with runs f over the connection, and once more over a new one where the first fails: another replica may lead now.
func (s *Server) with(ctx context.Context, f func(*Connection) error) error {
	for attempt := 0; ; attempt++ {
		c, err := s.connection(ctx)
		if err != nil {
			return err
		}
		if err = f(c); err == nil || ctx.Err() != nil {
			return err
		}
		var refused *refusedError
		if errors.As(err, &refused) {
			return err
		}
		s.drop(c)
		if attempt > 0 {
			return err
		}
	}
}

// refusedError is an answer of a controller that is none.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

// fail answers with an error that the page shows.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	var refused *refusedError
	if errors.As(err, &refused) {
		code = refused.status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}

// pass copies an answer of the controller to the page as it is, compression included.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, path string) {
	err := s.with(r.Context(), func(c *Connection) error {
		req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, strings.TrimSuffix(c.URL, "/")+path, nil)
		if err != nil {
			return fmt.Errorf("asking the controller: %w", err)
		}
		req.Header.Set("Accept-Encoding", r.Header.Get("Accept-Encoding"))
		resp, err := c.client().Do(req)
		if err != nil {
			return fmt.Errorf("asking the controller: %w", err)
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
			said := strings.TrimSpace(string(text))
			if resp.StatusCode == http.StatusNotFound && strings.HasPrefix(path, overview.Path) {
				said = "the controller serves no overview: it is an older Kerf, or Karpenter"
			}
			return &refusedError{resp.StatusCode, said}
		}
		for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Disposition"} {
			if v := resp.Header.Get(name); v != "" {
				w.Header().Set(name, v)
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.Copy(w, resp.Body) // the page asks again
		return nil
	})
	if err != nil {
		fail(w, err)
	}
}

func (c *Connection) client() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return http.DefaultClient
}

func (s *Server) serveOverview(w http.ResponseWriter, r *http.Request) {
	path := overview.Path
	if since := r.URL.Query().Get("since"); since != "" {
		path += "?since=" + since
	}
	s.pass(w, r, path)
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.pass(w, r, decisions.Path+"/"+r.PathValue("id"))
}

func (s *Server) source(c *Connection) decisions.Server {
	return decisions.Server{URL: c.URL, Client: c.HTTP}
}

// answer is an explanation for the page.
type answer struct {
	Text string `json:"text"`
	// Pods are those of a node, where one was asked for.
	Pods []podLine `json:"pods,omitempty"`
}

type podLine struct {
	Pod    string `json:"pod"`
	CPU    int64  `json:"cpu"`
	Memory int64  `json:"memory"`
	Daemon bool   `json:"daemon,omitempty"`
}

func (s *Server) explain(w http.ResponseWriter, r *http.Request, ask func(context.Context, decisions.Server) (*answer, error)) {
	var a *answer
	err := s.with(r.Context(), func(c *Connection) (err error) {
		a, err = ask(r.Context(), s.source(c))
		return err
	})
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

func (s *Server) serveNode(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	s.explain(w, r, func(ctx context.Context, from decisions.Server) (*answer, error) {
		now, _, err := from.Now(ctx, name)
		if err != nil {
			return nil, err
		}
		why, err := explain.Node(ctx, from, name)
		if err != nil {
			return nil, err
		}
		return &answer{Text: why.String(), Pods: podsOf(now)}, nil
	})
}

func podsOf(now record.Now) []podLine {
	if now.Node == nil {
		return nil
	}
	var out []podLine
	for _, p := range now.Node.Pods {
		out = append(out, podLine{Pod: p.String(), CPU: p.Class.Requests["cpu"], Memory: p.Class.Requests["memory"], Daemon: p.Daemon || p.Mirror})
	}
	return out
}

func (s *Server) servePod(w http.ResponseWriter, r *http.Request) {
	s.explain(w, r, func(ctx context.Context, from decisions.Server) (*answer, error) {
		why, err := explain.Pod(ctx, from, r.PathValue("namespace"), r.PathValue("name"))
		if err != nil {
			return nil, err
		}
		return &answer{Text: why.String()}, nil
	})
}

func (s *Server) serveDecision(w http.ResponseWriter, r *http.Request) {
	s.explain(w, r, func(ctx context.Context, from decisions.Server) (*answer, error) {
		d, err := from.Decision(ctx, r.PathValue("id"))
		if err != nil {
			return nil, err
		}
		if d.Plan != nil {
			return &answer{Text: d.Plan.String()}, nil
		}
		return &answer{Text: d.Disruption.String()}, nil
	})
}
