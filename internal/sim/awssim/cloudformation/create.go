package cloudformation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// createAll makes a new stack.
func (op *operation) createAll(p plan) {
	failed, err := op.makeAll(p)
	svc, s := op.service, op.stack
	switch {
	case err == nil:
		svc.setStatus(s, createComplete, "")
	case op.stopped():
		svc.setStatus(s, createFailed, "Resource creation cancelled")
	default:
		reason := err.Error() + ". "
		if failed != "" {
			reason = fmt.Sprintf("The following resource(s) failed to create: [%s]. ", failed)
		}
		op.createFailed(reason)
	}
}

// makeAll makes all resources of a plan and says which one failed.
func (op *operation) makeAll(p plan) (failed string, err error) {
	return op.inOrder(p, "cancelled", func(def *cfn.Resource) error { return op.make(def, creation) })
}

// inOrder does something with each resource of a plan, what others need first, and says with which one it failed.
func (op *operation) inOrder(p plan, cancelled string, do func(*cfn.Resource) error) (failed string, err error) {
	if err := op.evaluate(p); err != nil {
		return "", err
	}
	order, err := op.eval.Order()
	if err != nil {
		return "", err
	}
	for _, def := range order {
		if op.stopped() {
			return "", errors.New(cancelled)
		}
		if err := do(def); err != nil {
			return def.ID, err
		}
	}
	return "", op.settle()
}

func (op *operation) createFailed(reason string) {
	svc, s := op.service, op.stack
	switch s.onFailure {
	case onFailureNothing:
		svc.setStatus(s, createFailed, reason)
	case onFailureDelete:
		svc.setStatus(s, deleteInProgress, reason+"Delete requested by user.")
		op.deleteAll()
	default:
		svc.setStatus(s, rollbackInProgress, reason+"Rollback requested by user.")
		// What failed to be made is removed as well, as far as it came.
		if failed := op.removeAll(true, nil); len(failed) > 0 {
			svc.setStatus(s, rollbackFailed, fmt.Sprintf("The following resource(s) failed to delete: [%s]. ", strings.Join(failed, ", ")))
			return
		}
		svc.setStatus(s, rollbackComplete, "")
	}
}

// deleteAll deletes the stack.
func (op *operation) deleteAll() { op.deleteExcept(nil) }

// deleteExcept deletes the stack and leaves some of its resources where they are.
func (op *operation) deleteExcept(retain []string) {
	svc, s := op.service, op.stack
	if failed := op.removeAll(false, retain); len(failed) > 0 {
		svc.setStatus(s, deleteFailed, fmt.Sprintf("The following resource(s) failed to delete: [%s]. ", strings.Join(failed, ", ")))
		return
	}
	svc.mu.Lock()
	defer svc.mu.Unlock()
	s.deleted = svc.world.Now()
	s.outputs, s.imports, s.changeSets = nil, nil, nil
	svc.setStatusLocked(s, deleteComplete, "")
}

// removeAll removes all resources in reverse order and returns the ids of those that could not be. What a resource that
// stays needs stays too.
func (op *operation) removeAll(creating bool, retain []string) (failed []string) {
	kept := map[string]bool{}
	all := op.stack.inUse()
	for _, r := range slices.Backward(all) {
		if op.ctx.Err() != nil {
			return append(failed, r.logical)
		}
		policy := r.deletionPolicy
		if policy == "RetainExceptOnCreate" {
			policy = "Retain"
			if creating {
				policy = "Delete"
			}
		}
		if slices.Contains(retain, r.logical) {
			policy = "Retain"
		}
		if !kept[r.logical] {
			if err := op.remove(r, policy); err == nil {
				op.drop(r.logical)
				continue
			}
			failed = append(failed, r.logical)
		}
		for _, id := range r.needs {
			kept[id] = true
		}
	}
	slices.Sort(failed)
	return failed
}
