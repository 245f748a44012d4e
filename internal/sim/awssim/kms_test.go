package awssim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
)

func TestKeysLiveAsKMSHasThem(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	made, err := a.keys.CreateKey(ctx, &kms.CreateKeyInput{Description: aws.String("queue"), Tags: []kmstypes.Tag{{TagKey: aws.String("a"), TagValue: aws.String("b")}}})
	if err != nil {
		t.Fatal(err)
	}
	m := made.KeyMetadata
	if m.KeyManager != kmstypes.KeyManagerTypeCustomer || m.KeyState != kmstypes.KeyStateEnabled || !m.Enabled || !m.CreationDate.Equal(a.clock.Now()) ||
		*m.Arn != "arn:aws:kms:us-east-1:123456789012:key/"+*m.KeyId {
		t.Errorf("made: %+v", m)
	}
	policy, err := a.keys.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: m.KeyId})
	if err != nil || !strings.Contains(*policy.Policy, `"arn:aws:iam::123456789012:root"`) || !strings.Contains(*policy.Policy, `"kms:*"`) {
		t.Errorf("policy of a key without one: %+v, %v", policy, err)
	}
	if _, err := a.keys.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: aws.String("alias/kerf"), TargetKeyId: m.KeyId}); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{*m.KeyId, *m.Arn, "alias/kerf", "arn:aws:kms:us-east-1:123456789012:alias/kerf"} {
		out, err := a.keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &ref})
		if err != nil || *out.KeyMetadata.KeyId != *m.KeyId {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := a.keys.EnableKeyRotation(ctx, &kms.EnableKeyRotationInput{KeyId: m.KeyId}); err != nil {
		t.Error(err)
	}
	if out, err := a.keys.GetKeyRotationStatus(ctx, &kms.GetKeyRotationStatusInput{KeyId: m.KeyId}); err != nil || !out.KeyRotationEnabled {
		t.Errorf("rotation: %+v, %v", out, err)
	}
	grant, err := a.keys.CreateGrant(ctx, &kms.CreateGrantInput{
		KeyId: m.KeyId, GranteePrincipal: aws.String("arn:aws:iam::123456789012:role/x"), Operations: []kmstypes.GrantOperation{kmstypes.GrantOperationDecrypt},
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := a.keys.ListGrants(ctx, &kms.ListGrantsInput{KeyId: m.KeyId}); err != nil || len(out.Grants) != 1 || *out.Grants[0].GrantId != *grant.GrantId {
		t.Errorf("grants: %+v, %v", out, err)
	}
	if out, err := a.keys.ListResourceTags(ctx, &kms.ListResourceTagsInput{KeyId: m.KeyId}); err != nil || len(out.Tags) != 1 || *out.Tags[0].TagValue != "b" {
		t.Errorf("tags: %+v, %v", out, err)
	}
	gone, err := a.keys.ScheduleKeyDeletion(ctx, &kms.ScheduleKeyDeletionInput{KeyId: m.KeyId, PendingWindowInDays: aws.Int32(7)})
	if err != nil || !gone.DeletionDate.Equal(a.clock.Now().Add(7*24*time.Hour)) {
		t.Fatal(gone, err)
	}
	if _, err := a.keys.EnableKey(ctx, &kms.EnableKeyInput{KeyId: m.KeyId}); code(err) != "KMSInvalidStateException" {
		t.Errorf("enabling a key that is to be deleted: %v", err)
	}
	a.clock.Advance(7 * 24 * time.Hour)
	if _, err := a.keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: aws.String("alias/kerf")}); code(err) != "NotFoundException" {
		t.Errorf("a week later: %v", err)
	}
}

func TestKeysOfAWSAreFixed(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	out, err := a.keys.ListAliases(ctx, &kms.ListAliasesInput{})
	if err != nil || len(out.Aliases) != 2 || *out.Aliases[0].AliasName != "alias/aws/ebs" || *out.Aliases[1].AliasName != "alias/aws/sqs" {
		t.Fatalf("aliases: %+v, %v", out, err)
	}
	id := out.Aliases[1].TargetKeyId
	seen, err := a.keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: id})
	if err != nil || seen.KeyMetadata.KeyManager != kmstypes.KeyManagerTypeAws {
		t.Errorf("manager: %+v, %v", seen, err)
	}
	policy, err := a.keys.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: id})
	if err != nil || !strings.Contains(*policy.Policy, `"kms:ViaService":"sqs.us-east-1.amazonaws.com"`) || !strings.Contains(*policy.Policy, `"kms:CallerAccount":"123456789012"`) {
		t.Errorf("policy: %+v, %v", policy, err)
	}
	if _, err := a.keys.PutKeyPolicy(ctx, &kms.PutKeyPolicyInput{KeyId: id, Policy: policy.Policy}); code(err) != "AccessDeniedException" {
		t.Errorf("changing the policy: %v", err)
	}
	if _, err := a.keys.DisableKey(ctx, &kms.DisableKeyInput{KeyId: id}); code(err) != "AccessDeniedException" {
		t.Errorf("disabling it: %v", err)
	}
}

func TestKeysRefuse(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	id := a.key()
	policy := func(text string) error {
		_, err := a.keys.PutKeyPolicy(ctx, &kms.PutKeyPolicyInput{KeyId: &id, Policy: &text})
		return err
	}
	alias := func(name, target string) error {
		_, err := a.keys.CreateAlias(ctx, &kms.CreateAliasInput{AliasName: &name, TargetKeyId: &target})
		return err
	}
	if err := alias("alias/one", id); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		err  error
		code string
	}{
		"a policy that is not JSON":             {policy("{"), "MalformedPolicyDocumentException"},
		"a policy without principals":           {policy(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"kms:*","Resource":"*"}]}`), "MalformedPolicyDocumentException"},
		"a policy that locks its author out":    {policy(`{"Version":"2012-10-17","Statement":[` + useKey + `]}`), "MalformedPolicyDocumentException"},
		"an alias without its beginning":        {alias("one", id), "ValidationException"},
		"an alias of AWS":                       {alias("alias/aws/sqs2", id), "NotAuthorizedException"},
		"an alias that is there":                {alias("alias/one", id), "AlreadyExistsException"},
		"an alias of a key that does not exist": {alias("alias/two", "00000000-0000-4000-8000-000000000000"), "NotFoundException"},
	} {
		if code(tt.err) != tt.code {
			t.Errorf("%s: %v, want %s", name, tt.err, tt.code)
		}
	}
}
