package sts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func (s *service) assumeRoleWithWebIdentity(_ context.Context, r *wire.Request) (any, error) {
	a, err := preference(r.Form)
	if err != nil {
		return nil, err
	}
	id, err := readToken(r.Form.Get("WebIdentityToken"))
	if err != nil {
		return nil, wire.Errorf("InvalidIdentityToken", "%v", err)
	}
	key, err := s.world.AssumeRoleWithWebIdentity(a, id)
	if err != nil {
		return nil, err
	}
	r.Detail = id.Subject + " as " + key.PrincipalARN
	out := result(key)
	out.SubjectFromWebIdentityToken, out.Audience, out.Provider = id.Subject, strings.Join(id.Audience, ","), id.Issuer
	return out, nil
}

// audience is a claim that is a string or a list of them.
type audience []string

// UnmarshalJSON reads either form.
func (a *audience) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// readToken reads the claims of a JSON Web Token. The signature is not verified: the simulated account knows no issuer's
// keys.
func readToken(token string) (world.WebIdentity, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return world.WebIdentity{}, fmt.Errorf("The ID Token provided is not a valid JWT: it has %d parts, want 3", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return world.WebIdentity{}, fmt.Errorf("The ID Token provided is not a valid JWT: its payload: %w", err)
	}
	var claims struct {
		Issuer   string   `json:"iss"`
		Subject  string   `json:"sub"`
		Audience audience `json:"aud"`
		Expires  float64  `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return world.WebIdentity{}, fmt.Errorf("The ID Token provided is not a valid JWT: its claims: %w", err)
	}
	if claims.Issuer == "" || claims.Subject == "" {
		return world.WebIdentity{}, fmt.Errorf("The ID Token provided has no iss or sub claim")
	}
	id := world.WebIdentity{Issuer: claims.Issuer, Subject: claims.Subject, Audience: claims.Audience}
	if claims.Expires > 0 {
		id.Expires = time.Unix(int64(claims.Expires), 0)
	}
	return id, nil
}
