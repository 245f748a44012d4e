package history_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/history"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

const (
	auditCreate = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"create","user":{"username":"someone"},"objectRef":{"resource":"pods","namespace":"a","name":"%[1]s"},"responseStatus":{"code":201},"responseObject":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"%[1]s","namespace":"a","uid":"%[1]s-uid","creationTimestamp":"%[2]s"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"1Gi"}}}]}},"stageTimestamp":"%[2]s"}`
	auditEvict  = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"create","user":{"username":"someone"},"objectRef":{"resource":"pods","namespace":"a","name":"%[1]s","subresource":"eviction"},"responseStatus":{"code":%[3]d},"stageTimestamp":"%[2]s"}`
	auditLease  = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"update","objectRef":{"resource":"leases"},"stageTimestamp":"%s"}`
)

func at(minute int) string { return fmt.Sprintf("2026-11-20T10:%02d:00Z", minute) }

// readText reads a history of one file.
func readText(t *testing.T, name, text string) (*workload.Workload, *history.Account, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	write(t, path, []byte(text))
	return history.Read([]string{path})
}

// steps are the steps of a workload as lines.
func steps(w *workload.Workload) string {
	var out []string
	for i := range w.Steps {
		s := &w.Steps[i]
		out = append(out, fmt.Sprintf("%v %s %d %v", s.At, s.Workload, s.Replicas, s.Duration))
	}
	return strings.Join(out, "; ")
}

// unknown is how often something is not known, by a part of its text.
func unknown(a *history.Account, part string) int {
	n := 0
	for _, u := range a.Unknown {
		if strings.Contains(u.What, part) {
			n += u.Count
		}
	}
	return n
}

func TestLinesThatAreNotUnderstood(t *testing.T) {
	text := strings.Join([]string{
		fmt.Sprintf(auditCreate, "x", at(0)),
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":`,
		"I1120 10:00:00.1 server.go:1] a line of another log",
		"{broken",
		fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":"ResponseComplete","verb":"patch","objectRef":{"resource":"pods","namespace":"a","name":"x","subresource":"status"},"responseStatus":{"code":200},"requestObject":[{"op":"add"}],"stageTimestamp":%q}`, at(4)),
		fmt.Sprintf(auditEvict, "x", at(5), 429), // a budget did not allow it
		fmt.Sprintf(auditEvict, "x", at(20), 201),
		fmt.Sprintf(auditLease, at(30)),
	}, "\n")
	w, account, err := readText(t, "audit.log", text)
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 20m0s" {
		t.Errorf("steps %q", got)
	}
	if account.Malformed != 2 || !strings.Contains(account.FirstMalformed, "audit.log:2: ") {
		t.Errorf("%d not understood, the first %q, want 2, the first in line 2", account.Malformed, account.FirstMalformed)
	}
}

func TestWhatWasCutOffIsReadAsFarAsItGoes(t *testing.T) {
	create := fmt.Sprintf(auditCreate, "x", at(0))
	cut := fmt.Sprintf(auditCreate, "y", at(10))
	cut = cut[:strings.Index(cut, `"spec"`)] + "[Truncated...]"
	w, account, err := readText(t, "000000", at(0)+" "+create+"\n"+at(10)+" "+cut+"\n"+at(30)+" "+fmt.Sprintf(auditLease, at(30))+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 0s; 10m0s  1 0s" {
		t.Errorf("steps %q", got)
	}
	if unknown(account, "cut off") != 1 || unknown(account, "requests are not known") != 1 || account.Malformed != 0 {
		t.Errorf("unknown %+v, %d not understood", account.Unknown, account.Malformed)
	}
}

