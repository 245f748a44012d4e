package queue

import "strings"

// Foreign looks at a message without parsing it: ok means that it certainly names no instance that ours knows and that
// its kind is certain too. State changes of every instance of the account land on the queue, so that most messages are
// about instances of others.
//
// It is only ever certain when Parse would come to the same result, if it succeeds at all: a message that is broken
// inside counts as what it claims to be.
func Foreign(body string, ours func(instanceID string) bool) (kind Kind, ok bool) {
	kind, ok = glance(body)
	if !ok || names(body, ours) {
		return "", false
	}
	return kind, true
}

// glance tells the kind from the few fields that decide it. Each must be in the text exactly once, or it could be another
// field than the envelope's; an escape could hide anything.
func glance(body string) (Kind, bool) {
	text := strings.TrimSpace(body)
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") || strings.Contains(text, `\u`) {
		return "", false
	}
	before, version, ok1 := only(text, `"version"`)
	_, source, ok2 := only(text, `"source"`)
	_, detailType, ok3 := only(text, `"detail-type"`)
	if !ok1 || !ok2 || !ok3 || version != "0" || source != "aws.ec2" || strings.Count(before, "{") != 1 {
		return "", false
	}
	switch detailType {
	case typeSpot:
		return SpotInterrupted, true
	case typeRebalance:
		return RebalanceRecommended, true
	case typeReservation:
		return ReservationInterrupted, true
	case typeState:
		before, state, ok := only(text, `"state"`)
		return kindOfState(state), ok && inDetail(before)
	}
	return "", false
}

// only returns the string value of a key and the text before it, if the key is in the text once and its value is plain.
func only(text, key string) (before, value string, ok bool) {
	before, after, found := strings.Cut(text, key)
	if !found || strings.HasSuffix(before, `\`) || strings.Contains(after, key) {
		return "", "", false
	}
	after, ok1 := cutToken(after, ":")
	after, ok2 := cutToken(after, `"`)
	value, _, ok3 := strings.Cut(after, `"`)
	return before, value, ok1 && ok2 && ok3 && !strings.Contains(value, `\`)
}

// inDetail reports whether what follows text is a member of the object detail itself.
func inDetail(text string) bool {
	before, after, found := strings.Cut(text, `"detail"`)
	after, ok1 := cutToken(after, ":")
	after, ok2 := cutToken(after, "{")
	return found && ok1 && ok2 && strings.Count(before, "{") == 1 && !strings.ContainsAny(after, "{}")
}

func cutToken(text, token string) (string, bool) {
	return strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), token)
}

// names reports whether the text holds an instance id that ours knows.
func names(text string, ours func(string) bool) bool {
	for {
		_, after, found := strings.Cut(text, "i-")
		if !found {
			return false
		}
		n := 0
		for n < len(after) && (after[n] >= '0' && after[n] <= '9' || after[n] >= 'a' && after[n] <= 'f') {
			n++
		}
		if n >= 8 && n <= 17 && ours("i-"+after[:n]) {
			return true
		}
		text = after
	}
}
