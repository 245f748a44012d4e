package cloudformation

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// Statuses of stacks and resources.
const (
	createInProgress   = "CREATE_IN_PROGRESS"
	createComplete     = "CREATE_COMPLETE"
	createFailed       = "CREATE_FAILED"
	rollbackInProgress = "ROLLBACK_IN_PROGRESS"
	rollbackComplete   = "ROLLBACK_COMPLETE"
	rollbackFailed     = "ROLLBACK_FAILED"
	deleteInProgress   = "DELETE_IN_PROGRESS"
	deleteComplete     = "DELETE_COMPLETE"
	deleteFailed       = "DELETE_FAILED"
	deleteSkipped      = "DELETE_SKIPPED"
	updateInProgress   = "UPDATE_IN_PROGRESS"
	updateCleanup      = "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"
	updateComplete     = "UPDATE_COMPLETE"
	updateFailed       = "UPDATE_FAILED"
	undoInProgress     = "UPDATE_ROLLBACK_IN_PROGRESS"
	undoCleanup        = "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"
	undoComplete       = "UPDATE_ROLLBACK_COMPLETE"
	undoFailed         = "UPDATE_ROLLBACK_FAILED"
	reviewInProgress   = "REVIEW_IN_PROGRESS"
)

const stackType = "AWS::CloudFormation::Stack"

// What is to become of a stack that cannot be created.
const (
	onFailureRollback = "ROLLBACK"
	onFailureDelete   = "DELETE"
	onFailureNothing  = "DO_NOTHING"
)

// stack is guarded by the service's mutex; only the operation under way in it changes its resources.
type stack struct {
	id, name                  string
	status, reason            string
	created, updated, deleted time.Time
	plan                      plan // as last asked for, whether or not it came to be
	onFailure                 string
	protected                 bool
	outputs                   []cfn.OutputValue
	resources                 map[string]*resource // by logical id
	order                     []string             // logical ids as they were made
	events                    []event              // oldest first
	changeSets                []*changeSet
	imports                   []string
	token                     string
	cancelled                 bool // a deletion waits for the operation under way to end
	undo                      *undoing
}

// plan is what a stack is to be.
type plan struct {
	body         string
	template     *cfn.Template
	given        map[string]string // values of parameters
	values       map[string]any
	tags         []tag
	capabilities []string
	notify       []string
	role         string
}

// resource is one resource of a stack.
type resource struct {
	logical, kind  string
	physical, name string
	status, reason string
	at             time.Time
	properties     map[string]any
	tags           []tag
	attributes     map[string]any
	needs          []string
	deletionPolicy string
	replacePolicy  string
}

func (r *resource) clone() *resource {
	c := *r
	return &c
}

type event struct {
	id, logical, physical, kind string
	status, reason, properties  string
	token                       string
	at                          time.Time
}

func (s *stack) busy() bool {
	return strings.HasSuffix(s.status, "_IN_PROGRESS") && s.status != reviewInProgress
}

func (s *stack) live() bool { return s.status != deleteComplete }

// inUse are the resources that are there, in the order in which they were made.
func (s *stack) inUse() []*resource {
	var out []*resource
	for _, id := range s.order {
		if r := s.resources[id]; r != nil {
			out = append(out, r)
		}
	}
	return out
}

// stackTags are the tags that a resource gets from its stack; the last three CloudFormation sets itself.
func (s *stack) stackTags(tags []tag, logical string) []tag {
	return append(slices.Clone(tags), tag{"aws:cloudformation:logical-id", logical}, tag{"aws:cloudformation:stack-id", s.id},
		tag{"aws:cloudformation:stack-name", s.name})
}

func (s *stack) pseudo(svc *service, notify []string) cfn.Pseudo {
	return cfn.Pseudo{
		Partition: svc.world.Partition(), Region: svc.world.Region(), AccountID: svc.world.Account(), StackName: s.name, StackID: s.id,
		NotificationARNs: notify,
	}
}

// setStatus changes the status of a stack and writes the event.
func (svc *service) setStatus(s *stack, status, reason string) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	svc.setStatusLocked(s, status, reason)
}

func (svc *service) setStatusLocked(s *stack, status, reason string) {
	s.status, s.reason = status, reason
	svc.eventLocked(s, event{logical: s.name, physical: s.id, kind: stackType, status: status, reason: reason})
}

// setResource changes the status of a resource and writes the event.
func (svc *service) setResource(s *stack, r *resource, status, reason string) {
	svc.mu.Lock()
	defer svc.mu.Unlock()
	r.status, r.reason, r.at = status, reason, svc.world.Now()
	properties, _ := json.Marshal(r.properties) // values of a template can be encoded
	if r.properties == nil {
		properties = nil
	}
	svc.eventLocked(s, event{logical: r.logical, physical: r.physical, kind: r.kind, status: status, reason: reason, properties: string(properties)})
}

func (svc *service) eventLocked(s *stack, e event) {
	e.id, e.at, e.token = svc.uuidLocked(), svc.world.Now(), s.token
	s.events = append(s.events, e)
}

// findLocked finds a stack by name or id. Stacks that are deleted have ids only.
func (svc *service) findLocked(nameOrID string) *stack {
	for _, s := range slices.Backward(svc.stacks) {
		if s.id == nameOrID || (s.name == nameOrID && s.live()) {
			return s
		}
	}
	return nil
}

func noStack(nameOrID string) error {
	return wire.Errorf("ValidationError", "Stack with id %s does not exist", nameOrID)
}