func TestFilesThatAreNotRead(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"another format":     {"notes.txt", "hello\n", "kubectl get events -A -o json"},
		"YAML":               {"pods.yaml", "apiVersion: v1\nitems: []\nkind: List\n", "nothing in"},
		"another JSON":       {"x.json", `{"a":1}`, "is of a format that Kerf reads"},
		"Prometheus refuses": {"x.json", `{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points"}`, "exceeded maximum resolution of 11,000 points"},
		"a query that ran":   {"x.json", `{"results":[],"statistics":{},"status":"Running"}`, "not complete but Running"},
		"no pods":            {"pods.json", `{"apiVersion":"v1","kind":"List","items":[{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}]}`, "is of a format"},
		"one moment":         {"pods-2026-11-20T10-00-00Z.json", `{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","uid":"x","creationTimestamp":"2026-11-20T09:00:00Z"}}]}`, "a single moment; add a later dump"},
		"daemons only":       {"w.json", `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"d","namespace":"a","uid":"d","creationTimestamp":"2026-11-20T10:00:00Z","ownerReferences":[{"kind":"DaemonSet","name":"d","controller":true}]}}}` + fmt.Sprintf(auditLease, at(1)) + fmt.Sprintf(auditLease, at(9)), "no pod of a workload is in it"},
		"cut gzip":           {"000000.gz", "\x1f\x8b\x08\x00\x00\x00\x00\x00", "000000.gz: "},
		"no folder":          {"", "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if c.file == "" {
				path = filepath.Join(t.TempDir(), "missing")
			} else {
				write(t, path, []byte(c.text))
			}
			_, _, err := history.Read([]string{path})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestFilesThatEndTooEarly(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprintf(z, "%s %s\n%s %s\n", at(0), fmt.Sprintf(auditCreate, "x", at(0)), at(30), fmt.Sprintf(auditLease, at(30)))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w, account, err := readText(t, "000000.gz", packed.String()[:packed.Len()-4])
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Steps) != 1 || account.Malformed != 1 || !strings.Contains(account.FirstMalformed, "unexpected EOF") {
		t.Errorf("steps %q, %d not understood: %s", steps(w), account.Malformed, account.FirstMalformed)
	}
	list := `{"kind":"List","apiVersion":"v1",
"items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"a","uid":"x","creationTimestamp":"2026-11-20T09:00:00Z"},"spec":{"containers":[{"name":"c"}]}},
 {"kind":"Pod","apiVersion":"v1","metadata":{"name":7}},
`
	folder := t.TempDir()
	write(t, filepath.Join(folder, "pods-20261120T100000Z.json"), []byte(list))
	write(t, filepath.Join(folder, "pods-20261120T101000Z.json"), []byte(list+`{"kind":"Pod"`))
	w, account, err = history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 0s" || account.Malformed != 4 || !strings.Contains(account.FirstMalformed, "100000Z.json:3: metadata.name is a number") {
		t.Errorf("steps %q, %d not understood: %s", got, account.Malformed, account.FirstMalformed)
	}
}

