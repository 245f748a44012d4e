package audit_test

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// written are the three forms for people: the report, the line of --quiet, the page.
func written(t *testing.T, r *audit.Report) (text, line, page string) {
	t.Helper()
	var a, b, c bytes.Buffer
	if err := r.Write(&a, true); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteAnswer(&b); err != nil {
		t.Fatal(err)
	}
	if err := r.WritePage(&c); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String(), c.String()
}

func TestANodeWithoutAKnownPriceIsSaidBesideTheBill(t *testing.T) {
	b := withAutoscaler()
	for _, n := range b.Nodes {
		if n.Name == "ip-10-0-0-1" {
			n.Labels[corev1.LabelInstanceTypeStable] = "m99.huge"
		}
	}
	r := run(t, b.Snapshot, audit.Options{})
	addsUp(t, r)
	const want = "without 1 node whose price is not known; floor for 13 of 16 pods"
	if r.Caveat != want {
		t.Errorf("caveat %q, want %q", r.Caveat, want)
	}
	text, line, page := written(t, r)
	if first, _, _ := strings.Cut(text[strings.Index(text, "  Costs"):], "\n"); !strings.Contains(first, want) || !strings.Contains(line, want) {
		t.Errorf("%s\n%s", first, line)
	}
	if !strings.Contains(page, "without 1 node whose price is not known") || !strings.Contains(page, "for 13 of 16 pods") {
		t.Error("the page does not say it")
	}
	for _, x := range r.Risks {
		if x.Code == audit.UnknownPrice && x.Level != audit.High {
			t.Errorf("the risk is %s", x.Level)
		}
	}
	if all := strings.Join(r.Unknown, "\n"); !strings.Contains(all, "What 1 node costs: ip-10-0-0-1.") {
		t.Errorf("not known: %s", all)
	}
}

// There is no list price of Windows: nodes that run it are said to count as Linux, unless a price was given.
func TestWindowsNodesCountAsLinuxAndItIsSaid(t *testing.T) {
	b := withAutoscaler()
	b.Nodes[0].Labels[corev1.LabelOSStable] = "windows"
	r := run(t, b.Snapshot, audit.Options{})
	text, line, page := written(t, r)
	for form, want := range map[string]string{text: "What Windows costs: 1 node counts at the price of Linux", line: "1 Windows node at the price of Linux", page: "1 Windows node at the price of Linux"} {
		if !strings.Contains(form, want) {
			t.Errorf("no %q in\n%s", want, form)
		}
	}
	if r.Bill.Windows != 1 {
		t.Errorf("%+v", r.Bill)
	}
	rules, err := pricefile.Parse("p.yaml", []byte("prices: [{match: {family: m5}, factor: 1.9}, {match: {family: c5}, factor: 1.9}, {match: {family: r5}, factor: 1.9}, {match: {family: t3}, factor: 1.9}]"))
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, b.Snapshot, audit.Options{Prices: rules}); r.Bill.Windows != 0 || r.Caveat != "" {
		t.Errorf("with a price of its own: %+v, caveat %q", r.Bill, r.Caveat)
	}
}

func TestWithoutNodesNothingIsSaidToBeProved(t *testing.T) {
	denied := withAutoscaler() // the ClusterRole view: all but what belongs to no namespace
	denied.Nodes, denied.Gaps, denied.Region = nil, []snapshot.Gap{{Kind: "nodes", Why: "you may not list them"}}, ""
	priceless := withAutoscaler()
	for _, n := range priceless.Nodes {
		n.Labels[corev1.LabelInstanceTypeStable] = "m99.huge"
	}
	for name, tt := range map[string]struct {
		b     *builder
		why   string
		risks bool
	}{
		"nothing may be read": {nothing(), "nodes could not be read", false},
		"no nodes":            {denied, "nodes could not be read", false},
		"no known price":      {priceless, "no node has a known price", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, tt.b.Snapshot, audit.Options{})
			if r.Floor.Known || r.Bill.Known || r.Floor.Why != tt.why || (r.RisksUnknown == "") != tt.risks {
				t.Errorf("floor %+v, bill %+v, risks %q", r.Floor, r.Bill, r.RisksUnknown)
			}
			text, line, page := written(t, r)
			for _, wrong := range []string{"proved", "0 new nodes", "none was found", "None was found", "$0/h  ", "costs $0"} {
				if strings.Contains(strings.SplitN(text, "\nWHAT IT", 2)[0]+line+page, wrong) {
					t.Errorf("%q is said", wrong)
				}
			}
			if !strings.Contains(text, "Costs          not known  ("+tt.why+")") || line != "what it costs is not known: "+tt.why+"\n" {
				t.Errorf("%s\n%s", text, line)
			}
		})
	}
}

