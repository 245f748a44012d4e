// Package control shows the simulated world to people and lets tests and demos change it: a page and a JSON interface
// under /_kerf/, beside the AWS protocols and without signatures. It is for the local instance only.
package control

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Prefix is where the interface is mounted.
const Prefix = "/_kerf/"

// maxBody bounds what a request may send, in bytes.
const maxBody = 4 << 20

// Handler serves the interface.
type Handler struct {
	world  *world.World
	boot   *boot.Booter
	bus    *event.Bus
	notice time.Duration
	mux    *http.ServeMux
	// controls are the patterns of the requests that are answered, sorted by path.
	controls []string

	// Permissions keeps what was allowed and refused; nil where permissions are not enforced.
	Permissions *authz.Authorizer
}

// New makes the handler. notice is how long after a warning a spot instance is reclaimed.
func New(w *world.World, b *boot.Booter, bus *event.Bus, notice time.Duration) *Handler {
	h := &Handler{world: w, boot: b, bus: bus, notice: notice, mux: http.NewServeMux()}
	for pattern, f := range map[string]func(*http.Request) (any, error){
		"GET /_kerf/state":                     h.getState,
		"GET /_kerf/clock":                     h.getClock,
		"GET /_kerf/instances":                 h.getInstances,
		"GET /_kerf/instances/{id}":            h.getInstance,
		"GET /_kerf/calls":                     h.getCalls,
		"DELETE /_kerf/calls":                  h.deleteCalls,
		"GET /_kerf/calls/counts":              h.getCounts,
		"GET /_kerf/denied":                    h.getDenied,
		"GET /_kerf/permissions":               h.getPermissions,
		"DELETE /_kerf/permissions":            h.deletePermissions,
		"GET /_kerf/faults":                    h.getFaults,
		"POST /_kerf/faults":                   h.postFault,
		"DELETE /_kerf/faults":                 h.deleteFaults,
		"DELETE /_kerf/faults/{id}":            h.deleteFault,
		"GET /_kerf/queues":                    h.getQueues,
		"GET /_kerf/queues/{name}":             h.getQueue,
		"POST /_kerf/queues/{name}/messages":   h.postMessage,
		"GET /_kerf/switches":                  h.getSwitches,
		"POST /_kerf/switches/{name}":          h.postSwitch,
		"DELETE /_kerf/switches/{name}":        h.deleteSwitch,
		"POST /_kerf/interrupt":                h.postInterrupt,
		"POST /_kerf/events":                   h.postEvent,
		"GET /_kerf/deliveries/failed":         h.getFailures,
		"POST /_kerf/instances/{id}/terminate": h.postTerminate,
		"POST /_kerf/instances/{id}/stop":      h.postStop,
		"POST /_kerf/spot-price":               h.postSpotPrice,
		"POST /_kerf/depth":                    h.postDepth,

		"GET /_kerf/reservations":                 h.getReservations,
		"POST /_kerf/reservations":                h.postReservation,
		"DELETE /_kerf/reservations/{id}":         h.deleteReservation,
		"POST /_kerf/reservations/{id}/take-back": h.postTakeBack,
		"GET /_kerf/placement-groups":             h.getGroups,
		"POST /_kerf/placement-groups":            h.postGroup,
		"DELETE /_kerf/placement-groups/{id}":     h.deleteGroup,
		"POST /_kerf/zonal-shift":                 h.postZonalShift,
	} {
		h.mux.HandleFunc(pattern, h.json(f))
		h.controls = append(h.controls, pattern)
	}
	slices.SortFunc(h.controls, func(a, b string) int {
		methodA, pathA, _ := strings.Cut(a, " ")
		methodB, pathB, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(pathA, pathB), cmp.Compare(methodA, methodB))
	})
	h.mux.HandleFunc("GET /_kerf/{$}", h.page)
	return h
}

// ServeHTTP answers one request. Pages of other sites may not use a visitor's browser to get here.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			http.Error(w, "requests from other sites are refused", http.StatusForbidden)
			return
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	h.mux.ServeHTTP(w, r)
}

// problem is an error with the HTTP status to answer with.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func notFound(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func (h *Handler) json(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := f(r)
		status := http.StatusOK
		if err != nil {
			status = http.StatusInternalServerError
			if p, ok := errors.AsType[*problem](err); ok {
				status = p.status
			}
			if e, ok := errors.AsType[*world.Error](err); ok {
				status = max(e.Status, http.StatusBadRequest)
			}
			v = map[string]string{"error": err.Error()}
		}
		body, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(append(body, '\n')) // a reader that has gone away is no concern of ours
	}
}