// kubeEvents are Events: minute, kind and name of the object, reason, message; of a range of minutes, one that came again.
func kubeEvents(events ...[5]string) string {
	var all []string
	for _, e := range events {
		var first, last int
		if n, _ := fmt.Sscanf(e[0], "%d-%d", &first, &last); n == 1 {
			last = first
		}
		all = append(all, fmt.Sprintf(`{"kind":"Event","apiVersion":"v1","metadata":{},"involvedObject":{"kind":%q,"namespace":"a","name":%q},"reason":%q,"message":%q,"firstTimestamp":%q,"lastTimestamp":%q}`,
			e[1], e[2], e[3], e[4], at(first), at(last)))
	}
	return `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(all, ",") + "]}"
}

func TestEventsTellOfSizes(t *testing.T) {
	const set = "web-7d4b9c6f5d"
	begin, end := [5]string{"0", "Pod", "x", "Started", ""}, [5]string{"50", "Pod", "x", "Started", ""}
	created := func(minute, pod string) [5]string {
		return [5]string{minute, "ReplicaSet", set, "SuccessfulCreate", "Created pod: " + set + "-" + pod}
	}
	scaled := func(minute, message string) [5]string {
		return [5]string{minute, "Deployment", "web", "ScalingReplicaSet", message}
	}
	for name, c := range map[string]struct {
		events [][5]string
		want   string
	}{
		"of pods that no Event names":    {[][5]string{scaled("10", "Scaled up replica set "+set+" from 3 to 4"), created("10", "aaaaa")}, "0s a/web 3 0s; 10m0s a/web 4 0s"},
		"in the words of 1.25":           {[][5]string{scaled("10", "Scaled up replica set "+set+" to 4 from 3"), created("10", "aaaaa")}, "0s a/web 3 0s; 10m0s a/web 4 0s"},
		"in the words of before":         {[][5]string{scaled("10", "Scaled up replica set "+set+" to 1"), created("10", "aaaaa")}, "10m0s a/web 1 0s"},
		"and when they went":             {[][5]string{scaled("10", "Scaled down replica set "+set+" from 3 to 0")}, "0s a/web 3 0s; 10m0s a/web 0 0s"},
		"of a set that was not there":    {[][5]string{scaled("10", "Scaled up replica set "+set+" from 0 to 2"), created("10", "aaaaa"), created("10", "bbbbb")}, "10m0s a/web 2 0s"},
		"though many were put into one":  {[][5]string{scaled("5", "Scaled up replica set "+set+" from 1 to 2"), created("5", "aaaaa"), scaled("10-40", "(combined from similar events): Scaled up replica set "+set+" from 2 to 3"), created("40", "bbbbb")}, "0s a/web 1 0s; 5m0s a/web 2 0s; 40m0s a/web 3 0s"},
		"of a StatefulSet, by its pods":  {[][5]string{{"10", "StatefulSet", "db", "SuccessfulCreate", "create Pod db-0 in StatefulSet db successful"}, {"12", "StatefulSet", "db", "SuccessfulCreate", "Create Pod db-1 in StatefulSet db successful"}}, "10m0s a/db 1 0s; 12m0s a/db 2 0s"},
		"not of a container that failed": {[][5]string{created("10", "aaaaa"), {"20", "Pod", set + "-aaaaa", "Killing", "Container main failed liveness probe, will be restarted"}}, "10m0s a/web 1 0s"},
		"of a pod that did go":           {[][5]string{created("10", "aaaaa"), {"20", "Pod", set + "-aaaaa", "Killing", "Stopping container main"}}, "10m0s a/web 1 0s; 20m0s a/web 0 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, err := readText(t, "events.json", kubeEvents(append(c.events, begin, end)...))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.TrimPrefix(steps(w), "0s  1 0s; ") // the pod that only frames the time
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReplicasAreEnoughWhereNoPodsAreNamed(t *testing.T) {
	w, account, err := readText(t, "x.json", matrix(
		`"__name__":"kube_deployment_spec_replicas","namespace":"a","deployment":"web" | 0-10=3 11-20=5`,
		`"__name__":"kube_statefulset_replicas","namespace":"a","statefulset":"db" | 0-20=1`,
	))
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s a/db 1 0s; 0s a/web 3 0s; 10m30s a/web 5 0s" {
		t.Errorf("steps %q", got)
	}
	if unknown(account, "requests are not known") != 2 {
		t.Errorf("unknown %+v", account.Unknown)
	}
}

// aws --output text writes columns before and behind an event.
func TestEventsBetweenColumnsAreRead(t *testing.T) {
	text := ""
	for i, e := range []string{fmt.Sprintf(auditCreate, "x", at(0)), fmt.Sprintf(auditEvict, "x", at(10), 201), fmt.Sprintf(auditLease, at(20))} {
		text += fmt.Sprintf("EVENTS\t38600%d\t1795168804120\tkube-apiserver-audit-0f1e\t%s\t1795168804120\n", i, e)
	}
	w, account, err := readText(t, "x.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 10m0s" || unknown(account, "cut off") != 0 {
		t.Errorf("steps %q, unknown %+v", got, account.Unknown)
	}
}

// Where there is no pod, the error says what each file was taken for.
func TestFilesWithoutPodsAreNamed(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.log"), []byte(fmt.Sprintf(auditLease, at(0))+"\n"+fmt.Sprintf(auditLease, at(10))+"\n"))
	write(t, filepath.Join(folder, "b.txt"), []byte("nothing\n"))
	_, _, err := history.Read([]string{folder})
	for _, want := range []string{"no pod is in it", "a.log: audit log, 2 records", "b.txt: of no format that is read", "docs/backtest.md"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A dump of a week later says more of the pods of a log, and nothing of the week. What no source speaks of is named.
func TestADumpBesideALogAddsNoTime(t *testing.T) {
	folder := t.TempDir()
	log := strings.Join([]string{fmt.Sprintf(auditCreate, "x", at(10)), fmt.Sprintf(auditCreate, "y", at(20)), fmt.Sprintf(auditLease, at(0)), fmt.Sprintf(auditLease, at(59))}, "\n")
	write(t, filepath.Join(folder, "audit.log"), []byte(log))
	pods := `{"kind":"List","apiVersion":"v1","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"n","labels":{"topology.kubernetes.io/region":"eu-west-1"}}},` + podJSON("old", "", "") + `,` + strings.Replace(podJSON("new", "", ""), "2026-11-20T09", "2026-11-26T09", 1) + `]}`
	write(t, filepath.Join(folder, "dump-2026-11-27T10:00:00Z.json"), []byte(pods))
	w, account, err := history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 0s; 10m0s  1 0s; 20m0s  1 0s" || w.End() != 59*time.Minute || w.Region != "eu-west-1" {
		t.Errorf("steps %q, to %s", got, w.End())
	}
	if unknown(account, "it adds pods, requests and constraints, and no time") != 1 || unknown(account, "of which no source speaks") != 0 {
		t.Errorf("unknown %+v", account.Unknown)
	}
	write(t, filepath.Join(folder, "dump-2026-11-27T10:05:00Z.json"), []byte(pods))
	w, account, err = history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if w.End() != 168*time.Hour+5*time.Minute || unknown(account, "of which no source speaks") != 1 {
		t.Errorf("to %s, unknown %+v", w.End(), account.Unknown)
	}
	for _, u := range account.Unknown {
		if strings.Contains(u.What, "no source speaks") && u.Example != "2026-11-20 10:59:00 to 2026-11-27 10:00:00 UTC" {
			t.Errorf("it names %s", u.Example)
		}
	}
}

