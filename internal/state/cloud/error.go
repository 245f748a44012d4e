package cloud

import (
	"errors"
	"fmt"
	"time"
)

// ErrorClass is what a caller decides on.
type ErrorClass string

// The classes of error of a Provider.
const (
	// NotFound: the thing does not exist (any more).
	NotFound ErrorClass = "NotFound"
	// Exhausted: nothing of what was asked can be had now: capacity, quota, addresses, or leave to launch these types.
	// Ask for something else.
	Exhausted ErrorClass = "Exhausted"
	// Throttled: too many calls; RetryAfter says when.
	Throttled ErrorClass = "Throttled"
	// Denied: a permission is missing; the message names the action.
	Denied ErrorClass = "Denied"
	// Invalid: the request can never work as it is; the object must be changed.
	Invalid ErrorClass = "Invalid"
	// Conflict: somebody else changed the thing at the same time.
	Conflict ErrorClass = "Conflict"
	// ClassNotReady: the node class is missing, deleting, or not ready.
	ClassNotReady ErrorClass = "ClassNotReady"
	// Unavailable: the service did not answer as it should; try again.
	Unavailable ErrorClass = "Unavailable"
)

// Error is what Provider methods return.
type Error struct {
	// Op is what was being done, with the object: "creating fleet for nodeclaim \"a\"".
	Op    string
	Class ErrorClass
	// Reason is the CamelCase word for the NodeClaim's Launched condition (aws-documented reasons such as
	// UnfulfillableCapacity map to it).
	Reason     string
	RetryAfter time.Duration
	Err        error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf is the class of the first *Error in err's chain; Unavailable when there is none.
func ClassOf(err error) ErrorClass {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Unavailable
}

// ErrProviderID is in the chain of the NotFound that is said of a provider ID that names no instance whatever: it is not of
// the cloud's form.
var ErrProviderID = errors.New("it is not of the form aws:///zone/i-…")

// IsNotFound reports whether err says that the thing does not exist.
func IsNotFound(err error) bool { return err != nil && ClassOf(err) == NotFound }
