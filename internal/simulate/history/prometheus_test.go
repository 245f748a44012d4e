package history_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/simulate/history"
)

// matrix is an answer of Prometheus: labels, then samples "minute=value" or "minute-minute=value".
func matrix(series ...string) string {
	var all []string
	for _, s := range series {
		labels, samples, _ := strings.Cut(s, " | ")
		var values []string
		for _, sample := range strings.Fields(samples) {
			minutes, value, _ := strings.Cut(sample, "=")
			first, last := 0, 0
			if n, _ := fmt.Sscanf(minutes, "%d-%d", &first, &last); n == 1 {
				last = first
			}
			for m := first; m <= last; m++ {
				values = append(values, fmt.Sprintf("[%d,%q]", time.Date(2026, 11, 20, 10, m, 0, 0, time.UTC).Unix(), value))
			}
		}
		all = append(all, fmt.Sprintf(`{"metric":{%s},"values":[%s]}`, labels, strings.Join(values, ",")))
	}
	return `{"status":"success","data":{"resultType":"matrix","result":[` + strings.Join(all, ",") + `]}}`
}

func podSeries(metric, pod, more, samples string) string {
	return fmt.Sprintf(`"__name__":%q,"namespace":"a","pod":%q,"uid":%q%s | %s`, metric, pod, pod+"-uid", more, samples)
}

func TestPrometheusHasGaps(t *testing.T) {
	created := fmt.Sprint(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC).Unix())
	owner := `,"owner_kind":"StatefulSet","owner_name":"db","owner_is_controller":"true"`
	// No sample of anything from minute 11 to 20: one pod is there again afterwards, the other is not.
	w, account, err := readText(t, "x.json", matrix(
		podSeries("kube_pod_created", "db-0", "", "0-10="+created+" 21-40="+created),
		podSeries("kube_pod_created", "db-1", "", "0-10="+created),
		podSeries("kube_pod_owner", "db-0", owner, "0-10=1 21-40=1"), podSeries("kube_pod_owner", "db-1", owner, "0-10=1"),
		podSeries("kube_pod_container_resource_requests", "db-0", `,"container":"c","resource":"cpu"`, "0-10=0.5 21-40=0.5"),
		podSeries("kube_pod_container_resource_requests", "db-0", `,"container":"d","resource":"cpu"`, "0-10=0.25"),
		podSeries("kube_pod_container_resource_requests", "db-0", `,"container":"c","resource":"nvidia_com_gpu"`, "0-10=1"),
		podSeries("kube_pod_init_container_resource_requests", "db-0", `,"container":"i","resource":"memory"`, "0-10=1073741824"),
		podSeries("kube_pod_container_resource_requests", "db-1", `,"container":"c","resource":"cpu"`, "0-10=0.5"),
		podSeries("kube_pod_container_resource_requests", "db-1", `,"container":"d","resource":"cpu"`, "0-10=0.25"),
		podSeries("kube_pod_container_resource_requests", "db-1", `,"container":"c","resource":"nvidia_com_gpu"`, "0-10=1"),
		podSeries("kube_pod_init_container_resource_requests", "db-1", `,"container":"i","resource":"memory"`, "0-10=1073741824"),
	))
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "0s a/db 2 0s; 15m30s a/db 1 0s" || w.End() != 40*time.Minute {
		t.Errorf("steps %q, to %s", got, w.End())
	}
	if unknown(account, "between two observations") != 1 {
		t.Errorf("unknown %+v", account.Unknown)
	}
	r := w.Templates["a.db"].Spec.Containers[0].Resources
	if r.Requests.Cpu().MilliValue() != 750 || r.Requests.Memory().Value() != 1<<30 || r.Limits.Name("nvidia.com/gpu", "").Value() != 1 {
		t.Errorf("requests %v", r)
	}
}

func TestPrometheusLabels(t *testing.T) {
	created := fmt.Sprint(time.Date(2026, 11, 20, 10, 5, 0, 0, time.UTC).Unix())
	exported := `"__name__":"kube_pod_created","namespace":"monitoring","pod":"kube-state-metrics-0","exported_namespace":"a","exported_pod":"x" | 5-20=` + created
	other := `"__name__":"kube_pod_created","namespace":"a","pod":"y","uid":"y" | 0-30=` + created
	w, account, err := readText(t, "x.json", matrix(exported, other, `"namespace":"a" | 1=1`, `"__name__":"up" | 1=1`))
	if err != nil {
		t.Fatal(err)
	}
	if got := steps(w); got != "5m0s  1 15m30s; 5m0s  1 0s" {
		t.Errorf("steps %q", got)
	}
	if unknown(account, "without a metric's name") != 1 || unknown(account, "metrics that are not read") != 1 {
		t.Errorf("unknown %+v", account.Unknown)
	}
	_, _, err = readText(t, "x.json", matrix(`"__name__":"kube_pod_created","cluster":"blue","pod":"x" | 1-2=5`, `"__name__":"kube_pod_created","cluster":"green","pod":"y" | 1-2=5`))
	if err == nil || !strings.Contains(err.Error(), `kube_pod_owner{cluster="blue"}`) {
		t.Errorf("error %v", err)
	}
}

