package session

import (
	"context"
	"errors"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/kerf-sh/kerf/internal/trace"
)

// Traced records each call to AWS that is made below a span, tries and pauses between them included; it is for
// Options.Middleware. Names and attributes are those of OpenTelemetry's conventions for the AWS SDK. A nil Tracer adds nothing.
func Traced(t *trace.Tracer) []func(*middleware.Stack) error {
	if t == nil {
		return nil
	}
	record := middleware.InitializeMiddlewareFunc("KerfTrace", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		ctx, span := t.Child(ctx, service+"/"+operation, oteltrace.SpanKindClient)
		if span == nil {
			return next.HandleInitialize(ctx, in)
		}
		defer span.End()
		span.Text(trace.RPCSystem, "aws-api")
		span.Text(trace.RPCService, service)
		span.Text(trace.RPCMethod, operation)
		span.Text(trace.Region, awsmiddleware.GetRegion(ctx))
		if fleet, ok := in.Parameters.(*ec2.CreateFleetInput); ok && fleet.ClientToken != nil {
			span.Text(trace.LaunchID, *fleet.ClientToken)
		}
		out, meta, err := next.HandleInitialize(ctx, in)
		if id, ok := awsmiddleware.GetRequestIDMetadata(meta); ok {
			span.Text(trace.RequestID, id)
		}
		span.Fail(err)
		span.Text(trace.ErrorType, errorType(err))
		var status interface{ HTTPStatusCode() int }
		if errors.As(err, &status) {
			span.Int(trace.HTTPStatus, status.HTTPStatusCode())
		}
		return out, meta, err
	})
	return []func(*middleware.Stack) error{func(s *middleware.Stack) error { return s.Initialize.Add(record, middleware.After) }}
}

// errorType is the code of AWS, or what kind of error kept it from answering; empty for none.
func errorType(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &api):
		return strings.TrimSpace(api.ErrorCode())
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "_OTHER"
}
