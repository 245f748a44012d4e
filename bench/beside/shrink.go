package beside

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sizes of pods: a tenth of them each, by name.
var sizes = []struct{ cpu, memory string }{
	{"100m", "256Mi"}, {"250m", "512Mi"}, {"250m", "2Gi"}, {"500m", "1Gi"}, {"500m", "512Mi"}, {"500m", "4Gi"}, {"1", "2Gi"}, {"1", "1Gi"}, {"1500m", "4Gi"}, {"2", "8Gi"},
}

// settleMost is how long a cluster has after its growth to come to rest before it is scaled down all the same.
const settleMost = 5 * time.Minute

// shrinking is a scale-down.
type shrinking struct {
	name  string
	pods  int    // before it
	below int    // the instances have fewer vCPUs
	types string // capacity types of the pool, as a list in YAML
}

func (s shrinking) what(still time.Duration) string {
	return fmt.Sprintf("%d pods of several sizes on instances (%s) of less than %d vCPU, scaled down to 30 %% after a minute of rest, or five minutes without, until nothing has changed for %s", s.pods, s.types, s.below, still)
}

// shrinkings are those that are told. On spot instances upstream only gives nodes back, unless a feature gate is set; on
// others it replaces them, too.
func shrinkings() []shrinking {
	const spot, onDemand = "spot, on-demand", "on-demand"
	var out []shrinking
	for _, n := range []int{30, 100, 300, 900} {
		out = append(out, shrinking{fmt.Sprintf("shrink-%d", n), n, 9, spot}, shrinking{fmt.Sprintf("shrink-on-demand-%d", n), n, 9, onDemand})
	}
	for _, n := range []int{100, 1000, 3000} {
		out = append(out, shrinking{fmt.Sprintf("shrink-large-%d", n), n, 32, spot}, shrinking{fmt.Sprintf("shrink-large-on-demand-%d", n), n, 32, onDemand})
	}
	return out
}

// shrink scales deployments down to 30 % and waits until the bill stands still.
func shrink(s shrinking, rest, limit time.Duration) func(context.Context, *testCluster) (*Figures, error) {
	return func(ctx context.Context, h *testCluster) (*Figures, error) {
		manifests := class("default", "al2023@latest") + pool("default", "default", fmt.Sprintf(`
- {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
- {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
- {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["%d"]}
- {key: karpenter.sh/capacity-type, operator: In, values: [%s]}
- {key: kubernetes.io/arch, operator: In, values: [amd64]}`, s.below, s.types))
		each := s.pods / len(sizes)
		for i, size := range sizes {
			manifests += deployment(fmt.Sprintf("size-%d", i), each, size.cpu, size.memory, "")
		}
		if err := h.apply(ctx, manifests); err != nil {
			return nil, err
		}
		if err := h.runs(ctx, 20*time.Minute, each*len(sizes)); err != nil {
			return nil, err
		}
		// Upstream may go on replacing one node after the other for a long time; a scale-down does not wait for that.
		began, still := time.Now(), h.still(ctx, time.Minute)
		if err := h.until(ctx, settleMost+time.Minute, "the bill stands still, or has had its time to", func() (bool, string) {
			ok, seen := still()
			return ok || time.Since(began) > settleMost, seen
		}); err != nil {
			return nil, err
		}
		h.say("%d pods run, and have for %s; scaling down", each*len(sizes), time.Since(began).Round(time.Second))
		left := int32((each*3 + 9) / 10) // rounded up, as a percentage of replicas is
		f, err := h.measure(ctx, func(f *Figures) error {
			if err := h.scale(ctx, left); err != nil {
				return err
			}
			return h.watchBill(ctx, f, rest, limit)
		})
		if err != nil {
			return nil, err
		}
		return f, h.runs(ctx, 2*time.Minute, int(left)*len(sizes))
	}
}

func (h *testCluster) scale(ctx context.Context, replicas int32) error {
	var all appsv1.DeploymentList
	if err := h.client.List(ctx, &all, client.InNamespace("default")); err != nil {
		return err
	}
	for i := range all.Items {
		patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
		if err := h.client.Patch(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: all.Items[i].Name}}, patch); err != nil {
			return fmt.Errorf("scaling %s: %w", all.Items[i].Name, err)
		}
	}
	return nil
}

// watchBill writes the bill down until it has not moved for a while, or for so long at most.
func (h *testCluster) watchBill(ctx context.Context, f *Figures, still, limit time.Duration) error {
	began := time.Now()
	moved := began
	for time.Since(began) < limit {
		instances, now, err := h.bill(ctx)
		if err != nil {
			return err
		}
		if n := len(f.Curve); n == 0 || f.Curve[n-1].MicroUSD != now || f.Curve[n-1].Instances != instances {
			moved = time.Now()
			f.Curve = append(f.Curve, Point{time.Since(began), instances, now})
		}
		if len(f.Curve) > 1 && time.Since(moved) >= still {
			f.Steady = moved.Sub(began)
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	end := f.Curve[len(f.Curve)-1].MicroUSD
	for i := len(f.Curve) - 1; i >= 0 && f.Curve[i].MicroUSD <= end+end/20; i-- {
		f.Near = f.Curve[i].At
	}
	return nil
}
