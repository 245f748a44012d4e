package control

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Instance is how an instance is shown.
type Instance struct {
	ID           string            `json:"id"`
	Type         string            `json:"type"`
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	State        string            `json:"state"`
	Image        string            `json:"image"`
	PrivateIP    string            `json:"privateIp"`
	DNSName      string            `json:"privateDnsName"`
	Launched     time.Time         `json:"launched"`
	MicroUSD     int64             `json:"microUsdPerHour"`
	Template     string            `json:"launchTemplate,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	Reason       string            `json:"stateReason,omitempty"`
	Boot         boot.Report       `json:"boot"`
	UserData     string            `json:"userData,omitempty"` // only when one instance is asked for
}

// Clock tells the world's time.
type Clock struct {
	Now time.Time `json:"now"`
	// Seconds by which the world is ahead of the instance that it runs on.
	Ahead float64 `json:"aheadSeconds"`
}

// Queue is how a queue is shown.
type Queue struct {
	Name       string            `json:"name"`
	URL        string            `json:"url"`
	Attributes map[string]string `json:"attributes"`
	Messages   []world.Message   `json:"messages"`
}

// State is everything at a glance.
type State struct {
	Account   string     `json:"account"`
	Region    string     `json:"region"`
	Cluster   string     `json:"cluster"`
	Seed      uint64     `json:"seed"`
	Clock     Clock      `json:"clock"`
	Instances []Instance `json:"instances"`
	Live      int        `json:"live"` // instances that are not terminated
	MicroUSD  int64      `json:"microUsdPerHour"`
	// Currency of all prices, which are in millionths of it.
	Currency   catalog.Currency `json:"currency"`
	Calls      map[string]int   `json:"calls"`
	Faults     []world.Fault    `json:"faults"`
	Queues     []string         `json:"queues"`
	LostEvents int              `json:"lostEvents"`
}

// Cost writes a price with four decimals, the rest left out.
func (s State) Cost(price int64) string {
	return s.Currency.Amount(catalog.MicroUSD(price - price%100))
}

func (h *Handler) show(i world.Instance) Instance {
	out := Instance{
		ID: i.ID, Type: i.Type, Zone: i.Zone, CapacityType: i.CapacityType, State: string(i.State), Image: i.ImageID,
		PrivateIP: i.PrivateIP.String(), DNSName: i.PrivateDNSName, Launched: i.LaunchTime, MicroUSD: i.PriceMicroUSD,
		Template: i.LaunchTemplateName, Tags: i.Tags, Reason: i.StateReasonMessage,
	}
	if report, ok := h.boot.Report(i.ID); ok {
		out.Boot = report
	}
	return out
}

func (h *Handler) instances() []Instance {
	all := h.world.AllInstances()
	out := make([]Instance, len(all))
	for n, i := range all {
		out[n] = h.show(i)
	}
	return out
}

func (h *Handler) getInstances(*http.Request) (any, error) { return h.instances(), nil }

func (h *Handler) getInstance(r *http.Request) (any, error) {
	id := r.PathValue("id")
	for _, i := range h.world.AllInstances() {
		if i.ID == id {
			out := h.show(i)
			out.UserData = string(i.UserData())
			return out, nil
		}
	}
	return nil, notFound("there is no instance %q", id)
}

func (h *Handler) state() State {
	o := h.world.Options()
	s := State{
		Account: o.Account, Region: o.Region, Cluster: o.ClusterName, Seed: o.Seed, Clock: h.clock(),
		Instances: h.instances(), Calls: h.world.CallCounts(), Faults: h.world.Faults(), Queues: h.world.QueueNames(),
		LostEvents: h.bus.Lost(), Currency: catalog.Currency(h.world.Currency()),
	}
	for _, i := range s.Instances {
		if i.State != string(world.StateTerminated) {
			s.Live++
			s.MicroUSD += i.MicroUSD
		}
	}
	return s
}

func (h *Handler) getState(*http.Request) (any, error) { return h.state(), nil }

func (h *Handler) clock() Clock {
	now := h.world.Now()
	return Clock{Now: now, Ahead: time.Until(now).Round(time.Millisecond).Seconds()}
}

func (h *Handler) getClock(*http.Request) (any, error) { return h.clock(), nil }

// maxCalls bounds how many calls one answer lists.
const maxCalls = 1000

func (h *Handler) getCalls(r *http.Request) (any, error) {
	calls := h.world.Calls(r.URL.Query().Get("operation"))
	if len(calls) > maxCalls {
		calls = calls[len(calls)-maxCalls:]
	}
	if calls == nil {
		calls = []world.Call{}
	}
	return calls, nil
}

func (h *Handler) getCounts(*http.Request) (any, error) { return h.world.CallCounts(), nil }

func (h *Handler) deleteCalls(*http.Request) (any, error) {
	h.world.ForgetCalls()
	return struct{}{}, nil
}

func (h *Handler) getQueues(*http.Request) (any, error) {
	out := []Queue{}
	for _, name := range h.world.QueueNames() {
		if q, err := h.queue(name); err == nil {
			out = append(out, q)
		}
	}
	return out, nil
}

func (h *Handler) queue(name string) (Queue, error) {
	attributes, err := h.world.QueueAttributes(name)
	if err != nil {
		return Queue{}, notFound("there is no queue %q", name)
	}
	messages, err := h.world.Messages(name)
	if err != nil {
		return Queue{}, notFound("there is no queue %q", name)
	}
	return Queue{Name: name, URL: h.world.QueueURL(name), Attributes: attributes, Messages: messages}, nil
}

func (h *Handler) getQueue(r *http.Request) (any, error) { return h.queue(r.PathValue("name")) }

// sortedCounts are the operations by how often they were called.
func sortedCounts(counts map[string]int) []count {
	out := make([]count, 0, len(counts))
	for op, n := range counts {
		out = append(out, count{op, n})
	}
	slices.SortFunc(out, func(a, b count) int {
		if a.N != b.N {
			return b.N - a.N
		}
		return strings.Compare(a.Operation, b.Operation)
	})
	return out
}

type count struct {
	Operation string
	N         int
}
