package dependency

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// readTimeout bounds one attempt of a call that only reads, or that may be made twice: a network that swallows packets is
// to hold nobody up for longer. Calls that change something have the time limit of the session, for their replies must not be lost lightly.
const readTimeout = 30 * time.Second // longer than a long poll

// receive is the one operation that waits because it was asked to.
const receive = "ReceiveMessage"

// Middleware looks at every attempt of the calls of a session; it is for session.Options.
func (h *Health) Middleware() []func(*middleware.Stack) error {
	look := middleware.FinalizeMiddlewareFunc("KerfDependency", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		operation := awsmiddleware.GetOperationName(ctx)
		end := h.begin(awsmiddleware.GetServiceID(ctx), operation)
		bounded, cancel := ctx, context.CancelFunc(func() {})
		if reads(operation) {
			bounded, cancel = context.WithTimeout(ctx, readTimeout)
		}
		defer cancel()
		out, meta, err := next.HandleFinalize(bounded, in)
		if err != nil && ctx.Err() == nil && bounded.Err() != nil {
			err = silence{}
		}
		end(judge(ctx, err))
		return out, meta, err
	})
	return []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		if _, ok := s.Finalize.Get("Retry"); ok {
			return s.Finalize.Insert(look, "Retry", middleware.After)
		}
		return s.Finalize.Add(look, middleware.Before)
	}}
}

func reads(operation string) bool {
	// To receive a message twice, or to delete it twice, does no harm: what is not heard of comes again.
	return operation == receive || strings.HasPrefix(operation, "DeleteMessage") || strings.HasPrefix(operation, "Describe") || strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "List")
}

// silence is the error of an attempt that was given up. It does not look cancelled, so that the caller, who did not
// cancel anything, sees a service that does not answer.
type silence struct{}

func (silence) Error() string { return "no answer within " + readTimeout.String() }

// judge tells an answer from a failure.
func judge(ctx context.Context, err error) (outcome, string) {
	if err == nil {
		return answered, ""
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return cancelled, ""
	}
	e, _ := errors.AsType[*cloud.Error](awserr.Wrap("", err))
	if e.Class != cloud.Unavailable && e.Class != cloud.Throttled && e.Reason != awserr.ReasonCredentialsRefused {
		return answered, ""
	}
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.HTTPStatusCode() >= http.StatusInternalServerError && e.Class == cloud.Unavailable {
		return erred, err.Error()
	}
	return failed, err.Error()
}
