package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/iampolicy"
)

// kmsState holds the keys of the account.
type kmsState struct {
	keys    map[string]*Key   // by id
	aliases map[string]*Alias // by name, alias/ included
}

func (s *kmsState) init() { s.keys, s.aliases = map[string]*Key{}, map[string]*Alias{} }

// States of a key.
const (
	KeyEnabled         = "Enabled"
	KeyDisabled        = "Disabled"
	KeyPendingDeletion = "PendingDeletion"
)

// Managers of keys.
const (
	ManagerCustomer = "CUSTOMER"
	ManagerAWS      = "AWS"
)

// Key is a symmetric KMS key. Values handed out are copies, except for the parsed policy, which nobody changes.
type Key struct {
	ID, ARN     string
	Description string
	State       string
	Manager     string
	PolicyText  string
	Policy      *iampolicy.Document
	Rotation    bool
	Created     time.Time
	Deletion    time.Time // zero unless pending deletion
	Tags        map[string]string
	Grants      []Grant
}

// Alias is a name of a key.
type Alias struct {
	Name, ARN, KeyID string
	Created, Updated time.Time
}

// Grant lets a principal use a key without a word in its policy.
type Grant struct {
	ID, Token, Name            string
	Grantee, Retiring, Issuing string
	Operations                 []string
	Constraints                json.RawMessage
	Created                    time.Time
}

func (k *Key) clone() Key {
	c := *k
	c.Tags, c.Grants = maps.Clone(k.Tags), slices.Clone(k.Grants)
	return c
}

func (w *World) kmsARN(rest string) string {
	return "arn:" + w.Partition() + ":kms:" + w.opts.Region + ":" + w.opts.Account + ":" + rest
}

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
			`"Condition":{"StringEquals":{"kms:CallerAccount":%q,"kms:ViaService":"%s.%s.amazonaws.com"}}},`+
			`{"Sid":"Allow direct access to key metadata to the account","Effect":"Allow","Principal":{"AWS":"arn:%s:iam::%s:root"},`+
			`"Action":["kms:Describe*","kms:Get*","kms:List*","kms:RevokeGrant"],"Resource":"*"}]}`,
			s.id, s.sid, w.opts.Account, s.via, w.opts.Region, w.Partition(), w.opts.Account)
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

func noKey(format string, args ...any) *Error { return Errorf("NotFoundException", format, args...) }

// keyLocked finds a key by id, ARN, alias name or alias ARN.
func (w *World) keyLocked(ref string) (*Key, error) {
	rest := ref
	if strings.HasPrefix(ref, "arn:") {
		var ok bool
		if rest, ok = strings.CutPrefix(ref, w.kmsARN("")); !ok {
			return nil, noKey("Key '%s' does not exist", ref)
		}
	}
	if strings.HasPrefix(rest, "alias/") {
		a := w.kms.aliases[rest]
		if a == nil {
			return nil, noKey("Alias %s is not found.", w.kmsARN(rest))
		}
		return w.kms.keys[a.KeyID], nil
	}
	if k := w.kms.keys[strings.TrimPrefix(rest, "key/")]; k != nil {
		return k, nil
	}
	return nil, noKey("Key '%s' does not exist", w.kmsARN("key/"+strings.TrimPrefix(rest, "key/")))
}

// Key finds a key by id, ARN, alias name or alias ARN.
func (w *World) Key(ref string) (Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.keyLocked(ref)
	if err != nil {
		return Key{}, err
	}
	return k.clone(), nil
}

// Keys returns all keys by id.
func (w *World) Keys() []Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.kms.keys, (*Key).clone)
}

