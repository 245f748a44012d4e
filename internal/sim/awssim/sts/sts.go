// Package sts answers STS requests from the simulated world.
package sts

import (
	"context"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	const session = "RoleArn RoleSessionName DurationSeconds Policy PolicyArns.member.N.arn "
	s.Handle(wire.STS, "GetCallerIdentity", wire.Takes("", svc.getCallerIdentity))
	s.Handle(wire.STS, "AssumeRole", wire.Takes(session+"ExternalId SourceIdentity Tags.member.N.Key Tags.member.N.Value", svc.assumeRole))
	s.HandleUnsigned(wire.STS, "AssumeRoleWithWebIdentity", wire.Takes(session+"WebIdentityToken", svc.assumeRoleWithWebIdentity))
}

func (s *service) getCallerIdentity(_ context.Context, r *wire.Request) (any, error) {
	return struct {
		ARN     string `xml:"Arn"`
		UserID  string `xml:"UserId"`
		Account string `xml:"Account"`
	}{r.Principal.PrincipalARN, r.Principal.PrincipalID, r.Principal.Account}, nil
}

type credentials struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string `xml:"SecretAccessKey"`
	SessionToken    string `xml:"SessionToken"`
	Expiration      string `xml:"Expiration"`
}

type assumedRoleUser struct {
	AssumedRoleID string `xml:"AssumedRoleId"`
	ARN           string `xml:"Arn"`
}

type assumeRoleResult struct {
	Credentials                 credentials     `xml:"Credentials"`
	AssumedRoleUser             assumedRoleUser `xml:"AssumedRoleUser"`
	SourceIdentity              string          `xml:"SourceIdentity,omitempty"`
	SubjectFromWebIdentityToken string          `xml:"SubjectFromWebIdentityToken,omitempty"`
	Audience                    string          `xml:"Audience,omitempty"`
	Provider                    string          `xml:"Provider,omitempty"`
}

func result(k world.AccessKey) assumeRoleResult {
	return assumeRoleResult{
		Credentials:     credentials{k.ID, k.Secret, k.SessionToken, k.Expires.UTC().Format(time.RFC3339)},
		AssumedRoleUser: assumedRoleUser{AssumedRoleID: k.PrincipalID, ARN: k.PrincipalARN},
	}
}

// Bounds of a session, in seconds.
const (
	minSession = 900
	maxSession = 43200
)

var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// preference reads what the operations have in common.
func preference(form url.Values) (world.Assume, error) {
	a := world.Assume{
		RoleARN: form.Get("RoleArn"), Session: form.Get("RoleSessionName"), ExternalID: form.Get("ExternalId"),
		SourceIdentity: form.Get("SourceIdentity"), Tags: map[string]string{},
	}
	if v := form.Get("DurationSeconds"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < minSession || n > maxSession {
			return a, wire.Errorf("ValidationError", "DurationSeconds must be between %d and %d, got %q", minSession, maxSession, v)
		}
		a.Duration = time.Duration(n) * time.Second
	}
	if !sessionName.MatchString(a.Session) {
		return a, wire.Errorf("ValidationError", "RoleSessionName must have 2 to 64 letters, digits or +=,.@_- , got %q", a.Session)
	}
	if form.Has("Policy") || form.Has("PolicyArns.member.1.arn") {
		return a, wire.Errorf("ValidationError", "Session policies are not simulated; ask for the role as it is.")
	}
	for _, t := range wire.Structs(form, "Tags.member") {
		a.Tags[t.Get("Key")] = t.Get("Value")
	}
	return a, nil
}

func (s *service) assumeRole(_ context.Context, r *wire.Request) (any, error) {
	a, err := preference(r.Form)
	if err != nil {
		return nil, err
	}
	a.AccessKeyID = r.Principal.AccessKeyID
	key, err := s.world.AssumeRole(a)
	if err != nil {
		return nil, err
	}
	r.Detail = key.PrincipalARN
	out := result(key)
	out.SourceIdentity = a.SourceIdentity
	return out, nil
}
