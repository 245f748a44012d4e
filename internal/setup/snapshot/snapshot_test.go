package snapshot_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
)

var taken = time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)

// secret begins every text that stands for one of the user's.
const secret = "confidential"

// fill puts a text of its own into every string of a value, and one element into every list and map. Strings of named types are
// words of the API and stay empty.
func fill(v reflect.Value, n *int, depth int) {
	switch v.Interface().(type) {
	case metav1.Time, *metav1.Time, metav1.MicroTime, resource.Quantity, *resource.Quantity, intstr.IntOrString, metav1.Duration, metav1.TypeMeta, karpv1.Duration, karpv1.NillableDuration, *metav1.FieldsV1, *runtime.RawExtension, runtime.RawExtension:
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type().Name() == "string" {
			*n++
			v.SetString(fmt.Sprintf("%s%d", secret, *n))
		}
	case reflect.Pointer:
		if depth > 12 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), n, depth+1)
			}
		}
	case reflect.Slice:
		if depth > 12 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n, depth+1)
	case reflect.Map:
		if v.Type().Elem() == reflect.TypeFor[resource.Quantity]() {
			*n++
			v.Set(reflect.ValueOf(map[corev1.ResourceName]resource.Quantity{corev1.ResourceName(fmt.Sprintf("example.com/%s%d", secret, *n)): resource.MustParse("1")}).Convert(v.Type()))
			return
		}
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n, depth+1)
		fill(value, n, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		if key.Kind() != reflect.String || key.String() != "" {
			v.SetMapIndex(key, value)
		}
	}
}

// filled is a snapshot with two objects of each kind, of which the second names the first in the ways that matter.
func filled() *snapshot.Snapshot {
	s := &snapshot.Snapshot{TakenAt: taken, Region: "eu-west-1", Gaps: []snapshot.Gap{{Kind: "jobs", Why: secret + " is why"}}}
	n := 0
	fill(reflect.ValueOf(&s.Objects).Elem(), &n, 0)
	// These are words of AWS or of Kubernetes, though their type is a plain string.
	node := s.Nodes[0]
	node.Status.NodeInfo.Architecture, node.Status.NodeInfo.OperatingSystem, node.Status.NodeInfo.KubeletVersion = "arm64", "linux", "v1.33.1"
	node.Spec.ProviderID = "aws:///eu-west-1a/i-0" + secret
	// Domains of Kubernetes are no proof that Kubernetes made the key.
	node.Labels["node.kubernetes.io/"+secret], node.Labels["node.cloudprovider.kubernetes.io/"+secret] = "x", "x"
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "node.kubernetes.io/" + secret}, corev1.Taint{Key: "node.kubernetes.io/not-ready"}, corev1.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized"})
	class := s.NodeClasses[0]
	class.Status.Subnets[0].Zone, class.Status.Subnets[0].ZoneID = "eu-west-1a", "euw1-az1"
	class.Status.Conditions[0].Type, s.NodePools[0].Status.Conditions[0].Type, s.NodeClaims[0].Status.Conditions[0].Type = "Ready", "Ready", "Ready"
	class.Spec.Kubelet, class.Spec.BlockDeviceMappings = &awsv1.KubeletConfiguration{ClusterDNS: []string{secret}, EvictionHard: map[string]string{"memory.available": "5%"}}, nil
	class.Spec.ConnectionTracking, class.Spec.CPUOptions = nil, nil
	o := s.NodeOverlays[0]
	o.Spec.Price, o.Spec.PriceAdjustment, o.Status.Conditions[0].Type = new("0.1"), new("-10%"), "Ready"
	o.Spec.Requirements[0].Operator = corev1.NodeSelectorOpIn
	s.NodePools[0].Spec.Disruption = karpv1.Disruption{Budgets: []karpv1.Budget{{Nodes: "10%"}}}
	s.CronJobs[0].Spec.Schedule = "@daily"
	return s
}

