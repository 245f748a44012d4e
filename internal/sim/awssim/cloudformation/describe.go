package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// stamp is a time as the service writes it; empty for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

type tagOut struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

func tagsOut(tags []tag) []tagOut {
	out := make([]tagOut, len(tags))
	for i, t := range tags {
		out[i] = tagOut{t.key, t.value}
	}
	return out
}

type parameterOut struct {
	Key      string `xml:"ParameterKey"`
	Value    string `xml:"ParameterValue"`
	Resolved string `xml:"ResolvedValue,omitempty"`
}

func parametersOut(p plan) []parameterOut {
	var out []parameterOut
	for _, def := range p.template.Parameters {
		value, ok := p.given[def.Name]
		if !ok && def.Default != nil {
			value = *def.Default
		}
		o := parameterOut{Key: def.Name, Value: value}
		if def.FromStore() {
			o.Resolved = fmt.Sprint(p.values[def.Name])
		}
		if def.NoEcho {
			o.Value, o.Resolved = "****", ""
		}
		out = append(out, o)
	}
	return out
}

type outputOut struct {
	Key         string `xml:"OutputKey"`
	Value       string `xml:"OutputValue"`
	Description string `xml:"Description,omitempty"`
	Export      string `xml:"ExportName,omitempty"`
}

type stackOut struct {
	StackID         string         `xml:"StackId"`
	Name            string         `xml:"StackName"`
	ChangeSetID     string         `xml:"ChangeSetId,omitempty"`
	Description     string         `xml:"Description,omitempty"`
	Parameters      []parameterOut `xml:"Parameters>member"`
	CreationTime    string         `xml:"CreationTime"`
	DeletionTime    string         `xml:"DeletionTime,omitempty"`
	LastUpdatedTime string         `xml:"LastUpdatedTime,omitempty"`
	Status          string         `xml:"StackStatus"`
	StatusReason    string         `xml:"StackStatusReason,omitempty"`
	DisableRollback bool           `xml:"DisableRollback"`
	Notifications   []string       `xml:"NotificationARNs>member"`
	Capabilities    []string       `xml:"Capabilities>member"`
	Outputs         []outputOut    `xml:"Outputs>member"`
	RoleARN         string         `xml:"RoleARN,omitempty"`
	Tags            []tagOut       `xml:"Tags>member"`
	Protected       bool           `xml:"EnableTerminationProtection"`
	Drift           struct {
		Status string `xml:"StackDriftStatus"`
	} `xml:"DriftInformation"`
}

func (s *stack) out() stackOut {
	o := stackOut{
		StackID: s.id, Name: s.name, CreationTime: stamp(s.created), DeletionTime: stamp(s.deleted), LastUpdatedTime: stamp(s.updated),
		Status: s.status, StatusReason: s.reason, DisableRollback: s.onFailure == onFailureNothing, Notifications: s.plan.notify,
		Capabilities: s.plan.capabilities, RoleARN: s.plan.role, Tags: tagsOut(s.plan.tags), Protected: s.protected,
	}
	o.Drift.Status = "NOT_CHECKED"
	if s.plan.template != nil {
		o.Description, o.Parameters = s.plan.template.Description, parametersOut(s.plan)
	}
	for _, v := range s.outputs {
		value, _ := cfn.TextOf(v.Value)
		export, _ := cfn.TextOf(v.Export)
		o.Outputs = append(o.Outputs, outputOut{v.Name, value, v.Description, export})
	}
	return o
}

