package audit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

func run(t testing.TB, s *snapshot.Snapshot, o audit.Options) *audit.Report {
	t.Helper()
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	o.Facts = facts
	r, err := audit.Run(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// nothing is a cluster of which nothing may be read.
func nothing() *builder {
	b := build()
	b.Region = ""
	for _, k := range snapshot.Kinds() {
		name := k.Resource
		if k.Group == "metrics.k8s.io" {
			name = "pods.metrics.k8s.io"
		}
		b.Gaps = append(b.Gaps, snapshot.Gap{Kind: name, Why: "you may not list them"})
	}
	return b
}

// The snapshots of testdata are written with -update; the reports must be what they were. Update them after a change that is meant
// to change them, and read what changed.
func TestReports(t *testing.T) {
	for name, b := range map[string]*builder{"autoscaler": withAutoscaler(), "karpenter": withKarpenter(), "nothing": nothing()} {
		t.Run(name, func(t *testing.T) {
			file, golden := filepath.Join("testdata", name+".json.gz"), filepath.Join("testdata", name+".txt")
			if *update {
				data, err := b.Encode(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s, err := snapshot.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			r := run(t, s, audit.Options{})
			if err := r.Write(&got, true); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
			addsUp(t, r)
			for _, write := range []func(*bytes.Buffer) error{func(b *bytes.Buffer) error { return r.WritePage(b) }, func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(r) }} {
				var out bytes.Buffer
				if err := write(&out); err != nil {
					t.Fatal(err)
				}
				if text := out.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "ZgotmplZ") {
					t.Error("the report has a number that is none")
				}
			}
		})
	}
}

// addsUp checks what every report promises: floor, plan and bill in this order, and parts that add up.
func addsUp(t *testing.T, r *audit.Report) {
	t.Helper()
	const little = 1e-5
	f := r.Floor
	if f.PerHour > f.Plan+little || f.Plan > r.Bill.PerHour+little {
		t.Errorf("floor %f, plan %f, bill %f: want them in this order", f.PerHour, f.Plan, r.Bill.PerHour)
	}
	sum := 0.0
	for _, p := range r.Difference {
		if p.PerHour < 0 {
			t.Errorf("%s is %f", p.Code, p.PerHour)
		}
		sum += p.PerHour
	}
	if f.Known && f.PerHour > 0 {
		// As kerf status and kerf simulate say it: in percent of the floor.
		if above := (r.Bill.PerHour - f.PerHour) / f.PerHour * 100; f.Percent == nil || math.Abs(*f.Percent-above) > 0.01 {
			t.Errorf("percentAbove is %v, the bill is %f %% above the floor", f.Percent, above)
		}
		if of := (r.Bill.PerHour - f.PerHour) / r.Bill.PerHour * 100; math.Abs(f.OfBill-of) > 0.01 {
			t.Errorf("differencePercentOfBill is %f, want %f", f.OfBill, of)
		}
	}
	if f.Known && math.Abs(sum-(r.Bill.PerHour-f.PerHour)) > little*float64(len(r.Difference)+1) {
		t.Errorf("the parts add up to %f, the difference is %f", sum, r.Bill.PerHour-f.PerHour)
	}
	if f.Known {
		all := r.Rest.OthersPerHour + r.Rest.Room
		for _, w := range r.Workloads {
			all += w.PerHour
		}
		if math.Abs(all-r.Bill.PerHour) > little*float64(len(r.Workloads)+1) {
			t.Errorf("workloads and room add up to %f, the bill is %f", all, r.Bill.PerHour)
		}
	}
	asked := 0.0
	for _, p := range r.Asked {
		asked += p.PerHour
	}
	if asked > f.PerHour+little {
		t.Errorf("what is asked for costs %f, the floor is %f", asked, f.PerHour)
	}
	for _, shares := range [][]audit.Share{r.Bill.CapacityTypes, r.Bill.Groups, r.Bill.Families} {
		all := 0.0
		for _, s := range shares {
			all += s.PerHour
		}
		if math.Abs(all-r.Bill.PerHour) > little {
			t.Errorf("the shares %v add up to %f, the bill is %f", shares, all, r.Bill.PerHour)
		}
	}
	if r.First != nil && r.First.PerHour > r.Bill.PerHour-f.PerHour+little {
		t.Errorf("the first moves save %f of a difference of %f", r.First.PerHour, r.Bill.PerHour-f.PerHour)
	}
}

// Random clusters, so that the promises don't hang on the three that were made by hand.
func TestFloorPlanAndBillAreInOrderAndPartsAddUp(t *testing.T) {
	seeds := 8
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		r := run(t, random(uint64(seed)).Snapshot, audit.Options{Work: 20_000_000})
		addsUp(t, r)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// random is a small cluster drawn by a seed: node groups and their pods with whatever constraints.
func random(seed uint64) *builder {
	draw := rand.New(rand.NewPCG(seed, 1))
	b := build()
	zones := []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	types := []string{"m5.large", "m5.2xlarge", "c5.xlarge", "r5.xlarge", "t3.large", "m6g.large"}
	var names []string
	for i := range 3 + draw.IntN(12) {
		kind := []string{"ON_DEMAND", "ON_DEMAND", "SPOT"}[draw.IntN(3)]
		labels := map[string]string{"eks.amazonaws.com/nodegroup": string(rune('a' + draw.IntN(3))), "eks.amazonaws.com/capacityType": kind, "team": string(rune('x' + draw.IntN(2)))}
		n := b.node("n"+string(rune('a'+i)), types[draw.IntN(len(types))], zones[draw.IntN(3)], labels)
		names = append(names, n.Name)
	}
	free := map[string]int64{}
	for _, n := range b.Nodes {
		free[n.Name] = n.Status.Allocatable.Cpu().MilliValue() - 100
	}
	for w := range 4 + draw.IntN(8) {
		app := "app" + string(rune('a'+w))
		var on []string
		for range 1 + draw.IntN(4) {
			name := names[draw.IntN(len(names))]
			if free[name] >= 400 {
				free[name] -= 400
				on = append(on, name)
			}
		}
		kind := draw.IntN(6)
		pods := b.replicas("ns", app, "400m", "300Mi", func(s *corev1.PodSpec) {
			switch kind {
			case 0:
				s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
			case 1:
				s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "team", Operator: corev1.NodeSelectorOpIn, Values: []string{"x"}}}}}}}}
			}
		}, on...)
		switch kind {
		case 2:
			b.budget("ns", app, 0, 0)
		case 3:
			for _, p := range pods {
				p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
			}
		case 4:
			b.used(app, "50m", "100Mi")
		}
	}
	b.daemon("agent", "100m", "128Mi")
	return b
}