func encoded(t *testing.T, s *snapshot.Snapshot, name string) []byte {
	t.Helper()
	data, err := s.Encode(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever field somebody adds to a copy, a text of the user's in it is seen here.
func TestNoOriginalNameIsInAnAnonymizedSnapshot(t *testing.T) {
	s := filled()
	if plain := string(encoded(t, s, "x.json")); strings.Count(plain, secret) < 200 {
		t.Fatalf("the snapshot has only %d texts to hide", strings.Count(plain, secret))
	}
	hidden := string(encoded(t, s.Anonymize(), "x.json"))
	for _, m := range regexp.MustCompile(`.{0,60}`+secret+`.{0,20}`).FindAllString(hidden, -1) {
		t.Errorf("left: %s", m)
	}
	for _, kept := range []string{"eu-west-1a", "arm64", `"anonymized":true`, "node.kubernetes.io/not-ready", "node.cloudprovider.kubernetes.io/uninitialized"} {
		if !strings.Contains(hidden, kept) {
			t.Errorf("lost: %s", kept)
		}
	}
}

func TestSelectorsStillSelectOnceNamesAreHashed(t *testing.T) {
	labels := map[string]string{"app": "payments"}
	pod := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments-1", Labels: labels}, Spec: corev1.PodSpec{
			NodeName: "ip-10-0-0-1", NodeSelector: map[string]string{"team": "blue", "kubernetes.io/arch": "arm64"},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "topology.kubernetes.io/zone", LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}},
		}}
	}
	s := &snapshot.Snapshot{Objects: snapshot.Objects{
		Pods:  []*corev1.Pod{pod()},
		Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "ip-10-0-0-1", Labels: map[string]string{"team": "blue", "kubernetes.io/hostname": "ip-10-0-0-1", "kubernetes.io/arch": "arm64"}}}},
	}}
	h := s.Anonymize()
	p, n := h.Pods[0], h.Nodes[0]
	if p.Spec.NodeName != n.Name || n.Labels["kubernetes.io/hostname"] != n.Name || n.Name == "ip-10-0-0-1" {
		t.Errorf("the pod is on %q, the node is %q with hostname %q", p.Spec.NodeName, n.Name, n.Labels["kubernetes.io/hostname"])
	}
	for k, v := range p.Spec.NodeSelector {
		if n.Labels[k] != v {
			t.Errorf("the pod selects %s=%s, the node has %v", k, v, n.Labels)
		}
	}
	if got := p.Spec.TopologySpreadConstraints[0]; got.TopologyKey != "topology.kubernetes.io/zone" || !reflect.DeepEqual(got.LabelSelector.MatchLabels, p.Labels) || len(p.Labels) != 1 {
		t.Errorf("the spread %+v does not select the pod's labels %v", got, p.Labels)
	}
	if reflect.DeepEqual(h.Pods, s.Anonymize().Pods) {
		t.Error("two snapshots have the same hashes: names can be found by guessing")
	}
	if !reflect.DeepEqual(s.Pods[0], pod()) {
		t.Error("the snapshot itself was changed")
	}
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	for _, name := range []string{"x.json", "x.json.gz"} {
		s := filled()
		path := filepath.Join(t.TempDir(), name)
		first := encoded(t, s, name)
		if err := os.WriteFile(path, first, 0o644); err != nil {
			t.Fatal(err)
		}
		if zipped := bytes.HasPrefix(first, []byte{0x1f, 0x8b}); zipped != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s: compressed: %v", name, zipped)
		}
		got, err := snapshot.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		again := encoded(t, got, name)
		once, err := snapshot.Read(bytes.NewReader(again))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded(t, once, name), again) {
			t.Errorf("%s: written, read and written it is another file", name)
		}
		if len(got.Pods) != 1 || got.Pods[0].Name != s.Pods[0].Name || len(got.Usage) != 1 || got.Region != "eu-west-1" || len(got.Gaps) != 1 {
			t.Errorf("%s: %d pods, %d usages, region %q", name, len(got.Pods), len(got.Usage), got.Region)
		}
		for _, nobodys := range []string{"managedFields", "envFrom", "imagePullSecrets", "livenessProbe", "userData", `"command"`} {
			if bytes.Contains(encoded(t, got, "x.json"), []byte(nobodys)) {
				t.Errorf("the file has %s, which nobody reads", nobodys)
			}
		}
	}
}

func TestKubectlListsAreRead(t *testing.T) {
	const list = `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"x"}},
		{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}},
		{"apiVersion":"v1","kind":"PodList","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"x"}}]},
		{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"topology.kubernetes.io/region":"eu-west-1"}}}]}`
	s, err := snapshot.Read(strings.NewReader(list))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pods) != 2 || s.Pods[0].Name != "a" || len(s.Nodes) != 1 || s.Region != "eu-west-1" {
		t.Errorf("%d pods, %d nodes, region %q", len(s.Pods), len(s.Nodes), s.Region)
	}
	if !s.Missing("poddisruptionbudgets") || s.Missing("nodepools") || s.Missing("pods") {
		t.Errorf("gaps: %+v", s.Gaps)
	}
}

