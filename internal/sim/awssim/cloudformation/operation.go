package cloudformation

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// operation is one creation, update or deletion of a stack.
type operation struct {
	calls
	service *service
	stack   *stack

	eval *cfn.Evaluation
	plan plan
}

// stopped tells whether the operation is to make nothing more: the stack is to be deleted, or the world has ended.
func (op *operation) stopped() bool {
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	return op.stack.cancelled || op.ctx.Err() != nil
}

// end begins the deletion that waited.
func (op *operation) end() {
	svc, s := op.service, op.stack
	svc.mu.Lock()
	defer svc.mu.Unlock()
	if s.cancelled && op.ctx.Err() == nil {
		s.cancelled = false
		svc.setStatusLocked(s, deleteInProgress, "User Initiated")
		svc.begin(op.caller, s, (*operation).deleteAll)
	}
}

// evaluate works out the conditions of a plan; values of resources come from the stack as it is.
func (op *operation) evaluate(p plan) error {
	op.plan = p
	scope := op.service.scope(op.stack, p)
	scope.Import = op.service.export
	scope.Ref = func(id string) (any, error) {
		if r := op.stack.resources[id]; r != nil && r.physical != "" {
			return r.physical, nil
		}
		return nil, fmt.Errorf("resource %s is not there yet", id)
	}
	scope.GetAtt = func(id, attribute string) (any, error) {
		r := op.stack.resources[id]
		if r == nil {
			return nil, fmt.Errorf("resource %s is not there yet", id)
		}
		v, ok := r.attributes[attribute]
		if !ok {
			return nil, fmt.Errorf("resource %s does not support attribute type %s in Fn::GetAtt", id, attribute)
		}
		return v, nil
	}
	var err error
	op.eval, err = p.template.In(scope)
	return err
}

// scope is where a plan is evaluated, without the values of its resources.
func (svc *service) scope(s *stack, p plan) cfn.Scope {
	return cfn.Scope{
		Pseudo: s.pseudo(svc, p.notify), Parameters: p.values,
		Zones: svc.zones,
		Store: func(name string) (any, error) { return svc.parameter(name) },
	}
}

func (svc *service) zones(region string) ([]string, error) {
	if region != svc.world.Region() {
		return nil, fmt.Errorf("the account has no region %s here", region)
	}
	var out []string
	for _, z := range svc.world.Zones() {
		out = append(out, z.Name)
	}
	return out, nil
}

func (svc *service) parameter(name string) (string, error) {
	p, ok := svc.world.Parameter(name)
	if !ok {
		return "", fmt.Errorf("unable to fetch parameters [%s] from parameter store for this account", name)
	}
	return p.Value, nil
}

// properties works out the properties of a resource and fits them to its kind.
func (op *operation) properties(r *cfn.Resource) (map[string]any, error) {
	raw, err := op.eval.Properties(r)
	if err != nil {
		return nil, fmt.Errorf("template error: %w", err)
	}
	return kinds[r.Type].fit(r.ID, raw)
}

// change prepares a call of a kind's functions for a resource.
func (op *operation) change(r *resource) *change {
	return &change{
		calls: op.calls, world: op.service.world, stack: op.stack.name, logical: r.logical, kind: kinds[r.kind],
		physical: r.physical, name: r.name, random: op.service.random, attributes: maps.Clone(r.attributes),
	}
}

// making are the statuses that a resource goes through while it is made.
type making struct{ begun, done, failed string }

var (
	creation    = making{createInProgress, createComplete, createFailed}
	replacement = making{updateInProgress, updateComplete, updateFailed}
)

// make makes a resource. If that fails, what there is of it is in the stack under its logical id all the same.
func (op *operation) make(def *cfn.Resource, as making) error {
	k := kinds[def.Type]
	r := &resource{
		logical: def.ID, kind: def.Type, needs: op.eval.Needs(def), deletionPolicy: def.DeletionPolicy, replacePolicy: def.UpdateReplacePolicy,
	}
	op.keep(r)
	if as == creation {
		op.service.setResource(op.stack, r, as.begun, "")
	}
	properties, err := op.properties(def)
	if err != nil {
		return op.failed(r, as.failed, err)
	}
	r.tags = tagsOf(properties, op.stack.stackTags(op.plan.tags, def.ID))
	c := op.change(r)
	c.new, c.newTags = properties, r.tags
	if k.name != "" {
		if c.name = c.text(k.name); c.name == "" {
			c.name = c.madeName(op.stack.name+"-"+def.ID, k.nameLength)
		}
	}
	if !k.tagged {
		c.newTags = nil
	}
	err = k.create(c)
	op.store(r, c, properties)
	if err != nil {
		return op.failed(r, as.failed, handlerError(err))
	}
	op.service.setResource(op.stack, r, as.begun, "Resource creation Initiated")
	op.service.setResource(op.stack, r, as.done, "")
	return nil
}