// The same snapshot with its names hashed costs the same and has the same parts.
func TestAnAnonymizedSnapshotHasTheSameAmounts(t *testing.T) {
	for name, b := range map[string]*builder{"autoscaler": withAutoscaler(), "karpenter": withKarpenter()} {
		plain, hidden := run(t, b.Snapshot, audit.Options{}), run(t, b.Anonymize(), audit.Options{})
		// What the order of names decides may differ by little: which of two equal nodes goes first.
		if plain.Bill.PerHour != hidden.Bill.PerHour || math.Abs(plain.Floor.PerHour-hidden.Floor.PerHour) > 0.001*plain.Floor.PerHour {
			t.Errorf("%s: bill %f and %f, floor %f and %f", name, plain.Bill.PerHour, hidden.Bill.PerHour, plain.Floor.PerHour, hidden.Floor.PerHour)
		}
		codes := func(r *audit.Report) string {
			found := map[string]bool{}
			for _, x := range r.Risks {
				found[x.Code] = true
			}
			for _, p := range append(r.Difference, r.Asked...) {
				found[p.Code] = p.PerHour > 0.01
			}
			text, _ := json.Marshal(found)
			return string(text)
		}
		if codes(plain) != codes(hidden) {
			t.Errorf("%s:\n%s\n%s", name, codes(plain), codes(hidden))
		}
	}
}

