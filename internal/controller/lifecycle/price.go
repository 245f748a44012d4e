package lifecycle

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/events"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// priced tells what was launched and what it costs, on the claim and in an event, and counts it against the plan. The
// results are per hour; 0 is not known.
func (c *Controller) priced(claim *karpv1.NodeClaim, instance *cloud.Instance) (planned, launched float64) {
	planned, _ = strconv.ParseFloat(claim.Annotations[apply.PlannedPriceAnnotation], 64)
	launched = float64(instance.Price) / 1e6
	if launched <= 0 {
		return planned, launched
	}
	in := catalog.Currency("")
	if c.Currency != nil {
		in = c.Currency()
	}
	what := fmt.Sprintf("%s %s in %s for %s%.4f/h", instance.CapacityType, instance.InstanceType, instance.Zone, in.Symbol(), launched)
	if planned > 0 {
		what += fmt.Sprintf(", planned at %s%.4f/h", in.Symbol(), planned)
	}
	claim.Annotations[apply.LaunchedAnnotation] = what
	known := c.remember(claim)
	if known.priced { // a claim that could not be written comes here again, with the same instance
		return planned, launched
	}
	known.priced = true
	c.Recorder.Eventf(claim, corev1.EventTypeNormal, events.Launched, "launched %s", what)
	if planned > 0 {
		c.Metrics.LaunchPrice.WithLabelValues(instance.CapacityType).Observe(launched / planned)
	}
	return planned, launched
}