// keep puts a resource into the stack.
func (op *operation) keep(r *resource) {
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	op.stack.resources[r.logical] = r
	if !slices.Contains(op.stack.order, r.logical) {
		op.stack.order = append(op.stack.order, r.logical)
	}
}

// store writes what a call of a kind's functions left.
func (op *operation) store(r *resource, c *change, properties map[string]any) {
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	r.physical, r.name, r.attributes, r.properties = c.physical, c.name, c.attributes, properties
}

// failed writes the failure of a resource.
func (op *operation) failed(r *resource, status string, err error) error {
	op.service.setResource(op.stack, r, status, err.Error())
	return fmt.Errorf("%s: %w", r.logical, err)
}

// handlerError words the failure of a kind's function as resource handlers do.
func handlerError(err error) error {
	return fmt.Errorf("Resource handler returned message: \"%w\" (HandlerErrorCode: %s)", err, handlerCode(err))
}

func handlerCode(err error) string {
	code := codeOf(err)
	text := err.Error()
	switch {
	case strings.Contains(code, "AlreadyExists"), strings.Contains(code, "NameExists"), strings.Contains(text, "already exists"), strings.Contains(text, "already in use"):
		return "AlreadyExists"
	case missing[code]:
		return "NotFound"
	case strings.Contains(code, "AccessDenied"), strings.Contains(code, "Unauthorized"):
		return "AccessDenied"
	case strings.Contains(code, "LimitExceeded"):
		return "ServiceLimitExceeded"
	case code == "":
		return "InvalidRequest"
	}
	return "GeneralServiceException"
}

// update changes a resource in place.
func (op *operation) update(r *resource, properties map[string]any, tags []tag) error {
	k := kinds[r.kind]
	op.service.setResource(op.stack, r, updateInProgress, "")
	c := op.change(r)
	c.old, c.new, c.oldTags, c.newTags = r.properties, properties, r.tags, tags
	if !k.tagged {
		c.oldTags, c.newTags = nil, nil
	}
	var err error
	if k.update != nil {
		err = k.update(c)
	}
	// Also after a failure: some of it may have been done, and the way back is from there.
	op.store(r, c, properties)
	r.tags = tags
	if err != nil {
		return op.failed(r, updateFailed, handlerError(err))
	}
	op.service.setResource(op.stack, r, updateComplete, "")
	return nil
}

// remove removes a resource, unless it is to be retained.
func (op *operation) remove(r *resource, policy string) error {
	if policy == "Retain" {
		op.service.setResource(op.stack, r, deleteSkipped, "")
		return nil
	}
	op.service.setResource(op.stack, r, deleteInProgress, "")
	if r.physical != "" {
		c := op.change(r)
		c.old, c.oldTags = r.properties, r.tags
		if err := kinds[r.kind].remove(c); err != nil {
			return op.failed(r, deleteFailed, handlerError(err))
		}
	}
	op.service.setResource(op.stack, r, deleteComplete, "")
	return nil
}

// drop takes resources out of the stack.
func (op *operation) drop(ids ...string) {
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	for _, id := range ids {
		delete(op.stack.resources, id)
	}
	op.stack.order = slices.DeleteFunc(op.stack.order, func(id string) bool { return slices.Contains(ids, id) })
}

// same tells whether a resource is as it is to be.
func (r *resource) same(properties map[string]any, tags []tag) bool {
	return reflect.DeepEqual(r.properties, properties) && (slices.Equal(r.tags, tags) || !kinds[r.kind].tagged)
}

// settle works out outputs and exports.
func (op *operation) settle() error {
	outputs, err := op.eval.Outputs()
	if err != nil {
		return fmt.Errorf("template error: %w", err)
	}
	imports := op.eval.Imports()
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	for _, o := range outputs {
		if o.Export == nil {
			continue
		}
		if s := op.service.exporterLocked(o.Export); s != nil && s != op.stack {
			return fmt.Errorf("export with name %v is already exported by stack %s", o.Export, s.name)
		}
	}
	op.stack.outputs = outputs
	op.stack.imports = imports
	return nil
}

// errNothing says that an update would change nothing.
var errNothing = errors.New("No updates are to be performed.")
