package kubesim

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watchTime is how long a watch lasts that does not say for how long, bookmarkEvery how often one that wants bookmarks
// gets them.
const (
	watchTime     = 30 * time.Minute
	bookmarkEvery = time.Minute
	// reflectorAsks is the least that a reflector of client-go asks for; the most is twice as long.
	reflectorAsks = 5 * time.Minute
)

// list writes the objects of a namespace or of all.
func (s *Server) list(w http.ResponseWriter, r *http.Request, t target, q url.Values) error {
	sel, err := parseSelection(t.resource, q)
	if err != nil {
		return err
	}
	s.mu.Lock()
	found, version := t.resource.listLocked(t.namespace, sel), s.version
	s.mu.Unlock()
	found, meta, err := page(found, q, version)
	if err != nil {
		return err
	}
	if t.asksProtobuf(r) {
		b, err := listMessage(t.resource, meta, found)
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(b) // the caller has gone
		return nil
	}
	head, err := json.Marshal(meta)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, t.resource.kind+"List", t.resource.apiVersion(), head)
	for i, o := range found {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(o.raw())
	}
	b.WriteString("]}")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes()) // the caller has gone
	return nil
}

// page cuts a list to what was asked for. What follows is continued at the version of then, not of the first page. A list
// from any version, as it comes out of a cache, is never cut.
func page(found []*object, q url.Values, version uint64) ([]*object, metav1.ListMeta, error) {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if token := q.Get("continue"); token != "" {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return nil, meta, apierrors.NewBadRequest("continue key is not valid: " + err.Error())
		}
		found = slices.DeleteFunc(found, func(o *object) bool {
			return strings.Compare(key(o.at().GetNamespace(), o.at().GetName()), string(after)) <= 0
		})
	} else if q.Get("resourceVersion") == "0" {
		return found, meta, nil
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit <= 0 || limit >= len(found) {
		return found, meta, nil //nolint:nilerr // no limit
	}
	left := int64(len(found) - limit)
	if q.Get("labelSelector") == "" && q.Get("fieldSelector") == "" {
		meta.RemainingItemCount = &left
	}
	last := found[limit-1].at()
	meta.Continue = base64.RawURLEncoding.EncodeToString([]byte(key(last.GetNamespace(), last.GetName())))
	return found[:limit], meta, nil
}

// watcher is a watch under way.
type watcher struct {
	namespace string
	sel       selection
	next      int           // the change to read next, counted from the first ever
	news      chan struct{} // holds a token while there may be changes
}

func (w *watcher) poke() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// watch tells of changes until the caller goes, its time is over, or it has fallen behind.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target, q url.Values) error {
	sel, err := parseSelection(t.resource, q)
	if err != nil {
		return err
	}
	v := &watcher{namespace: t.namespace, sel: sel, news: make(chan struct{}, 1)}
	initial, version, err := s.begin(t.resource, v, q)
	if err != nil {
		return err
	}
	defer s.leave(t.resource, v)
	out := &watchWriter{w: w, flush: http.NewResponseController(w).Flush, kind: t.resource, protobuf: t.asksProtobuf(r)}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if out.protobuf {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	}
	w.WriteHeader(http.StatusOK)
	for _, o := range initial {
		out.object(watch.Added, o)
	}
	bookmarks := q.Get("allowWatchBookmarks") == "true"
	if q.Get("sendInitialEvents") == "true" && bookmarks {
		out.bookmark(version, true)
	}
	out.send()
	over := time.NewTimer(s.watchLasts(r, q))
	defer over.Stop()
	var mark <-chan time.Time
	if bookmarks {
		ticker := time.NewTicker(bookmarkEvery)
		defer ticker.Stop()
		mark = ticker.C
	}
	for out.err == nil {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.shut:
			return nil
		case <-over.C:
			return nil
		case <-mark:
			s.tell(t.resource, v, out, true)
		case <-v.news:
			if !s.tell(t.resource, v, out, false) {
				return nil
			}
		}
	}
	return nil
}

// watchLasts is how long a watch lasts. A reflector asks for five to ten minutes, drawn anew for each watch from what its process
// draws everything from. What it gets is drawn here, so that it does not depend on who drew first.
func (s *Server) watchLasts(r *http.Request, q url.Values) time.Duration {
	n, err := strconv.Atoi(q.Get("timeoutSeconds"))
	asked := time.Duration(n) * time.Second
	switch {
	case err != nil || n <= 0:
		return watchTime
	case asked < reflectorAsks:
		return asked
	}
	h := s.draw("watch", r.URL.Path, r.UserAgent(), s.o.Now().UTC().Format(time.RFC3339Nano))
	return reflectorAsks + time.Duration(binary.BigEndian.Uint64(h[:8])%uint64(reflectorAsks))
}

