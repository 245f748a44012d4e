// Package stories_test has a real Prometheus scrape the real controller while things happen to a simulated cluster, in virtual time:
// the queries of all dashboards must give data, and of the alerts those must fire that should, and no other.
package stories_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
	"github.com/kerf-sh/kerf/monitoring/alerts"
	"github.com/kerf-sh/kerf/monitoring/dashboards"
)

// few is a world with a handful of instance types.
func few(o *world.Options) {
	o.Types = []string{"c6i.large", "c6i.2xlarge", "c6i.8xlarge", "m6i.large", "m6i.2xlarge", "m6i.8xlarge", "r6i.large", "r6i.2xlarge"}
}

// limited is the usual pool with a limit.
func limited(cpu string) string {
	return strings.Replace(simcluster.Defaults, "  disruption:\n", "  limits: {cpu: "+cpu+"}\n  disruption:\n", 1)
}

// replicas are two replicas of the controller.
type replicas [2]atomic.Pointer[simcluster.Process]

// start starts a life of one of them.
func (r *replicas) start(h *simcluster.Cluster, i int) {
	p := h.StartController()
	h.T.Cleanup(p.Stop)
	r[i].Store(p)
}

// stop ends the life of one of them.
func (r *replicas) stop(i int) { r[i].Load().Stop() }

// metrics are those of one of them while it lives.
func (r *replicas) metrics(i int) func() prometheus.Gatherer {
	return func() prometheus.Gatherer {
		p := r[i].Load()
		select {
		case <-p.Done():
			return nil
		default:
			return p.Metrics
		}
	}
}

// story is what happens.
type story struct {
	name string
	// want are the alerts that fire, those in may might; no other may.
	want, may []string
	tell      func(h *simcluster.Cluster, m *monitor, r *replicas)
	// fix ends what is wrong; all alerts must end then. Nil: there is nothing to fix, or it is of no interest.
	fix func(h *simcluster.Cluster, r *replicas)
	// calm: every panel has data that does not tell of trouble.
	calm bool
}

