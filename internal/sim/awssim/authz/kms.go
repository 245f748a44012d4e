package authz

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// KMS judges by the key's ARN, and the key's policy must allow, itself or by leaving it to the account. An alias is a
// resource of its own to make, move and delete, beside the key that it names.
//
// Source: Service Authorization Reference for AWS KMS; KMS Developer Guide, "Key policies", checked 2026-11.
func kmsRules() map[string]rule {
	out := map[string]rule{}
	each(out, "kms", anywhere, "ListKeys", "ListAliases")
	each(out, "kms", func(action string) rule {
		return func(c *call) []check { return []check{c.onKey(action, c.text("KeyId"))} }
	}, "DescribeKey", "GetKeyPolicy", "PutKeyPolicy", "ListKeyPolicies", "ScheduleKeyDeletion", "CancelKeyDeletion", "EnableKeyRotation",
		"DisableKeyRotation", "GetKeyRotationStatus", "EnableKey", "DisableKey", "TagResource", "UntagResource", "ListResourceTags",
		"ListGrants", "CreateGrant", "RevokeGrant", "RetireGrant", "UpdateKeyDescription", "Encrypt", "Decrypt", "GenerateDataKey",
		"GenerateDataKeyWithoutPlaintext")
	each(out, "kms", func(action string) rule {
		return func(c *call) []check {
			alias := c.text("AliasName")
			checks := []check{{action: action, resource: c.arn("kms", alias)}}
			for _, ref := range []string{c.text("TargetKeyId"), alias} {
				if _, err := c.w.Key(ref); err == nil {
					checks = append(checks, c.onKey(action, ref))
				}
			}
			return checks
		}
	}, "CreateAlias", "UpdateAlias", "DeleteAlias")
	out["kms:CreateKey"] = func(c *call) []check {
		return []check{{action: "kms:CreateKey", resource: "*", keys: c.bodyTags}}
	}
	return out
}

// onKey checks the use of a key that is named by id, ARN or alias. A key that does not exist has no policy that could
// allow; the caller's own decide then, and the handler says that it does not exist.
func (c *call) onKey(action, ref string) check {
	key, err := c.w.Key(ref)
	if err != nil {
		arn := ref
		if !strings.HasPrefix(ref, "arn:") {
			arn = c.arn("kms", "key/"+ref)
		}
		return check{action: action, resource: arn, keys: c.bodyTags}
	}
	return check{action: action, resource: key.ARN, document: key.Policy, owner: c.w.Account(), only: true, keys: func(k iampolicy.Context) {
		setTags(k, resourceTag, key.Tags)
		c.bodyTags(k)
	}}
}
