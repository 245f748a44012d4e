package ec2

import (
	"slices"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeInstanceStatusInput struct {
	paging
	Filters                 []filter `query:"Filter"`
	IDs                     []string `query:"InstanceId"`
	IncludeAll              bool     `query:"IncludeAllInstances"`
	IncludeManagedResources *bool    `query:"IncludeManagedResources"`
}

type describeInstanceStatusOutput struct {
	Statuses  []instanceStatus `xml:"instanceStatusSet>item"`
	NextToken string           `xml:"nextToken,omitempty"`
}

type instanceStatus struct {
	InstanceID string           `xml:"instanceId"`
	Zone       string           `xml:"availabilityZone"`
	ZoneID     string           `xml:"availabilityZoneId"`
	State      state            `xml:"instanceState"`
	Instance   statusSummary    `xml:"instanceStatus"`
	System     statusSummary    `xml:"systemStatus"`
	Volumes    statusSummary    `xml:"attachedEbsStatus"`
	Events     []scheduledEvent `xml:"eventsSet>item"`

	key string
}

type statusSummary struct {
	Status  string         `xml:"status"`
	Details []statusDetail `xml:"details>item"`
}

type statusDetail struct {
	Name          string `xml:"name"`
	Status        string `xml:"status"`
	ImpairedSince string `xml:"impairedSince,omitempty"`
}

type scheduledEvent struct {
	ID          string `xml:"instanceEventId"`
	Code        string `xml:"code"`
	Description string `xml:"description"`
	NotBefore   string `xml:"notBefore,omitempty"`
	NotAfter    string `xml:"notAfter,omitempty"`
}

var statusFilters = filterable[instanceStatus]{attributes: map[string]func(*instanceStatus) []string{
	"attached-ebs-status.reachability": func(s *instanceStatus) []string { return s.Volumes.checks() },
	"attached-ebs-status.status":       one(func(s *instanceStatus) string { return s.Volumes.Status }),
	"availability-zone":                one(func(s *instanceStatus) string { return s.Zone }),
	"availability-zone-id":             one(func(s *instanceStatus) string { return s.ZoneID }),
	"event.code":                       events(func(e *scheduledEvent) string { return e.Code }),
	"event.description":                events(func(e *scheduledEvent) string { return e.Description }),
	"event.instance-event-id":          events(func(e *scheduledEvent) string { return e.ID }),
	"event.not-after":                  events(func(e *scheduledEvent) string { return e.NotAfter }),
	"event.not-before":                 events(func(e *scheduledEvent) string { return e.NotBefore }),
	"instance-state-code":              one(func(s *instanceStatus) string { return strconv.Itoa(int(s.State.Code)) }),
	"instance-state-name":              one(func(s *instanceStatus) string { return s.State.Name }),
	"instance-status.reachability":     func(s *instanceStatus) []string { return s.Instance.checks() },
	"instance-status.status":           one(func(s *instanceStatus) string { return s.Instance.Status }),
	"system-status.reachability":       func(s *instanceStatus) []string { return s.System.checks() },
	"system-status.status":             one(func(s *instanceStatus) string { return s.System.Status }),
}}

func (s statusSummary) checks() []string {
	var out []string
	for _, d := range s.Details {
		out = append(out, d.Status)
	}
	return out
}

func events(get func(*scheduledEvent) string) func(*instanceStatus) []string {
	return func(s *instanceStatus) []string {
		var out []string
		for i := range s.Events {
			out = append(out, get(&s.Events[i]))
		}
		return out
	}
}

func (s *service) describeInstanceStatus(_ *wire.Request, in *describeInstanceStatusInput) (any, error) {
	if len(in.IDs) > 0 && (in.MaxResults != nil || in.NextToken != "") {
		return nil, wire.Errorf("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if err := checkIDs(in.IDs); err != nil {
		return nil, err
	}
	statuses := s.world.Statuses()
	if _, err := s.named(in.IDs); err != nil {
		return nil, err
	}
	now := s.world.Now()
	var all []instanceStatus
	for i := range statuses {
		v := &statuses[i]
		if len(in.IDs) > 0 && !slices.Contains(in.IDs, v.Instance.ID) || !in.IncludeAll && v.Instance.State != world.StateRunning {
			continue
		}
		all = append(all, s.showStatus(v, now))
	}
	all, err := statusFilters.choose(all, in.Filters)
	if err != nil {
		return nil, err
	}
	all, token, err := page(all, func(s *instanceStatus) string { return s.key }, in.paging, limits{min: 5, max: 1000, size: 1000})
	if err != nil {
		return nil, err
	}
	return describeInstanceStatusOutput{all, token}, nil
}

func (s *service) showStatus(v *world.Status, now time.Time) instanceStatus {
	i := &v.Instance
	o := instanceStatus{
		InstanceID: i.ID, Zone: i.Zone, ZoneID: i.ZoneID, State: state{i.State.Code(), string(i.State)}, key: byLaunch(i),
		Instance: s.check(v, world.CheckInstance, now), System: s.check(v, world.CheckSystem, now), Volumes: s.check(v, world.CheckVolumes, now),
	}
	for _, e := range v.Events {
		o.Events = append(o.Events, scheduledEvent{e.ID, e.Code, e.Description, stamp(e.NotBefore), stamp(e.NotAfter)})
	}
	return o
}

// check words one health check: not applicable unless the instance runs, initializing until it has booted.
func (s *service) check(v *world.Status, check string, now time.Time) statusSummary {
	since, impaired := v.Impaired[check]
	switch {
	case v.Instance.State != world.StateRunning:
		return statusSummary{Status: "not-applicable"}
	case impaired:
		return statusSummary{"impaired", []statusDetail{{"reachability", "failed", stamp(since)}}}
	case now.Before(v.Instance.RunningAt.Add(s.world.Options().BootTime)):
		return statusSummary{"initializing", []statusDetail{{Name: "reachability", Status: "initializing"}}}
	}
	return statusSummary{"ok", []statusDetail{{Name: "reachability", Status: "passed"}}}
}
