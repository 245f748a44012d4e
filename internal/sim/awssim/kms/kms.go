// Package kms answers KMS requests from the simulated world: what is set up around keys. Nothing is encrypted.
package kms

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	svc := &service{world: w}
	for operation, h := range map[string]wire.Handler{
		"CreateKey":            svc.createKey,
		"DescribeKey":          svc.describeKey,
		"ListKeys":             svc.listKeys,
		"GetKeyPolicy":         svc.getKeyPolicy,
		"PutKeyPolicy":         svc.putKeyPolicy,
		"ListKeyPolicies":      svc.listKeyPolicies,
		"EnableKey":            svc.onKey(func(ref string) error { return w.SetKeyEnabled(ref, true) }),
		"DisableKey":           svc.onKey(func(ref string) error { return w.SetKeyEnabled(ref, false) }),
		"EnableKeyRotation":    svc.onKey(func(ref string) error { return w.SetKeyRotation(ref, true) }),
		"DisableKeyRotation":   svc.onKey(func(ref string) error { return w.SetKeyRotation(ref, false) }),
		"GetKeyRotationStatus": svc.getKeyRotationStatus,
		"UpdateKeyDescription": svc.updateKeyDescription,
		"ScheduleKeyDeletion":  svc.scheduleKeyDeletion,
		"CancelKeyDeletion":    svc.cancelKeyDeletion,
		"TagResource":          svc.tagResource,
		"UntagResource":        svc.untagResource,
		"ListResourceTags":     svc.listResourceTags,
		"CreateAlias":          svc.createAlias,
		"UpdateAlias":          svc.updateAlias,
		"DeleteAlias":          svc.deleteAlias,
		"ListAliases":          svc.listAliases,
		"CreateGrant":          svc.createGrant,
		"ListGrants":           svc.listGrants,
		"RevokeGrant":          svc.revokeGrant,
	} {
		s.Handle(wire.KMS, operation, h)
	}
}

// keyInput is a call that names a key.
type keyInput struct {
	KeyID string `json:"KeyId"`
}

func (s *service) onKey(f func(ref string) error) wire.Handler {
	return func(_ context.Context, r *wire.Request) (any, error) {
		var in keyInput
		if err := r.Decode(&in); err != nil {
			return nil, err
		}
		return nil, f(in.KeyID)
	}
}

type tag struct{ TagKey, TagValue string }

func tagMap(tags []tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[t.TagKey] = t.TagValue
	}
	return out
}

// metadata is how a key is shown.
type metadata struct {
	AWSAccountID          string `json:"AWSAccountId"`
	Arn                   string
	KeyID                 string `json:"KeyId"`
	CreationDate          wire.Timestamp
	DeletionDate          *wire.Timestamp `json:",omitempty"`
	Description           string
	Enabled               bool
	KeyState              string
	KeyManager            string
	KeyUsage              string
	KeySpec               string
	CustomerMasterKeySpec string
	EncryptionAlgorithms  []string
	Origin                string
	MultiRegion           bool
}

const symmetric = "SYMMETRIC_DEFAULT"

func (s *service) show(k world.Key) metadata {
	m := metadata{
		AWSAccountID: s.world.Account(), Arn: k.ARN, KeyID: k.ID, CreationDate: wire.Timestamp(k.Created), Description: k.Description,
		Enabled: k.State == world.KeyEnabled, KeyState: k.State, KeyManager: k.Manager, KeyUsage: "ENCRYPT_DECRYPT", KeySpec: symmetric,
		CustomerMasterKeySpec: symmetric, EncryptionAlgorithms: []string{symmetric}, Origin: "AWS_KMS",
	}
	if !k.Deletion.IsZero() {
		m.DeletionDate = new(wire.Timestamp(k.Deletion))
	}
	return m
}

