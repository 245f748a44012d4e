package cloudformation

import (
	"context"
	"net/url"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

type stackIDOut struct {
	StackID string `xml:"StackId"`
}

func nameIn(in url.Values) (string, error) {
	name := in.Get("StackName")
	if name == "" {
		return "", invalid("1 validation error detected: Value null at 'stackName' failed to satisfy constraint: Member must not be null")
	}
	return name, nil
}

// newStackLocked makes the record of a stack.
func (svc *service) newStackLocked(name string) *stack {
	now := svc.world.Now()
	s := &stack{name: name, created: now, resources: map[string]*resource{}, onFailure: onFailureRollback}
	s.id = "arn:" + svc.world.Partition() + ":cloudformation:" + svc.world.Region() + ":" + svc.world.Account() + ":stack/" + name + "/" + svc.uuidLocked()
	svc.stacks = append(svc.stacks, s)
	return s
}

func (svc *service) createStack(_ context.Context, r *wire.Request) (any, error) {
	in := r.Form
	name, err := nameIn(in)
	if err != nil {
		return nil, err
	}
	if !stackName.MatchString(name) {
		return nil, invalid("1 validation error detected: Value '%s' at 'stackName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z][-a-zA-Z0-9]*, with at most 128 characters", name)
	}
	onFailure := in.Get("OnFailure")
	switch {
	case onFailure != "" && in.Get("DisableRollback") != "":
		return nil, invalid("Can only specify one of DisableRollback or OnFailure.")
	case in.Get("DisableRollback") == "true":
		onFailure = onFailureNothing
	case onFailure == "":
		onFailure = onFailureRollback
	case onFailure != onFailureRollback && onFailure != onFailureDelete && onFailure != onFailureNothing:
		return nil, invalid("OnFailure must be one of DO_NOTHING, ROLLBACK, DELETE, not %q.", onFailure)
	}
	p, err := svc.planOf(in, nil)
	if err != nil {
		return nil, err
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	token := in.Get("ClientRequestToken")
	s := svc.findLocked(name)
	switch {
	case s != nil && token != "" && s.token == token && s.plan.body == p.body:
		return stackIDOut{s.id}, nil // the same request again
	case s != nil && s.status != reviewInProgress:
		return nil, wire.Errorf("AlreadyExistsException", "Stack [%s] already exists", name)
	case s == nil:
		s = svc.newStackLocked(name)
	}
	if err := svc.checkOrderLocked(s, p); err != nil {
		svc.forgetLocked(s)
		return nil, err
	}
	s.plan, s.onFailure, s.token = p, onFailure, token
	s.protected = in.Get("EnableTerminationProtection") == "true"
	r.Detail = name
	svc.setStatusLocked(s, createInProgress, "User Initiated")
	svc.begin(r.Principal, s, func(op *operation) { op.createAll(p) })
	return stackIDOut{s.id}, nil
}

// forgetLocked takes back a stack that has never been.
func (svc *service) forgetLocked(s *stack) {
	if s.status == "" {
		svc.stacks = svc.stacks[:len(svc.stacks)-1]
	}
}

// checkOrderLocked finds mistakes that can be seen before anything is made: circles, and values that cannot be worked out.
func (svc *service) checkOrderLocked(s *stack, p plan) error {
	_, err := svc.previewLocked(s, p)
	if nothingToDo(err) {
		return nil
	}
	return err
}

func (svc *service) updateStack(_ context.Context, r *wire.Request) (any, error) {
	name, err := nameIn(r.Form)
	if err != nil {
		return nil, err
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s := svc.findLocked(name)
	if s == nil {
		return nil, invalid("Stack [%s] does not exist", name)
	}
	token := r.Form.Get("ClientRequestToken")
	if token != "" && token == s.token && s.plan.body == r.Form.Get("TemplateBody") {
		return stackIDOut{s.id}, nil
	}
	if !updatable(s.status) {
		return nil, invalid("Stack:%s is in %s state and can not be updated.", s.id, s.status)
	}
	p, err := svc.planOf(r.Form, &s.plan)
	if err != nil {
		return nil, err
	}
	if _, err := svc.previewLocked(s, p); err != nil {
		if nothingToDo(err) {
			return nil, invalid("%s", errNothing.Error())
		}
		return nil, err
	}
	r.Detail = s.name
	svc.beginUpdateLocked(r.Principal, s, p, token)
	return stackIDOut{s.id}, nil
}

func updatable(status string) bool {
	switch status {
	case createComplete, updateComplete, undoComplete:
		return true
	}
	return false
}

func (svc *service) beginUpdateLocked(caller wire.Identity, s *stack, p plan, token string) {
	before := &undoing{plan: s.plan, outputs: s.outputs, imports: s.imports, order: append([]string(nil), s.order...)}
	s.plan, s.token, s.updated = p, token, svc.world.Now()
	svc.setStatusLocked(s, updateInProgress, "User Initiated")
	svc.begin(caller, s, func(op *operation) { op.updateAll(p, before) })
}

func (svc *service) continueRollback(_ context.Context, r *wire.Request) (any, error) {
	name, err := nameIn(r.Form)
	if err != nil {
		return nil, err
	}
	skip := wire.List(r.Form, "ResourcesToSkip.member")
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s := svc.findLocked(name)
	if s == nil {
		return nil, noStack(name)
	}
	if s.status != undoFailed || s.undo == nil {
		return nil, invalid("Stack [%s] is in %s state and can not continue a rollback of its update.", s.id, s.status)
	}
	u := s.undo
	svc.setStatusLocked(s, undoInProgress, "User Initiated")
	svc.begin(r.Principal, s, func(op *operation) {
		if err := op.evaluate(u.plan); err != nil {
			svc.setStatus(s, undoFailed, err.Error())
			return
		}
		op.takeBack(skip)
	})
	return struct{}{}, nil
}

func (svc *service) deleteStack(_ context.Context, r *wire.Request) (any, error) {
	name, err := nameIn(r.Form)
	if err != nil {
		return nil, err
	}
	retain := wire.List(r.Form, "RetainResources.member")
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s := svc.findLocked(name)
	if s == nil || !s.live() {
		return nil, nil // a stack that is not there is deleted
	}
	if s.protected {
		return nil, invalid("Stack [%s] cannot be deleted while TerminationProtection is enabled", s.name)
	}
	if len(retain) > 0 && s.status != deleteFailed {
		return nil, invalid("Invalid operation on stack [%s]. RetainResources can be specified only for stacks in the DELETE_FAILED state.", s.id)
	}
	if users := svc.importersLocked(s); users != "" {
		return nil, invalid("%s", users)
	}
	r.Detail = s.name
	s.token = r.Form.Get("ClientRequestToken")
	switch {
	case s.status == deleteInProgress:
	case s.busy():
		s.cancelled = true // it ends at the next resource, and is deleted then
	default:
		svc.setStatusLocked(s, deleteInProgress, "User Initiated")
		svc.begin(r.Principal, s, func(op *operation) { op.deleteExcept(retain) })
	}
	return nil, nil
}

func (svc *service) updateTerminationProtection(_ context.Context, r *wire.Request) (any, error) {
	name, err := nameIn(r.Form)
	if err != nil {
		return nil, err
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s := svc.findLocked(name)
	if s == nil || !s.live() {
		return nil, noStack(name)
	}
	s.protected = strings.EqualFold(r.Form.Get("EnableTerminationProtection"), "true")
	return stackIDOut{s.id}, nil
}
