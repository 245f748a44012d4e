// Package calls counts and times the requests that the SDK makes of AWS: each request as its caller sees it, and each of its attempts.
package calls

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Meter is told of requests and attempts. Service is the SDK's name of a service, such as EC2; action the operation; code the HTTP
// status, 0 where no answer came. Its methods must not block.
//
// Concurrency: they are called by many goroutines.
type Meter interface {
	Request(service, action, code string, took time.Duration, retries int)
	Attempt(service, action, code string, took time.Duration, throttled bool)
}

// request is what its attempts leave behind. They run one after the other.
type request struct {
	attempts int
	code     string
}

type requestKey struct{}

// Middleware tells a meter of all requests of a session; it is for session.Options.
func Middleware(m Meter) []func(*middleware.Stack) error {
	whole := middleware.InitializeMiddlewareFunc("KerfRequest", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		begun, r := time.Now(), &request{code: noAnswer}
		out, meta, err := next.HandleInitialize(context.WithValue(ctx, requestKey{}, r), in)
		if r.attempts > 0 { // the others never left the process
			m.Request(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), r.code, time.Since(begun), r.attempts-1)
		}
		return out, meta, err
	})
	one := middleware.FinalizeMiddlewareFunc("KerfAttempt", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		begun := time.Now()
		out, meta, err := next.HandleFinalize(ctx, in)
		code := statusOf(meta, err)
		if r, ok := ctx.Value(requestKey{}).(*request); ok {
			r.attempts, r.code = r.attempts+1, code
		}
		m.Attempt(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx), code, time.Since(begun), err != nil && cloud.ClassOf(awserr.Wrap("", err)) == cloud.Throttled)
		return out, meta, err
	})
	return []func(*middleware.Stack) error{func(s *middleware.Stack) error {
		if _, ok := s.Initialize.Get("RegisterServiceMetadata"); ok {
			if err := s.Initialize.Insert(whole, "RegisterServiceMetadata", middleware.After); err != nil {
				return err //nolint:wrapcheck // it names the middleware
			}
		} else if err := s.Initialize.Add(whole, middleware.After); err != nil {
			return err //nolint:wrapcheck // it names the middleware
		}
		if _, ok := s.Finalize.Get("Retry"); ok {
			return s.Finalize.Insert(one, "Retry", middleware.After)
		}
		return s.Finalize.Add(one, middleware.Before)
	}}
}

// noAnswer is the code of a request that nobody answered.
const noAnswer = "0"

func statusOf(meta middleware.Metadata, err error) string {
	var failed *smithyhttp.ResponseError
	if errors.As(err, &failed) && failed.HTTPStatusCode() > 0 {
		return strconv.Itoa(failed.HTTPStatusCode())
	}
	if answer, ok := awsmiddleware.GetRawResponse(meta).(*smithyhttp.Response); ok && answer.Response != nil {
		return strconv.Itoa(answer.StatusCode)
	}
	if err == nil {
		return strconv.Itoa(http.StatusOK)
	}
	return noAnswer
}