// Nodes that all run on demand, and a plan and moves on spot: what these rest on is said, and that it is old, in every form.
func TestOldSpotPricesOfThePlanAreSaid(t *testing.T) {
	b := withKarpenter()
	for _, n := range b.Nodes {
		n.Labels["karpenter.sh/capacity-type"] = "on-demand"
	}
	r := run(t, b.Snapshot, audit.Options{})
	if !strings.Contains(r.Prices.Spot, "quotes of the region, not known of which zone (2025-05-28)") || r.Prices.SpotOldest != "2025-05-28" || !strings.HasPrefix(r.Prices.Warning, "Spot prices are of 2025-05-28") {
		t.Errorf("%+v", r.Prices)
	}
	text, _, page := written(t, r)
	for _, form := range []string{strings.Join(strings.Fields(text), " "), page} {
		if !strings.Contains(form, "the floor, Kerf&#39;s plan and what is saved rest on them") && !strings.Contains(form, "NOTE: Spot prices are of 2025-05-28, and the floor, Kerf's plan and what is saved rest on them. For the prices of now: --with-aws") {
			t.Errorf("it is not said in\n%s", form)
		}
	}
	half := 0.5
	if p := run(t, b.Snapshot, audit.Options{SpotDiscount: &half}).Prices; p.Warning != "" || p.SpotOldest != "" {
		t.Errorf("of an assumption: %+v", p)
	}
}

func TestAPageSaysHowBadARiskIsAndWhatToDo(t *testing.T) {
	_, _, page := written(t, run(t, withAutoscaler().Snapshot, audit.Options{}))
	for _, want := range []string{"High: Pods without an owner", "Low: Workloads with one replica", "<small>What to do: A Deployment, a StatefulSet or a Job.</small>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestARegionThatCanNotBeIsRefused(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	for region, want := range map[string]string{"us-esat-1": `no region "us-esat-1" is known; there are `, "us-east-1": "--region us-east-1: the nodes are in eu-west-1"} {
		if _, err := audit.Run(withAutoscaler().Snapshot, audit.Options{Facts: facts, Region: region}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", region, err)
		}
	}
}

func TestAFileWithoutItsNodePoolsIsNoClusterOfNodeGroups(t *testing.T) {
	b := withKarpenter()
	b.NodePools, b.NodeClaims, b.NodeClasses, b.FromKubectl, b.Cluster = nil, nil, nil, true, "prod"
	b.Gaps = []snapshot.Gap{{Kind: "nodepools", Why: "the file has none", Absent: true}}
	text, _, page := written(t, run(t, b.Snapshot, audit.Options{}))
	for _, want := range []string{"AUDIT of prod: 7 nodes", "launched by NodePools, which could not be read", "NodePools: 6 nodes have the label karpenter.sh/nodepool, and the file has none"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "of another controller") || !strings.Contains(page, "<title>Audit of prod") {
		t.Errorf("%s", text)
	}
	b.Gaps = []snapshot.Gap{{Kind: "nodepools", Why: "2 NodePools of karpenter.sh/v1beta1 were not read, only those of karpenter.sh/v1 are", Versions: true}}
	if text, _, _ := written(t, run(t, b.Snapshot, audit.Options{})); strings.Contains(text, "the file has none") || !strings.Contains(text, "NodePools: 6 nodes have the label karpenter.sh/nodepool, and 2 NodePools of karpenter.sh/v1beta1 were not read") {
		t.Errorf("NodePools of another version:\n%s", text)
	}
	hidden, _, _ := written(t, run(t, b.Anonymize(), audit.Options{}))
	if strings.Contains(hidden, "prod:") {
		t.Error("the name of the cluster is not hashed")
	}
}

func TestAllPodsThatHoldNodesAreCounted(t *testing.T) {
	b := withKarpenter()
	for _, p := range b.Pods {
		if p.Labels["app"] == "web" {
			p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
		}
	}
	for _, w := range run(t, b.Snapshot, audit.Options{}).Workloads {
		if w.UnusedPerHour != nil {
			t.Errorf("%s leaves %f unused, and nothing is known of its use", w.Name, *w.UnusedPerHour)
		}
	}
	text, _, _ := written(t, run(t, b.Snapshot, audit.Options{}))
	if !strings.Contains(text, "(4 pods on 2 nodes; the price is of the nodes that it holds)") {
		t.Errorf("the four pods of web are not counted:\n%s", text)
	}
}

