package lifecycle

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// TestALaunchIsToldInTheCurrencyOfTheRegion on the claim and in its event.
func TestALaunchIsToldInTheCurrencyOfTheRegion(t *testing.T) {
	for name, tt := range map[string]struct {
		currency func() catalog.Currency
		want     string
	}{
		"not known": {nil, "spot m5.large in a for $0.0600/h, planned at $0.0500/h"},
		"dollars":   {func() catalog.Currency { return "USD" }, "spot m5.large in a for $0.0600/h, planned at $0.0500/h"},
		"yuan":      {func() catalog.Currency { return "CNY" }, "spot m5.large in a for ¥0.0600/h, planned at ¥0.0500/h"},
	} {
		t.Run(name, func(t *testing.T) {
			events := record.NewFakeRecorder(1)
			c := &Controller{Recorder: events, Metrics: obs.NewMetrics(prometheus.NewRegistry()), Currency: tt.currency}
			claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Annotations: map[string]string{apply.PlannedPriceAnnotation: "0.05"}}}
			c.priced(claim, &cloud.Instance{InstanceType: "m5.large", Zone: "a", CapacityType: "spot", Price: 60_000})
			if got, event := claim.Annotations[apply.LaunchedAnnotation], <-events.Events; got != tt.want || event != "Normal Launched launched "+tt.want {
				t.Errorf("%q, event %q", got, event)
			}
		})
	}
}
