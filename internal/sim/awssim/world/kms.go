package world

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
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