// A plan for all pods that is cheaper than what the moves leave is explained, on the page too.
func TestWhyTheMovesDoNotReachThePlanIsSaid(t *testing.T) {
	r := run(t, withKarpenter().Snapshot, audit.Options{})
	if left := r.Bill.PerHour - r.First.PerHour; left < r.Floor.Plan*1.1 {
		t.Fatalf("the moves leave %f, and the plan costs %f", left, r.Floor.Plan)
	}
	text, _, page := written(t, r)
	for _, form := range []string{strings.Join(strings.Fields(text), " "), page} {
		if !strings.Contains(form, "The plan replaces every node at once") || !strings.Contains(form, "kerf simulate --snapshot plays the same pods over time") {
			t.Errorf("it is not said in\n%s", form)
		}
	}
	if strings.Contains(text+page, "nothing cheaper carries their pods") {
		t.Error("nothing cheaper is said to carry the pods, and a plan does")
	}
}

// An instance is paid for from its launch on, whether or not it becomes a node.
func TestInstancesWithoutANodeAreInTheBill(t *testing.T) {
	before := run(t, withKarpenter().Snapshot, audit.Options{})
	b := withKarpenter()
	claim := b.NodeClaims[0].DeepCopy() // of an m6i.2xlarge on demand
	claim.UID = "lost"
	claim.Name, claim.Status.NodeName, claim.Status.ProviderID = "default-lost", "", "aws:///eu-west-1a/i-0ffffffffffffffff"
	claim.Labels = maps.Clone(claim.Labels)
	claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone] = "m6i.2xlarge", "eu-west-1a"
	claim.Status.Allocatable = amounts("7900m", "29Gi")
	planned := b.NodeClaims[0].DeepCopy() // not launched yet
	planned.UID, planned.Name, planned.Status.NodeName, planned.Status.ProviderID = "planned", "default-planned", "", ""
	ending := claim.DeepCopy()
	ending.UID, ending.Name, ending.Status.ProviderID, ending.DeletionTimestamp = "ending", "default-ending", "aws:///eu-west-1a/i-0eeeeeeeeeeeeeeee", &metav1.Time{Time: now}
	b.NodeClaims = append(b.NodeClaims, claim, planned, ending)
	r := run(t, b.Snapshot, audit.Options{})
	addsUp(t, r)
	more := r.Bill.PerHour - before.Bill.PerHour
	if more < 0.3 || math.Abs(r.Floor.PerHour-before.Floor.PerHour-more) > 1e-5 {
		t.Errorf("the bill is $%f/h more, the floor $%f/h: want the price of an m6i.2xlarge in both", more, r.Floor.PerHour-before.Floor.PerHour)
	}
	at := slices.IndexFunc(r.Risks, func(x audit.Risk) bool { return x.Code == audit.WithoutNode })
	if at < 0 || len(r.Risks[at].Objects) != 1 || r.Risks[at].Objects[0].Name != "default-lost" {
		t.Errorf("the risks are %+v", r.Risks)
	}
	b.Gaps = []snapshot.Gap{{Kind: "nodes", Why: "you may not list them"}}
	b.Nodes = nil
	if r := run(t, b.Snapshot, audit.Options{}); r.Bill.Known {
		t.Errorf("without the right to list nodes the bill is said to be %+v", r.Bill)
	}
}

// Pods may run on nodes that were not read: a file has some of the nodes, or a node came after they were listed. Their workloads have
// more replicas than those that are seen.
func TestPodsOnNodesThatWereNotReadAreSaid(t *testing.T) {
	b := withAutoscaler()
	b.replicas("shop", "split", "1", "1Gi", nil, "ip-10-0-0-1", "gone-b", "gone-a")
	b.replicas("shop", "single", "1", "1Gi", nil, "ip-10-0-0-1")
	r := run(t, b.Snapshot, audit.Options{})
	addsUp(t, r)
	const want = "Nodes of 2 pods that were not read: shop/split-"
	if all := strings.Join(r.Unknown, "\n"); !strings.Contains(all, want) || !strings.Contains(all, " runs on gone-b and 1 more. No amount has these pods") {
		t.Errorf("not known: %s", all)
	}
	var alone []string
	for _, x := range r.Risks {
		if x.Code == audit.OneReplica {
			for _, o := range x.Objects {
				alone = append(alone, o.Name)
			}
		}
	}
	if !slices.Contains(alone, "shop/single") || slices.Contains(alone, "shop/split") {
		t.Errorf("one replica: %v", alone)
	}
	unread := withAutoscaler()
	unread.Nodes, unread.Gaps, unread.Region = nil, []snapshot.Gap{{Kind: "nodes", Why: "you may not list them"}}, ""
	if all := strings.Join(run(t, unread.Snapshot, audit.Options{}).Unknown, "\n"); strings.Contains(all, "Nodes of ") {
		t.Errorf("without any node: %s", all)
	}
}