// Aliases returns all aliases by name.
func (w *World) Aliases() []Alias {
	w.mu.Lock()
	defer w.mu.Unlock()
	return sorted(w.kms.aliases, func(a *Alias) Alias { return *a })
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

// NewKey says what key to make.
type NewKey struct {
	Description string
	Policy      string // empty: the account's own policies decide
	Caller      string // ARN of who makes it, for the check that they don't lock themselves out
	Bypass      bool   // of that check
	Tags        map[string]string
}

// CreateKey makes a customer managed key.
func (w *World) CreateKey(in NewKey) (Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.Policy == "" {
		in.Policy = w.rootDelegation()
	}
	d, err := w.keyPolicy(in.Policy, in.Caller, in.Bypass)
	if err != nil {
		return Key{}, err
	}
	id := w.uuidLocked()
	k := &Key{
		ID: id, ARN: w.kmsARN("key/" + id), Description: in.Description, State: KeyEnabled, Manager: ManagerCustomer,
		PolicyText: in.Policy, Policy: d, Created: w.clock.Now(), Tags: maps.Clone(in.Tags),
	}
	w.kms.keys[id] = k
	return k.clone(), nil
}

// changeKey lets f change a key that the customer manages and that is not about to be deleted, unless pending is set.
func (w *World) changeKey(ref, operation string, pending bool, f func(*Key) error) (Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, err := w.keyLocked(ref)
	if err != nil {
		return Key{}, err
	}
	if k.Manager == ManagerAWS {
		return Key{}, Errorf("AccessDeniedException", "kms:%s is not possible on %s, which AWS manages; its policy and state cannot be changed.", operation, k.ARN)
	}
	if k.State == KeyPendingDeletion && !pending {
		return Key{}, Errorf("KMSInvalidStateException", "%s is pending deletion.", k.ARN)
	}
	if err := f(k); err != nil {
		return Key{}, err
	}
	return k.clone(), nil
}

// PutKeyPolicy replaces the policy of a key.
func (w *World) PutKeyPolicy(ref, policy, caller string, bypass bool) error {
	_, err := w.changeKey(ref, "PutKeyPolicy", true, func(k *Key) error {
		d, err := w.keyPolicy(policy, caller, bypass)
		if err == nil {
			k.PolicyText, k.Policy = policy, d
		}
		return err
	})
	return err
}

// SetKeyEnabled enables or disables a key.
func (w *World) SetKeyEnabled(ref string, enabled bool) error {
	operation, state := "DisableKey", KeyDisabled
	if enabled {
		operation, state = "EnableKey", KeyEnabled
	}
	_, err := w.changeKey(ref, operation, false, func(k *Key) error { k.State = state; return nil })
	return err
}

// SetKeyRotation switches yearly rotation on or off.
func (w *World) SetKeyRotation(ref string, on bool) error {
	operation := "DisableKeyRotation"
	if on {
		operation = "EnableKeyRotation"
	}
	_, err := w.changeKey(ref, operation, false, func(k *Key) error {
		if k.State == KeyDisabled {
			return Errorf("DisabledException", "%s is disabled.", k.ARN)
		}
		k.Rotation = on
		return nil
	})
	return err
}

// SetKeyDescription changes what is said of a key.
func (w *World) SetKeyDescription(ref, text string) error {
	_, err := w.changeKey(ref, "UpdateKeyDescription", false, func(k *Key) error { k.Description = text; return nil })
	return err
}

// ScheduleKeyDeletion makes a key unusable and deletes it after some days, 7 to 30.
func (w *World) ScheduleKeyDeletion(ref string, days int) (Key, error) {
	if days < 7 || days > 30 {
		return Key{}, Errorf("ValidationException", "PendingWindowInDays must be between 7 and 30, it is %d", days)
	}
	return w.changeKey(ref, "ScheduleKeyDeletion", false, func(k *Key) error {
		wait := time.Duration(days) * 24 * time.Hour
		k.State, k.Deletion = KeyPendingDeletion, w.clock.Now().Add(wait)
		due := k.Deletion
		w.afterLocked(wait, func() {
			if k.State != KeyPendingDeletion || !k.Deletion.Equal(due) {
				return
			}
			delete(w.kms.keys, k.ID)
			maps.DeleteFunc(w.kms.aliases, func(_ string, a *Alias) bool { return a.KeyID == k.ID })
		})
		return nil
	})
}

// CancelKeyDeletion keeps a key that was to be deleted; it is disabled then.
func (w *World) CancelKeyDeletion(ref string) (Key, error) {
	return w.changeKey(ref, "CancelKeyDeletion", true, func(k *Key) error {
		if k.State != KeyPendingDeletion {
			return Errorf("KMSInvalidStateException", "%s is not pending deletion.", k.ARN)
		}
		k.State, k.Deletion = KeyDisabled, time.Time{}
		return nil
	})
}

// TagKey adds, changes and removes tags of a key.
func (w *World) TagKey(ref string, set map[string]string, unset []string) error {
	_, err := w.changeKey(ref, "TagResource", false, func(k *Key) error { k.Tags = retag(k.Tags, set, unset); return nil })
	return err
}

// retag returns tags with some added or changed and some removed.
func retag(tags, set map[string]string, unset []string) map[string]string {
	out := maps.Clone(tags)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, set)
	for _, k := range unset {
		delete(out, k)
	}
	return out
}

