package queue

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	smithy "github.com/aws/smithy-go"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Reasons why a queue can't be read; they are the reasons of the condition InterruptionQueueReady.
const (
	ReasonNotFound    = "QueueNotFound"
	ReasonDenied      = "AccessDenied"
	ReasonKeyUnusable = "KeyUnusable"
	ReasonUnreachable = "Unreachable"
)

// ReasonOf says in one word why Receive or Delete failed.
func ReasonOf(err error) string {
	var key *keyError
	switch {
	case errors.As(err, &key):
		return ReasonKeyUnusable
	case cloud.IsNotFound(err):
		return ReasonNotFound
	case awserr.LacksPermission(err):
		return ReasonDenied
	}
	return ReasonUnreachable
}

// keyError is a queue whose KMS key can't be used, whatever the permissions.
type keyError struct {
	code string
	err  error
}

// Error says what to look at.
func (e *keyError) Error() string {
	return fmt.Sprintf("the KMS key of the queue can't be used (%s): enable it, or give the queue another key or SQS-managed encryption: %v", e.code, e.err)
}

// Unwrap gives the cause.
func (e *keyError) Unwrap() error { return e.err }

// actions are the calls of this package as IAM policies write them: SQS names them in small letters in its refusals.
var actions = []string{"sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:DeleteMessageBatch", "kms:Decrypt", "kms:GenerateDataKey"}

var actionPattern = regexp.MustCompile(`(?i)(sqs|kms):[a-z]+`)

// explain says more of SQS's refusals than the table of all services knows: which action is missing, and that it was the
// key and not the queue that refused.
//
// Source: SQS API reference, errors of ReceiveMessage (KmsAccessDenied and its kin, with the older codes KMS.…).
func explain(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	code := strings.TrimPrefix(api.ErrorCode(), "AWS.SimpleQueueService.")
	kms := strings.HasPrefix(code, "KMS.") || strings.HasPrefix(code, "Kms") || strings.HasPrefix(code, "KMS")
	switch {
	case kms && strings.Contains(code, "Throttl"):
		return err
	case kms && !strings.Contains(code, "AccessDenied"):
		return &keyError{code: code, err: err}
	case !kms && !denied(err):
		return err
	}
	action := awserr.Action(err)
	if kms {
		action = "kms:Decrypt"
	}
	if said := actionPattern.FindString(api.ErrorMessage()); said != "" {
		action = said
	}
	for _, known := range actions {
		if strings.EqualFold(known, action) {
			action = known
		}
	}
	if action == "sqs:DeleteMessageBatch" {
		action = "sqs:DeleteMessage" // batches have no action of their own
	}
	if !kms && action == awserr.Action(err) {
		return err
	}
	where := "allow it in the policies of the controller's role"
	if strings.HasPrefix(action, "kms:") {
		where += ", for the key of the queue"
	}
	return &cloud.Error{Op: fmt.Sprintf("missing permission %s: %s", action, where), Class: cloud.Denied, Reason: awserr.ReasonUnauthorized, Err: err}
}

// denied reports whether a permission is missing; credentials that nobody accepts are another matter.
func denied(err error) bool {
	return awserr.LacksPermission(awserr.Wrap("", err))
}
