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
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/controller/overview"
)

//go:embed page
var files embed.FS

// Connection is a way to the controller that leads.
type Connection = overview.Connection

// Options of a page.
type Options struct {
	// Connect finds the controller that leads; it is asked again when a connection fails.
	Connect func(context.Context) (Connection, error)
	// FloorEvery is how often the floor is found anew while somebody looks; 0: as Floors does.
	FloorEvery time.Duration
	// API leads to the API server, which knows what nodes have in use where there is a metrics API; nil: that is not shown.
	API func() (*rest.Config, error)
}

// Server serves the page.
//
// Concurrency: safe.
type Server struct {
	link  *overview.Link
	key   string
	once  atomic.Pointer[string] // a key that lets in once; nil when it has, or was not asked for
	mux   *http.ServeMux
	floor overview.Floors
	usage usageReader
}

// New makes a server. Who knows the URL of Address may look; others on the same host may not.
func New(o Options) *Server {
	s := &Server{link: overview.NewLink(o.Connect), key: rand.Text(), mux: http.NewServeMux()}
	s.floor.Every, s.floor.Problem = o.FloorEvery, s.link.Problem
	s.usage.config = o.API
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // it is embedded
	}
	s.mux.Handle("GET /", http.FileServerFS(page))
	s.mux.HandleFunc("GET /api/overview", s.serveOverview)
	s.mux.HandleFunc("GET /api/floor", s.serveFloor)
	s.mux.HandleFunc("GET /api/usage", s.serveUsage)
	s.mux.HandleFunc("GET /api/nodes/{name}", s.serveNode)
	s.mux.HandleFunc("GET /api/pods/{namespace}/{name}", s.servePod)
	s.mux.HandleFunc("GET /api/decisions/{id}", s.serveDecision)
	s.mux.HandleFunc("GET /api/decisions/{id}/file", s.serveFile)
	return s
}

// Address is the URL to open for a server that listens at an address.
func (s *Server) Address(at net.Addr) string { return fmt.Sprintf("http://%s/?key=%s", at, s.key) }

// Once is Address with a key that is good for one visit: other users of the host can read the arguments of the program that opens it.
func (s *Server) Once(at net.Addr) string {
	key := rand.Text()
	s.once.Store(&key)
	return fmt.Sprintf("http://%s/?key=%s", at, key)
}

// visits reports whether a key lets in. It uses up one that lets in once.
func (s *Server) visits(key string) bool {
	if s.knows(key) {
		return true
	}
	once := s.once.Load()
	return once != nil && subtle.ConstantTimeCompare([]byte(key), []byte(*once)) == 1 && s.once.CompareAndSwap(once, nil)
}

const keyCookie = "kerf-key"

// policy lets the page load what it is made of and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Dial connects to the controller now, so that what can't be reached is said before the page opens.
func (s *Server) Dial(ctx context.Context) error { return s.link.Dial(ctx) }

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
	if key := r.URL.Query().Get("key"); r.URL.Path == "/" && key != "" && s.visits(key) {
		http.SetCookie(w, &http.Cookie{Name: s.cookie(r), Value: s.key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
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

// Close ends the connection to the controller.
func (s *Server) Close() { s.link.Close() }

// fail answers with an error that the page shows.
func fail(w http.ResponseWriter, err error) {
	code := http.StatusBadGateway
	if refused, ok := errors.AsType[*overview.RefusedError](err); ok {
		code = refused.Status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}

// pass copies an answer of the controller to the page as it is, compression included. One that breaks off breaks off here too: a
// file that ends early must not look like all of it.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, path string) {
	began := false
	err := s.link.Pass(r.Context(), path, http.Header{"Accept-Encoding": r.Header.Values("Accept-Encoding")}, func(resp *http.Response) error {
		began = true
		for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Disposition", "Content-Length"} {
			if v := resp.Header.Get(name); v != "" {
				w.Header().Set(name, v)
			}
		}
		w.Header().Set("Cache-Control", "no-store")
		_, err := io.Copy(w, resp.Body)
		return err
	})
	switch {
	case err == nil:
	case began:
		panic(http.ErrAbortHandler) // net/http closes the connection then, and logs nothing
	default:
		fail(w, err)
	}
}

func (s *Server) serveOverview(w http.ResponseWriter, r *http.Request) {
	path := overview.Path
	if since := r.URL.Query().Get("since"); since != "" {
		path += "?since=" + url.QueryEscape(since)
	}
	s.pass(w, r, path)
}

func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.pass(w, r, decisions.Path+"/"+url.PathEscape(r.PathValue("id")))
}

func (s *Server) serveNode(w http.ResponseWriter, r *http.Request) {
	answer(w, func() (*overview.Explanation, error) { return s.link.Node(r.Context(), r.PathValue("name")) })
}

func (s *Server) servePod(w http.ResponseWriter, r *http.Request) {
	answer(w, func() (*overview.Explanation, error) {
		return s.link.Pod(r.Context(), r.PathValue("namespace"), r.PathValue("name"))
	})
}

func (s *Server) serveDecision(w http.ResponseWriter, r *http.Request) {
	answer(w, func() (*overview.Explanation, error) { return s.link.Decision(r.Context(), r.PathValue("id")) })
}

func answer(w http.ResponseWriter, ask func() (*overview.Explanation, error)) {
	why, err := ask()
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(why)
}
