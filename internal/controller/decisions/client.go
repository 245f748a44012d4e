package decisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/controller/access"
	"github.com/kerf-sh/kerf/internal/engine/disrupt"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

// Server asks a controller's metrics port.
type Server struct {
	// URL such as http://127.0.0.1:8080, with or without a path; the path is not used.
	URL string
	// Client sends the token that the controller wants (setup/leader); nil sends none.
	Client *http.Client
}

// answerTimeout bounds one answer of a controller.
const answerTimeout = time.Minute

// Decisions asks for the list, and then for one after the other.
func (s Server) Decisions(ctx context.Context, see func(string, *record.Decision) bool) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	for _, summary := range list {
		d, err := s.Decision(ctx, summary.ID)
		if errors.Is(err, ErrGone) {
			continue // it was pushed out meanwhile
		}
		if err != nil {
			return err
		}
		if !see(summary.ID, d) {
			return nil
		}
	}
	return nil
}

// List asks for the list of decisions, the newest first.
func (s Server) List(ctx context.Context) (list []Summary, err error) {
	err = s.get(ctx, Path, func(r io.Reader) error { return json.NewDecoder(r).Decode(&list) })
	return list, err
}

// Kept fetches the controller's last decision on which nodes go; nil when it has made none, or serves none.
func (s Server) Kept(ctx context.Context) (*disrupt.Decision, error) {
	d := &disrupt.Decision{}
	err := s.get(ctx, KeptPath, func(r io.Reader) error { return json.NewDecoder(r).Decode(d) })
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	return d, err
}

// Now fetches a node or NodeClaim as it is now. It is not known where the controller does not serve it.
func (s Server) Now(ctx context.Context, name string) (now record.Now, known bool, err error) {
	err = s.get(ctx, NowPath+url.PathEscape(name), func(r io.Reader) error { return json.NewDecoder(r).Decode(&now) })
	switch {
	case errors.Is(err, ErrGone):
		return record.Now{}, true, nil
	case errors.Is(err, errNotYet):
		return record.Now{}, false, nil
	}
	return now, err == nil, err
}

// PodNow fetches a pod as it is now. An older controller says at most why it waits.
func (s Server) PodNow(ctx context.Context, namespace, name string) (now record.PodNow, known bool, err error) {
	path := PodPath + url.PathEscape(name)
	if namespace != "" {
		path += "?namespace=" + url.QueryEscape(namespace)
	}
	err = s.get(ctx, path, func(r io.Reader) error { return json.NewDecoder(r).Decode(&now) })
	if errors.Is(err, ErrGone) || errors.Is(err, errNotYet) {
		return record.PodNow{}, false, nil
	}
	return now, err == nil && now != (record.PodNow{}), err
}

// Decision fetches one decision; the ID may be Latest.
func (s Server) Decision(ctx context.Context, id string) (d *record.Decision, err error) {
	err = s.get(ctx, Path+"/"+url.PathEscape(id), func(r io.Reader) error {
		d, err = record.Read(r)
		return err
	})
	return d, err
}

// ErrGone is the error where a controller has no decision of an ID, or no more.
var ErrGone = errors.New("not found")

var (
	errNotYet = errors.New("not known yet")
)

// get asks for a path.
//
// Errors: *RefusedError for an answer other than 200; a connection that fails.
func (s Server) get(ctx context.Context, path string, read func(io.Reader) error) error {
	base, err := url.Parse(s.URL)
	if err != nil || base.Host == "" {
		return fmt.Errorf("--server=%q is no URL; want one such as http://127.0.0.1:8080", s.URL)
	}
	at := base.Scheme + "://" + base.Host + path
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", at, err)
	}
	client := s.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if none, ok := errors.AsType[*access.NoToken](err); ok {
		return fmt.Errorf("%s: %w", at, none)
	}
	if err != nil {
		return fmt.Errorf("asking the controller: %w\n%s", err, forwardHint)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return refusal(at, path, resp)
	}
	if err := read(resp.Body); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", at, err)
	}
	return nil
}

// RefusedError is an answer of a controller other than 200. Another connection would bring the same.
type RefusedError struct {
	Status int // of HTTP
	Text   string

	is error // what of this package it is; nil for nothing
}

// Error is what the controller said.
func (e *RefusedError) Error() string { return e.Text }

// Unwrap is ErrGone where the controller has no such thing.
func (e *RefusedError) Unwrap() error { return e.is }

func refusal(at, path string, resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4000))
	said := strings.TrimSpace(string(text))
	e := &RefusedError{Status: resp.StatusCode, Text: fmt.Sprintf("%s: %s: %s", at, resp.Status, said)}
	switch {
	case resp.Header.Get(access.Header) != "":
		return e
	case resp.StatusCode == http.StatusNotFound && path == Path:
		e.Text = fmt.Sprintf("%s: the controller keeps no decisions.\n%s", at, keepHint)
		return e
	case resp.StatusCode == http.StatusNotFound:
		e.is = ErrGone
	case resp.StatusCode == http.StatusServiceUnavailable:
		e.is = errNotYet
	default:
		return e
	}
	e.Text = fmt.Sprintf("%s: %s: %s", at, e.is, said)
	return e
}

// keepHint says how to have decisions kept.
const keepHint = `Either it is no Kerf, or KERF_DECISIONS is 0. See which, and have decisions kept from now on:
  kubectl -n kube-system get deploy/karpenter -o jsonpath='{.spec.template.spec.containers[*].image}{"\n"}'
  helm upgrade karpenter charts/kerf --namespace kube-system --reset-then-reuse-values --set settings.kerf.decisions=16
Without Helm:
  kubectl -n kube-system set env deploy/karpenter KERF_DECISIONS=16`

// forwardHint says how to reach a controller in a cluster.
const forwardHint = `Nobody answers at the address of --server or KERF_SERVER. Without it, the controller that leads the cluster is found through the
Kubernetes API. To forward its port yourself, take the pod that the Lease names; only the leader decides:
  kubectl -n kube-system get lease karpenter-leader-election -o jsonpath='{.spec.holderIdentity}{"\n"}'
  kubectl -n kube-system port-forward pod/POD 8080
The address of a local cluster is set by:
  eval "$(kerf local env)"
A decision that was saved is asked with kerf explain -f FILE or kerf replay FILE.`
