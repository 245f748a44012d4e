package iam

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// mark tells where a list goes on.
type mark struct {
	IsTruncated bool   `xml:"IsTruncated"`
	Marker      string `xml:"Marker,omitempty"`
}

const defaultItems = 100

func maxItems(form url.Values) (int, error) {
	v := form.Get("MaxItems")
	if v == "" {
		return defaultItems, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1000 {
		return 0, wire.Errorf("ValidationError", "Value '%s' at 'maxItems' must be between 1 and 1000", v)
	}
	return n, nil
}

// page returns the part of a list that a request is for. The list is put in the order of its keys, and a marker holds the
// last one that was given out, so that what is removed meanwhile hides nothing.
func page[T any](form url.Values, all []T, key func(T) string) ([]T, mark, error) {
	limit, err := maxItems(form)
	if err != nil {
		return nil, mark{}, err
	}
	after, err := base64.RawURLEncoding.DecodeString(form.Get("Marker"))
	if err != nil {
		return nil, mark{}, wire.Errorf("InvalidInput", "The marker %q is not one that was given out.", form.Get("Marker"))
	}
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	if len(after) > 0 {
		all = slices.DeleteFunc(all, func(e T) bool { return key(e) <= string(after) })
	}
	if len(all) <= limit {
		return all, mark{}, nil
	}
	last := key(all[limit-1])
	return all[:limit], mark{IsTruncated: true, Marker: base64.RawURLEncoding.EncodeToString([]byte(last))}, nil
}
