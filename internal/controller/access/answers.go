package access

import "time"

// key is a hash of what was asked.
type key = [32]byte

// answers keeps what was answered until its time ends, answersMost at most. The zero value is empty.
type answers[V any] struct {
	kept map[key]answer[V]
}

type answer[V any] struct {
	v    V
	ends time.Time
}

func (a *answers[V]) get(k key, now time.Time) (V, bool) {
	got, ok := a.kept[k]
	if !ok || !now.Before(got.ends) {
		var none V
		return none, false
	}
	return got.v, true
}

// put keeps an answer. Where there is no room, those that have ended go, or else the one that ends first: refusals end sooner,
// so that a flood of made-up tokens drops its own.
func (a *answers[V]) put(k key, v V, now, ends time.Time) {
	if a.kept == nil {
		a.kept = map[key]answer[V]{}
	}
	if _, ok := a.kept[k]; !ok && len(a.kept) >= answersMost {
		a.makeRoom(now)
	}
	a.kept[k] = answer[V]{v, ends}
}

func (a *answers[V]) makeRoom(now time.Time) {
	var first key
	var ends time.Time
	for k, e := range a.kept {
		if !now.Before(e.ends) {
			delete(a.kept, k)
			continue
		}
		if ends.IsZero() || e.ends.Before(ends) {
			first, ends = k, e.ends
		}
	}
	if len(a.kept) >= answersMost {
		delete(a.kept, first)
	}
}