// pod is a pod's object.
func podJSON(name, more, spec string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"a","uid":%q,"creationTimestamp":"2026-11-20T09:00:00Z"%s},"spec":{"containers":[{"name":"c"}]%s}}`, name, name, more, spec)
}

func TestPodsThatAreNoWorkload(t *testing.T) {
	folder := t.TempDir()
	list := fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[%s]}`, strings.Join([]string{
		podJSON("x", "", ""),
		podJSON("etcd", `,"annotations":{"kubernetes.io/config.mirror":"1"}`, ""),
		podJSON("kube-proxy-ip-10-0-0-1", `,"ownerReferences":[{"kind":"Node","name":"ip-10-0-0-1","controller":true}]`, ""),
		podJSON("serverless", `,"labels":{"eks.amazonaws.com/fargate-profile":"default"}`, `,"schedulerName":"fargate-scheduler"`),
		podJSON("agent-abcde", `,"ownerReferences":[{"kind":"DaemonSet","name":"agent","controller":true}]`,
			`,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"gpu","operator":"Exists"}],"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}}}`),
	}, ","))
	for _, m := range []string{"00", "10"} {
		write(t, filepath.Join(folder, "pods-2026-11-20T10-"+m+"-00Z.json"), []byte(list))
	}
	w, account, err := history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 0s" {
		t.Errorf("steps %q", got)
	}
	if len(account.LeftOut) != 3 || account.LeftOut["static pods of nodes"] != 2 || account.LeftOut["pods on Fargate"] != 1 {
		t.Errorf("left out %v", account.LeftOut)
	}
	if len(w.Daemons) != 1 {
		t.Fatalf("%d daemons, want 1", len(w.Daemons))
	}
	terms := w.Daemons[0].Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) != 0 || len(terms[0].MatchExpressions) != 1 {
		t.Errorf("the daemon's terms are %+v, want its own, and not that of one node", terms)
	}
}

