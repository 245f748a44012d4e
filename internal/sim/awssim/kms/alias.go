package kms

import (
	"context"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// aliasInput is a call about an alias.
type aliasInput struct {
	AliasName   string
	TargetKeyID string `json:"TargetKeyId"`
}

func (s *service) onAlias(r *wire.Request, f func(aliasInput) error) (any, error) {
	var in aliasInput
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, f(in)
}

func (s *service) createAlias(_ context.Context, r *wire.Request) (any, error) {
	return s.onAlias(r, func(in aliasInput) error { return s.world.CreateAlias(in.AliasName, in.TargetKeyID) })
}

func (s *service) updateAlias(_ context.Context, r *wire.Request) (any, error) {
	return s.onAlias(r, func(in aliasInput) error { return s.world.UpdateAlias(in.AliasName, in.TargetKeyID) })
}

func (s *service) deleteAlias(_ context.Context, r *wire.Request) (any, error) {
	return s.onAlias(r, func(in aliasInput) error { return s.world.DeleteAlias(in.AliasName) })
}

// alias is how an alias is shown.
type alias struct {
	AliasName       string
	AliasArn        string
	TargetKeyID     string `json:"TargetKeyId"`
	CreationDate    wire.Timestamp
	LastUpdatedDate wire.Timestamp
}

func (s *service) listAliases(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		paging
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	only := ""
	if in.KeyID != "" {
		k, err := s.world.Key(in.KeyID)
		if err != nil {
			return nil, err
		}
		only = k.ID
	}
	list := []alias{}
	for _, a := range s.world.Aliases() {
		if only == "" || a.KeyID == only {
			list = append(list, alias{a.Name, a.ARN, a.KeyID, wire.Timestamp(a.Created), wire.Timestamp(a.Updated)})
		}
	}
	return page("Aliases", list, func(a alias) string { return a.AliasName }, in.paging)
}
