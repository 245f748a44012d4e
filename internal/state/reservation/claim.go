package reservation

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kerf-sh/kerf/internal/state/intake"
)

// claim is what is known of a NodeClaim besides its object.
type claim struct {
	expected  intake.Expected
	uid       types.UID
	until     time.Time
	confirmed bool // a watch has told of it
}

// ExpectClaim notes a NodeClaim that was just created and what its instance will have. Until a watch has confirmed it, it counts
// no longer than until. What is known of the same claim already stays.
func (t *Table) ExpectClaim(name string, uid types.UID, expected intake.Expected, until time.Time, confirmed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if have, ok := t.claims[name]; !ok || have.uid != uid {
		t.claims[name] = claim{expected: expected, uid: uid, until: until, confirmed: confirmed}
		if !confirmed {
			t.claimsDue.include(until)
		}
	}
}

// ConfirmClaim notes that a watch has told of a claim.
func (t *Table) ConfirmClaim(name string, uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.claims[name]; ok && c.uid == uid {
		c.confirmed = true
		t.claims[name] = c
	}
}

// ForgetClaim forgets a claim that is gone.
func (t *Table) ForgetClaim(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.claims, name)
}

// Expected is what the instance of a claim will have; zero when that is not known.
func (t *Table) Expected(claim string) intake.Expected {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.claims[claim].expected
}

// Unconfirmed reports whether a claim is one that no watch has told of yet.
func (t *Table) Unconfirmed(claim string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.claims[claim]
	return ok && !c.confirmed
}

// LapsedClaims forgets the claims that no watch has confirmed in time, and returns their UIDs by name.
//
// Cost: nothing before the time of the first of them.
func (t *Table) LapsedClaims(now time.Time) map[string]types.UID {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.claimsDue.come(now) {
		return nil
	}
	t.claimsDue = earliest{}
	var out map[string]types.UID
	for name, c := range t.claims {
		t.looked++
		if c.confirmed {
			continue
		}
		if now.Before(c.until) {
			t.claimsDue.include(c.until)
			continue
		}
		if out == nil {
			out = map[string]types.UID{}
		}
		out[name] = c.uid
		delete(t.claims, name)
	}
	return out
}