// A completion time is there whenever a container is terminated: only the pod's phase, or that it was said to the end, makes it the pod's.
func TestACompletionTimeIsNoEnd(t *testing.T) {
	unix := func(minute int) string { return fmt.Sprint(time.Date(2026, 11, 20, 10, minute, 0, 0, time.UTC).Unix()) }
	created := "=" + unix(0)
	pod := func(name, kind string) []string {
		return []string{podSeries("kube_pod_created", name, "", "0-40"+created), podSeries("kube_pod_owner", name, fmt.Sprintf(`,"owner_kind":%q,"owner_name":"x","owner_is_controller":"true"`, kind), "0-40=1")}
	}
	phase := func(name, phase, samples string) string {
		return podSeries("kube_pod_status_phase", name, fmt.Sprintf(`,"phase":%q`, phase), samples)
	}
	other := podSeries("kube_pod_completion_time", "other", "", "0-1="+unix(0)) // says what the step is
	for _, c := range []struct {
		name, want string
		series     []string
	}{
		{"a restart that a scrape caught", "0s a/x 1 0s", append(pod("x-0", "StatefulSet"), podSeries("kube_pod_completion_time", "x-0", "", "10="+unix(9)))},
		{"a restart of a pod of an operator", "0s a/x 1 0s", append(pod("x-0", "Database"), podSeries("kube_pod_completion_time", "x-0", "", "10-11="+unix(9)))},
		{"a Job that has finished", "0s a/x 1 9m0s", append(pod("x-0", "Job"), podSeries("kube_pod_completion_time", "x-0", "", "10-40="+unix(9)))},
		{"a Job whose sidecar runs on", "0s a/x 1 40m0s", append(pod("x-0", "Job"), podSeries("kube_pod_completion_time", "x-0", "", "10-40="+unix(9)), phase("x-0", "Running", "0-40=1"), phase("x-0", "Succeeded", "0-40=0"))},
		{"phases of those that have finished only", "0s a/x 1 9m0s; 0s a/x 1 40m0s", append(append(pod("x-0", "Job"), pod("x-1", "Job")...),
			podSeries("kube_pod_completion_time", "x-0", "", "10-40="+unix(9)), podSeries("kube_pod_completion_time", "x-1", "", "10-40="+unix(9)), phase("x-0", "Succeeded", "10-40=1"))},
		{"an evicted pod, which has no completion time", "0s a/x 1 0s; 20m0s a/x 0 0s", append(pod("x-0", "StatefulSet"), phase("x-0", "Failed", "20-40=1"))},
	} {
		all := append(c.series, other)
		if strings.Contains(strings.Join(all, ""), "kube_pod_status_phase") {
			all = append(all, phase("other", "Succeeded", "0-1=1"))
		}
		w, _, err := readText(t, "x.json", matrix(all...))
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := steps(w); got != c.want {
			t.Errorf("%s: steps %q, want %q", c.name, got, c.want)
		}
	}
}

// The label node of what pods request says that they run on Fargate, where their info was not fetched.
func TestPodsOnFargateAreKnownByWhatTheyRequest(t *testing.T) {
	created := fmt.Sprint(time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).Unix())
	var series []string
	for pod, node := range map[string]string{"x": "ip-10-0-0-1", "y": "fargate-ip-10-0-0-2"} {
		series = append(series, podSeries("kube_pod_created", pod, "", "0-30="+created), podSeries("kube_pod_container_resource_requests", pod, fmt.Sprintf(`,"container":"c","resource":"cpu","node":%q`, node), "0-30=1"))
	}
	w, account, err := readText(t, "x.json", matrix(series...))
	if err != nil {
		t.Fatal(err)
	}
	if w.Peak(0) != 1 || account.LeftOut["pods on Fargate"] != 1 {
		t.Errorf("%d pods; left out: %v", w.Peak(0), account.LeftOut)
	}
}

// Series of two clusters in two files are two clusters too.
func TestOneClusterInAllFiles(t *testing.T) {
	folder := t.TempDir()
	for _, cluster := range []string{"blue", "green"} {
		write(t, filepath.Join(folder, cluster+".json"), []byte(matrix(fmt.Sprintf(`"__name__":"kube_pod_created","cluster":%q,"namespace":"a","pod":%[1]q | 1-2=5`, cluster))))
	}
	_, _, err := history.Read([]string{folder})
	for _, want := range []string{"its series are of 2 clusters (blue in ", "blue.json, green in ", `kube_pod_owner{cluster="blue"}`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
