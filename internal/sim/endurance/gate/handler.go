package gate

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// A Door is a gate's server for a controller that is a process of its own. Whichever life is the present one passes it.
type Door struct {
	to      *url.URL
	through func(*Life) http.RoundTripper
	present atomic.Pointer[httputil.ReverseProxy]
}

// KubernetesDoor leads to the Kubernetes API at an address, with the identity that next has.
func KubernetesDoor(to *url.URL, next http.RoundTripper) *Door {
	return &Door{to: to, through: func(l *Life) http.RoundTripper { return l.Kubernetes(next) }}
}

// AWSDoor leads to AWS at an address.
func AWSDoor(to *url.URL, next http.RoundTripper) *Door {
	return &Door{to: to, through: func(l *Life) http.RoundTripper { return l.AWS(next) }}
}

// Open lets a life pass.
func (d *Door) Open(l *Life) {
	d.present.Store(&httputil.ReverseProxy{
		Transport:     d.through(l),
		FlushInterval: -1,                                                     // watches
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn), // broken connections are what it is for
		Rewrite: func(r *httputil.ProxyRequest) {
			// The name that the client used stays: AWS's signatures cover it.
			r.SetURL(d.to)
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	})
}

// ServeHTTP passes a call on. A call that gets no answer has its connection broken.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := d.present.Load()
	if p == nil {
		panic(http.ErrAbortHandler)
	}
	p.ServeHTTP(w, r)
}
