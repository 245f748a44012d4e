package world

import (
	"encoding/base64"
	"maps"
	"time"
)

// AccessKey signs requests for a principal.
type AccessKey struct {
	ID, Secret   string
	SessionToken string            // empty for long-lived keys
	Expires      time.Time         // zero for long-lived keys
	PrincipalARN string            // user, role or assumed role
	PrincipalID  string            // AIDA…, or AROA…:session
	SessionTags  map[string]string // that came with the session; they win over those of the role
}

// CreateAccessKey makes a long-lived key for a principal, usually a role the controller is to act as.
func (w *World) CreateAccessKey(principalARN string) AccessKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := &AccessKey{ID: w.iamIDLocked("AKIA")[:20], Secret: w.secretLocked(30), PrincipalARN: principalARN, PrincipalID: w.iamIDLocked("AIDA")}
	w.iam.keys[k.ID] = k
	return *k
}

// AddAccessKey makes a key with a given id and secret known.
func (w *World) AddAccessKey(k AccessKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k.PrincipalID == "" {
		k.PrincipalID = w.iamIDLocked("AIDA")
	}
	w.iam.keys[k.ID] = &k
}

// DeleteAccessKey makes a key unknown, as when it is rotated away.
func (w *World) DeleteAccessKey(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.iam.keys, id)
}

// AccessKey finds a key by its id.
func (w *World) AccessKey(id string) (AccessKey, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.iam.keys[id]
	if k == nil {
		return AccessKey{}, false
	}
	return *k, true
}

// PrincipalTags returns the tags of who holds a key: those of the role and, over them, those of the session.
func (w *World) PrincipalTags(accessKeyID string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.principalTagsLocked(w.iam.keys[accessKeyID])
}

func (w *World) principalTagsLocked(k *AccessKey) map[string]string {
	out := map[string]string{}
	if k == nil {
		return out
	}
	if r := w.principalRoleLocked(k.PrincipalARN); r != nil {
		maps.Copy(out, r.Tags)
	}
	maps.Copy(out, k.SessionTags)
	return out
}

func (w *World) sessionLocked(r *roleState, session string, d time.Duration, tags map[string]string) AccessKey {
	k := &AccessKey{
		ID: w.iamIDLocked("ASIA")[:20], Secret: w.secretLocked(30), SessionToken: w.secretLocked(120),
		Expires: w.clock.Now().Add(d), PrincipalARN: w.sessionARN(r.Name, session), PrincipalID: r.ID + ":" + session,
		SessionTags: maps.Clone(tags),
	}
	w.iam.keys[k.ID] = k
	return *k
}

func (w *World) secretLocked(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(w.rand.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}
