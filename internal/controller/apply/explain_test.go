package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/plan"
)

func TestExplainTellsTheNearestPoolFirstAndCutsAtWholeReasons(t *testing.T) {
	var reasons []plan.Reason
	for i := range 40 {
		reasons = append(reasons, plan.Reason{Code: plan.TaintNotTolerated, Pool: fmt.Sprintf("dedicated-%d", i), Key: fmt.Sprintf("team-of-some-length-%d", i), Value: fmt.Sprint(i)})
	}
	reasons = append(reasons, plan.Reason{Code: plan.LimitReached, Pool: "default", Resource: "cpu", Want: "4", Have: "2"})
	text := Explain(reasons)
	if !strings.HasPrefix(text, "pool default: its limit on cpu") {
		t.Errorf("begins with %q", text[:60])
	}
	told := strings.Count(text, "pool ")
	if want := fmt.Sprintf("; and %d more", len(reasons)-told); len(text) > maxMessage || !strings.HasSuffix(text, want) {
		t.Errorf("%d characters, %d reasons, ends with %q; want at most %d and %q", len(text), told, text[len(text)-30:], maxMessage, want)
	}
	if got := Explain(reasons[40:]); got != reasons[40].Text() {
		t.Errorf("one reason: %q", got)
	}
}
