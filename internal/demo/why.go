package demo

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/engine/bound"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/explain"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/record"
)

//go:embed hopeless.yaml
var hopeless string

// hopelessPod is the name in hopeless.yaml.
const hopelessPod = "giant"

// boundWork bounds the search for the floor of one decision to about a second.
const boundWork = 1_000_000_000

// why brings a pod that fits nowhere, asks the controller's record why it waits, and takes it away again.
func (r *run) why(ctx context.Context) error {
	r.title("2. A pod asks for 10,000 CPUs: why does it wait? (kerf explain pod %s/%s)", namespace, hopelessPod)
	if err := r.cluster.Apply(ctx, []byte(hopeless)); err != nil {
		return err
	}
	var answer *explain.Answer
	err := r.poll(ctx, "the pod that fits nowhere is decided on", func() (bool, string, error) {
		a, err := explain.Pod(ctx, r.decisionsOf(), namespace, hopelessPod)
		if err != nil {
			return false, "", err
		}
		answer = a
		return a.Unplaced != nil, a.String(), nil
	})
	if err != nil {
		return err
	}
	for line := range strings.Lines(answer.String()) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			r.line("  %s", line)
		}
	}
	if answer.Unplaced.Best == nil {
		return fmt.Errorf("pod %s is explained without a change that would place it", hopelessPod)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: hopelessPod}}
	if err := r.client.Delete(ctx, pod, client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("taking pod %s away: %w", hopelessPod, err)
	}
	return r.await(ctx, "the pod that fits nowhere is gone", func(c counts) bool { return c.pods == c.running && c.terminating == 0 })
}

func (r *run) decisionsOf() decisions.Server {
	return decisions.Server{URL: r.ask.URL, Client: r.ask.Client}
}

// judge replays every decision that launched instances, and compares its price with the least that any plan could cost.
func (r *run) judge() error {
	var price, floor catalog.MicroUSD
	ids := slices.SortedFunc(maps.Keys(r.planned), func(a, b string) int { return r.planned[a].Problem.Now.Compare(r.planned[b].Problem.Now) })
	for _, id := range ids {
		d := r.planned[id]
		again, err := record.Replay(d)
		if err != nil {
			return fmt.Errorf("replaying decision %s: %w", id, err)
		}
		if !record.SamePlan(d.Plan, again) {
			return fmt.Errorf("decision %s, replayed, is another one", id)
		}
		b := bound.Lower(d.Problem, d.Plan, bound.Budget{Work: boundWork})
		if _, err := bound.Check(d.Problem, b.Certificate); err != nil {
			return fmt.Errorf("the floor of decision %s is not proven: %w", id, err)
		}
		price, floor = price+b.Price, floor+b.Bound
		fmt.Fprintf(r.Out, "  decision %-4s            %s on %s for %s/h; floor %s/h, gap %s; replayed to the same bytes\n", id,
			plan.Count(len(d.Problem.Pending), "pod"), plan.Count(len(d.Plan.NewNodes), "new instance"), d.Plan.Currency.Amount(b.Price), d.Plan.Currency.Amount(b.Bound), percent(b.Price, b.Bound))
	}
	fmt.Fprintf(r.Out, "  price of launches        %s/h; no plan could cost less than %s/h; gap %s\n", dollars.Amount(price), dollars.Amount(floor), percent(price, floor))
	return r.replayMoves()
}

// dollars is the currency of the region of the demo, us-east-1.
const dollars = catalog.Currency("USD")

// percent is by how much the price is above the floor.
func percent(price, floor catalog.MicroUSD) string {
	if floor <= 0 {
		return "not known"
	}
	return fmt.Sprintf("%.2f %%", 100*(float64(price)/float64(floor)-1))
}
