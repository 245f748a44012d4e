// Package sts answers STS requests from the simulated world.
package sts

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"github.com/kerf-sh/kerf/internal/awssim/wire"
	"github.com/kerf-sh/kerf/internal/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	s.Handle(wire.STS, "GetCallerIdentity", svc.getCallerIdentity)
	s.Handle(wire.STS, "AssumeRole", svc.assumeRole)
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
	Credentials     credentials     `xml:"Credentials"`
	AssumedRoleUser assumedRoleUser `xml:"AssumedRoleUser"`
}

// Bounds of a session, in seconds.
const (
	minSession     = 900
	maxSession     = 43200
	defaultSession = 3600
)

var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

func (s *service) assumeRole(_ context.Context, r *wire.Request) (any, error) {
	seconds := defaultSession
	if v := r.Form.Get("DurationSeconds"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < minSession || n > maxSession {
			return nil, wire.Errorf("ValidationError", "DurationSeconds must be between %d and %d, got %q", minSession, maxSession, v)
		}
		seconds = n
	}
	session := r.Form.Get("RoleSessionName")
	if !sessionName.MatchString(session) {
		return nil, wire.Errorf("ValidationError", "RoleSessionName must have 2 to 64 letters, digits or +=,.@_- , got %q", session)
	}
	key, err := s.world.AssumeRole(r.Form.Get("RoleArn"), session, time.Duration(seconds)*time.Second)
	if err != nil {
		return nil, err
	}
	r.Detail = key.PrincipalARN
	return assumeRoleResult{
		Credentials: credentials{key.ID, key.Secret, key.SessionToken, key.Expires.UTC().Format(time.RFC3339)},
		AssumedRoleUser: assumedRoleUser{
			AssumedRoleID: key.PrincipalID, ARN: key.PrincipalARN,
		},
	}, nil
}
