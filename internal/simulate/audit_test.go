package simulate_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const audited = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 12
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: x, resources: {requests: {cpu: 700m, memory: 1200Mi}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: default}
spec:
  replicas: 5
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      nodeSelector: {karpenter.sh/capacity-type: on-demand}
      containers: [{name: main, image: x, resources: {requests: {cpu: 1500m, memory: 5Gi}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}
      containers: [{name: main, image: x, resources: {requests: {cpu: 300m, memory: 6Gi}}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: log, namespace: default}
spec:
  selector: {matchLabels: {app: log}}
  template:
    metadata: {labels: {app: log}}
    spec: {containers: [{name: main, image: x, resources: {requests: {cpu: 100m, memory: 128Mi}}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`

// direct asks a server without a network between: messages of a simulated cluster take virtual time, in which nobody may wait for a lock, as those
// do who list several kinds at once.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.RequestURI = r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// snapshotOf runs a cluster that Kerf launches for these pods, and keeps what kerf audit --snapshot reads of it in a file.
func snapshotOf(t *testing.T, pool, manifest string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "cluster.json.gz")
	simcluster.Run(t, simcluster.Options{Seed: 1, Ordered: true, World: func(o *world.Options) {
		o.Region, o.SubnetZones, o.Types = "us-east-1", 6, few
	}}, func(h *simcluster.Cluster) {
		h.Apply(pool)
		h.Pass(2 * time.Minute)
		h.Apply(manifest)
		h.Pass(15 * time.Minute)
		s, err := snapshot.Collect(h.T.Context(), &rest.Config{Host: "http://" + simcluster.KubernetesAddress, Transport: direct{h.API}}, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.Encode(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	return path
}

// What an audit says of a cluster that Kerf launched, and what a simulation of its snapshot begins with, are the same amounts: prices,
// zones, types, DaemonSets and pods are read alike. docs/simulate.md lists what may differ; none of these pods has any of it, such as a spread
// over zones.
func TestAnAuditAndASimulationOfItsSnapshotAgree(t *testing.T) {
	pool := strings.Replace(simcluster.Defaults, "      expireAfter:", "      - {key: node.kubernetes.io/instance-type, operator: In, values: ["+strings.Join(few, ", ")+"]}\n      expireAfter:", 1)
	path := snapshotOf(t, pool, audited)
	s, err := snapshot.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	a, err := audit.Run(s, audit.Options{Facts: facts})
	if err != nil {
		t.Fatal(err)
	}
	file, err := simulate.PoolsOf(path, s)
	if err != nil {
		t.Fatal(err)
	}
	w, err := workload.FromSnapshot(path, s)
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, w, 5*time.Minute, 1, *file)
	spec.Warmup, spec.Volatility = 15*time.Minute, 0
	begin := play(t, spec)[0].Series[0]
	if a.Bill.PerHour <= 0 || begin.Running != 20 || a.Cluster.Pods-a.Cluster.Daemons != begin.Running && a.Cluster.Pods != begin.Running {
		t.Errorf("the audit has a bill of $%.4f/h for %d pods, %d of them of DaemonSets; the simulation begins with %d", a.Bill.PerHour, a.Cluster.Pods, a.Cluster.Daemons, begin.Running)
	}
	for _, c := range []struct {
		what              string
		audit, simulation float64
	}{{"bill", a.Bill.PerHour, begin.Bill}, {"floor", a.Floor.PerHour, begin.Floor}} {
		apart := c.simulation/c.audit - 1
		t.Logf("%s: audit $%.4f/h, simulation $%.4f/h, %+.2f %%", c.what, c.audit, c.simulation, 100*apart)
		if !(math.Abs(apart) <= 0.01) {
			t.Errorf("the %s of the audit is $%.4f/h, and the simulation of its snapshot begins with $%.4f/h", c.what, c.audit, c.simulation)
		}
	}
}
