//go:build browser

package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local"
	controlclient "github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/web"
)

// soon is how long a story may take until the page tells it.
const soon = 2 * time.Minute

// stage is a local cluster with the page open.
type stage struct {
	*testing.T
	*Browser
	cluster *local.Cluster
	api     client.Client
	aws     *controlclient.Client
}

func newStage(t *testing.T) *stage {
	controlPlane, err := harness.Binary(t.Context())
	must(t, err)
	binary := filepath.Join(t.TempDir(), "kerf")
	build := exec.Command("go", "build", "-o", binary, "./cmd/kerf")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cluster, err := local.Up(t.Context(), local.Options{
		ClusterName: "shop", StateDir: t.TempDir(), ControlPlane: controlPlane, Binary: binary, BootTime: 2 * time.Second, Seed: 1, Report: func(line string) { t.Log(line) },
	})
	must(t, err)
	t.Cleanup(func() { _ = cluster.Close() })
	api, err := cluster.Client()
	must(t, err)
	config, err := cluster.Config()
	must(t, err)
	address, err := web.Beside(t.Context(), web.Options{Connect: web.At(cluster.Server(), config), FloorEvery: 5 * time.Second})
	must(t, err)
	s := &stage{T: t, Browser: open(t), cluster: cluster, api: api, aws: controlclient.New(cluster.AWS)}
	s.look(View{Width: 1440, Height: 900})
	must(t, s.Go(address))
	return s
}

func (s *stage) look(v View) { s.Helper(); must(s, s.Browser.Look(v)) }

func (s *stage) apply(manifest string) {
	s.Helper()
	must(s, s.cluster.Apply(s.Context(), []byte(strings.ReplaceAll(manifest, "${CLUSTER_NAME}", "shop"))))
}

// story plays a part of the whole, which fails by itself.
func (s *stage) story(name string, play func()) {
	whole := s.T
	defer func() { s.T = whole }()
	whole.Run(name, func(t *testing.T) { s.T = t; play() })
}

// says waits until a section of the page has a text.
func (s *stage) says(section, text string) {
	s.Helper()
	must(s, s.Await(soon, fmt.Sprintf(`document.getElementById(%q).innerText.includes(%q)`, section, text)))
}

// picture writes what is seen where pictures are asked for (make pictures).
func (s *stage) picture(name string) {
	s.Helper()
	dir := os.Getenv("KERF_PICTURES")
	if dir == "" {
		return
	}
	must(s, s.Picture(filepath.Join(dir, name+".png")))
}

// isOver waits until no problem tells of it but those that are over.
func (s *stage) isOver(words string) {
	s.Helper()
	must(s, s.Await(soon, "![...document.querySelectorAll('#s-problems .body > ul:not(.over) > li')].some((e) => e.innerText.includes('"+words+"'))"))
}

// oneCard fails where what follows from a problem has a card of its own.
func (s *stage) oneCard() {
	s.Helper()
	must(s, s.Await(soon, `document.querySelectorAll('#s-problems .body > ul > li.bad').length === 1 && document.querySelectorAll('#s-problems ul.follows > li').length > 0`))
}

// pictures writes what is seen at three sizes, light and dark, where pictures are asked for.
func (s *stage) pictures(name string) {
	s.Helper()
	if os.Getenv("KERF_PICTURES") == "" {
		return
	}
	for _, v := range []View{{1440, 900, false}, {1440, 900, true}, {900, 1100, false}, {900, 1100, true}, {420, 860, false}, {420, 860, true}} {
		s.look(v)
		eval[bool](s.T, s.Browser, `(scrollTo(0, 0), true)`)
		as := fmt.Sprintf("%s-%d", name, v.Width)
		if v.Dark {
			as += "-dark"
		}
		s.picture(as)
	}
	s.look(View{Width: 1440, Height: 900})
}