// begin enters a watcher. initial are the objects that it is to be told of first.
//
// Errors: 410 if the version from which it wants to go on is no longer kept.
func (s *Server) begin(r *resource, v *watcher, q url.Values) (initial []*object, version uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := q.Get("resourceVersion")
	v.next = r.dropped + len(r.log)
	switch {
	case from == "" || from == "0" || q.Get("sendInitialEvents") == "true":
		if q.Get("sendInitialEvents") != "false" {
			initial = r.listLocked(v.namespace, v.sel)
		}
	default:
		n, err := strconv.ParseUint(from, 10, 64)
		if err != nil {
			return nil, 0, apierrors.NewBadRequest("invalid resource version: " + err.Error())
		}
		if n < r.horizon {
			return nil, 0, tooOld(n, r.horizon)
		}
		v.next = r.dropped + after(r.log, n)
		v.poke()
	}
	r.watchers[v] = struct{}{}
	return initial, s.version, nil
}

// after is the place of the first change that is newer than a version.
func after(log []change, version uint64) int {
	n, _ := slices.BinarySearchFunc(log, version+1, func(c change, v uint64) int {
		switch {
		case c.version < v:
			return -1
		case c.version > v:
			return 1
		}
		return 0
	})
	return n
}

func tooOld(asked, oldest uint64) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: fmt.Sprintf("too old resource version: %d (%d)", asked, oldest),
	}}
}

func (s *Server) leave(r *resource, v *watcher) {
	s.mu.Lock()
	delete(r.watchers, v)
	s.mu.Unlock()
}

// tell writes what is new. It returns false when the watch has ended.
func (s *Server) tell(r *resource, v *watcher, out *watchWriter, bookmark bool) bool {
	s.mu.Lock()
	if v.next < r.dropped {
		st := status(tooOld(0, r.horizon))
		s.mu.Unlock()
		out.failure(&st)
		out.send()
		return false
	}
	changes, version := slices.Clone(r.log[v.next-r.dropped:]), s.version
	v.next = r.dropped + len(r.log)
	s.mu.Unlock()
	for _, c := range changes {
		if v.namespace != "" && c.namespace != v.namespace {
			continue
		}
		was, is := v.sel.takes(c.before), v.sel.takes(c.after)
		switch {
		case is && was:
			out.object(watch.Modified, c.after)
		case is:
			out.object(watch.Added, c.after)
		case was && c.gone != nil:
			out.object(watch.Deleted, c.gone)
		case was: // it is no longer selected: the last state that was, with the version of now
			out.object(watch.Deleted, newObject(shallow(c.before.content), c.version))
		}
	}
	if bookmark {
		out.bookmark(version, false)
	}
	out.send()
	return out.err == nil
}

// watchWriter writes events: in JSON one a line, in protobuf each with its length before it.
type watchWriter struct {
	w        http.ResponseWriter
	flush    func() error
	kind     *resource
	protobuf bool
	b        bytes.Buffer
	err      error
}

func (o *watchWriter) object(kind watch.EventType, about *object) {
	if o.protobuf {
		o.b.Write(frame(kind, wrap(o.kind.apiVersion(), o.kind.kind, about.message(o.kind))))
		return
	}
	o.event(kind, about.raw())
}

func (o *watchWriter) failure(st *metav1.Status) {
	if o.protobuf {
		raw, _ := st.Marshal()
		o.b.Write(frame(watch.Error, wrap("v1", "Status", raw)))
		return
	}
	text, _ := json.Marshal(st)
	o.event(watch.Error, text)
}

func (o *watchWriter) event(kind watch.EventType, raw []byte) {
	fmt.Fprintf(&o.b, `{"type":%q,"object":`, string(kind))
	o.b.Write(raw)
	o.b.WriteString("}\n")
}

func (o *watchWriter) bookmark(version uint64, initialEnd bool) {
	if o.protobuf {
		meta := map[string]any{}
		if initialEnd {
			meta["annotations"] = map[string]any{metav1.InitialEventsAnnotationKey: "true"}
		}
		o.object(watch.Bookmark, newObject(content{"apiVersion": o.kind.apiVersion(), "kind": o.kind.kind, "metadata": meta}, version))
		return
	}
	annotations := ""
	if initialEnd {
		annotations = `,"annotations":{"` + metav1.InitialEventsAnnotationKey + `":"true"}`
	}
	o.event(watch.Bookmark, fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s}}`, o.kind.kind, o.kind.apiVersion(), version, annotations))
}

func (o *watchWriter) send() {
	if o.err == nil && o.b.Len() > 0 {
		_, o.err = o.w.Write(o.b.Bytes())
	}
	o.b.Reset()
	if o.err == nil {
		o.err = o.flush()
	}
}