// Lists in the forms that people have them: as the API writes them, without the kinds of items; several in one file; as PowerShell writes
// what kubectl prints.
func TestListsInOtherFormsAreRead(t *testing.T) {
	const pods = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"a","namespace":"x"},"spec":{"nodeName":"n"}}]}`
	const nodes = `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"ñ","labels":{"topology.kubernetes.io/region":"eu-west-1"}}}]}`
	wide := func(text string, low, high int) string {
		out := make([]byte, 0, 2*len(text))
		for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
			two := [2]byte{}
			two[low], two[high] = byte(u), byte(u>>8)
			out = append(out, two[:]...)
		}
		return string(out)
	}
	both := pods + "\n" + nodes + "\n"
	for name, text := range map[string]string{"two lists": both, "a byte order mark": "\xef\xbb\xbf" + both, "UTF-16, little": wide(both, 0, 1), "UTF-16, big": wide(both, 1, 0), "a list of lists": `{"apiVersion":"v1","kind":"List","items":[` + pods + "," + nodes + `]}`} {
		s, err := snapshot.Read(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(s.Pods) != 1 || s.Pods[0].Spec.NodeName != "n" || len(s.Nodes) != 1 || s.Nodes[0].Name != "ñ" || s.Region != "eu-west-1" || !s.FromKubectl {
			t.Errorf("%s: %d pods, %d nodes, region %q", name, len(s.Pods), len(s.Nodes), s.Region)
		}
	}
	whole := string(encoded(t, filled(), "x.json"))
	if _, err := snapshot.Read(strings.NewReader(whole + pods)); err == nil || !strings.Contains(err.Error(), "a file of its own") {
		t.Errorf("a snapshot and a list: %v", err)
	}
}

// Objects in versions that are not read are named: they are no lack of the file.
func TestOtherVersionsAreNamed(t *testing.T) {
	s, err := snapshot.Read(strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","metadata":{"name":"a"}}, {"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","metadata":{"name":"b"}},
		{"apiVersion":"karpenter.k8s.aws/v1alpha1","kind":"AWSNodeTemplate","metadata":{"name":"a"}}, {"apiVersion":"example.com/v1","kind":"NodePool","metadata":{"name":"x"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.OtherVersions("nodepools"); got != "2 NodePools of karpenter.sh/v1beta1 were not read, only those of karpenter.sh/v1 are (kerf convert makes these of them)" || !s.Missing("nodepools") {
		t.Errorf("nodepools: %q", got)
	}
	if got := s.OtherVersions("ec2nodeclasses"); !strings.HasPrefix(got, "1 AWSNodeTemplate of karpenter.k8s.aws/v1alpha1 ") || s.OtherVersions("nodeclaims") != "" {
		t.Errorf("ec2nodeclasses: %q", got)
	}
}

func TestWhatIsNoSnapshotIsRefusedWithTheWayOut(t *testing.T) {
	for content, want := range map[string]string{
		`hello`:   "not JSON",
		`{"a":1}`: "write one with kerf audit --snapshot",
		`{"format":"kerf.sh/snapshot","version":2,"items":[]}`:                                                       "version 2, and this kerf reads version 1",
		`{"format":"kerf.sh/snapshot","version":1,"items":[{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":1}}]}`: "items[0], Pod",
		"\x1f\x8bxx": "damaged",
	} {
		if _, err := snapshot.Read(strings.NewReader(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// The command may have been run twice into one file, or for more and more kinds.
func TestWhatIsInSeveralListsCountsOnce(t *testing.T) {
	const list = `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "x"}}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "y"}}, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}]}`
	s, err := snapshot.Read(strings.NewReader(list + "\n" + list))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pods) != 2 || len(s.Nodes) != 1 {
		t.Errorf("%d pods and %d nodes, want 2 and 1", len(s.Pods), len(s.Nodes))
	}
}

// What a file says of its time holds wherever it is copied to. One of kubectl says nothing, and has the file's.
func TestTheTimeOfAKubectlFileIsKeptInItsSnapshot(t *testing.T) {
	read := func(name string, data []byte, changed time.Time) *snapshot.Snapshot {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const list = `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}]}`
	s := read("kubectl.json", []byte(list), taken)
	if !s.TakenAt.Equal(taken) || s.TimeOf != "the file" {
		t.Fatalf("of kubectl: %s, the time of %q", s.TakenAt, s.TimeOf)
	}
	for _, of := range []string{"the file", "reading it"} { // the latter is of standard input
		s.TimeOf = of
		again := read("x.json.gz", encoded(t, s, "x.json.gz"), taken.Add(90*24*time.Hour))
		if !again.TakenAt.Equal(taken) || again.TimeOf != of || !again.FromKubectl {
			t.Errorf("written and read again: %s, the time of %q, want %s and %q", again.TakenAt, again.TimeOf, taken, of)
		}
	}
}
