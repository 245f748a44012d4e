// Package client calls the control interface of a simulated AWS from tests, demos and commands.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Client talks to one simulator.
type Client struct {
	base string
	http *http.Client
}

// New makes a client for a simulator's URL, such as http://127.0.0.1:4566.
func New(baseURL string) *Client {
	return &Client{base: strings.TrimSuffix(baseURL, "/") + control.Prefix, http: &http.Client{Timeout: 30 * time.Second}}
}

// do sends a request and decodes the answer into out, which may be nil.
func (c *Client) do(ctx context.Context, method, path string, in []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(in))
	if err != nil {
		return fmt.Errorf("ask the simulator for %s: %w", path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("ask the simulator: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the simulator's answer to %s %s: %w", method, path, err)
	}
	if resp.StatusCode != http.StatusOK {
		var problem struct{ Error string }
		if json.Unmarshal(body, &problem) != nil || problem.Error == "" {
			problem.Error = strings.TrimSpace(string(body))
		}
		return fmt.Errorf("simulator refuses %s %s: %s", method, path, problem.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("decode the simulator's answer to %s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the request for %s: %w", path, err)
	}
	return c.do(ctx, http.MethodPost, path, body, out)
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	err := c.do(ctx, http.MethodGet, path, nil, &out)
	return out, err
}

// State returns everything at a glance.
func (c *Client) State(ctx context.Context) (control.State, error) {
	return get[control.State](ctx, c, "state")
}

// Instances returns all instances, terminated ones included.
func (c *Client) Instances(ctx context.Context) ([]control.Instance, error) {
	return get[[]control.Instance](ctx, c, "instances")
}

// Instance returns one instance with its user data.
func (c *Client) Instance(ctx context.Context, id string) (control.Instance, error) {
	return get[control.Instance](ctx, c, "instances/"+url.PathEscape(id))
}

// Calls returns the latest calls of an operation ("" for all), oldest first.
func (c *Client) Calls(ctx context.Context, operation string) ([]world.Call, error) {
	return get[[]world.Call](ctx, c, "calls?operation="+url.QueryEscape(operation))
}

// CallCounts returns how often each operation was called.
func (c *Client) CallCounts(ctx context.Context) (map[string]int, error) {
	return get[map[string]int](ctx, c, "calls/counts")
}

// ForgetCalls empties the log and the counts.
func (c *Client) ForgetCalls(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "calls", nil, nil)
}

// Denied returns what was refused for lack of permissions since the start, oldest first.
func (c *Client) Denied(ctx context.Context) (authz.Denials, error) {
	return get[authz.Denials](ctx, c, "denied")
}

// Permissions returns how often each statement allowed each action since the start.
func (c *Client) Permissions(ctx context.Context) ([]authz.Use, error) {
	return get[[]authz.Use](ctx, c, "permissions")
}

// ForgetPermissions empties both lists.
func (c *Client) ForgetPermissions(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "permissions", nil, nil)
}

// Faults returns all faults with their counters.
func (c *Client) Faults(ctx context.Context) ([]world.Fault, error) {
	return get[[]world.Fault](ctx, c, "faults")
}

// AddFault switches a fault on and returns its id.
func (c *Client) AddFault(ctx context.Context, f world.Fault) (string, error) {
	var out struct{ ID string }
	err := c.post(ctx, "faults", f, &out)
	return out.ID, err
}

// RemoveFault switches a fault off.
func (c *Client) RemoveFault(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "faults/"+url.PathEscape(id), nil, nil)
}

// ClearFaults switches all faults off.
func (c *Client) ClearFaults(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "faults", nil, nil)
}

// Queue returns a queue with its messages, hidden ones included.
func (c *Client) Queue(ctx context.Context, name string) (control.Queue, error) {
	return get[control.Queue](ctx, c, "queues/"+url.PathEscape(name))
}

// SendMessage puts any text on a queue.
func (c *Client) SendMessage(ctx context.Context, queue, body string) error {
	return c.do(ctx, http.MethodPost, "queues/"+url.PathEscape(queue)+"/messages", []byte(body), nil)
}

// SendEvent puts an event about an instance on the default event bus.
func (c *Client) SendEvent(ctx context.Context, e control.EventRequest) (event.Envelope, error) {
	var out event.Envelope
	err := c.post(ctx, "events", e, &out)
	return out, err
}

// Interrupt warns of the reclaim of an instance, which happens after notice; a negative notice stands for the
// simulator's own.
func (c *Client) Interrupt(ctx context.Context, instanceID string, notice time.Duration) error {
	path := "interrupt?instance=" + url.QueryEscape(instanceID)
	if notice >= 0 {
		path += "&notice=" + notice.String()
	}
	return c.do(ctx, http.MethodPost, path, nil, nil)
}

// Terminate ends an instance behind everyone's back.
func (c *Client) Terminate(ctx context.Context, instanceID string) error {
	return c.do(ctx, http.MethodPost, "instances/"+url.PathEscape(instanceID)+"/terminate", nil, nil)
}

// Stop stops a running instance behind everyone's back.
func (c *Client) Stop(ctx context.Context, instanceID string) error {
	return c.do(ctx, http.MethodPost, "instances/"+url.PathEscape(instanceID)+"/stop", nil, nil)
}

// FailedDeliveries returns the newest events that did not get to a target of a rule, oldest first.
func (c *Client) FailedDeliveries(ctx context.Context) ([]world.Failure, error) {
	return get[[]world.Failure](ctx, c, "deliveries/failed")
}

// SetSpotPrice changes the price of a pool.
func (c *Client) SetSpotPrice(ctx context.Context, p control.SpotPrice) error {
	return c.post(ctx, "spot-price", p, nil)
}

// SetDepth changes how many instances a pool still has.
func (c *Client) SetDepth(ctx context.Context, d control.Depth) error {
	return c.post(ctx, "depth", d, nil)
}

// Clock returns the world's time.
func (c *Client) Clock(ctx context.Context) (control.Clock, error) {
	return get[control.Clock](ctx, c, "clock")
}

// ShiftZone registers the cluster with ARC, or takes it out, and moves its traffic away from a zone if one is named.
// What was shifted before is not any more.
func (c *Client) ShiftZone(ctx context.Context, r control.ZonalShiftRequest) error {
	return c.post(ctx, "zonal-shift", r, nil)
}