// found answers about one stack, with the mutex held.
func (svc *service) found(r *wire.Request, answer func(*stack) (any, error)) (any, error) {
	name, err := nameIn(r.Form)
	if err != nil {
		return nil, err
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s := svc.findLocked(name)
	if s == nil {
		return nil, noStack(name)
	}
	return answer(s)
}

func (svc *service) describeStacks(_ context.Context, r *wire.Request) (any, error) {
	var out struct {
		Stacks []stackOut `xml:"Stacks>member"`
	}
	if r.Form.Get("StackName") != "" {
		return svc.found(r, func(s *stack) (any, error) {
			out.Stacks = append(out.Stacks, s.out())
			return out, nil
		})
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	for _, s := range slices.Backward(svc.stacks) {
		if s.live() {
			out.Stacks = append(out.Stacks, s.out())
		}
	}
	return out, nil
}

type summaryOut struct {
	StackID      string `xml:"StackId"`
	Name         string `xml:"StackName"`
	Description  string `xml:"TemplateDescription,omitempty"`
	CreationTime string `xml:"CreationTime"`
	DeletionTime string `xml:"DeletionTime,omitempty"`
	UpdatedTime  string `xml:"LastUpdatedTime,omitempty"`
	Status       string `xml:"StackStatus"`
	StatusReason string `xml:"StackStatusReason,omitempty"`
}

func (svc *service) listStacks(_ context.Context, r *wire.Request) (any, error) {
	wanted := wire.List(r.Form, "StackStatusFilter.member")
	svc.mu.Lock()
	defer svc.mu.Unlock()
	var out struct {
		Summaries []summaryOut `xml:"StackSummaries>member"`
	}
	for _, s := range slices.Backward(svc.stacks) {
		if len(wanted) > 0 && !slices.Contains(wanted, s.status) {
			continue
		}
		o := s.out()
		out.Summaries = append(out.Summaries, summaryOut{s.id, s.name, o.Description, o.CreationTime, o.DeletionTime, o.LastUpdatedTime, s.status, s.reason})
	}
	return out, nil
}

type eventOut struct {
	EventID    string `xml:"EventId"`
	StackID    string `xml:"StackId"`
	StackName  string `xml:"StackName"`
	Logical    string `xml:"LogicalResourceId"`
	Physical   string `xml:"PhysicalResourceId"`
	Type       string `xml:"ResourceType"`
	Timestamp  string `xml:"Timestamp"`
	Status     string `xml:"ResourceStatus"`
	Reason     string `xml:"ResourceStatusReason,omitempty"`
	Properties string `xml:"ResourceProperties,omitempty"`
	Token      string `xml:"ClientRequestToken,omitempty"`
}

const eventsPage = 100

func (svc *service) describeStackEvents(_ context.Context, r *wire.Request) (any, error) {
	skip := 0
	if v := r.Form.Get("NextToken"); v != "" {
		var err error
		if skip, err = strconv.Atoi(v); err != nil || skip < 0 {
			return nil, invalid("The token %q is not one that was given out.", v)
		}
	}
	return svc.found(r, func(s *stack) (any, error) {
		var out struct {
			Events []eventOut `xml:"StackEvents>member"`
			Next   string     `xml:"NextToken,omitempty"`
		}
		for i, e := range slices.Backward(s.events) {
			n := len(s.events) - 1 - i // newest first
			if n < skip {
				continue
			}
			if n == skip+eventsPage {
				out.Next = strconv.Itoa(n)
				break
			}
			out.Events = append(out.Events, eventOut{
				e.id, s.id, s.name, e.logical, e.physical, e.kind, stamp(e.at), e.status, e.reason, e.properties, e.token,
			})
		}
		return out, nil
	})
}

type resourceOut struct {
	StackName string   `xml:"StackName"`
	StackID   string   `xml:"StackId"`
	Logical   string   `xml:"LogicalResourceId"`
	Physical  string   `xml:"PhysicalResourceId,omitempty"`
	Type      string   `xml:"ResourceType"`
	Timestamp string   `xml:"Timestamp"`
	Status    string   `xml:"ResourceStatus"`
	Reason    string   `xml:"ResourceStatusReason,omitempty"`
	Drift     driftOut `xml:"DriftInformation"`
}

type driftOut struct {
	Status string `xml:"StackResourceDriftStatus"`
}

func (s *stack) resourceOut(r *resource) resourceOut {
	return resourceOut{s.name, s.id, r.logical, r.physical, r.kind, stamp(r.at), r.status, r.reason, driftOut{"NOT_CHECKED"}}
}

func (svc *service) describeStackResources(_ context.Context, r *wire.Request) (any, error) {
	var out struct {
		Resources []resourceOut `xml:"StackResources>member"`
	}
	logical, physical := r.Form.Get("LogicalResourceId"), r.Form.Get("PhysicalResourceId")
	answer := func(s *stack) (any, error) {
		for _, res := range s.inUse() {
			if (logical == "" || res.logical == logical) && (physical == "" || res.physical == physical) {
				out.Resources = append(out.Resources, s.resourceOut(res))
			}
		}
		return out, nil
	}
	if r.Form.Get("StackName") != "" {
		return svc.found(r, answer)
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	for _, s := range svc.stacks {
		if s.live() && physical != "" {
			if _, err := answer(s); err != nil {
				return nil, err
			}
		}
	}
	if len(out.Resources) == 0 {
		return nil, invalid("Stack for %s does not exist", physical)
	}
	return out, nil
}

func (svc *service) describeStackResource(_ context.Context, r *wire.Request) (any, error) {
	return svc.found(r, func(s *stack) (any, error) {
		id := r.Form.Get("LogicalResourceId")
		res := s.resources[id]
		if res == nil {
			return nil, invalid("Resource %s does not exist for stack %s", id, s.name)
		}
		type detail struct {
			resourceOut
			Updated  string `xml:"LastUpdatedTimestamp"`
			Metadata string `xml:"Metadata,omitempty"`
		}
		var out struct {
			Detail detail `xml:"StackResourceDetail"`
		}
		out.Detail = detail{resourceOut: s.resourceOut(res), Updated: stamp(res.at)}
		return out, nil
	})
}

type resourceSummary struct {
	Logical  string `xml:"LogicalResourceId"`
	Physical string `xml:"PhysicalResourceId,omitempty"`
	Type     string `xml:"ResourceType"`
	Updated  string `xml:"LastUpdatedTimestamp"`
	Status   string `xml:"ResourceStatus"`
	Reason   string `xml:"ResourceStatusReason,omitempty"`
}

func (svc *service) listStackResources(_ context.Context, r *wire.Request) (any, error) {
	return svc.found(r, func(s *stack) (any, error) {
		var out struct {
			Summaries []resourceSummary `xml:"StackResourceSummaries>member"`
		}
		for _, res := range s.inUse() {
			out.Summaries = append(out.Summaries, resourceSummary{res.logical, res.physical, res.kind, stamp(res.at), res.status, res.reason})
		}
		return out, nil
	})
}

func (svc *service) getTemplate(_ context.Context, r *wire.Request) (any, error) {
	return svc.found(r, func(s *stack) (any, error) {
		var out struct {
			Body   string   `xml:"TemplateBody"`
			Stages []string `xml:"StagesAvailable>member"`
		}
		out.Body, out.Stages = s.plan.body, []string{"Original", "Processed"}
		if name := r.Form.Get("ChangeSetName"); name != "" {
			c := s.changeSet(name)
			if c == nil {
				return nil, noChangeSet(name)
			}
			out.Body = c.plan.body
		}
		return out, nil
	})
}

type declaredOut struct {
	Key         string          `xml:"ParameterKey"`
	Default     *string         `xml:"DefaultValue"`
	Type        string          `xml:"ParameterType,omitempty"`
	NoEcho      bool            `xml:"NoEcho"`
	Description string          `xml:"Description,omitempty"`
	Constraints *constraintsOut `xml:"ParameterConstraints"`
}

type constraintsOut struct {
	Allowed []string `xml:"AllowedValues>member"`
}

type templateOut struct {
	Description  string        `xml:"Description,omitempty"`
	Capabilities []string      `xml:"Capabilities>member"`
	Reason       string        `xml:"CapabilitiesReason,omitempty"`
	Parameters   []declaredOut `xml:"Parameters>member"`
	Types        []string      `xml:"ResourceTypes>member"`
	Version      string        `xml:"Version,omitempty"`
}

func describeTemplate(t *cfn.Template) templateOut {
	out := templateOut{Description: t.Description}
	if capability, types := needed(t); capability != "" {
		out.Capabilities, out.Reason = []string{capability}, fmt.Sprintf("The following resource(s) require capabilities: %v", types)
	}
	for _, p := range t.Parameters {
		d := declaredOut{Key: p.Name, Default: p.Default, Type: p.Type, NoEcho: p.NoEcho, Description: p.Description}
		if len(p.AllowedValues) > 0 {
			d.Constraints = &constraintsOut{p.AllowedValues}
		}
		out.Parameters = append(out.Parameters, d)
	}
	types := map[string]bool{}
	for _, r := range t.Resources {
		types[r.Type] = true
	}
	out.Types, out.Version = slices.Sorted(maps.Keys(types)), t.Version
	return out
}

func (svc *service) getTemplateSummary(_ context.Context, r *wire.Request) (any, error) {
	if r.Form.Get("StackName") != "" {
		return svc.found(r, func(s *stack) (any, error) { return describeTemplate(s.plan.template), nil })
	}
	_, t, err := svc.body(r.Form, nil)
	if err != nil {
		return nil, err
	}
	return describeTemplate(t), nil
}

func (svc *service) validateTemplate(_ context.Context, r *wire.Request) (any, error) {
	_, t, err := svc.body(r.Form, nil)
	if err != nil {
		return nil, err
	}
	out := describeTemplate(t)
	out.Types, out.Version = nil, ""
	for i := range out.Parameters {
		out.Parameters[i].Type, out.Parameters[i].Constraints = "", nil
	}
	return out, nil
}