func TestPricesAreTheOnesThatWereGiven(t *testing.T) {
	b := withAutoscaler()
	before := run(t, b.Snapshot, audit.Options{})
	half := 0.5
	if r := run(t, b.Snapshot, audit.Options{SpotDiscount: &half}); !strings.Contains(r.Prices.Spot, "assumed: 50 %") || math.Abs(shareOf(r.Bill.CapacityTypes, "spot")-2*0.214/2) > 1e-9 {
		t.Errorf("half price: %+v %+v", r.Prices, r.Bill.CapacityTypes)
	}
	rules, err := pricefile.Parse("p.yaml", []byte("prices: [{match: {family: m5, capacityType: on-demand}, factor: 0.5}]"))
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, b.Snapshot, audit.Options{Prices: rules}); math.Abs(shareOf(r.Bill.CapacityTypes, "on-demand")*2-shareOf(before.Bill.CapacityTypes, "on-demand")) > 1e-9 || r.Prices.Overrides != 1 {
		t.Errorf("by a file: %+v %+v", r.Prices, r.Bill)
	}
	bad := 1.5
	facts, _ := ec2facts.Load()
	if _, err := audit.Run(b.Snapshot, audit.Options{Facts: facts, SpotDiscount: &bad}); err == nil {
		t.Error("a discount of 150 % was taken")
	}
}

func shareOf(shares []audit.Share, name string) float64 {
	for _, s := range shares {
		if s.Name == name {
			return s.PerHour
		}
	}
	return 0
}

// Without the right to read volumes, pods that have some must not count as pods without a place.
func TestWhatMayNotBeReadIsUnknownAndNoError(t *testing.T) {
	b := withKarpenter()
	for _, p := range b.Pods {
		if p.Labels["app"] == "web" {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		}
	}
	if r := run(t, b.Snapshot, audit.Options{}); r.Floor.WithoutPlace != 4 {
		t.Errorf("%d pods of claims that do not exist have no place, want 4", r.Floor.WithoutPlace)
	}
	b.Gaps = []snapshot.Gap{{Kind: "persistentvolumeclaims", Why: "you may not list them"}}
	r := run(t, b.Snapshot, audit.Options{})
	if r.Floor.WithoutPlace != 0 || !strings.Contains(strings.Join(r.Unknown, "\n"), "persistentvolumeclaims: you may not list them; volumes are left out") {
		t.Errorf("%d pods have no place; unknown: %v", r.Floor.WithoutPlace, r.Unknown)
	}
	b.Gaps = append(b.Gaps, snapshot.Gap{Kind: "pods", Why: "you may not list them"})
	b.Pods = nil
	if r := run(t, b.Snapshot, audit.Options{}); r.Floor.Known || len(r.Difference) != 0 || r.Bill.PerHour == 0 {
		t.Errorf("without pods: %+v %v", r.Floor, r.Difference)
	}
}

func TestDisruptionBudgetsThatAllowNothingHoldNodes(t *testing.T) {
	b := withKarpenter()
	b.NodePools[0].Spec.Disruption.Budgets = []karpv1.Budget{{Nodes: "0"}}
	r := run(t, b.Snapshot, audit.Options{})
	addsUp(t, r)
	for _, p := range r.Difference {
		for _, o := range p.Objects {
			if p.Code == audit.HeldByPool && o.Name == "default" && strings.HasPrefix(o.Detail, "spec.disruption.budgets allow no node") {
				if len(r.First.Moves) > 0 {
					t.Errorf("and yet nodes go: %+v", r.First.Moves)
				}
				return
			}
		}
	}
	t.Errorf("the budget of NodePool default is not named: %+v", r.Difference)
}

// BenchmarkThousandNodes is the time that an audit of 1,000 nodes and 20,000 pods takes, with the reading of its file.
func BenchmarkThousandNodes(b *testing.B) {
	s := large(1000)
	file := filepath.Join(b.TempDir(), "large.json.gz")
	if name := os.Getenv("KERF_AUDIT_SNAPSHOT"); name != "" { // to keep it, for the command
		file = name
	}
	data, err := s.Encode(file)
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := snapshot.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		r := run(b, s, audit.Options{})
		if r.Cluster.Nodes != 1000 || r.Cluster.Pods < 20_000 {
			b.Fatalf("%+v", r.Cluster)
		}
		b.ReportMetric(r.Floor.OfBill, "%of-bill-above-floor")
	}
}
