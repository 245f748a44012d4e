package apply

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// TestBoundsAreInWordsThatAnyCRDTakes has the bounds as NodeClaims say them: Gte and Lte came with Karpenter 1.9.
func TestBoundsAreInWordsThatAnyCRDTakes(t *testing.T) {
	for _, c := range []struct {
		operator requirement.Operator
		value    string
		want     string
	}{
		{requirement.Gte, "3", "Gt 2"},
		{requirement.Gte, "1", "Gt 0"},
		{requirement.Gte, "0", "Gte 0"}, // Gt takes no number below 0; whoever asks for this has the newer CRDs
		{requirement.Lte, "7", "Lt 8"},
		{requirement.Lte, "9223372036854775807", "Lte 9223372036854775807"},
		{requirement.Gt, "2", "Gt 2"},
		{requirement.In, "3", "In 3"},
	} {
		got := apiRequirements([]requirement.Term{{Key: "example.com/size", Operator: c.operator, Values: []string{c.value}}})[0]
		if text := string(got.Operator) + " " + got.Values[0]; text != c.want {
			t.Errorf("%s %s is said as %q, want %q", c.operator, c.value, text, c.want)
		}
	}
}
