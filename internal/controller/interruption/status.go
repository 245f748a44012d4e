package interruption

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/instancestatus"
	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/controller/repair"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// statusEvery is how often the status of our instances is read.
	statusEvery = time.Minute
	// deniedFor is how long a missing permission is left alone.
	deniedFor = 30 * time.Minute
)

// symptom is one thing that is wrong with one instance.
type symptom struct {
	instance string
	category instancestatus.Category
	event    string // id of scheduled work
}

// statusMemory is what this process knows of statuses from one reading to the next.
type statusMemory struct {
	retryAt time.Time
	// since is when a symptom was first seen, noted those that were counted and told of.
	since map[symptom]time.Time
	noted map[symptom]bool
	// crowd says that more instances fail their checks than single faults account for.
	crowd bool
}

// Poll reads the status of our instances and acts on what is wrong.
func (c *Controller) Poll(ctx context.Context) error {
	now := c.Clock.Now()
	ids := c.Instances.all()
	if len(ids) == 0 || now.Before(c.status.retryAt) {
		return nil
	}
	statuses, err := c.Statuses.Read(ctx, ids)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // being told to stop is no failure
	}
	if c.denied(err, now) {
		return nil
	}
	errs := []error{err}
	old := c.status
	c.status = statusMemory{since: map[symptom]time.Time{}, noted: map[symptom]bool{}, crowd: crowd(statuses, len(ids))}
	for i := range statuses {
		errs = append(errs, c.instance(ctx, &statuses[i], old, now))
	}
	if err != nil {
		// What could not be read this time is not forgotten.
		for s, t := range old.since {
			if _, ok := c.status.since[s]; !ok {
				c.status.since[s] = t
			}
		}
		for s := range old.noted {
			c.status.noted[s] = true
		}
	}
	return errors.Join(errs...)
}

// crowd reports whether more of so many instances fail a check, for however long, than single faults account for.
func crowd(statuses []instancestatus.Status, all int) bool {
	ill := 0
	for i := range statuses {
		if slices.ContainsFunc(statuses[i].Failures, func(f instancestatus.Failure) bool { return unhealthy[f.Category].how != tell }) {
			ill++
		}
	}
	return ill > repair.Most(all)
}

// denied says once that the permission is missing, and leaves EC2 alone for a while.
func (c *Controller) denied(err error, now time.Time) bool {
	denied := awserr.LacksPermission(err)
	var t trouble
	if denied {
		c.status.retryAt = now.Add(deniedFor)
		t = trouble{queue.ReasonDenied, cloud.Lasting(err.Error())}
	} else if err != nil {
		return false
	}
	c.report.mu.Lock()
	fresh := c.report.status.reason != t.reason
	c.report.status = t
	c.report.mu.Unlock()
	if fresh {
		if denied {
			c.Log.Error("the status of instances may not be read; instances that fail EC2's checks are not replaced", "error", err, "retry_in", deniedFor)
		} else {
			c.Log.Info("the status of instances can be read again")
		}
		select {
		case c.report.waker() <- struct{}{}:
		default:
		}
	}
	return denied
}

// instance acts on what is wrong with one instance.
func (c *Controller) instance(ctx context.Context, s *instancestatus.Status, old statusMemory, now time.Time) error {
	claim, err := c.claimOf(ctx, s.InstanceID)
	if err != nil || claim == nil {
		return err
	}
	if _, scheduled := claim.Annotations[index.MaintenanceAnnotation]; !scheduled && len(s.Failures) == 0 && len(s.Events) == 0 {
		return nil
	}
	claim = claim.DeepCopy()
	var errs []error
	for _, f := range s.Failures {
		key := symptom{instance: s.InstanceID, category: f.Category}
		since := f.Since
		if since.IsZero() {
			if since = old.since[key]; since.IsZero() {
				since = now
			}
		}
		c.status.since[key] = since
		if now.Sub(since) < impairedFor {
			continue
		}
		r := unhealthy[f.Category]
		if r.how != tell && c.LeftAlone != nil && c.LeftAlone(claim.Status.ProviderID) {
			r = leftAlone(r)
		} else if r.how != tell && c.status.crowd {
			r = crowded(r)
		}
		if fresh := c.first(key, old); fresh || r.how != tell {
			errs = append(errs, c.act(ctx, claim.DeepCopy(), news{kind: kindUnhealthy, rule: r, at: now, polled: true}))
		}
	}
	for i := range s.Events {
		c.first(symptom{instance: s.InstanceID, category: instancestatus.Scheduled, event: s.Events[i].ID}, old)
		if err := c.act(ctx, claim, news{kind: queue.ScheduledChange, rule: rules[queue.ScheduledChange], at: now, maintenance: &s.Events[i], polled: true}); err != nil {
			errs = append(errs, err)
		}
	}
	errs = append(errs, c.release(ctx, claim, func(w work) bool {
		return w.Polled && !slices.ContainsFunc(s.Events, func(m queue.Maintenance) bool { return m.ID == w.ID })
	}))
	return errors.Join(errs...)
}

// first counts a symptom when it is new.
func (c *Controller) first(key symptom, old statusMemory) (fresh bool) {
	c.status.noted[key] = true
	if old.noted[key] {
		return false
	}
	c.Metrics.InstanceUnhealthy.WithLabelValues(string(key.category)).Inc()
	return true
}