func (s *service) createKey(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		Description, KeySpec, CustomerMasterKeySpec, KeyUsage, Origin, Policy string
		MultiRegion, BypassPolicyLockoutSafetyCheck                           bool
		Tags                                                                  []tag
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	for _, p := range []struct{ name, have, only string }{
		{"KeySpec", in.KeySpec, symmetric}, {"CustomerMasterKeySpec", in.CustomerMasterKeySpec, symmetric},
		{"KeyUsage", in.KeyUsage, "ENCRYPT_DECRYPT"}, {"Origin", in.Origin, "AWS_KMS"},
	} {
		if p.have != "" && p.have != p.only {
			return nil, wire.Errorf("UnsupportedOperationException", "%s %s is not simulated; queues and volumes need %s.", p.name, p.have, p.only)
		}
	}
	if in.MultiRegion {
		return nil, wire.Errorf("UnsupportedOperationException", "Multi-Region keys are not simulated: there is one region.")
	}
	k, err := s.world.CreateKey(world.NewKey{
		Description: in.Description, Policy: in.Policy, Caller: r.Principal.PrincipalARN, Bypass: in.BypassPolicyLockoutSafetyCheck, Tags: tagMap(in.Tags),
	})
	if err != nil {
		return nil, err
	}
	r.Detail = k.ID
	return map[string]any{"KeyMetadata": s.show(k)}, nil
}

// key decodes the body into in and finds the key that ref points to.
func (s *service) key(r *wire.Request, in any, ref *string) (world.Key, error) {
	if err := r.Decode(in); err != nil {
		return world.Key{}, err
	}
	return s.world.Key(*ref)
}

func (s *service) describeKey(_ context.Context, r *wire.Request) (any, error) {
	var in keyInput
	k, err := s.key(r, &in, &in.KeyID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"KeyMetadata": s.show(k)}, nil
}

func (s *service) getKeyPolicy(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		PolicyName string
	}
	k, err := s.key(r, &in, &in.KeyID)
	if err != nil {
		return nil, err
	}
	if in.PolicyName != "" && in.PolicyName != "default" {
		return nil, wire.Errorf("NotFoundException", "No such policy exists: the only one is named default.")
	}
	return map[string]string{"Policy": k.PolicyText, "PolicyName": "default"}, nil
}

func (s *service) putKeyPolicy(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		Policy, PolicyName             string
		BypassPolicyLockoutSafetyCheck bool
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	if in.PolicyName != "" && in.PolicyName != "default" {
		return nil, wire.Errorf("ValidationException", "The name of a key policy is default, not %q.", in.PolicyName)
	}
	return nil, s.world.PutKeyPolicy(in.KeyID, in.Policy, r.Principal.PrincipalARN, in.BypassPolicyLockoutSafetyCheck)
}

func (s *service) listKeyPolicies(_ context.Context, r *wire.Request) (any, error) {
	var in keyInput
	if _, err := s.key(r, &in, &in.KeyID); err != nil {
		return nil, err
	}
	return map[string]any{"PolicyNames": []string{"default"}, "Truncated": false}, nil
}

// rotationDays is how often a key is rotated.
const rotationDays = 365

func (s *service) getKeyRotationStatus(_ context.Context, r *wire.Request) (any, error) {
	var in keyInput
	k, err := s.key(r, &in, &in.KeyID)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"KeyId": k.ARN, "KeyRotationEnabled": k.Rotation}
	if k.Rotation {
		out["RotationPeriodInDays"] = rotationDays
	}
	return out, nil
}

func (s *service) updateKeyDescription(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		Description string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.SetKeyDescription(in.KeyID, in.Description)
}

func (s *service) scheduleKeyDeletion(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		PendingWindowInDays *int
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	days := 30
	if in.PendingWindowInDays != nil {
		days = *in.PendingWindowInDays
	}
	k, err := s.world.ScheduleKeyDeletion(in.KeyID, days)
	if err != nil {
		return nil, err
	}
	return map[string]any{"KeyId": k.ARN, "KeyState": k.State, "DeletionDate": wire.Timestamp(k.Deletion), "PendingWindowInDays": days}, nil
}

func (s *service) cancelKeyDeletion(_ context.Context, r *wire.Request) (any, error) {
	var in keyInput
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	k, err := s.world.CancelKeyDeletion(in.KeyID)
	if err != nil {
		return nil, err
	}
	return map[string]string{"KeyId": k.ARN}, nil
}

func (s *service) tagResource(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		Tags []tag
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagKey(in.KeyID, tagMap(in.Tags), nil)
}

