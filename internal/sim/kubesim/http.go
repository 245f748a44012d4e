package kubesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// maxBody bounds a request's body, as a real API server does.
const maxBody = 3 << 20

// target is what a request is about.
type target struct {
	resource             *resource
	namespace, name, sub string
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.discover(w, r) || s.review(w, r) {
		return
	}
	t, err := s.target(r.URL.Path)
	if err == nil {
		err = s.serve(w, r, t)
	}
	switch {
	case errors.Is(err, errNoPath):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		refuse(w, err)
	}
}

// errNoPath is a path where nothing is served.
var errNoPath = errors.New("404 page not found")

// target reads a path.
//
// Errors: errNoPath.
func (s *Server) target(path string) (target, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group string
	var rest []string
	switch {
	case parts[0] == "api" && len(parts) > 2:
		rest = parts[1:]
	case parts[0] == "apis" && len(parts) > 3:
		group, rest = parts[1], parts[2:]
	default:
		return target{}, errNoPath
	}
	version, rest := rest[0], rest[1:]
	var t target
	if rest[0] == "namespaces" && len(rest) > 2 && !slices.Contains([]string{"status", "finalize"}, rest[2]) {
		t.namespace, rest = rest[1], rest[2:]
	}
	t.resource = s.byPath[group+"/"+version+"/"+rest[0]]
	if len(rest) > 1 {
		t.name = rest[1]
	}
	if len(rest) > 2 {
		t.sub = rest[2]
	}
	if t.resource == nil || len(rest) > 3 || t.sub != "" && !slices.Contains(t.resource.subs(), t.sub) || t.name != "" && (t.namespace != "") != t.resource.namespaced {
		return target{}, errNoPath
	}
	return t, nil
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, t target) error {
	q := r.URL.Query()
	verb := verbOf(r, t)
	s.count(verb, t)
	dryRun := q.Get("dryRun") == metav1.DryRunAll
	switch verb {
	case "get":
		return t.answer(w, r, http.StatusOK)(s.get(t.resource, t.namespace, t.name))
	case "list":
		return s.list(w, r, t, q)
	case "watch":
		return s.watch(w, r, t, q)
	case "create":
		return s.serveCreate(w, r, t, dryRun)
	case "update":
		c, err := readObject(r, t.sub)
		if err != nil {
			return err
		}
		if err := t.fits(c.content); err != nil {
			return err
		}
		return t.answer(w, r, http.StatusOK)(s.update(t.resource, t.namespace, t.name, t.sub, func(*object) (sent, error) { return c, nil }, dryRun))
	case "patch":
		modify, err := readPatch(r, t.resource)
		if err != nil {
			return err
		}
		return t.answer(w, r, http.StatusOK)(s.update(t.resource, t.namespace, t.name, t.sub, modify, dryRun))
	case "delete", "deletecollection":
		return s.serveDelete(w, r, t, q)
	}
	return apierrors.NewMethodNotSupported(t.resource.gr(), strings.ToLower(r.Method))
}

func verbOf(r *http.Request, t target) string {
	switch {
	case r.Method == http.MethodGet && t.name != "":
		return "get"
	case r.Method == http.MethodGet && slices.Contains([]string{"true", "1"}, r.URL.Query().Get("watch")):
		return "watch"
	case r.Method == http.MethodGet:
		return "list"
	case r.Method == http.MethodPost && (t.name == "" || t.sub != ""):
		return "create"
	case r.Method == http.MethodPut && t.name != "":
		return "update"
	case r.Method == http.MethodPatch && t.name != "":
		return "patch"
	case r.Method == http.MethodDelete && t.name != "":
		return "delete"
	case r.Method == http.MethodDelete:
		return "deletecollection"
	}
	return ""
}

func (s *Server) count(verb string, t target) {
	what := verb + " " + t.resource.plural
	if t.sub != "" {
		what += "/" + t.sub
	}
	s.tally(what)
}

func (s *Server) serveCreate(w http.ResponseWriter, r *http.Request, t target, dryRun bool) error {
	c, err := readObject(r, "")
	if err != nil {
		return err
	}
	switch t.sub {
	case "binding":
		if err := s.bind(t, c.content, dryRun); err != nil {
			return err
		}
		writeJSON(w, http.StatusCreated, success())
		return nil
	case "eviction":
		if err := s.evict(t, c.content, dryRun); err != nil {
			return err
		}
		writeJSON(w, http.StatusCreated, success())
		return nil
	}
	if err := t.fits(c.content); err != nil {
		return err
	}
	if t.resource.namespaced && t.namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	}
	return t.answer(w, r, http.StatusCreated)(s.create(t.resource, t.namespace, c, dryRun))
}

// fits tells whether an object belongs where it is sent.
func (t target) fits(c content) error {
	u := &unstructured.Unstructured{Object: c}
	if kind, version := u.GetKind(), u.GetAPIVersion(); kind != "" && kind != t.resource.kind || version != "" && version != t.resource.apiVersion() {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s", kind, version, t.resource.kind))
	}
	if ns := u.GetNamespace(); ns != "" && ns != t.namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if t.name != "" && u.GetName() != t.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", u.GetName(), t.name))
	}
	c["kind"], c["apiVersion"] = t.resource.kind, t.resource.apiVersion()
	if t.resource.namespaced {
		u.SetNamespace(t.namespace)
	}
	return nil
}