var stories = []story{
	{name: "calm", calm: true, tell: calm},
	{name: "no controller", want: []string{"KerfDown"}, tell: func(h *simcluster.Cluster, m *monitor, r *replicas) {
		h.Running(5*time.Minute, "web", 3)
		r.stop(0)
		r.stop(1)
		h.Pass(9 * time.Minute)
		if got := m.alerts(); len(got) > 0 {
			h.T.Errorf("after nine minutes: %v", got)
		}
		m.awaits(5*time.Minute, "KerfDown")
	}, fix: func(h *simcluster.Cluster, r *replicas) {
		r.start(h, 0)
	}},
	{name: "nobody leads", want: []string{"KerfNotDeciding"}, tell: func(h *simcluster.Cluster, m *monitor, r *replicas) {
		h.Running(5*time.Minute, "web", 3)
		r.stop(0)
		r.stop(1)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "karpenter-leader-election"}}
		if err := h.Client.Delete(h.T.Context(), lease); err != nil {
			h.T.Fatal(err)
		}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(86400)), AcquireTime: new(metav1.NowMicro()), RenewTime: new(metav1.NowMicro()), LeaseTransitions: new(int32(1))}
		if err := h.Client.Create(h.T.Context(), lease); err != nil {
			h.T.Fatal(err)
		}
		r.start(h, 0)
		r.start(h, 1)
		m.awaits(15*time.Minute, "KerfNotDeciding")
	}},
	{name: "no capacity", want: []string{"KerfPodsWithoutCapacity"}, may: []string{"KerfPodsWaitForNodes"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultNoCapacity})
		h.Deploy("more", 20, "4", "1Gi")
		m.awaits(30*time.Minute, "KerfPodsWithoutCapacity")
		if s := m.summary("KerfPodsWithoutCapacity"); !strings.Contains(s, "NoOffering") {
			h.T.Errorf("it said %q", s)
		}
		h.Pass(30 * time.Minute)
	}, fix: func(h *simcluster.Cluster, _ *replicas) { endFaults(h) }},
	{name: "a quota", want: []string{"KerfLaunchesFail", "KerfPodsWithoutCapacity"}, may: []string{"KerfPodsWaitForNodes"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultNoCapacity, Code: "VcpuLimitExceeded", Message: "You have requested more vCPU capacity than your current vCPU limit of 32 allows."})
		h.Deploy("more", 20, "4", "1Gi")
		m.awaits(30*time.Minute, "KerfPodsWithoutCapacity")
		m.awaits(30*time.Minute, "KerfLaunchesFail")
		if s := m.summary("KerfLaunchesFail"); !strings.Contains(s, "VCPULimitExceeded") {
			h.T.Errorf("it said %q", s)
		}
	}, fix: func(h *simcluster.Cluster, _ *replicas) { endFaults(h) }},
	{name: "a broken EC2NodeClass", want: []string{"KerfNodePoolNotReady", "KerfPodsWithoutCapacity"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.Apply(strings.Replace(simcluster.Defaults, "KarpenterNodeRole-kerf", "Nobody", 1))
		h.Pass(time.Minute)
		h.Deploy("more", 20, "4", "1Gi")
		m.awaits(15*time.Minute, "KerfNodePoolNotReady")
		if s := m.summary("KerfNodePoolNotReady"); !strings.Contains(s, "default") {
			h.T.Errorf("it said %q, which names no NodePool", s)
		}
		m.awaits(15*time.Minute, "KerfPodsWithoutCapacity")
	}, fix: func(h *simcluster.Cluster, r *replicas) {
		h.Apply(limited("1000"))
	}},
	{name: "a pod that is too large", want: []string{"KerfPodsUnplaceable"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Deploy("giant", 1, "10000", "1Gi")
		m.awaits(20*time.Minute, "KerfPodsUnplaceable")
		h.Pass(time.Hour)
	}, fix: func(h *simcluster.Cluster, r *replicas) {
		h.Scale("giant", 0)
	}},
	{name: "a limit", want: []string{"KerfNodePoolAtLimit", "KerfPodsUnplaceable"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Apply(limited("16"))
		h.Deploy("more", 40, "1500m", "1Gi")
		m.awaits(30*time.Minute, "KerfPodsUnplaceable")
		m.awaits(30*time.Minute, "KerfNodePoolAtLimit")
	}, fix: func(h *simcluster.Cluster, r *replicas) {
		h.Apply(limited("1000"))
	}},
	{name: "nodes that don't join", want: []string{"KerfNodesNotJoining", "KerfPodsWaitForNodes"}, may: []string{"KerfPodsWithoutCapacity"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultWrongCluster})
		h.Deploy("more", 20, "4", "1Gi")
		m.awaits(time.Hour, "KerfNodesNotJoining")
		if s := m.summary("KerfNodesNotJoining"); !strings.Contains(s, ": default-") {
			h.T.Errorf("it said %q, which names no NodeClaim", s)
		}
		m.awaits(time.Hour, "KerfPodsWaitForNodes")
	}, fix: func(h *simcluster.Cluster, _ *replicas) { endFaults(h) }},
	{name: "a drain that is held up", want: []string{"KerfDrainStuck"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.Apply(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {minAvailable: 3, selector: {matchLabels: {app: web}}}
`)
		h.Pass(10 * time.Second)
		for _, c := range h.Claims() {
			if err := h.Client.Delete(h.T.Context(), &c); err != nil {
				h.T.Fatal(err)
			}
		}
		h.Pass(time.Hour)
		if got := m.alerts(); len(got) > 0 {
			h.T.Errorf("within an hour: %v", got)
		}
		m.awaits(15*time.Minute, "KerfDrainStuck")
	}, fix: func(h *simcluster.Cluster, r *replicas) {
		if err := h.Client.Delete(h.T.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}); err != nil {
			h.T.Fatal(err)
		}
	}},
	{name: "a queue that can't be read", want: []string{"KerfQueueNotReady"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultError, Service: "sqs", Operation: "ReceiveMessage", Code: "AccessDenied", Message: "no identity-based policy allows the action", Status: 403})
		m.awaits(30*time.Minute, "KerfQueueNotReady")
	}, fix: func(h *simcluster.Cluster, _ *replicas) { endFaults(h) }},
	{name: "throttling", want: []string{"KerfAWSThrottles"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2", Operation: "Describe*", Probability: .4})
		m.awaits(time.Hour, "KerfAWSThrottles")
		if s := m.summary("KerfAWSThrottles"); !strings.Contains(s, "EC2 Describe") {
			h.T.Errorf("it said %q", s)
		}
	}, fix: func(h *simcluster.Cluster, _ *replicas) { endFaults(h) }},
	{name: "EC2 is away", want: []string{"KerfAWSServiceFails", "KerfPodsWaitForNodes"}, may: []string{"KerfLaunchesFail", "KerfPodsWithoutCapacity", "KerfNodePoolNotReady", "KerfNodesNotJoining"}, tell: func(h *simcluster.Cluster, m *monitor, _ *replicas) {
		h.Running(5*time.Minute, "web", 3)
		h.AWS.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Code: "InternalError", Message: "an internal error has occurred", Status: 500})
		h.Deploy("more", 20, "4", "1Gi")
		m.awaits(30*time.Minute, "KerfAWSServiceFails")
		m.awaits(30*time.Minute, "KerfPodsWaitForNodes")
	}, fix: func(h *simcluster.Cluster, _ *replicas) { endFaults(h) }},
}

// endFaults ends all misbehaviour of the simulated AWS.
func endFaults(h *simcluster.Cluster) {
	for _, f := range h.AWS.World.Faults() {
		h.AWS.World.RemoveFault(f.ID)
	}
}

// calm is a day's work in an hour and a half: pods come and go, an instance is interrupted, a replica is replaced, images change.
func calm(h *simcluster.Cluster, m *monitor, r *replicas) {
	h.Running(5*time.Minute, "web", 3)
	h.Deploy("batch", 40, "1", "2Gi")
	h.Running(5*time.Minute, "batch", 40)
	h.Pass(5 * time.Minute)
	for _, i := range h.Instances() {
		if i.CapacityType == "spot" {
			if err := h.AWS.Bus.Interrupt(i.ID, 2*time.Minute); err != nil {
				h.T.Fatal(err)
			}
			break
		}
	}
	h.Pass(10 * time.Minute)
	h.Scale("batch", 5)
	h.Pass(20 * time.Minute)
	r.stop(0)
	r.start(h, 0)
	h.Pass(5 * time.Minute)
	r.stop(1)
	r.start(h, 1)
	h.Pass(10 * time.Minute)
	h.Scale("batch", 40)
	h.Pass(30 * time.Minute)
	h.Running(time.Minute, "batch", 40)
	floor, cost := m.value(`sum(kerf_cost_floor_dollars)`), m.value(`sum(karpenter_nodepools_cost_total)`)
	if floor <= 0 || floor > cost {
		h.T.Errorf("the floor is $%v, the cost $%v", floor, cost)
	}
}

func TestStories(t *testing.T) {
	seen := map[string]bool{} // queries that have given data
	told, fired := 0, map[string]bool{}
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: few, NoController: true, Env: map[string]string{"KERF_FLOOR_EVERY": "1m"}}, func(h *simcluster.Cluster) {
				r := &replicas{}
				r.start(h, 0)
				r.start(h, 1)
				m := watch(h, r.metrics(0), r.metrics(1))
				h.Apply(limited("1000"))
				h.Deploy("web", 3, "1", "1Gi")
				s.tell(h, m, r)
				if s.fix != nil {
					s.fix(h, r)
					h.Eventually(time.Hour, "all alerts have ended", func() (bool, string) {
						firing := m.firing()
						return len(firing) == 0, strings.Join(firing, ", ")
					})
				}
				m.evaluated()
				got := m.alerts()
				for _, name := range got {
					fired[name] = true
					if !slices.Contains(s.want, name) && !slices.Contains(s.may, name) {
						h.T.Errorf("%s fires: %s", name, m.summary(name))
					}
				}
				for _, name := range s.want {
					if !slices.Contains(got, name) {
						h.T.Errorf("%s does not fire", name)
					}
				}
				for _, d := range dashboards.All() {
					for _, p := range d.Panels() {
						for _, q := range p.Queries {
							has, err := m.has(substituted(q))
							if err != nil {
								h.T.Errorf("%s, %s: %v\n%s", d.Title, p.Title, err, q.PromQL())
							}
							if has {
								seen[q.Expr] = true
							} else if s.calm && !p.Trouble {
								h.T.Errorf("%s, %s: no data for\n%s", d.Title, p.Title, q.PromQL())
							}
						}
					}
				}
			})
			told++
		})
	}
	if told < len(stories) || t.Failed() {
		return
	}
	for _, d := range dashboards.All() {
		for _, p := range d.Panels() {
			for _, q := range p.Queries {
				if !seen[q.Expr] {
					t.Errorf("%s, %s: in no story is there data for\n%s", d.Title, p.Title, q.PromQL())
				}
			}
		}
	}
}

// What no story brings about is written by hand, into the metrics of the controller.
func TestRareAlerts(t *testing.T) {
	for name, tt := range map[string]struct {
		cause func(h *simcluster.Cluster, m *obs.Metrics)
		after time.Duration
	}{
		"KerfAWSServiceFails":     {func(_ *simcluster.Cluster, m *obs.Metrics) { m.ServiceUp.WithLabelValues("ec2").Set(0) }, 10 * time.Minute},
		"KerfDefect":              {func(_ *simcluster.Cluster, m *obs.Metrics) { m.Panics.WithLabelValues("provisioner").Inc() }, time.Minute},
		"KerfConsolidationPaused": {opens, 56 * time.Minute},
		"KerfClusterNameShared":   {func(_ *simcluster.Cluster, m *obs.Metrics) { m.Foreign.WithLabelValues("other").Set(3) }, 15 * time.Minute},
		"KerfNotDeciding":         {func(_ *simcluster.Cluster, m *obs.Metrics) { m.Work.Begin("provisioner") }, 12 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			simcluster.Run(t, simcluster.Options{World: few, NoController: true}, func(h *simcluster.Cluster) {
				metrics, leader := replica()
				_, standby := replica()
				m := watch(h, leader, standby)
				h.Pass(30 * time.Minute)
				if got := m.alerts(); len(got) > 0 {
					h.T.Fatalf("before: %v", got)
				}
				tt.cause(h, metrics)
				h.Pass(tt.after - 2*interval)
				if got := m.alerts(); tt.after > time.Minute && len(got) > 0 {
					h.T.Errorf("too soon: %v", got)
				}
				m.awaits(4*interval, name)
				m.evaluated()
				if got := m.alerts(); !slices.Equal(got, []string{name}) {
					h.T.Errorf("fired have %v", got)
				}
			})
		})
	}
}

// opens has the breaker open for the fourth time, a quarter of an hour after it closed, as before.
func opens(h *simcluster.Cluster, m *obs.Metrics) {
	for _, held := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
		m.Disruption.Breaker.Set(1)
		h.Pass(held)
		m.Disruption.Breaker.Set(0)
		h.Pass(15 * time.Minute)
	}
	m.Disruption.Breaker.Set(1)
}

// replica makes the metrics of a replica with which all is well.
func replica() (*obs.Metrics, func() prometheus.Gatherer) {
	registry := prometheus.NewRegistry()
	out := obs.NewMetrics(registry)
	out.BuildInfo.WithLabelValues("v", "go", "amd64", "c").Set(1)
	out.ServiceUp.WithLabelValues("ec2").Set(1)
	return out, func() prometheus.Gatherer { return registry }
}

// Each alert is made to fire by a story or by hand.
func TestEachAlertIsTested(t *testing.T) {
	tested := []string{"KerfDefect", "KerfConsolidationPaused", "KerfClusterNameShared"}
	for _, s := range stories {
		tested = append(tested, s.want...)
	}
	for _, a := range alerts.All() {
		if !slices.Contains(tested, a.Name) {
			t.Errorf("no story makes %s fire", a.Name)
		}
	}
}

// substituted is a query with values for the variables of Grafana.
func substituted(q dashboards.Query) string {
	return strings.NewReplacer("$cluster", ".*", "$job", job, "$nodepool", ".*", "$__rate_interval", "2m").Replace(q.PromQL())
}
