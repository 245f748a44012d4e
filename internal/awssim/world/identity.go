package world

import (
	"encoding/base64"
	"strings"
	"time"
)

// AccessKey signs requests for a principal.
type AccessKey struct {
	ID, Secret   string
	SessionToken string    // empty for long-lived keys
	Expires      time.Time // zero for long-lived keys
	PrincipalARN string    // user, role or assumed role
	PrincipalID  string    // AIDA…, or AROA…:session
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

// AssumeRole makes a session of a role. The role is named by ARN; any principal of the account may.
func (w *World) AssumeRole(roleARN, session string, d time.Duration) (AccessKey, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	role := w.iam.roles[roleARN[strings.LastIndex(roleARN, "/")+1:]]
	if role == nil || role.ARN != roleARN {
		e := Errorf("AccessDenied", "User is not authorized to perform: sts:AssumeRole on resource: %s", roleARN)
		e.Status = 403
		return AccessKey{}, e
	}
	k := &AccessKey{
		ID: w.iamIDLocked("ASIA")[:20], Secret: w.secretLocked(30), SessionToken: w.secretLocked(120),
		Expires:      w.clock.Now().Add(d),
		PrincipalARN: "arn:" + w.Partition() + ":sts::" + w.opts.Account + ":assumed-role/" + role.Name + "/" + session,
		PrincipalID:  role.ID + ":" + session,
	}
	w.iam.keys[k.ID] = k
	return *k, nil
}

func (w *World) secretLocked(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(w.rand.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}
