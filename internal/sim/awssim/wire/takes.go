package wire

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Takes makes a handler that refuses every form parameter which names do not list, separated by spaces and with N for the
// numbers of list members, so that a caller never believes in a setting that has no effect here.
func Takes(names string, h Handler) Handler {
	known := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		known[name] = true
	}
	for _, name := range common {
		known[name] = true
	}
	return func(ctx context.Context, r *Request) (any, error) {
		if err := refuseUnknown(r.Form, func(name string) bool { return known[numberless(name)] }); err != nil {
			return nil, err
		}
		return h(ctx, r)
	}
}

// refuseUnknown names the first parameter, by the alphabet, that is not known. SDKs write an empty list as a parameter
// without a value.
func refuseUnknown(form url.Values, known func(name string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(form)) {
		if form.Get(name) != "" && !known(name) {
			return Errorf("UnknownParameter", "The parameter %s is not recognized by the simulator", name)
		}
	}
	return nil
}

// numberless is the name of a parameter with N for each number: Tags.member.N.Key.
func numberless(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		if _, err := strconv.Atoi(part); err == nil {
			parts[i] = "N"
		}
	}
	return strings.Join(parts, ".")
}
