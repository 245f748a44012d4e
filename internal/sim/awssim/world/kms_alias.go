package world

import (
	"regexp"
	"strings"
)

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
