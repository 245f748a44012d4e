package simulate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const oneType = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: one}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: one}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [CAPACITY]}
`

// Bill and floor are of the same prices: those of the price file, on demand and as spot, whose prices change.
func TestAPriceFileIsForTheBillToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(path, []byte("prices: [{match: {family: m6i}, factor: 0.1}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := workload.Read("trace.csv", strings.NewReader("arrival_s,workload,replicas,cpu_millicores,memory_mib\n0,web,4,1500,2000\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var specs []*simulate.Spec
	for _, capacityType := range []string{"on-demand", "spot"} {
		s := specOf(t, w, time.Hour, 1, simulate.File{Name: "np.yaml", Data: []byte(strings.Replace(oneType, "CAPACITY", capacityType, 1))})
		s.Settings = map[string]string{"KERF_PRICE_FILE": path}
		specs = append(specs, s)
	}
	for i, r := range play(t, specs...) {
		if r.SpotPrices != "" {
			t.Errorf("%d: %s", i, r.SpotPrices)
		}
		if d := 100 * (r.Totals.Bill/r.Totals.Floor - 1); d < -5 || d > 5 || !strings.HasSuffix(r.Prices, "; changed by the price file "+path) {
			t.Errorf("%d: a bill of $%.4f with a floor of $%.4f; %s", i, r.Totals.Bill, r.Totals.Floor, r.Prices)
		}
	}
	for i, s := range specs {
		listed := *s
		listed.Settings = nil
		if r := play(t, &listed)[0]; (r.SpotPrices != "") != (i == 1) {
			t.Errorf("%d, without the file: %q", i, r.SpotPrices)
		}
	}
	if err := os.WriteFile(path, []byte("prices: 3"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := runner().Run(t.Context(), specs[:1]); err == nil || !strings.Contains(err.Error(), "reading the price file (KERF_PRICE_FILE)") {
		t.Errorf("a file that makes no sense: %v", err)
	}
}