func decode(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badRequest("the body is not what %s takes: %v", r.URL.Path, err)
	}
	return nil
}

func (h *Handler) getFaults(*http.Request) (any, error) { return h.world.Faults(), nil }

func (h *Handler) postFault(r *http.Request) (any, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, badRequest("reading the fault: %v", err)
	}
	f, err := world.ParseFault(body)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return map[string]string{"id": h.world.AddFault(f)}, nil
}

func (h *Handler) deleteFault(r *http.Request) (any, error) {
	if !h.world.RemoveFault(r.PathValue("id")) {
		return nil, notFound("there is no fault %q", r.PathValue("id"))
	}
	return struct{}{}, nil
}

func (h *Handler) deleteFaults(*http.Request) (any, error) {
	h.world.ClearFaults()
	return struct{}{}, nil
}

func (h *Handler) postInterrupt(r *http.Request) (any, error) {
	id := r.URL.Query().Get("instance")
	if id == "" {
		return nil, badRequest("name the instance: ?instance=i-…")
	}
	notice, err := h.noticeOf(r)
	if err != nil {
		return nil, err
	}
	if _, ok := h.world.Instance(id); !ok {
		return nil, notFound("there is no instance %q", id)
	}
	if err := h.bus.Interrupt(id, notice); err != nil {
		return nil, &problem{http.StatusConflict, err.Error()}
	}
	return map[string]string{"instance": id, "reclaimed": h.world.Now().Add(notice).Format(time.RFC3339)}, nil
}

// noticeOf is how long before an instance is taken its cluster is to be told: ?notice=30s, or the usual time.
func (h *Handler) noticeOf(r *http.Request) (time.Duration, error) {
	text := r.URL.Query().Get("notice")
	if text == "" {
		return h.notice, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, badRequest("notice must be a duration such as 30s, got %q", text)
	}
	return d, nil
}

// EventRequest asks for an event about an instance, which need not exist.
type EventRequest = event.Request

func (h *Handler) postEvent(r *http.Request) (any, error) {
	var in EventRequest
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	e, _, err := h.bus.Emit(in)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	return e, nil
}

func (h *Handler) postMessage(r *http.Request) (any, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, badRequest("the message could not be read: %v", err)
	}
	m, err := h.world.SendMessage(r.PathValue("name"), "control", string(body), nil, -1)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (h *Handler) postTerminate(r *http.Request) (any, error) {
	changes, err := h.world.Terminate([]string{r.PathValue("id")})
	if err != nil {
		return nil, err
	}
	return changes, nil
}

func (h *Handler) postStop(r *http.Request) (any, error) {
	id := r.PathValue("id")
	if !h.world.Stop(id) {
		return nil, notFound("there is no running instance %q", id)
	}
	return struct{}{}, nil
}

// getFailures lists the newest events that did not get to a target, with the reason.
func (h *Handler) getFailures(*http.Request) (any, error) {
	out := h.world.Failures()
	if out == nil {
		out = []world.Failure{}
	}
	return out, nil
}

// SpotPrice sets the price of a pool.
type SpotPrice struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	MicroUSD     int64  `json:"microUSD"` // per hour
}

func (h *Handler) postSpotPrice(r *http.Request) (any, error) {
	var in SpotPrice
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if !h.world.Offered(in.InstanceType, in.Zone) || in.MicroUSD <= 0 {
		return nil, badRequest("%s is not offered in %q, or %d is no price", in.InstanceType, in.Zone, in.MicroUSD)
	}
	h.world.SetSpotPrice(in.InstanceType, in.Zone, in.MicroUSD)
	return in, nil
}

// Depth sets how many instances a pool still has.
type Depth struct {
	CapacityType string `json:"capacityType"` // on-demand or spot
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	Instances    int    `json:"instances"`
}

func (h *Handler) postDepth(r *http.Request) (any, error) {
	var in Depth
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if !h.world.Offered(in.InstanceType, in.Zone) || in.CapacityType != world.Spot && in.CapacityType != world.OnDemand || in.Instances < 0 {
		return nil, badRequest("there is no pool of %d instances for %q %q in %q", in.Instances, in.CapacityType, in.InstanceType, in.Zone)
	}
	h.world.SetDepth(in.CapacityType, in.InstanceType, in.Zone, in.Instances)
	return in, nil
}
