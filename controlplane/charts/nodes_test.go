package charts_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/decisions"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/leader"
)

// TestHelmInstallsOnNodes goes the way of an installation as a user does: Helm waits, Deployment and scheduler are the real ones,
// and what runs is what they have bound to nodes.
func TestHelmInstallsOnNodes(t *testing.T) {
	const patience = 2 * time.Minute
	s := newSiteWithNodes(t, 2)
	if status := s.answer("/metrics"); !strings.HasPrefix(status, "503 no controller is ready") {
		t.Errorf("before the installation its address answers %q", status)
	}
	s.install("kerf-crd", crdChart, nil)
	install := action.NewInstall(s.helm)
	install.ReleaseName, install.Namespace, install.WaitStrategy, install.ServerSideApply, install.Timeout, install.SkipCRDs = release, namespace, helmkube.StatusWatcherStrategy, true, patience, true
	if _, err := install.Run(load(t, kerfChart), map[string]any{"settings": map[string]any{"clusterName": "demo", "interruptionQueue": "demo"}}); err != nil {
		t.Fatal(err)
	}
	first := s.controllers()
	if len(first) != 2 || first[0].Spec.NodeName == first[1].Spec.NodeName {
		t.Fatalf("want two pods on two nodes, there are %v", first)
	}
	if err := s.cluster.Apply(t.Context(), local.DefaultManifests("demo")); err != nil {
		t.Fatal(err)
	}
	s.deploy("first", 5)
	if log := s.logOf(first[0].Name); !strings.Contains(log, `"starting"`) {
		t.Errorf("the API has as the log of %s: %q", first[0].Name, log)
	}
	s.eventually(time.Minute, "the address leads to the leader", func(context.Context) (bool, string) {
		text := s.answer("/metrics")
		return leads.MatchString(text), text[:min(200, len(text))]
	})
	s.explains()

	upgrade := action.NewUpgrade(s.helm)
	upgrade.Namespace, upgrade.WaitStrategy, upgrade.ReuseValues, upgrade.ServerSideApply, upgrade.Timeout = namespace, helmkube.StatusWatcherStrategy, true, "auto", patience
	if _, err := upgrade.Run(release, load(t, kerfChart), map[string]any{"settings": map[string]any{"batchIdleDuration": "2s"}}); err != nil {
		t.Fatal(err)
	}
	second := s.replaced(first, "2s")
	s.deploy("second", 5)

	back := action.NewRollback(s.helm)
	back.Version, back.WaitStrategy, back.ServerSideApply, back.Timeout = 1, helmkube.StatusWatcherStrategy, "auto", patience
	if err := back.Run(release); err != nil {
		t.Fatal(err)
	}
	s.replaced(second, "1s")
	s.deploy("third", 5)

	remove := action.NewUninstall(s.helm)
	remove.WaitStrategy, remove.Timeout = helmkube.StatusWatcherStrategy, patience
	if _, err := remove.Run(release); err != nil {
		t.Fatal(err)
	}
	s.eventually(time.Minute, "all pods and processes are gone", func(context.Context) (bool, string) {
		pods, processes := s.controllers(), s.processes()
		return len(pods)+len(processes) == 0, fmt.Sprintf("pods %d, processes %v", len(pods), processes)
	})
}

var leads = regexp.MustCompile(`(?m)^leader_election_master_status\{.*\} 1$`)

// explains asks the leader for its decisions through the Kubernetes API, as "kerf explain" does.
func (s *site) explains() {
	s.Helper()
	config, err := s.cluster.Config()
	if err != nil {
		s.Fatal(err)
	}
	to, err := leader.Reach(s.Context(), config, "")
	if err != nil {
		s.Fatal(err)
	}
	defer to.Close()
	list, err := decisions.Server{URL: to.URL, Client: to.Client}.List(s.Context())
	if err != nil || len(list) == 0 {
		s.Errorf("the leader has %d decisions, %v", len(list), err)
	}
}

// controllers are the pods of the installation.
func (s *site) controllers() []corev1.Pod {
	s.Helper()
	var list corev1.PodList
	if err := s.client.List(s.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": release}); err != nil {
		s.Fatal(err)
	}
	return list.Items
}

// processes are those that run the controller of this test's binary, as the environment that each was started with.
func (s *site) processes() map[string]string {
	s.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		s.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range commands {
		if text, err := os.ReadFile(path); err != nil || string(text) != s.binary+"\x00controller\x00" {
			continue // another, or gone by now
		}
		env, err := os.ReadFile(filepath.Join(filepath.Dir(path), "environ"))
		if err == nil {
			out[filepath.Base(filepath.Dir(path))] = string(env)
		}
	}
	return out
}

// replaced waits until other pods than before run with a BATCH_IDLE_DURATION, and no process with another.
func (s *site) replaced(before []corev1.Pod, idle string) []corev1.Pod {
	s.Helper()
	var now []corev1.Pod
	s.eventually(time.Minute, "the pods are replaced", func(context.Context) (bool, string) {
		now = s.controllers()
		return len(now) == 2 && !slices.ContainsFunc(now, func(p corev1.Pod) bool {
			return slices.ContainsFunc(before, func(was corev1.Pod) bool { return was.UID == p.UID })
		}), fmt.Sprintf("%d pods", len(now))
	})
	processes := s.processes()
	if len(processes) != 2 {
		s.Errorf("want two processes, there are %d", len(processes))
	}
	for pid, env := range processes {
		if !strings.Contains(env, "\x00BATCH_IDLE_DURATION="+idle+"\x00") {
			s.Errorf("process %s does not have BATCH_IDLE_DURATION=%s", pid, idle)
		}
	}
	return now
}

// answer is what the address of the installation answers.
func (s *site) answer(path string) string {
	s.Helper()
	env := s.cluster.Env()
	i := slices.IndexFunc(env, func(pair string) bool { return strings.HasPrefix(pair, "KERF_SERVER=") })
	if i < 0 {
		s.Fatalf("there is no KERF_SERVER in %v", env)
	}
	resp, err := http.Get(strings.TrimPrefix(env[i], "KERF_SERVER=") + path)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

// logOf is what "kubectl logs" shows of a pod.
func (s *site) logOf(pod string) string {
	s.Helper()
	clients, err := s.helm.KubernetesClientSet()
	if err != nil {
		s.Fatal(err)
	}
	text, err := clients.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}