// TestStories plays what happens to a cluster, and reads the page as a person would.
func TestStories(t *testing.T) {
	s := newStage(t)
	s.says("nothing", "no nodes yet")

	// Work comes.
	s.apply(pools)
	s.apply(deployment("web", 24, "500m", "1Gi", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"))
	s.apply(deployment("api", 16, "750m", "6Gi", ""))
	s.apply(deployment("cache", 6, "1", "12Gi", "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: cache}}}]}}"))
	must(s, s.Await(soon, `document.getElementById('f-pods').textContent === '46' && document.getElementById('f-waiting').textContent === '0'`))
	must(s, s.Await(soon, `document.getElementById('f-floor').textContent.startsWith('$')`))
	s.says("s-savings", "podAntiAffinity")
	s.says("s-aws", "Notices of interruptions arrive by the queue shop.")
	s.says("where", "us-east-1 · account 123456789012")
	s.says("f-month", "$")
	s.says("chart", "History since")
	s.pictures("calm")

	s.story("a node is opened by keyboard", func() {
		must(s, s.Key("#canvas", "ArrowRight", "Enter"))
		s.says("detail", "launched:")
		s.says("detail", "why:")
		if !eval[bool](t, s.Browser, `document.getElementById('detail').getBoundingClientRect().left >= document.getElementById('canvas-box').getBoundingClientRect().right`) {
			t.Error("the details lie over the map")
		}
		if at := eval[string](t, s.Browser, `document.activeElement.id`); at != "detail-title" {
			t.Errorf("the focus is on %q, want the title of the details", at)
		}
		s.pictures("node")
		must(s, s.Key("#detail-title", "Escape"))
		must(s, s.Await(soon, `!document.getElementById('detail').open`))
		if at := eval[string](t, s.Browser, `document.activeElement.id`); at != "canvas" {
			t.Errorf("after the details the focus is on %q, want the map", at)
		}
	})

	s.story("a decision bears the id of its line in the log", func() {
		id := eval[string](t, s.Browser, `document.querySelector('#s-decisions code').textContent`)
		logs, err := filepath.Glob(filepath.Join(s.cluster.StateDir, "controller*.log"))
		must(s, err)
		said := ""
		for _, name := range logs {
			text, err := os.ReadFile(name)
			must(s, err)
			said += string(text)
		}
		if len(id) != 16 || !strings.Contains(said, id) {
			t.Errorf("the log does not have %q", id)
		}
		must(s, s.Click("#s-decisions button.link"))
		must(s, s.Await(soon, `document.getElementById('detail-body').innerText.length > 40`))
		s.says("detail-title", id)
		// The browser tells that details were closed after the next are open.
		eval[bool](t, s.Browser, `(document.getElementById('detail-close').click(), document.querySelector('#s-decisions button.link').click(), true)`)
		must(s, s.Await(soon, `document.getElementById('detail-body').innerText.length > 40`))
		must(s, s.Key("#detail-title", "Escape"))
	})

	s.story("pods that no node can hold", func() {
		s.apply(deployment("odd", 3, "1", "1Gi", "nodeSelector: {kubernetes.io/arch: s390x}"))
		s.says("s-problems", "3 pods wait and no node is on its way")
		s.says("s-waiting", "3 × default/odd")
		s.says("s-waiting", "see the problem: 3 pods wait and no node is on its way") // which gives the reason
		s.pictures("stuck-list")
		must(s, s.Click(`#s-waiting button.link`))
		s.says("detail", "no node is on its way") // what is wrong now stands before what was decided
		s.says("detail", "What was decided about the pod")
		s.says("detail", "cheapest single change")
		s.picture("stuck")
		must(s, s.Key("body", "Escape"))
		s.remove("odd")
		s.says("health", "all well")
	})

	s.story("EC2 has no capacity", func() {
		_, err := s.aws.AddFault(t.Context(), world.Fault{ID: "dry", Kind: world.FaultNoCapacity})
		must(s, err)
		s.apply(deployment("late", 8, "2", "2Gi", ""))
		s.says("s-aws", "Not asked for now")
		s.says("s-problems", "EC2 has no capacity")
		s.says("s-problems", "asked again at about")
		s.says("s-decisions", "refused:")
		s.pictures("no-capacity")
		must(s, s.aws.ClearFaults(t.Context()))
		s.remove("late")
	})

	s.story("AWS does not answer", func() {
		_, err := s.aws.AddFault(t.Context(), world.Fault{ID: "down", Kind: world.FaultError, Service: "ec2", Status: 503, Code: "ServiceUnavailable"})
		must(s, err)
		s.apply(deployment("more", 30, "2", "2Gi", ""))
		s.says("s-problems", "AWS EC2: calls fail")
		s.says("s-problems", "pods wait for instances that are not launched")
		s.oneCard()
		s.pictures("aws-down")
		must(s, s.aws.ClearFaults(t.Context()))
		s.isOver("calls fail")
		must(s, s.Await(soon, `document.getElementById('f-waiting').textContent === '0'`))
		s.remove("more")
	})

	s.story("AWS takes an instance back", func() {
		instances, err := s.aws.Instances(t.Context())
		must(s, err)
		taken := ""
		for _, i := range instances {
			if i.CapacityType == "spot" && i.State == "running" {
				taken = i.ID
				must(s, s.aws.Interrupt(t.Context(), i.ID, time.Minute))
				break
			}
		}
		s.says("s-problems", "AWS takes back 1 spot instance")
		s.says("s-interruptions", "left until its pods have to be gone")
		s.pictures("interrupted")
		for _, i := range instances {
			if i.State == "running" && i.ID != taken {
				_, err := s.aws.SendEvent(t.Context(), event.Request{Kind: event.ScheduledChange, Instance: i.ID, Code: "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", Start: time.Now().Add(72 * time.Hour)})
				must(s, err)
				break
			}
		}
		s.says("s-problems", "AWS works on 1 instance at")
		s.says("s-interruptions", "until AWS begins")
		must(s, s.Choose("events-of", "interruptions"))
		s.says("s-events", "SpotInterrupted")
		must(s, s.Choose("events-of", ""))
	})

	s.story("a PodDisruptionBudget blocks savings", func() {
		none := intstr.FromInt32(0)
		must(s, s.api.Create(t.Context(), &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: "keep", Namespace: "default"},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{}},
		}))
		s.apply(deployment("web", 3, "500m", "1Gi", ""))
		s.apply(deployment("api", 2, "750m", "6Gi", ""))
		s.says("s-savings", "Savings that are blocked")
		s.says("s-savings", "PodDisruptionBudget")
		must(s, s.Choose("colour", "hold"))
		s.pictures("blocked")
		must(s, s.Choose("colour", "pool"))
	})

	s.story("a class that can't launch", func() {
		s.apply(strings.ReplaceAll(class, "amiSelectorTerms: [{alias: al2023@latest}]", "amiFamily: AL2023\n  amiSelectorTerms: [{id: ami-00000000000000000}]"))
		s.says("s-problems", "EC2NodeClass shop")
		s.apply(deployment("next", 40, "3", "2Gi", "")) // more than there is room for
		s.says("s-problems", "pods wait and no node is on its way")
		s.oneCard()
		s.pictures("broken-class")
		s.remove("next")
		s.apply(class + "  amiFamily: AL2023\n")
		s.isOver("EC2NodeClass shop")
	})

	s.story("the table says what the map shows", func() {
		must(s, s.Click("#as-table"))
		rows := eval[int](t, s.Browser, `document.querySelectorAll('#table-box tbody tr').length`)
		nodes := eval[int](t, s.Browser, `Number(document.getElementById('f-nodes').textContent)`)
		if rows == 0 || rows != nodes {
			t.Errorf("the table has %d rows, and there are %d nodes", rows, nodes)
		}
		s.picture("table")
	})
	if said := s.Complaints(); len(said) > 0 {
		t.Errorf("the page complains: %q", said)
	}
}

func (s *stage) remove(name string) {
	s.Helper()
	out, err := exec.Command("kubectl", "--kubeconfig", s.cluster.Kubeconfig, "delete", "deployment", name, "--wait=false").CombinedOutput()
	if err != nil {
		s.Fatalf("deleting Deployment %s: %v\n%s", name, err, out)
	}
}

const class = `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: shop}
spec:
  role: KarpenterNodeRole-${CLUSTER_NAME}
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}]
`

const pools = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: shop}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
      - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4", "8", "16"]}
  limits: {cpu: "400"}
  disruption: {consolidateAfter: 2s, budgets: [{nodes: "100%"}]}
---` + class

func deployment(name string, replicas int, cpu, memory, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: none, resources: {requests: {cpu: "%[3]s", memory: %[4]s}}}]
      %[5]s
`, name, replicas, cpu, memory, more)
}
