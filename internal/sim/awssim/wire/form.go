package wire

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxIndex bounds the .N of form lists.
const maxIndex = 100000

// List returns the values of the form list prefix.1, prefix.2, … in the order of their numbers.
func List(form url.Values, prefix string) []string {
	var out []string
	for _, n := range indices(form, prefix) {
		if v, ok := form[prefix+"."+strconv.Itoa(n)]; ok && len(v) > 0 {
			out = append(out, v[0])
		}
	}
	return out
}

// Structs returns the members of the form list of structures prefix.1.X, prefix.2.X, …, each with its prefix
// cut off, in the order of their numbers.
func Structs(form url.Values, prefix string) []url.Values {
	byIndex := map[int]url.Values{}
	for key, values := range form {
		rest, ok := strings.CutPrefix(key, prefix+".")
		if !ok {
			continue
		}
		number, member, ok := strings.Cut(rest, ".")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 0 || n > maxIndex {
			continue
		}
		if byIndex[n] == nil {
			byIndex[n] = url.Values{}
		}
		byIndex[n][member] = values
	}
	out := make([]url.Values, 0, len(byIndex))
	for _, n := range indices(form, prefix) {
		if v := byIndex[n]; v != nil {
			out = append(out, v)
		}
	}
	return out
}

// Sub returns the members of the form structure prefix.X with the prefix cut off; empty when there are none.
func Sub(form url.Values, prefix string) url.Values {
	out := url.Values{}
	for key, values := range form {
		if member, ok := strings.CutPrefix(key, prefix+"."); ok {
			out[member] = values
		}
	}
	return out
}

func indices(form url.Values, prefix string) []int {
	seen := map[int]bool{}
	for key := range form {
		rest, ok := strings.CutPrefix(key, prefix+".")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= maxIndex {
			seen[n] = true
		}
	}
	out := make([]int, 0, len(seen))
	for n := range seen {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
