package cloudformation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// changeSet is a plan that waits to be carried out.
type changeSet struct {
	id, name, description string
	create                bool
	status, reason        string // CREATE_COMPLETE, FAILED
	execution             string // AVAILABLE, UNAVAILABLE, EXECUTE_COMPLETE, OBSOLETE
	created               time.Time
	plan                  plan
	changes               []difference
	onFailure             string
}

const (
	changeSetReady  = "CREATE_COMPLETE"
	changeSetFailed = "FAILED"
	nothingInSet    = "The submitted information didn't contain changes. Submit different information to create a change set."
)

func (s *stack) changeSet(nameOrID string) *changeSet {
	for _, c := range s.changeSets {
		if c.name == nameOrID || c.id == nameOrID {
			return c
		}
	}
	return nil
}

func noChangeSet(name string) error {
	return (&wire.Error{Code: "ChangeSetNotFound", Message: "ChangeSet [" + name + "] does not exist"}).WithStatus(404)
}

func (svc *service) createChangeSet(_ context.Context, r *wire.Request) (any, error) {
	in := r.Form
	name, err := nameIn(in)
	if err != nil {
		return nil, err
	}
	setName := in.Get("ChangeSetName")
	if !stackName.MatchString(setName) {
		return nil, invalid("1 validation error detected: Value '%s' at 'changeSetName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*", setName)
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s := svc.findLocked(name)
	create := in.Get("ChangeSetType") == "CREATE"
	switch {
	case create && s != nil && s.status != reviewInProgress:
		return nil, invalid("Stack [%s] already exists and cannot be created again with the changeSet [%s].", name, setName)
	case !create && s == nil:
		return nil, invalid("Stack [%s] does not exist", name)
	case !create && !updatable(s.status):
		return nil, invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	case s != nil && s.changeSet(setName) != nil:
		return nil, wire.Errorf("AlreadyExistsException", "ChangeSet %s cannot be created due to a mismatch with existing attribute Name", setName)
	}
	var previous *plan
	if !create {
		previous = &s.plan
	} else if !stackName.MatchString(name) {
		return nil, invalid("1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*", name)
	}
	p, err := svc.planOf(in, previous)
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = svc.newStackLocked(name)
		svc.setStatusLocked(s, reviewInProgress, "User Initiated")
		s.plan = plan{template: p.template}
	}
	c := &changeSet{
		id:   strings.Replace(strings.TrimSuffix(s.id, "/"+name), ":stack/"+name+"/", ":changeSet/"+setName+"/", 1),
		name: setName, description: in.Get("Description"), create: create, created: svc.world.Now(), plan: p, onFailure: onFailureRollback,
	}
	c.id = c.id[:strings.LastIndex(c.id, "/")+1] + svc.uuidLocked()
	if f := in.Get("OnStackFailure"); f != "" {
		c.onFailure = f
	}
	svc.fillLocked(s, c)
	s.changeSets = append(s.changeSets, c)
	r.Detail = setName + " of " + name
	return struct {
		ID      string `xml:"Id"`
		StackID string `xml:"StackId"`
	}{c.id, s.id}, nil
}

// fillLocked works out what a change set changes.
func (svc *service) fillLocked(s *stack, c *changeSet) {
	var err error
	c.changes, err = svc.previewLocked(s, c.plan)
	c.status, c.execution = changeSetReady, "AVAILABLE"
	if err != nil {
		c.status, c.execution, c.reason = changeSetFailed, "UNAVAILABLE", err.Error()
		if nothingToDo(err) {
			c.reason = nothingInSet
		}
	}
}

// setOf finds a change set by its ARN, or by its name within the stack that the request names. The mutex must be held.
func (svc *service) setOfLocked(r *wire.Request) (*stack, *changeSet, error) {
	name := r.Form.Get("ChangeSetName")
	for _, s := range svc.stacks {
		if c := s.changeSet(name); c != nil && c.id == name {
			return s, c, nil
		}
	}
	if strings.HasPrefix(name, "arn:") {
		return nil, nil, noChangeSet(name)
	}
	stackID, err := nameIn(r.Form)
	if err != nil {
		return nil, nil, err
	}
	s := svc.findLocked(stackID)
	if s == nil {
		return nil, nil, noChangeSet(name)
	}
	if c := s.changeSet(name); c != nil {
		return s, c, nil
	}
	return nil, nil, noChangeSet(name)
}

type targetOut struct {
	Attribute  string `xml:"Attribute"`
	Name       string `xml:"Name,omitempty"`
	Recreation string `xml:"RequiresRecreation"`
}

type detailOut struct {
	Target     targetOut `xml:"Target"`
	Evaluation string    `xml:"Evaluation"`
	Source     string    `xml:"ChangeSource"`
}

type resourceChangeOut struct {
	Action      string      `xml:"Action"`
	Logical     string      `xml:"LogicalResourceId"`
	Physical    string      `xml:"PhysicalResourceId,omitempty"`
	Type        string      `xml:"ResourceType"`
	Replacement string      `xml:"Replacement,omitempty"`
	Scope       []string    `xml:"Scope>member"`
	Details     []detailOut `xml:"Details>member"`
}

