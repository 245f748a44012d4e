package cfn

import (
	"slices"
	"strconv"
	"strings"
)

// Unknown is a value that is known only at deployment.
type Unknown struct {
	Text string // what is known of it, with ${…} in place of what is not
	Why  string // what it waits for
}

func (u Unknown) String() string { return u.Text }

// noValue stands for AWS::NoValue: what has it is left out.
type noValue struct{}

// TextOf returns a value as text: texts, numbers and truth values are what CloudFormation takes for each other. The text
// of an Unknown is what is known of it.
func TextOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int:
		return strconv.Itoa(v), true
	case float64:
		return formatFloat(v), true
	case bool:
		return strconv.FormatBool(v), true
	case Unknown:
		return v.Text, true
	}
	return "", false
}

// IntOf returns a value as a whole number.
func IntOf(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case float64:
		return int(v), v == float64(int(v))
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	}
	return 0, false
}

// FloatOf returns a value as a number.
func FloatOf(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

// BoolOf returns a value as a truth value.
func BoolOf(v any) (value, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		return strings.EqualFold(v, "true"), strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
	}
	return false, false
}

// ListOf returns a value as a list; a single value that is no map is a list of one, as CloudFormation has it.
func ListOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// TextsOf returns the texts of a list, leaving out what is none.
func TextsOf(v any) []string {
	var out []string
	for _, item := range ListOf(v) {
		if s, ok := TextOf(item); ok {
			out = append(out, s)
		}
	}
	return out
}

// Find is an Unknown within a value.
type Find struct {
	Path    string
	Steps   []any // the same for Node.At: members (string) and indices (int)
	Unknown Unknown
}

// Unknowns lists all that is unknown within a value, by path.
func Unknowns(v any) []Find {
	var out []Find
	var walk func(any, string, []any)
	walk = func(v any, path string, steps []any) {
		switch v := v.(type) {
		case Unknown:
			out = append(out, Find{path, slices.Clone(steps), v})
		case []any:
			for i, item := range v {
				walk(item, at(path, i), append(steps, i))
			}
		case map[string]any:
			for k, item := range v {
				walk(item, join(path, k), append(steps, k))
			}
		}
	}
	walk(v, "", nil)
	slices.SortFunc(out, func(a, b Find) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// both joins what two unknown values wait for.
func both(a, b string) string {
	if a == "" || strings.Contains(a, b) {
		return max(a, b)
	}
	if strings.Contains(b, a) {
		return b
	}
	return a + "; " + b
}
