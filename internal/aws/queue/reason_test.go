package queue_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/kerf-sh/kerf/internal/aws/queue"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// refusing answers every call with one error.
type refusing struct{ err error }

func (r refusing) GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) {
	return nil, r.err
}

func (r refusing) ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	return nil, r.err
}

func (r refusing) DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	return nil, r.err
}

func TestWhyAQueueCantBeRead(t *testing.T) {
	answer := func(op, code, message string, status int) error {
		return &smithy.OperationError{ServiceID: "SQS", OperationName: op, Err: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: code, Message: message},
		}}
	}
	for _, tt := range []struct {
		name   string
		err    error
		reason string
		says   string
	}{
		{"no such queue", answer("ReceiveMessage", "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.", 400), queue.ReasonNotFound, "says account 123456789012: is it the controller's?"},
		{"no permission, in SQS's own small letters", answer("ReceiveMessage", "AccessDenied", "User: arn:aws:sts::1:x is not authorized to perform: sqs:receivemessage on resource: arn:aws:sqs:us-east-1:1:q because no identity-based policy allows the sqs:receivemessage action", 403), queue.ReasonDenied, "missing permission sqs:ReceiveMessage"},
		{"no permission, unnamed, to delete a batch", answer("DeleteMessageBatch", "AccessDenied", "Access to the resource is denied.", 403), queue.ReasonDenied, "missing permission sqs:DeleteMessage:"},
		{"no permission for the key", answer("ReceiveMessage", "KMS.AccessDeniedException", "User: arn:aws:sts::1:x is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:us-east-1:1:key/k", 400), queue.ReasonDenied, "missing permission kms:Decrypt"},
		{"no permission for the key, in the newer code", answer("ReceiveMessage", "KmsAccessDenied", "The ciphertext refers to a customer master key that does not exist, or you may not use it.", 400), queue.ReasonDenied, "missing permission kms:Decrypt"},
		{"a key that is switched off", answer("ReceiveMessage", "KmsDisabled", "key is disabled", 400), queue.ReasonKeyUnusable, "enable it"},
		{"a key that is gone", answer("ReceiveMessage", "KMS.NotFoundException", "no such key", 400), queue.ReasonKeyUnusable, "another key"},
		{"credentials that nobody knows", answer("ReceiveMessage", "InvalidClientTokenId", "The security token included in the request is invalid.", 403), queue.ReasonUnreachable, "AWS refuses the credentials"},
		{"no answer", errors.New("dial tcp: connection refused"), queue.ReasonUnreachable, "connection refused"},
		{"a service that is not well", answer("ReceiveMessage", "InternalError", "", 500), queue.ReasonUnreachable, "InternalError"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := queue.New(refusing{tt.err}, queue.Reference{Name: "q", Account: "123456789012", URL: "https://sqs.us-east-1.amazonaws.com/123456789012/q"})
			_, err := q.Receive(t.Context(), 0)
			if got := queue.ReasonOf(err); got != tt.reason || !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), `"q"`) {
				t.Errorf("%s: %v", got, err)
			}
			if _, err := q.Delete(t.Context(), []queue.Delivery{{}}); queue.ReasonOf(err) != tt.reason {
				t.Errorf("deleting: %v", err)
			}
			if tt.reason == queue.ReasonDenied && cloud.ClassOf(err) != cloud.Denied {
				t.Errorf("class %s", cloud.ClassOf(err))
			}
		})
	}
}
