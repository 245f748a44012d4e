package access

import (
	"encoding/binary"
	"testing"
	"time"
)

func TestAnswersAreBounded(t *testing.T) {
	var a answers[int]
	now := time.Unix(1_800_000_000, 0)
	at := func(n int) (k key) { binary.BigEndian.PutUint64(k[:], uint64(n)); return k }
	a.put(at(0), 0, now, now.Add(allowedFor))
	for n := 1; n <= 3*answersMost; n++ { // a flood of made-up tokens
		a.put(at(n), n, now, now.Add(refusedFor))
	}
	if len(a.kept) != answersMost {
		t.Errorf("%d answers are kept", len(a.kept))
	}
	if _, ok := a.get(at(0), now.Add(allowedFor-1)); !ok {
		t.Error("the flood pushed a user out")
	}
	if _, ok := a.get(at(0), now.Add(allowedFor)); ok {
		t.Error("an answer holds for longer than it should")
	}
	a.put(at(-1), 1, now.Add(time.Hour), now.Add(2*time.Hour))
	if len(a.kept) != 1 {
		t.Errorf("%d answers are kept of which all but one have ended", len(a.kept))
	}
}