func TestTimesOfDumps(t *testing.T) {
	list := fmt.Sprintf(`{"kind":"PodList","apiVersion":"v1","items":[%s]}`, podJSON("x", `,"managedFields":[{"time":"2026-11-20T10:00:00Z"}]`, ""))
	written := func(minute int) time.Time { return time.Date(2026, 11, 20, 10, minute, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		file string
		at   time.Time // of the file
		want time.Time
		from string
	}{
		"name with zone":             {"pods-2026-11-20T12:05:00+02:00.json", written(30), written(5), "the file's name"},
		"name":                       {"pods_20261120-100500.json", written(5), written(5), "the file's name"},
		"name without seconds":       {"2026-11-20_10.05.json", written(50), written(5), "the file's name"},
		"Unix seconds":               {"pods-1795169100.json", written(50), written(5), "the file's name"},
		"name of another zone":       {"pods-20261120-120500.json", written(5), written(5), "when the file was written"},
		"name before the newest":     {"pods-20261120-050500.json", written(5), written(5), "when the file was written"},
		"none":                       {"pods.json", written(4), written(4), "when the file was written"},
		"none, and copied later":     {"pods.json", written(59), written(0), "the newest entry in it"},
		"none, and a time before it": {"pods.json", written(0).Add(-time.Hour), written(0), "the newest entry in it"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, c.file)
			write(t, path, []byte(list))
			if err := os.Chtimes(path, c.at, c.at); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(folder, "pods-2026-11-20T11-00-00Z.json"), []byte(list))
			_, account, err := history.Read([]string{folder})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range account.Files {
				if f.Path == path && (!f.At.Equal(c.want) || f.TimeFrom != c.from) {
					t.Errorf("taken at %s by %s, want %s by %s", f.At, f.TimeFrom, c.want, c.from)
				}
			}
		})
	}
}

func TestSnapshotsSayWhenTheyWereTaken(t *testing.T) {
	folder := t.TempDir()
	for i, m := range []int{0, 20} {
		write(t, filepath.Join(folder, fmt.Sprintf("%d.json", i)), fmt.Appendf(nil, `{"format":"kerf.sh/snapshot","version":1,"takenAt":%q,"items":[%s,
{"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{"name":"high","uid":"1"},"value":1000},
{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"name":"b","namespace":"a"},"spec":{"maxUnavailable":1},"status":{"currentHealthy":1}},
{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{"name":"web-7d4b9c6f5d","namespace":"a","creationTimestamp":"2026-11-20T09:00:00Z","ownerReferences":[{"kind":"Deployment","name":"web","controller":true}]},"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"c"}]}}}}]}`,
			at(m), podJSON("x", "", ""), 2+m/10))
	}
	w, account, err := history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s  1 0s; 0s a/web 2 0s; 10m0s a/web 4 0s" {
		t.Errorf("steps %q", got)
	}
	if account.Files[1].TimeFrom != "the snapshot" || len(w.Objects) != 2 {
		t.Errorf("%+v, %d objects", account.Files[1], len(w.Objects))
	}
}

// TestWatchesThatFollowEachOther: a pod goes while nobody watches, in two files and in one.
func TestWatchesThatFollowEachOther(t *testing.T) {
	object := func(what, name string, ran int) string {
		return fmt.Sprintf(`{"type":%q,"object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"a","uid":%[2]q,"creationTimestamp":"2026-11-20T09:00:00Z","ownerReferences":[{"kind":"StatefulSet","name":"db","controller":true}]},"spec":{"containers":[{"name":"c"}]},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}}}`, what, name, at(ran)) + "\n"
	}
	first := object("ADDED", "db-0", 0) + object("ADDED", "db-1", 0) + object("MODIFIED", "db-0", 10)
	second := object("ADDED", "db-0", 20) + object("MODIFIED", "db-0", 30)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "1.json"), []byte(first))
	write(t, filepath.Join(folder, "2.json"), []byte(second))
	two, _, err := history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	one, _, err := readText(t, "watch.json", first+second)
	if err != nil {
		t.Fatal(err)
	}
	// From 10:10, the first change: db-1 goes between 10:10 and 10:20.
	const want = "0s a/db 2 0s; 5m0s a/db 1 0s"
	if steps(two) != want || steps(one) != want {
		t.Errorf("of two files %q, of one %q, want %q", steps(two), steps(one), want)
	}
}

