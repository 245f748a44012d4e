package world

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// maxTokens is how many client tokens are remembered.
const maxTokens = 5_000

// tokenUse is what the first call with a client token did.
type tokenUse struct {
	input  [sha256.Size]byte
	result any
}

// tokenLocked looks a client token up: the result of the first call with it, nil if there was none, an error if that
// call asked for something else. It remembers the input for keepTokenLocked.
func (w *World) tokenLocked(op, token string, input any) (any, error) {
	if token == "" {
		return nil, nil
	}
	text, err := json.Marshal(input)
	if err != nil {
		return nil, fmt.Errorf("compare requests with token %s: %w", token, err)
	}
	sum := sha256.Sum256(text)
	key := op + " " + token
	use := w.tokens[key]
	if use == nil {
		w.tokens[key] = &tokenUse{input: sum}
		if w.tokenOrder = append(w.tokenOrder, key); len(w.tokenOrder) > maxTokens {
			delete(w.tokens, w.tokenOrder[0])
			w.tokenOrder = w.tokenOrder[1:]
		}
		return nil, nil
	}
	if use.input != sum {
		return nil, Errorf("IdempotentParameterMismatch",
			"The client token %s was used before, with other parameters.", token)
	}
	return use.result, nil
}

// keepTokenLocked stores what the call with a token did. Calls that fail store nothing, so they can be made again.
func (w *World) keepTokenLocked(op, token string, result any) {
	if use := w.tokens[op+" "+token]; use != nil {
		use.result = result
	}
}

// dropTokenLocked forgets a token whose call was refused.
func (w *World) dropTokenLocked(op, token string) {
	if use := w.tokens[op+" "+token]; use != nil && use.result == nil {
		delete(w.tokens, op+" "+token)
	}
}
