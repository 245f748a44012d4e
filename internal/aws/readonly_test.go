package aws_test

import (
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

func TestAProviderThatReadsOnlyResolvesAClassAndMakesNothing(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p, calls := newCountedProvider(t, s, func(o *aws.Options) { o.ReadOnly = true })
	class := newClass(s)
	r, found := findings(t, p, class)
	for condition, f := range found {
		if !f.OK {
			t.Errorf("%s: %s: %s", condition, f.Reason, f.Message)
		}
	}
	if len(r.Subnets) != 3 || len(r.AMIs) < 2 || r.InstanceProfile == "" {
		t.Errorf("got %+v", r)
	}
	for op, n := range calls.All() {
		if !strings.HasPrefix(op, "Describe") && !strings.HasPrefix(op, "Get") && !strings.HasPrefix(op, "List") {
			t.Errorf("%s was called %d times", op, n)
		}
	}
}
