package workload_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

func read(t *testing.T, text string) *workload.Workload {
	t.Helper()
	w, err := workload.Read("trace.csv", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestRowsBecomeSteps(t *testing.T) {
	w := read(t, `arrival_s,workload,replicas,duration_s,cpu_millicores,memory_mib
# services, then a job
0,web,3,,500,1024
60.5,batch/train,2,90,4000,16384
30,web,5,,,
120,,1,10,250,256
200,web,0,,,
`)
	const small, train = "cpu-500m-memory-1024Mi", "cpu-4000m-memory-16384Mi"
	want := []workload.Step{
		{At: 0, Workload: "default/web", Template: small, Replicas: 3},
		{At: 30 * time.Second, Workload: "default/web", Template: small, Replicas: 5},
		{At: 60500 * time.Millisecond, Workload: "batch/train", Template: train, Replicas: 2, Duration: 90 * time.Second},
		{At: 2 * time.Minute, Template: "cpu-250m-memory-256Mi", Replicas: 1, Duration: 10 * time.Second},
		{At: 200 * time.Second, Workload: "default/web", Template: small},
	}
	if d := cmp.Diff(want, w.Steps); d != "" {
		t.Error(d)
	}
	if err := w.Check(); err != nil {
		t.Error(err)
	}
	if peak, pods, end := w.Peak(0), w.Pods(), w.End(); peak != 8 || pods != 8 || end != 200*time.Second {
		t.Errorf("%d pods at most, %d in all, until %s; want 8, 8, 3m20s", peak, pods, end)
	}
	c := w.Templates[small].Spec.Containers[0].Resources.Requests
	if c.Cpu().String() != "500m" || c.Memory().String() != "1Gi" {
		t.Errorf("a pod requests %v", c)
	}
}

func TestGPUsOfPublicTraces(t *testing.T) {
	w := read(t, "arrival_s,duration_s,cpu_millicores,memory_mib,gpu,gpu_share_millis,gpu_models,disk_gib,class,group,max_per_node,replicas\n"+
		"0,100,12000,16384,1,460,T4|V100M16,100,best-effort,,,1\n"+
		"0,,8000,1024,8,,G9,,,serve,1,2\n"+
		"5,,8000,1024,,,,,,serve,2,2\n")
	pod := w.Templates[w.Steps[0].Template].Spec
	in := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0]
	if d := cmp.Diff([]string{"t4", "v100"}, in.Values); d != "" || in.Key != "karpenter.k8s.aws/instance-gpu-name" {
		t.Error(in.Key, d)
	}
	if q := pod.Containers[0].Resources.Limits[workload.GPU]; q.Value() != 1 {
		t.Errorf("it gets %d GPUs", q.Value())
	}
	apart := w.Templates[w.Steps[1].Template].Spec
	if apart.Affinity.PodAntiAffinity == nil || apart.Affinity.NodeAffinity != nil {
		t.Errorf("max_per_node 1 became %+v", apart.Affinity)
	}
	var said []string
	for _, n := range w.Notes {
		said = append(said, n.What[:12]+" "+n.Example)
	}
	want := []string{"parts of a G line 2", "class is a l line 2", "models of GP line 3: G9", "max_per_node line 4"}
	if d := cmp.Diff(want, said); d != "" {
		t.Error(d)
	}
}

func TestWrongRowsNameFileLineAndTheWayOut(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "trace.csv: it is empty; its first line has to name the columns, of which arrival_s is needed"},
		{"arrival_s\n", "trace.csv: there are no rows below the names of the columns"},
		{"arrival_s,cpus\n0,1\n", `trace.csv:1: there is no column "cpus"; did you mean cpu_millicores? (there are arrival_s, workload, group,`},
		{"arrival_s,cpu_milicores\n0,1\n", `trace.csv:1: there is no column "cpu_milicores"; did you mean cpu_millicores?`},
		{"workload\nweb\n", "trace.csv:1: the column arrival_s is missing"},
		{"arrival_s,group,workload\n", "trace.csv:1: the column workload is there twice (group is another name of workload)"},
		{"arrival_s,cpu_millicores\n0,100\nsoon,100\n", `trace.csv:3: arrival_s is "soon"; want seconds, as in 90 or 0.5`},
		{"arrival_s,cpu_millicores\n-1,100\n", "trace.csv:2: arrival_s is -1; want 0 to 315360000"},
		{"arrival_s,cpu_millicores\n0,1.5\n", `trace.csv:2: cpu_millicores is "1.5"; want a whole number`},
		{"arrival_s,cpu_millicores\n0,99999999\n", "trace.csv:2: cpu_millicores is 99999999; want 0 to 1000000"},
		{"arrival_s,cpu_millicores\n0\n", "trace.csv:2: it has 1 fields, and there are 2 columns"},
		{"arrival_s,cpu_millicores,workload\n0,1,My App\n", `trace.csv:2: workload is "My App": a lowercase RFC 1123 subdomain`},
		{"arrival_s,template\n0,web\n", `trace.csv:2: template is "web", and no file with templates is given (--templates FILE)`},
		{"arrival_s,workload\n0,web\n", "trace.csv:2: default/web does not say what its pods request, and no row before second 0 does: fill in cpu_millicores and memory_mib, or template"},
		{"arrival_s,cpu_millicores,workload\n0,1,a\n9,,b\n5,,\n", "trace.csv:4: the row does not say what its pods request"},
		{`{"apiVersion":"v1","kind":"List"}`, "trace.csv: it is JSON, and no trace in CSV: --manifests takes manifests, --snapshot "},
		{"apiVersion: apps/v1\nkind: Deployment\n", "trace.csv: it is YAML, and no trace in CSV: --manifests"},
		{"# mine\n---\nkind: Deployment\n", "trace.csv: it is YAML"},
		{`{"format": "kerf.sh/snapshot", "items": []}`, "trace.csv: it is a snapshot of a cluster, and no trace in CSV: --snapshot takes it"},
		{`{"items":[{"kind":"Event","involvedObject":{}}]}`, "trace.csv: it is JSON of a cluster's past, and no trace in CSV: --from-history takes it"},
		{"\xff\xfea\x00", "trace.csv: it is UTF-16: save it as UTF-8"},
		{"\x1f\x8b\x08", "trace.csv: it is compressed: give it a name that ends in .gz"},
		{"arrival_s;cpu_millicores\n0;1,5\n", `trace.csv:2: cpu_millicores is "1,5"; want a whole number`},
		{"arrival_s\n\"0\n", "trace.csv:2: extraneous or missing"},
	} {
		_, err := workload.Read("trace.csv", strings.NewReader(c.text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// Spreadsheets separate columns by semicolons where the comma is in numbers, and by tabs.
func TestSeparatorsOfSpreadsheets(t *testing.T) {
	want := read(t, "# services\narrival_s,workload,replicas,cpu_millicores,memory_mib\n0,web,3,500,1024\n9,web,5,,\n")
	for _, separator := range []string{";", "\t"} {
		got := read(t, strings.ReplaceAll("# services, of which there are three\narrival_s,workload,replicas,cpu_millicores,memory_mib\n0,web,3,500,1024\n9,web,5,,\n", ",", separator))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("with %q: %s", separator, d)
		}
	}
}

// What a row leaves out is said, with the line.
func TestARequestThatIsMissingIsSaid(t *testing.T) {
	w := read(t, "arrival_s,workload,cpu_millicores,memory_mib\n0,web,500,1024\n0,api,500,\n0,db,,1024\n")
	if len(w.Notes) != 1 || w.Notes[0].Count != 2 || w.Notes[0].Example != "line 3" || !strings.HasPrefix(w.Notes[0].What, "pods without cpu_millicores or without memory_mib: they request none") {
		t.Errorf("%+v", w.Notes)
	}
}

// Pods that run for no time would not be told from those that do not end.
func TestAPodRunsForASecondAtLeastAndItIsSaid(t *testing.T) {
	w := read(t, "arrival_s,duration_s,cpu_millicores,memory_mib\n0,1,1,1\n0,0,1,1\n0,0.5,1,1\n")
	if len(w.Notes) != 1 || w.Notes[0] != (workload.Note{What: "duration_s below 1: the pods run for one second", Count: 2, Example: "line 3"}) || w.Steps[1].Duration != time.Second {
		t.Errorf("%+v %+v", w.Notes, w.Steps)
	}
}

func TestCompressedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.csv.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte("\xef\xbb\xbfarrival_s,cpu_millicores\n0,100.0\n"))
	_ = z.Close()
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workload.ReadFile(path, nil)
	if err != nil || len(w.Steps) != 1 {
		t.Error(w, err)
	}
	if err := os.WriteFile(path, []byte("arrival_s\n0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := workload.ReadFile(path, nil); err == nil || !strings.Contains(err.Error(), "its name ends in .gz, but it is not gzip") {
		t.Error(err)
	}
}

func TestWhatIsWrittenIsReadTheSame(t *testing.T) {
	templates := map[string]*corev1.PodTemplateSpec{"special": (&workload.Requests{MilliCPU: 100, MemoryMiB: 64}).Template()}
	templates["special"].Spec.NodeSelector = map[string]string{"kubernetes.io/arch": "arm64"}
	w, err := workload.Read("a.csv", strings.NewReader("arrival_s,workload,replicas,duration_s,cpu_millicores,memory_mib,template\n0,web,2,,100,64,\n1.5,web,3,,,,\n2,,4,60,,,special\n3,,1,,200,64,\n"), templates)
	if err != nil {
		t.Fatal(err)
	}
	var rows, list bytes.Buffer
	if err := w.Write(&rows); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteTemplates(&list); err != nil {
		t.Fatal(err)
	}
	again, err := workload.ReadTemplates("templates.json", &list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := workload.Read("a.csv", &rows, again)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, got); d != "" {
		t.Error(d)
	}
}

// What the columns say of requests beats the template, column by column; the rest is the template's. A later row that says nothing of
// requests leaves them.
func TestColumnsBeatTheTemplate(t *testing.T) {
	given, err := workload.ReadTemplates("t.yaml", strings.NewReader(`{apiVersion: v1, kind: Pod, metadata: {name: api}, spec: {nodeSelector: {tier: web}, containers: [
  {name: main, image: x, resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {cpu: 200m}}}, {name: proxy, image: x, resources: {requests: {cpu: 250m}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	const columns = "arrival_s,workload,replicas,cpu_millicores,memory_mib,template\n"
	w, err := workload.Read("a.csv", strings.NewReader(columns+"0,web,2,1000,,api\n60,web,3,,,api\n90,other,1,,,api\n120,web,4,,2048,api\n"), given)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range w.Steps {
		keys = append(keys, s.Template)
	}
	if d := cmp.Diff([]string{"api+cpu-1000m", "api+cpu-1000m", "api", "api+memory-2048Mi"}, keys); d != "" {
		t.Error(d)
	}
	spec := w.Templates["api+cpu-1000m"].Spec
	main := spec.Containers[0].Resources
	if main.Requests.Cpu().String() != "750m" || main.Limits.Cpu().String() != "750m" || main.Requests.Memory().String() != "1Gi" || spec.NodeSelector["tier"] != "web" {
		t.Errorf("%+v", spec)
	}
	if given["api"].Spec.Containers[0].Resources.Requests.Cpu().String() != "100m" {
		t.Error("the given template was changed")
	}
	if len(w.Notes) != 1 || w.Notes[0].Count != 2 || !strings.Contains(w.Notes[0].What, "those of the columns count") || w.Notes[0].Example != "line 2: template api requests 350m cpu, and cpu_millicores is 1000" {
		t.Errorf("%+v", w.Notes)
	}
	var rows, list bytes.Buffer
	if err := errors.Join(w.Write(&rows), w.WriteTemplates(&list)); err != nil {
		t.Fatal(err)
	}
	again, err := workload.ReadTemplates("t.json", &list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := workload.Read("a.csv", &rows, again)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w.Steps, got.Steps); d != "" || len(got.Notes) != 0 || !equality.Semantic.DeepEqual(w.Templates, got.Templates) {
		t.Errorf("it is read back otherwise than it was written: %s %+v", d, got.Notes)
	}
	if _, err := workload.Read("a.csv", strings.NewReader(columns+"0,web,2,200,,api\n"), given); err == nil || !strings.Contains(err.Error(), `a.csv:2: cpu_millicores is 200, and containers of template "api" behind its first request 250m already`) {
		t.Error(err)
	}
	if w, err = workload.Read("a.csv", strings.NewReader("arrival_s,workload,class,template\n0,web,gold,api\n"), given); err != nil || len(w.Notes) != 1 {
		t.Error(err, w.Notes)
	}
}

func TestWindow(t *testing.T) {
	w := read(t, "arrival_s,workload,replicas,duration_s,cpu_millicores\n0,web,3,,500\n0,,1,50,1\n0,,1,200,2\n60,web,5,,\n150,web,7,,\n400,,1,9,1\n")
	got := w.Window(100*time.Second, 400*time.Second, 2)
	want := []workload.Step{
		{At: 0, Template: "cpu-2m-memory-0Mi", Replicas: 1, Duration: 50 * time.Second},
		{At: 0, Workload: "default/web", Template: "cpu-500m-memory-0Mi", Replicas: 5},
		{At: 25 * time.Second, Workload: "default/web", Template: "cpu-500m-memory-0Mi", Replicas: 7},
	}
	if d := cmp.Diff(want, got.Steps); d != "" {
		t.Error(d)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("arrival_s,workload,replicas,duration_s,cpu_millicores\n0,web,3,,500\n0,,1,50,1\n")
	f.Add("arrival_s,gpu,gpu_share_millis,gpu_models,max_per_node,group\n1e3,1,2,T4|x,1,a/b\n")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := workload.Read("f", strings.NewReader(text), nil)
		if err != nil {
			return
		}
		if err := w.Check(); err != nil {
			t.Fatalf("it was read, and can't be played: %v", err)
		}
		w.Peak(0)
		if err := w.Window(time.Second, 0, 7).Check(); err != nil {
			t.Fatalf("a window of it can't be played: %v", err)
		}
	})
}
