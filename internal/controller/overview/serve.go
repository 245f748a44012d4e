package overview

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/record"
)

// ProblemPath is where the problem of now is served, as a file that kerf replay reads.
const ProblemPath = Path + "/problem"

// Handler serves the overview under Path, and what decisions would be made of under ProblemPath. Who may ask is the business of
// whoever mounts it.
func Handler(o *Overview) http.Handler {
	mux, out := http.NewServeMux(), answers{from: o}
	turn := make(chan struct{}, 1)
	mux.HandleFunc("GET "+ProblemPath, func(w http.ResponseWriter, r *http.Request) {
		// One at a time: each holds the whole cluster in memory until its reader has it.
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-r.Context().Done():
			return
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slowest)) // where there is none, nobody is slow
		serveProblem(w, r, o)
	})
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		a := out.to(r.Context(), r.URL.Query().Get("since"))
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Cache-Control", "no-store")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			_, _ = w.Write(a.packed(&out.packer)) // a reader that went away is no concern
			return
		}
		_, _ = w.Write(a.plain())
	})
	return mux
}

// slowest is how long a reader may take to read a problem: others wait for it.
const slowest = time.Minute

// mostAnswers is how many versions documents are made for at a time. Readers of more get the whole.
const mostAnswers = 32

// answers are documents that were written out. Readers that have the same version and ask within freshFor are given the same bytes:
// however many there are, they are made and compressed once.
//
// Concurrency: safe.
type answers struct {
	from   *Overview
	packer packer

	mu sync.Mutex
	at time.Time
	by map[string]*answer // by the version that the reader has
}

// to is the answer to a reader that has a version.
func (s *answers) to(ctx context.Context, since string) *answer {
	s.from.refresh(ctx)
	now := s.from.from.Now()
	s.mu.Lock()
	if age := now.Sub(s.at); s.by == nil || age < 0 || age >= freshFor {
		s.at, s.by = now, map[string]*answer{}
	}
	if s.by[since] == nil && len(s.by) >= mostAnswers {
		since = ""
	}
	a := s.by[since]
	if a == nil {
		a = &answer{}
		s.by[since] = a
	}
	s.mu.Unlock()
	a.make.Do(func() { a.document = s.from.document(context.WithoutCancel(ctx), since) }) // others may wait for it
	return a
}

// answer is a document, written in the ways that readers asked for.
type answer struct {
	document          *Document
	make, write, pack sync.Once
	text, small       []byte
}

func (a *answer) plain() []byte {
	a.write.Do(func() {
		a.text, _ = json.Marshal(a.document) // it has nothing that JSON lacks
	})
	return a.text
}

func (a *answer) packed(p *packer) []byte {
	a.pack.Do(func() { a.small = p.pack(a.plain()) })
	return a.small
}

// packer compresses, with one working memory for all.
type packer struct {
	mu  sync.Mutex
	zip *gzip.Writer
	out bytes.Buffer
}

func (p *packer) pack(text []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Reset()
	if p.zip == nil {
		p.zip, _ = gzip.NewWriterLevel(&p.out, gzip.BestSpeed) // the level exists
	} else {
		p.zip.Reset(&p.out)
	}
	_, _ = p.zip.Write(text) // memory does not fail
	_ = p.zip.Close()
	return bytes.Clone(p.out.Bytes())
}

// The time that a problem takes the controller is told as HTTP's Server-Timing, so that readers can leave it most of its time.
const timingHeader, timingForm = "Server-Timing", "problem;dur=%g"

func serveProblem(w http.ResponseWriter, r *http.Request, o *Overview) {
	began := time.Now()
	p := o.Problem(r.Context())
	if p == nil {
		http.Error(w, "this controller serves no problem", http.StatusNotFound)
		return
	}
	file, err := record.Encode(&record.Decision{Kerf: o.from.Kerf, Problem: p}, o.encoded.Load())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	o.encoded.Store(file.Types())
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(timingHeader, fmt.Sprintf(timingForm, float64(time.Since(began))/float64(time.Millisecond)))
	_, _ = file.WriteTo(w)
}