func (s *service) untagResource(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		TagKeys []string
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.TagKey(in.KeyID, nil, in.TagKeys)
}

func (s *service) listResourceTags(_ context.Context, r *wire.Request) (any, error) {
	var in keyInput
	k, err := s.key(r, &in, &in.KeyID)
	if err != nil {
		return nil, err
	}
	tags := []tag{}
	for _, name := range slices.Sorted(maps.Keys(k.Tags)) {
		tags = append(tags, tag{name, k.Tags[name]})
	}
	return map[string]any{"Tags": tags, "Truncated": false}, nil
}

// paging is what operations that list have in common.
type paging struct {
	Limit  *int
	Marker string
}

const (
	defaultPage = 50
	maxPage     = 1000
)

// page answers with a part of a sorted list, which goes on behind the element whose key is the marker.
func page[T any](name string, all []T, key func(T) string, p paging) (any, error) {
	limit := defaultPage
	if p.Limit != nil {
		if limit = *p.Limit; limit < 1 || limit > maxPage {
			return nil, wire.Errorf("ValidationException", "1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must be between 1 and %d", limit, maxPage)
		}
	}
	list := []T{}
	for _, v := range all {
		if p.Marker != "" && key(v) <= p.Marker {
			continue
		}
		if len(list) == limit {
			return map[string]any{name: list, "Truncated": true, "NextMarker": key(list[limit-1])}, nil
		}
		list = append(list, v)
	}
	return map[string]any{name: list, "Truncated": false}, nil
}

func (s *service) listKeys(_ context.Context, r *wire.Request) (any, error) {
	var in paging
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	type entry struct {
		KeyID string `json:"KeyId"`
		Arn   string `json:"KeyArn"`
	}
	list := []entry{}
	for _, k := range s.world.Keys() {
		list = append(list, entry{k.ID, k.ARN})
	}
	return page("Keys", list, func(e entry) string { return e.KeyID }, in)
}

// grant is how a grant is shown.
type grant struct {
	GrantID           string `json:"GrantId"`
	KeyID             string `json:"KeyId"`
	Name              string `json:",omitempty"`
	GranteePrincipal  string
	RetiringPrincipal string `json:",omitempty"`
	IssuingAccount    string
	Operations        []string
	Constraints       json.RawMessage `json:",omitempty"`
	CreationDate      wire.Timestamp
}

func (s *service) createGrant(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		GranteePrincipal, RetiringPrincipal, Name string
		Operations                                []string
		Constraints                               json.RawMessage
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	g, err := s.world.CreateGrant(in.KeyID, world.Grant{
		Name: in.Name, Grantee: in.GranteePrincipal, Retiring: in.RetiringPrincipal, Operations: in.Operations, Constraints: in.Constraints,
	})
	if err != nil {
		return nil, err
	}
	return map[string]string{"GrantId": g.ID, "GrantToken": g.Token}, nil
}

func (s *service) listGrants(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		paging
		GrantID          string `json:"GrantId"`
		GranteePrincipal string
	}
	k, err := s.key(r, &in, &in.KeyID)
	if err != nil {
		return nil, err
	}
	list := []grant{}
	for _, g := range k.Grants {
		if in.GrantID != "" && g.ID != in.GrantID || in.GranteePrincipal != "" && g.Grantee != in.GranteePrincipal {
			continue
		}
		list = append(list, grant{
			GrantID: g.ID, KeyID: k.ARN, Name: g.Name, GranteePrincipal: g.Grantee, RetiringPrincipal: g.Retiring, IssuingAccount: g.Issuing,
			Operations: g.Operations, Constraints: g.Constraints, CreationDate: wire.Timestamp(g.Created),
		})
	}
	slices.SortFunc(list, func(a, b grant) int {
		if a.GrantID < b.GrantID {
			return -1
		}
		return 1
	})
	return page("Grants", list, func(g grant) string { return g.GrantID }, in.paging)
}

func (s *service) revokeGrant(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		keyInput
		GrantID string `json:"GrantId"`
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	return nil, s.world.RevokeGrant(in.KeyID, in.GrantID)
}
