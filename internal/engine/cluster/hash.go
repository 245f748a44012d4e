package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Hash is the ID that the class should have: a hash of everything but ID. Maps are hashed in key order; lists count in
// the order in which they stand.
func (c *Class) Hash() string {
	plain := *c
	plain.ID = ""
	b, err := json.Marshal(&plain)
	if err != nil {
		return "" // only strings, numbers, maps and lists: can't happen
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:10])
}
