package ec2

import (
	"cmp"
	"encoding/base64"
	"slices"
	"sort"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// paging is how a caller asks for a long answer in parts.
type paging struct {
	MaxResults *int32 `query:"MaxResults"`
	NextToken  string `query:"NextToken"`
}

// limits of MaxResults for one operation. size is what a page holds when the caller does not say; 0 = everything.
type limits struct{ min, max, size int }

// page cuts the part that the caller asks for. Things are ordered by key, which must be unlike for each; the token holds
// the last key of the part before, so that things that come or go between two calls neither repeat nor hide others.
func page[T any](all []T, key func(*T) string, p paging, l limits) ([]T, string, error) {
	size, err := l.of(p)
	if err != nil {
		return nil, "", err
	}
	type keyed struct {
		key string
		at  int
	}
	order := make([]keyed, len(all))
	for i := range all {
		order[i] = keyed{key(&all[i]), i}
	}
	slices.SortFunc(order, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	if p.NextToken != "" {
		after, err := openToken(p.NextToken)
		if err != nil {
			return nil, "", err
		}
		n, found := slices.BinarySearchFunc(order, after, func(k keyed, s string) int { return cmp.Compare(k.key, s) })
		if found {
			n++
		}
		order = order[n:]
	}
	token := ""
	if size > 0 && len(order) > size {
		order = order[:size]
		token = sealToken(order[size-1].key)
	}
	out := make([]T, len(order))
	for i, k := range order {
		out[i] = all[k.at]
	}
	return out, token, nil
}

// of is how many things a part holds; 0 = everything.
func (l limits) of(p paging) (int, error) {
	if p.MaxResults == nil {
		return l.size, nil
	}
	size := int(*p.MaxResults)
	if size < l.min || size > l.max {
		return 0, wire.Errorf("InvalidParameterValue",
			"Value ( %d ) for parameter maxResults is invalid. Expecting a value between %d and %d.", size, l.min, l.max)
	}
	return size, nil
}

// orderedPage is page for things that are in the order of their keys already. It makes the keys of few of them.
func orderedPage[T any](all []T, key func(*T) string, p paging, l limits) ([]T, string, error) {
	size, err := l.of(p)
	if err != nil {
		return nil, "", err
	}
	if p.NextToken != "" {
		after, err := openToken(p.NextToken)
		if err != nil {
			return nil, "", err
		}
		all = all[sort.Search(len(all), func(i int) bool { return key(&all[i]) > after }):]
	}
	if size == 0 || len(all) <= size {
		return all, "", nil
	}
	return all[:size], sealToken(key(&all[size-1])), nil
}

const tokenPrefix = "after "

func sealToken(key string) string {
	return base64.URLEncoding.EncodeToString([]byte(tokenPrefix + key))
}

func openToken(token string) (string, error) {
	b, err := base64.URLEncoding.DecodeString(token)
	key, ok := strings.CutPrefix(string(b), tokenPrefix)
	if err != nil || !ok {
		return "", wire.Errorf("InvalidNextToken", "The token '%s' is invalid", token)
	}
	return key, nil
}
