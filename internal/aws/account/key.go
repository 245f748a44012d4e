package account

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// KeyAPI is what is asked of KMS.
type KeyAPI interface {
	DescribeKey(context.Context, *kms.DescribeKeyInput, ...func(*kms.Options)) (*kms.DescribeKeyOutput, error)
	GetKeyPolicy(context.Context, *kms.GetKeyPolicyInput, ...func(*kms.Options)) (*kms.GetKeyPolicyOutput, error)
	ListAliases(context.Context, *kms.ListAliasesInput, ...func(*kms.Options)) (*kms.ListAliasesOutput, error)
	GetKeyRotationStatus(context.Context, *kms.GetKeyRotationStatusInput, ...func(*kms.Options)) (*kms.GetKeyRotationStatusOutput, error)
}

// queueKeys reads the keys of all queues and those that the options name.
func (r *reader) queueKeys(ctx context.Context) {
	refs := slices.Clone(r.o.Keys)
	for _, q := range r.a.Queues {
		refs = append(refs, q.KMSKey)
	}
	slices.Sort(refs)
	for _, ref := range slices.Compact(refs) {
		if ref != "" {
			r.key(ctx, ref)
		}
	}
}

// KeyOf finds the key that a reference (id, ARN, alias, or ARN of an alias) means.
func KeyOf(s *awssetup.Setup, ref string) *awssetup.Key {
	alias := ref
	if i := strings.Index(ref, ":alias/"); i >= 0 {
		alias = ref[i+1:]
	}
	for i := range s.Keys {
		k := &s.Keys[i]
		if ref != "" && (k.ID == ref || k.ARN == ref || slices.Contains(k.Aliases, alias)) {
			return k
		}
	}
	return nil
}

func (r *reader) key(ctx context.Context, ref string) {
	what := GapKey + " " + ref
	out, err := r.keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &ref})
	switch {
	case isNotFound(err):
		return
	case err != nil:
		r.gap(what, err)
		return
	case out.KeyMetadata == nil:
		r.gap(what, fmt.Errorf("the answer of KMS is empty"))
		return
	}
	m := out.KeyMetadata
	var aliases []string
	if i := strings.Index(ref, "alias/"); i >= 0 {
		aliases = append(aliases, ref[i:])
	}
	if i := slices.IndexFunc(r.a.Keys, func(k awssetup.Key) bool { return k.ARN == deref(m.Arn) }); i >= 0 {
		for _, name := range aliases {
			if !slices.Contains(r.a.Keys[i].Aliases, name) {
				r.a.Keys[i].Aliases = append(r.a.Keys[i].Aliases, name)
			}
		}
		return
	}
	k := awssetup.Key{ID: deref(m.KeyId), ARN: deref(m.Arn), Aliases: aliases, Manager: string(m.KeyManager), Enabled: m.Enabled}
	r.aliases(ctx, &k)
	policy, err := r.keys.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: m.KeyId, PolicyName: new("default")})
	if err == nil {
		k.Policy, err = iampolicy.Parse([]byte(deref(policy.Policy)))
	}
	if err != nil {
		r.gap(what+" (its policy)", err)
	}
	if m.KeyManager == types.KeyManagerTypeCustomer {
		if rotation, err := r.keys.GetKeyRotationStatus(ctx, &kms.GetKeyRotationStatusInput{KeyId: m.KeyId}); err == nil {
			k.Rotation = rotation.KeyRotationEnabled
		} else {
			k.RotationUnread = true
		} // keys that can't be rotated refuse the question
	}
	r.a.Keys = append(r.a.Keys, k)
}

func (r *reader) aliases(ctx context.Context, k *awssetup.Key) {
	pages := kms.NewListAliasesPaginator(r.keys, &kms.ListAliasesInput{KeyId: &k.ID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			r.gap(GapKey+" "+k.ID+" (its aliases)", err)
			return
		}
		for _, a := range page.Aliases {
			if name := deref(a.AliasName); !slices.Contains(k.Aliases, name) {
				k.Aliases = append(k.Aliases, name)
			}
		}
	}
	slices.Sort(k.Aliases)
}
