// Package iam answers IAM requests about roles, policies, instance profiles and identity providers from the simulated
// world.
package iam

import (
	"net/url"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for _, group := range []map[string]wire.Handler{svc.roles(), svc.policies(), svc.attachments(), svc.profiles(), svc.providers()} {
		for operation, h := range group {
			s.Handle(wire.IAM, operation, wire.Takes(parameters[operation], h))
		}
	}
}

func required(form url.Values, name string) (string, error) {
	v := form.Get(name)
	if v == "" {
		return "", wire.Errorf("ValidationError", "1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", name)
	}
	return v, nil
}

// timestamp is how answers tell times.
func timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// encoded is a policy as answers carry it.
func encoded(document string) string {
	return strings.ReplaceAll(url.QueryEscape(document), "+", "%20")
}
