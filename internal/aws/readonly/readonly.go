// Package readonly keeps a session of AWS from changing anything.
package readonly

import (
	"context"
	"net/http"
	"slices"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/kerf-sh/kerf/internal/state/readonly"
)

// credentials are calls by which a credential is got; they change nothing, and without them nothing could be read.
var credentials = []string{"AssumeRole", "AssumeRoleWithWebIdentity", "AssumeRoleWithSAML", "AssumeRoleForPodIdentity"}

// Middleware refuses each call that is not known to read; it is for session.Options. Receiving messages of a queue counts as
// a change: whoever receives one hides it from the others.
func Middleware(g *readonly.Guard) []func(*middleware.Stack) error {
	guard := middleware.FinalizeMiddlewareFunc("KerfReadOnly", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if operation := awsmiddleware.GetOperationName(ctx); !reads(operation) && !(operation == "" && ofInstance(in.Request)) {
			service := strings.ToLower(strings.ReplaceAll(awsmiddleware.GetServiceID(ctx), " ", ""))
			return middleware.FinalizeOutput{}, middleware.Metadata{}, g.Refuse(service + ":" + operation)
		}
		return next.HandleFinalize(ctx, in)
	})
	// Before all others, so that a refused call is neither signed nor tried again.
	return []func(*middleware.Stack) error{func(s *middleware.Stack) error { return s.Finalize.Add(guard, middleware.Before) }}
}

// ofInstance tells of requests to the metadata service of the instance, which tells the region and gives credentials and has
// nothing to change. Its client does not name the operation, as each client of a service does, so the request is looked at.
func ofInstance(request any) bool {
	r, ok := request.(*smithyhttp.Request)
	if !ok {
		return false
	}
	return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/latest/") || r.Method == http.MethodPut && r.URL.Path == "/latest/api/token"
}

func reads(operation string) bool {
	return strings.HasPrefix(operation, "Describe") || strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "List") || slices.Contains(credentials, operation)
}