func TestAJobThatWasMovedRunsOnce(t *testing.T) {
	const pod = `{"type":"%s","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"job-%s","namespace":"a","uid":"%[2]s","creationTimestamp":"%[3]s","ownerReferences":[{"kind":"Job","name":"job","controller":true}]},"spec":{"containers":[{"name":"c"}]},"status":%[4]s}}` + "\n"
	running := func(m int) string {
		return fmt.Sprintf(`{"phase":"Running","containerStatuses":[{"state":{"running":{"startedAt":%q}}}]}`, at(m))
	}
	text := fmt.Sprintf(pod, "ADDED", "first", at(0), `{"phase":"Pending"}`) + fmt.Sprintf(pod, "MODIFIED", "first", at(0), running(1)) +
		fmt.Sprintf(pod, "MODIFIED", "first", at(0), fmt.Sprintf(`{"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":%[1]q},{"type":"Ready","status":"False","lastTransitionTime":%[1]q}]}`, at(5))) +
		fmt.Sprintf(pod, "ADDED", "second", at(5), `{"phase":"Pending"}`) + fmt.Sprintf(pod, "MODIFIED", "second", at(5), running(7)) +
		fmt.Sprintf(pod, "MODIFIED", "second", at(5), fmt.Sprintf(`{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"startedAt":%q,"finishedAt":%q}}}]}`, at(7), at(19))) +
		fmt.Sprintf(auditLease, at(0)) + fmt.Sprintf(auditLease, at(30))
	w, account, err := readText(t, "watch.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s a/job 1 12m0s" {
		t.Errorf("steps %q\n%+v", got, account)
	}
	if unknown(account, "only the run that ended counts") != 1 {
		t.Errorf("unknown %+v", account.Unknown)
	}
}

func TestPodsOfOperatorsAreKept(t *testing.T) {
	kafka := func(name string) string {
		return podJSON(name, `,"ownerReferences":[{"kind":"StrimziPodSet","name":"kafka","controller":true}]`, "")
	}
	folder := t.TempDir()
	for m, names := range map[string][]string{"00": {"kafka-0", "kafka-1"}, "10": {"kafka-0"}, "20": {"kafka-0"}} {
		var items []string
		for _, n := range names {
			items = append(items, kafka(n))
		}
		write(t, filepath.Join(folder, "pods-2026-11-20T10-"+m+"-00Z.json"), fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","items":[%s]}`, strings.Join(items, ",")))
	}
	w, _, err := history.Read([]string{folder})
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s a/kafka 2 0s; 5m0s a/kafka 1 0s" {
		t.Errorf("steps %q", got)
	}
}

// TestTheTraceCanBeReadAgain writes a history as a trace with templates, and reads that.
func TestTheTraceCanBeReadAgain(t *testing.T) {
	w, _, err := history.Read([]string{"testdata/dumps"})
	if err != nil {
		t.Fatal(err)
	}
	var trace, templates bytes.Buffer
	if err := w.Write(&trace); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteTemplates(&templates); err != nil {
		t.Fatal(err)
	}
	known, err := workload.ReadTemplates("templates", &templates)
	if err != nil {
		t.Fatal(err)
	}
	again, err := workload.Read("trace", &trace, known)
	if err != nil {
		t.Fatal(err)
	}
	if steps(again) != steps(w) {
		t.Errorf("got %s\nwant %s", steps(again), steps(w))
	}
}