func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request, t target, q map[string][]string) error {
	o, err := readDeleteOptions(r)
	if err != nil {
		return err
	}
	if t.name == "" {
		sel, err := parseSelection(t.resource, q)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, found := range t.resource.listLocked(t.namespace, sel) {
			if _, _, err := s.removeLocked(t.resource, found.at().GetNamespace(), found.at().GetName(), o); err != nil {
				return err
			}
		}
		writeJSON(w, http.StatusOK, success())
		return nil
	}
	last, gone, err := s.remove(t.resource, t.namespace, t.name, o)
	if err != nil {
		return err
	}
	if gone && t.resource.plural != "pods" { // pods, in a real cluster too, are sent back whole
		done := success()
		done.Details = &metav1.StatusDetails{Name: t.name, Group: t.resource.group, Kind: t.resource.plural, UID: last.at().GetUID()}
		writeJSON(w, http.StatusOK, done)
		return nil
	}
	return t.answer(w, r, http.StatusOK)(last, nil)
}

func success() *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess}
}

// readBody is the body of a request.
func readBody(r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(b) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return b, nil
}

func mediaType(r *http.Request) string {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return kind
}

// unsupported refuses a body of a kind that is not taken.
func unsupported(taken ...string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(taken, ", "),
	}}
}

// failure is a refusal that has no reason of its own.
func failure(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message}}
}

// sent is an object as a client has sent it; typed if it has been of its kind's Go type already.
type sent struct {
	content content
	typed   bool
}

// readObject reads the body of a request. Of an object that is sent for its status not more is read than is taken of it, as far as that is
// easy to tell.
func readObject(r *http.Request, sub string) (sent, error) {
	kind := mediaType(r)
	if !slices.Contains([]string{"", runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}, kind) {
		return sent{}, unsupported(runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf)
	}
	b, err := readBody(r)
	if err != nil {
		return sent{}, err
	}
	if kind == runtime.ContentTypeProtobuf {
		o, err := readMessage(b)
		if err != nil {
			return sent{}, err
		}
		if sub == "status" {
			if spec := reflect.ValueOf(o).Elem().FieldByName("Spec"); spec.IsValid() {
				spec.SetZero()
			}
		}
		c, err := untyped(o)
		return sent{c, true}, err
	}
	c, err := decode(b)
	return sent{content: c}, err
}

// decode reads an object from JSON or YAML. Numbers without a fraction stay whole.
func decode(b []byte) (content, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		var err error
		if b, err = yaml.YAMLToJSON(b); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	c := content{}
	if err := kjson.Unmarshal(b, &c); err != nil {
		return nil, apierrors.NewBadRequest("couldn't get version/kind; json parse error: " + err.Error())
	}
	if _, ok := c["metadata"].(map[string]any); !ok {
		c["metadata"] = map[string]any{}
	}
	return c, nil
}

func readDeleteOptions(r *http.Request) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	b, err := readBody(r)
	if err != nil {
		return o, err
	}
	switch kind := mediaType(r); {
	case len(b) == 0:
	case kind == runtime.ContentTypeProtobuf:
		read, err := readMessage(b)
		if err != nil {
			return o, err
		}
		given, ok := read.(*metav1.DeleteOptions)
		if !ok {
			return o, apierrors.NewBadRequest(fmt.Sprintf("%s cannot be handled as DeleteOptions", read.GetObjectKind().GroupVersionKind()))
		}
		o = *given
	case kind == "" || kind == runtime.ContentTypeJSON:
		if err := json.Unmarshal(b, &o); err != nil {
			return o, apierrors.NewBadRequest(err.Error())
		}
	default:
		return o, unsupported(runtime.ContentTypeJSON, runtime.ContentTypeProtobuf)
	}
	q := r.URL.Query()
	if text := q.Get("gracePeriodSeconds"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return o, apierrors.NewBadRequest(err.Error())
		}
		o.GracePeriodSeconds = &n
	}
	if text := q.Get("propagationPolicy"); text != "" {
		p := metav1.DeletionPropagation(text)
		o.PropagationPolicy = &p
	}
	return o, nil
}

// answer writes an object, unless there is an error.
func (t target) answer(w http.ResponseWriter, r *http.Request, code int) func(*object, error) error {
	return func(o *object, err error) error {
		if err != nil {
			return err
		}
		kind, raw := runtime.ContentTypeJSON, o.raw
		if t.asksProtobuf(r) {
			kind = runtime.ContentTypeProtobuf
			raw = func() []byte { return wrap(t.resource.apiVersion(), t.resource.kind, o.message(t.resource)) }
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(code)
		_, _ = w.Write(raw()) // the caller has gone
		return nil
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		code, b = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(b) // the caller has gone
}

// status is what an error looks like on the wire.
func status(err error) metav1.Status {
	out := apierrors.NewInternalError(err).Status()
	if known, ok := errors.AsType[*apierrors.StatusError](err); ok {
		out = known.Status()
	}
	out.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return out
}

func refuse(w http.ResponseWriter, err error) {
	st := status(err)
	if st.Details != nil && st.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(st.Details.RetryAfterSeconds)))
	}
	writeJSON(w, int(st.Code), st)
}