var aliasName = regexp.MustCompile(`^alias/[a-zA-Z0-9/_-]{1,250}$`)

// CreateAlias gives a key a name.
func (w *World) CreateAlias(name, ref string) error {
	if err := checkAlias(name); err != nil {
		return err
	}
	_, err := w.changeKey(ref, "CreateAlias", false, func(k *Key) error {
		if w.kms.aliases[name] != nil {
			return Errorf("AlreadyExistsException", "An alias with the name %s already exists", w.kmsARN(name))
		}
		now := w.clock.Now()
		w.kms.aliases[name] = &Alias{Name: name, ARN: w.kmsARN(name), KeyID: k.ID, Created: now, Updated: now}
		return nil
	})
	return err
}

// UpdateAlias lets an alias name another key.
func (w *World) UpdateAlias(name, ref string) error {
	if err := checkAlias(name); err != nil {
		return err
	}
	_, err := w.changeKey(ref, "UpdateAlias", false, func(k *Key) error {
		a := w.kms.aliases[name]
		if a == nil {
			return noKey("Alias %s is not found.", w.kmsARN(name))
		}
		a.KeyID, a.Updated = k.ID, w.clock.Now()
		return nil
	})
	return err
}

// DeleteAlias removes an alias; the key stays.
func (w *World) DeleteAlias(name string) error {
	if err := checkAlias(name); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kms.aliases[name] == nil {
		return noKey("Alias %s is not found.", w.kmsARN(name))
	}
	delete(w.kms.aliases, name)
	return nil
}

func checkAlias(name string) error {
	if !aliasName.MatchString(name) {
		return Errorf("ValidationException", "The alias name %q does not begin with alias/ or has characters other than letters, digits, /, _ and -.", name)
	}
	if strings.HasPrefix(name, "alias/aws/") {
		return Errorf("NotAuthorizedException", "The alias name %s is reserved for keys that AWS manages.", name)
	}
	return nil
}

// CreateGrant lets a principal use a key.
func (w *World) CreateGrant(ref string, g Grant) (Grant, error) {
	if g.Grantee == "" || len(g.Operations) == 0 {
		return Grant{}, Errorf("ValidationException", "GranteePrincipal and Operations must be given.")
	}
	_, err := w.changeKey(ref, "CreateGrant", false, func(k *Key) error {
		if k.State == KeyDisabled {
			return Errorf("DisabledException", "%s is disabled.", k.ARN)
		}
		g.ID = strings.ReplaceAll(w.uuidLocked()+w.uuidLocked(), "-", "")
		g.Token = w.secretLocked(48)
		g.Issuing, g.Created = "arn:"+w.Partition()+":iam::"+w.opts.Account+":root", w.clock.Now()
		k.Grants = append(k.Grants, g)
		return nil
	})
	return g, err
}

// RevokeGrant removes a grant.
func (w *World) RevokeGrant(ref, id string) error {
	_, err := w.changeKey(ref, "RevokeGrant", true, func(k *Key) error {
		n := len(k.Grants)
		if k.Grants = slices.DeleteFunc(k.Grants, func(g Grant) bool { return g.ID == id }); len(k.Grants) == n {
			return Errorf("InvalidGrantIdException", "The grant %s does not exist.", id)
		}
		return nil
	})
	return err
}
