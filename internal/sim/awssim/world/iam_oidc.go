package world

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// OIDCProvider is an issuer of web identities that the account trusts.
type OIDCProvider struct {
	ARN       string
	URL       string // without https://
	ClientIDs []string
	Created   time.Time
	Tags      map[string]string
}

func (p *OIDCProvider) clone() OIDCProvider {
	c := *p
	c.ClientIDs, c.Tags = slices.Clone(p.ClientIDs), maps.Clone(p.Tags)
	return c
}

// issuerName is how ARNs and condition keys name an issuer.
func issuerName(url string) string {
	return strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/")
}

// CreateOIDCProvider makes the account trust an issuer, given by its URL, for some audiences.
func (w *World) CreateOIDCProvider(url string, clientIDs []string, tags map[string]string) (OIDCProvider, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.HasPrefix(url, "https://") || issuerName(url) == "" {
		return OIDCProvider{}, Errorf("InvalidInput", "The provider URL %q must begin with https://", url)
	}
	if err := checkIAMTags(tags); err != nil {
		return OIDCProvider{}, err
	}
	arn := w.iamARN("oidc-provider/", "", issuerName(url))
	if w.iam.providers[arn] != nil {
		return OIDCProvider{}, iamConflict("EntityAlreadyExists", "Provider with url %s already exists.", url)
	}
	p := &OIDCProvider{ARN: arn, URL: issuerName(url), ClientIDs: slices.Clone(clientIDs), Created: w.clock.Now(), Tags: maps.Clone(tags)}
	w.iam.providers[arn] = p
	return p.clone(), nil
}

// OIDCProvider returns a provider by ARN.
func (w *World) OIDCProvider(arn string) (OIDCProvider, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.iam.providers[arn]; p != nil {
		return p.clone(), nil
	}
	return OIDCProvider{}, noSuchEntity("OpenIDConnect Provider not found for arn %s", arn)
}

// OIDCProviders returns all providers by ARN.
func (w *World) OIDCProviders() []OIDCProvider {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.iam.providers, (*OIDCProvider).clone)
}

// DeleteOIDCProvider makes the account trust an issuer no longer; one that it never did is no error.
func (w *World) DeleteOIDCProvider(arn string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.iam.providers, arn)
	return nil
}
