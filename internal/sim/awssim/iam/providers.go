package iam

import (
	"context"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

func (s *service) providers() map[string]wire.Handler {
	return map[string]wire.Handler{
		"CreateOpenIDConnectProvider": s.createProvider,
		"GetOpenIDConnectProvider":    s.getProvider,
		"ListOpenIDConnectProviders":  s.listProviders,
		"DeleteOpenIDConnectProvider": s.deleteProvider,
	}
}

type providerARN struct {
	ARN string `xml:"Arn"`
}

func (s *service) createProvider(_ context.Context, r *wire.Request) (any, error) {
	url, err := required(r.Form, "Url")
	if err != nil {
		return nil, err
	}
	tags, err := tagsIn(r.Form)
	if err != nil {
		return nil, err
	}
	p, err := s.world.CreateOIDCProvider(url, wire.List(r.Form, "ClientIDList.member"), tags)
	if err != nil {
		return nil, err
	}
	r.Detail = p.ARN
	return struct {
		ARN  string `xml:"OpenIDConnectProviderArn"`
		Tags []tag  `xml:"Tags>member,omitempty"`
	}{p.ARN, tagsOut(p.Tags)}, nil
}

func (s *service) getProvider(_ context.Context, r *wire.Request) (any, error) {
	arn, err := required(r.Form, "OpenIDConnectProviderArn")
	if err != nil {
		return nil, err
	}
	p, err := s.world.OIDCProvider(arn)
	if err != nil {
		return nil, err
	}
	return struct {
		URL          string   `xml:"Url"`
		ClientIDList []string `xml:"ClientIDList>member"`
		CreateDate   string   `xml:"CreateDate"`
		Tags         []tag    `xml:"Tags>member,omitempty"`
	}{p.URL, p.ClientIDs, timestamp(p.Created), tagsOut(p.Tags)}, nil
}

func (s *service) listProviders(context.Context, *wire.Request) (any, error) {
	var out struct {
		List []providerARN `xml:"OpenIDConnectProviderList>member"`
	}
	for _, p := range s.world.OIDCProviders() {
		out.List = append(out.List, providerARN{p.ARN})
	}
	return out, nil
}

func (s *service) deleteProvider(_ context.Context, r *wire.Request) (any, error) {
	arn, err := required(r.Form, "OpenIDConnectProviderArn")
	if err != nil {
		return nil, err
	}
	r.Detail = arn
	return nil, s.world.DeleteOIDCProvider(arn)
}
