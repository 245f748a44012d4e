package cloudformation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// step is how to undo what an update did to one resource.
type step struct {
	logical string
	before  *resource // as it was; nil if there was none
	made    bool      // made by the update; before, if there was one, is still there
}

// undoing is all that is needed to take back an update.
type undoing struct {
	plan    plan // that held before
	outputs []cfn.OutputValue
	imports []string
	order   []string
	steps   []step // in the order in which they were done
}

// updateAll makes the stack what a plan says.
func (op *operation) updateAll(p plan, before *undoing) {
	svc, s := op.service, op.stack
	s.undo = before
	failed, err := op.changeAll(p, before)
	if err == nil {
		op.cleanUp(before)
		svc.mu.Lock()
		s.undo = nil
		svc.mu.Unlock()
		svc.setStatus(s, updateComplete, "")
		return
	}
	reason := err.Error()
	if failed != "" {
		reason = fmt.Sprintf("The following resource(s) failed to update: [%s]. ", failed)
	}
	svc.setStatus(s, undoInProgress, reason)
	op.takeBack(nil)
}

// changeAll changes and makes resources in order; nothing is removed yet.
func (op *operation) changeAll(p plan, before *undoing) (failed string, err error) {
	return op.inOrder(p, "Resource update cancelled", func(def *cfn.Resource) error { return op.bring(def, before) })
}

// bring makes one resource what the template says.
func (op *operation) bring(def *cfn.Resource, before *undoing) error {
	s := op.stack
	r := s.resources[def.ID]
	if r == nil {
		before.steps = append(before.steps, step{logical: def.ID, made: true})
		return op.make(def, creation)
	}
	old := r.clone()
	properties, err := op.properties(def)
	if err != nil {
		before.steps = append(before.steps, step{logical: def.ID, before: old})
		return op.failed(r, updateFailed, err)
	}
	tags := tagsOf(properties, s.stackTags(op.plan.tags, def.ID))
	k := kinds[def.Type]
	switch {
	case r.same(properties, tags):
	case len(k.replaced(r.properties, properties)) > 0:
		return op.replace(def, r, properties, before)
	default:
		before.steps = append(before.steps, step{logical: def.ID, before: old})
		if err := op.update(r, properties, tags); err != nil {
			return err
		}
	}
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	r.needs, r.deletionPolicy, r.replacePolicy = op.eval.Needs(def), def.DeletionPolicy, def.UpdateReplacePolicy
	return nil
}

// replace makes a resource anew; the old one goes once all is well.
func (op *operation) replace(def *cfn.Resource, r *resource, properties map[string]any, before *undoing) error {
	k := kinds[def.Type]
	if name, _ := properties[k.name].(string); k.name != "" && name != "" && name == r.name {
		before.steps = append(before.steps, step{logical: def.ID, before: r.clone()})
		return op.failed(r, updateFailed, fmt.Errorf("CloudFormation cannot update a stack when a custom-named resource requires replacing. Rename %s and update the stack again", name))
	}
	op.service.setResource(op.stack, r, updateInProgress, "Requested update requires the creation of a new physical resource; hence creating one.")
	before.steps = append(before.steps, step{logical: def.ID, before: r.clone(), made: true})
	return op.make(def, replacement)
}

// cleanUp removes what is no longer wanted. What cannot be removed stays behind; the update holds all the same.
func (op *operation) cleanUp(before *undoing) {
	svc, s := op.service, op.stack
	svc.setStatus(s, updateCleanup, "")
	for _, st := range slices.Backward(before.steps) {
		if st.made && st.before != nil {
			_ = op.remove(st.before, st.before.replacePolicy) // its events tell
		}
	}
	for _, r := range slices.Backward(s.inUse()) {
		if op.wanted(r.logical) {
			continue
		}
		_ = op.remove(r, strings.Replace(r.deletionPolicy, "RetainExceptOnCreate", "Retain", 1)) // its events tell
		op.drop(r.logical)
	}
	op.reorder()
}

// wanted tells whether the plan has a resource of that id under its conditions.
func (op *operation) wanted(id string) bool {
	def := op.plan.template.Resource(id)
	return def != nil && op.eval.Active(def) != false
}

// reorder puts the resources into the order of the plan, for a later deletion.
func (op *operation) reorder() {
	order, err := op.eval.Order()
	if err != nil {
		return
	}
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	op.stack.order = op.stack.order[:0]
	for _, def := range order {
		op.stack.order = append(op.stack.order, def.ID)
	}
}

// takeBack undoes an update, leaving out the resources that are to be skipped.
func (op *operation) takeBack(skip []string) {
	svc, s := op.service, op.stack
	u := s.undo
	var unwanted []*resource
	for len(u.steps) > 0 {
		st := u.steps[len(u.steps)-1]
		if err := op.takeBackStep(st, skip, &unwanted); err != nil || op.ctx.Err() != nil {
			svc.setStatus(s, undoFailed, fmt.Sprintf("The following resource(s) failed to update: [%s]. ", st.logical))
			return
		}
		svc.mu.Lock()
		u.steps = u.steps[:len(u.steps)-1]
		svc.mu.Unlock()
	}
	svc.setStatus(s, undoCleanup, "")
	for _, r := range unwanted {
		_ = op.remove(r, "Delete") // its events tell
	}
	svc.mu.Lock()
	s.plan, s.outputs, s.imports, s.order, s.undo = u.plan, u.outputs, u.imports, u.order, nil
	svc.mu.Unlock()
	svc.setStatus(s, undoComplete, "")
}

func (op *operation) takeBackStep(st step, skip []string, unwanted *[]*resource) error {
	s := op.stack
	now := s.resources[st.logical]
	if st.made {
		if now != nil && now.physical != "" {
			*unwanted = append(*unwanted, now)
		}
		if st.before == nil {
			op.drop(st.logical)
			return nil
		}
		op.keep(st.before)
		op.service.setResource(s, st.before, updateComplete, "")
		return nil
	}
	if slices.Contains(skip, st.logical) {
		op.service.setResource(s, now, updateComplete, "skipped")
		return nil
	}
	if err := op.update(now, st.before.properties, st.before.tags); err != nil {
		return err
	}
	op.service.mu.Lock()
	defer op.service.mu.Unlock()
	now.needs, now.deletionPolicy, now.replacePolicy = st.before.needs, st.before.deletionPolicy, st.before.replacePolicy
	return nil
}
