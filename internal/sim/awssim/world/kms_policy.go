package world

import (
	"fmt"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// ManagedAlias is the alias of the key that AWS manages for a service, such as sqs.
func ManagedAlias(service string) string { return "alias/aws/" + service }

// furnishKeys makes the keys that AWS manages, as if queues and volumes had been encrypted before. Their policies let all
// principals of the account use them, but only through their service, and can't be changed.
func (w *World) furnishKeys() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range []struct{ service, via, id, sid, text string }{
		{"sqs", "sqs", "auto-sqs-1", "Allow access through Simple Queue Service (SQS) for all principals in the account that are authorized to use SQS",
			"Default key that protects my SQS messages when no other key is defined"},
		{"ebs", "ec2", "auto-ebs-2", "Allow access through EBS for all principals in the account that are authorized to use EBS",
			"Default key that protects my EBS volumes when no other key is defined"},
	} {
		policy := fmt.Sprintf(`{"Version":"2012-10-17","Id":%q,"Statement":[{"Sid":%q,"Effect":"Allow","Principal":{"AWS":"*"},`+
			`"Action":["kms:Encrypt","kms:Decrypt","kms:ReEncrypt*","kms:GenerateDataKey*","kms:CreateGrant","kms:DescribeKey"],"Resource":"*",`+
			`"Condition":{"StringEquals":{"kms:CallerAccount":%q,"kms:ViaService":"%s.%s.%s"}}},`+
			`{"Sid":"Allow direct access to key metadata to the account","Effect":"Allow","Principal":{"AWS":"arn:%s:iam::%s:root"},`+
			`"Action":["kms:Describe*","kms:Get*","kms:List*","kms:RevokeGrant"],"Resource":"*"}]}`,
			s.id, s.sid, w.opts.Account, s.via, w.opts.Region, partition.SuffixOf(w.Partition()), w.Partition(), w.opts.Account)
		d, err := iampolicy.Parse([]byte(policy))
		if err != nil {
			return fmt.Errorf("make the key of %s: %w", s.service, err)
		}
		id := stableUUID(w.opts.Account + w.opts.Region + s.service)
		now := w.clock.Now()
		w.kms.keys[id] = &Key{
			ID: id, ARN: w.kmsARN("key/" + id), Description: s.text, State: KeyEnabled, Manager: ManagerAWS,
			PolicyText: policy, Policy: d, Rotation: true, Created: now,
		}
		name := ManagedAlias(s.service)
		w.kms.aliases[name] = &Alias{Name: name, ARN: w.kmsARN(name), KeyID: id, Created: now, Updated: now}
	}
	return nil
}

// stableUUID makes an identifier of that look from a name.
func stableUUID(name string) string {
	h := stableID("", name) + stableID("x", name) + stableID("y", name)
	hex := make([]byte, 32)
	for i := range hex {
		hex[i] = "0123456789abcdef"[h[i]&15]
	}
	return fmt.Sprintf("%s-%s-4%s-8%s-%s", hex[:8], hex[8:12], hex[13:16], hex[17:20], hex[20:])
}

// rootDelegation is the policy of a key that was made without one.
func (w *World) rootDelegation() string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Id":"key-default-1","Statement":[{"Sid":"Enable IAM User Permissions","Effect":"Allow",`+
		`"Principal":{"AWS":"arn:%s:iam::%s:root"},"Action":"kms:*","Resource":"*"}]}`, w.Partition(), w.opts.Account)
}

// maxKeyPolicy is how long the policy of a key may be, in bytes.
const maxKeyPolicy = 32 << 10

// keyPolicy judges the policy of a key. caller is who sets it and must be able to change it again, unless bypass is set
// or caller is empty.
func (w *World) keyPolicy(text, caller string, bypass bool) (*iampolicy.Document, error) {
	if len(text) > maxKeyPolicy {
		return nil, Errorf("LimitExceededException", "The key policy is longer than %d bytes.", maxKeyPolicy)
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		return nil, Errorf("MalformedPolicyDocumentException", "Policy contains a statement that is not valid: %v", err)
	}
	for _, s := range d.Statements {
		if s.Principal == nil && s.NotPrincipal == nil {
			return nil, Errorf("MalformedPolicyDocumentException", "Policy contains a statement with no principal (Sid %q)", s.Sid)
		}
	}
	if caller == "" || bypass {
		return d, nil
	}
	everything := &iampolicy.Document{Version: "2012-10-17", Statements: []iampolicy.Statement{
		{Effect: iampolicy.Allow, Actions: []string{"kms:*"}, Resources: []string{"*"}},
	}}
	context := iampolicy.Context{}
	context.Set("aws:PrincipalArn", caller)
	context.Set("aws:PrincipalAccount", w.opts.Account)
	context.Set("kms:CallerAccount", w.opts.Account)
	decision := iampolicy.Evaluate(
		iampolicy.Call{
			Caller: iampolicy.Caller{ARN: caller, Account: w.opts.Account}, Action: "kms:PutKeyPolicy",
			Resource: w.kmsARN("key/new"), Context: context,
		},
		iampolicy.Policies{
			Identity: []iampolicy.Named{{Name: "all", Document: everything}}, Resource: d, ResourceOwner: w.opts.Account, ResourceOnly: true,
		})
	if !decision.OK() {
		return nil, Errorf("MalformedPolicyDocumentException", "The new key policy will not allow you to update the key policy in the future.")
	}
	return d, nil
}
