package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// What else there is in the account changes nothing, prices included: a NodePool that no pod may use brings its types along.
func TestOtherTypesChangeNothing(t *testing.T) {
	pool := func(name, category, taints string) simulate.File {
		return simulate.File{Name: name + ".yaml", Data: []byte(fmt.Sprintf(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.k8s.aws/instance-category, operator: In, values: [%s]}]
      taints: [%s]
`, name, category, taints))}
	}
	w, err := workload.Read("trace.csv", strings.NewReader(trace), nil)
	if err != nil {
		t.Fatal(err)
	}
	one := specOf(t, w, time.Hour, 7, pool("own", "c", ""))
	two := specOf(t, w, time.Hour, 7, pool("own", "c", ""), pool("unused", "m, r", "{key: nobody, effect: NoSchedule}"))
	r := play(t, one, two)
	a, b := r[0].Totals, r[1].Totals
	if a.Bill <= 0 || a.Launches == 0 || a.Bill != b.Bill || a.Floor != b.Floor || a.Launches != b.Launches || a.Moved != b.Moved || len(r[0].Series) != len(r[1].Series) {
		t.Errorf("with types of c alone:\n%+v\nwith those of m and r:\n%+v", a, b)
	}
}