type changeOut struct {
	Type   string            `xml:"Type"`
	Change resourceChangeOut `xml:"ResourceChange"`
}

func (d difference) out() changeOut {
	c := resourceChangeOut{Action: d.action, Logical: d.logical, Physical: d.physical, Type: d.kind, Replacement: d.replacement, Scope: d.scope}
	for _, p := range d.properties {
		t := targetOut{"Properties", p, "Never"}
		if slices.Contains(d.fixed, p) {
			t.Recreation = "Always"
		}
		c.Details = append(c.Details, detailOut{t, "Static", "DirectModification"})
	}
	if slices.Contains(d.scope, "Tags") {
		c.Details = append(c.Details, detailOut{targetOut{"Tags", "", "Never"}, "Static", "DirectModification"})
	}
	return changeOut{"Resource", c}
}

type changeSetOut struct {
	ID            string         `xml:"ChangeSetId"`
	Name          string         `xml:"ChangeSetName"`
	StackID       string         `xml:"StackId"`
	StackName     string         `xml:"StackName"`
	Description   string         `xml:"Description,omitempty"`
	Parameters    []parameterOut `xml:"Parameters>member"`
	CreationTime  string         `xml:"CreationTime"`
	Execution     string         `xml:"ExecutionStatus"`
	Status        string         `xml:"Status"`
	StatusReason  string         `xml:"StatusReason,omitempty"`
	Notifications []string       `xml:"NotificationARNs>member"`
	Capabilities  []string       `xml:"Capabilities>member"`
	Tags          []tagOut       `xml:"Tags>member"`
	Changes       []changeOut    `xml:"Changes>member"`
}

func (svc *service) describeChangeSet(_ context.Context, r *wire.Request) (any, error) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s, c, err := svc.setOfLocked(r)
	if err != nil {
		return nil, err
	}
	out := changeSetOut{
		ID: c.id, Name: c.name, StackID: s.id, StackName: s.name, Description: c.description, Parameters: parametersOut(c.plan),
		CreationTime: stamp(c.created), Execution: c.execution, Status: c.status, StatusReason: c.reason, Notifications: c.plan.notify,
		Capabilities: c.plan.capabilities, Tags: tagsOut(c.plan.tags),
	}
	for _, d := range c.changes {
		out.Changes = append(out.Changes, d.out())
	}
	return out, nil
}

func (svc *service) listChangeSets(_ context.Context, r *wire.Request) (any, error) {
	return svc.found(r, func(s *stack) (any, error) {
		type summary struct {
			ID           string `xml:"ChangeSetId"`
			Name         string `xml:"ChangeSetName"`
			StackID      string `xml:"StackId"`
			StackName    string `xml:"StackName"`
			Execution    string `xml:"ExecutionStatus"`
			Status       string `xml:"Status"`
			StatusReason string `xml:"StatusReason,omitempty"`
			CreationTime string `xml:"CreationTime"`
		}
		var out struct {
			Summaries []summary `xml:"Summaries>member"`
		}
		for _, c := range s.changeSets {
			out.Summaries = append(out.Summaries, summary{c.id, c.name, s.id, s.name, c.execution, c.status, c.reason, stamp(c.created)})
		}
		return out, nil
	})
}

func (svc *service) executeChangeSet(_ context.Context, r *wire.Request) (any, error) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s, c, err := svc.setOfLocked(r)
	if err != nil {
		return nil, err
	}
	if c.execution != "AVAILABLE" || (!c.create && !updatable(s.status)) || (c.create && s.status != reviewInProgress) {
		return nil, wire.Errorf("InvalidChangeSetStatus", "ChangeSet [%s] cannot be executed in its current status of [%s], with stack %s", c.id, c.status, s.status)
	}
	c.execution = "EXECUTE_COMPLETE"
	s.changeSets = []*changeSet{c} // the others would be about a stack that is no more
	r.Detail = c.name + " of " + s.name
	token := r.Form.Get("ClientRequestToken")
	if !c.create {
		svc.beginUpdateLocked(r.Principal, s, c.plan, token)
		return struct{}{}, nil
	}
	s.plan, s.token, s.onFailure = c.plan, token, c.onFailure
	if r.Form.Get("DisableRollback") == "true" {
		s.onFailure = onFailureNothing
	}
	svc.setStatusLocked(s, createInProgress, "User Initiated")
	svc.begin(r.Principal, s, func(op *operation) { op.createAll(c.plan) })
	return struct{}{}, nil
}

func (svc *service) deleteChangeSet(_ context.Context, r *wire.Request) (any, error) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s, c, err := svc.setOfLocked(r)
	if err != nil {
		if codeOf(err) == "ChangeSetNotFound" {
			return struct{}{}, nil
		}
		return nil, err
	}
	s.changeSets = slices.DeleteFunc(s.changeSets, func(other *changeSet) bool { return other == c })
	return struct{}{}, nil
}
