package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

// nodeSite is a cluster with one node, whose pods this binary plays.
type nodeSite struct {
	*testing.T
	kubernetes.Interface
	node *Node

	mu        sync.Mutex
	processes map[string]*Container // by pod
	released  map[string]bool
}

func newNodeSite(t *testing.T, env ...string) *nodeSite {
	t.Helper()
	sim, err := kubesim.New(kubesim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		sim.Close()
		server.CloseClientConnections()
		server.Close()
	})
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &nodeSite{T: t, Interface: client, processes: map[string]*Container{}, released: map[string]bool{}}
	s.node = &Node{
		Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}}},
		Client: client, Report: func(line string) { t.Log(line) },
		Prepare: func(_ context.Context, pod *corev1.Pod) (*Process, error) {
			if image := pod.Spec.Containers[0].Image; image != "known" {
				return nil, &CannotRun{Reason: "ErrImagePull", Message: "image " + image + " is not known"}
			}
			c := newPlayed(t, env...).Container
			s.mu.Lock()
			defer s.mu.Unlock()
			s.processes[pod.Name] = c
			return &Process{Container: c, Note: "played", Release: func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.released[pod.Name] = true
			}}, nil
		},
	}
	if err := s.node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.node.Close)
	return s
}

func (s *nodeSite) run(name, image string) {
	s.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	pod.Spec = corev1.PodSpec{NodeName: "local", Containers: []corev1.Container{{Name: "main", Image: image}, {Name: "sidecar", Image: "other"}}}
	pod, err := s.CoreV1().Pods("default").Create(s.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	// As the scheduler does.
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	if _, err := s.CoreV1().Pods("default").UpdateStatus(s.Context(), pod, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
		s.Fatal(err)
	}
}

func (s *nodeSite) process(name string) *Container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.processes[name]
}

// pod waits until a pod is so.
func (s *nodeSite) pod(name, what string, so func(*corev1.Pod) bool) *corev1.Pod {
	s.Helper()
	var pod *corev1.Pod
	s.await(what, func() (ok bool, seen string) {
		var err error
		if pod, err = s.CoreV1().Pods("default").Get(s.Context(), name, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		return so(pod), fmt.Sprintf("%+v", pod.Status)
	})
	return pod
}

func (s *nodeSite) gone(name string) {
	s.Helper()
	s.await("pod "+name+" is gone", func() (bool, string) {
		_, err := s.CoreV1().Pods("default").Get(s.Context(), name, metav1.GetOptions{})
		s.mu.Lock()
		defer s.mu.Unlock()
		return apierrors.IsNotFound(err) && s.released[name], fmt.Sprint(err)
	})
	if pid := s.process(name).PID(); pid != 0 {
		s.Errorf("pod %s is gone, and its process %d runs", name, pid)
	}
}

func (s *nodeSite) await(what string, so func() (bool, string)) {
	s.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		ok, seen := so()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: %s", what, seen)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func ready(pod *corev1.Pod) bool { return condition(pod, corev1.PodReady) }

func TestANodeRunsItsPods(t *testing.T) {
	s := newNodeSite(t)
	node, err := s.CoreV1().Nodes().Get(t.Context(), "local", metav1.GetOptions{})
	if err != nil || !nodeReady(node) {
		t.Fatalf("the node is not ready: %v, %v", node, err)
	}
	s.await("the node has a lease", func() (bool, string) {
		lease, err := s.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "local", metav1.GetOptions{})
		return err == nil && time.Since(lease.Spec.RenewTime.Time) < leaseDuration, fmt.Sprint(err)
	})
	s.run("web", "known")
	pod := s.pod("web", "the pod is ready", ready)
	status := pod.Status.ContainerStatuses
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP != "127.0.0.1" || !condition(pod, corev1.ContainersReady) {
		t.Errorf("the status is %+v", pod.Status)
	}
	if len(status) != 2 || !status[0].Ready || !*status[0].Started || status[0].State.Running == nil || status[1].State.Waiting == nil || status[1].State.Waiting.Reason != leftOut {
		t.Errorf("the containers' status is %+v", status)
	}
	if !condition(pod, corev1.PodScheduled) {
		t.Error("the scheduler's condition is lost")
	}
	c := s.process("web")
	if err := c.terminate(c.current, time.Second); err != nil { // by itself, as the node sees it
		t.Fatal(err)
	}
	again := s.pod("web", "it is started again", func(p *corev1.Pod) bool { return ready(p) && p.Status.ContainerStatuses[0].RestartCount == 1 })
	if last := again.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 128+15 || last.Reason != "Error" {
		t.Errorf("the last run is told as %+v", last)
	}
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.gone("web")
}

func TestAPodThatIsDeafIsKilledWhenItsGraceIsOver(t *testing.T) {
	s := newNodeSite(t, "DEAF=1")
	s.run("deaf", "known")
	s.pod("deaf", "the pod is ready", ready)
	began := time.Now()
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "deaf", metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}); err != nil {
		t.Fatal(err)
	}
	s.gone("deaf")
	if took := time.Since(began); took < time.Second {
		t.Errorf("it was killed after %s of a grace period of 1 s", took)
	}
	s.run("forced", "known")
	s.pod("forced", "the pod is ready", ready)
	if err := s.CoreV1().Pods("default").Delete(t.Context(), "forced", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	s.gone("forced")
}

func TestAPodThatCannotRunSaysWhy(t *testing.T) {
	s := newNodeSite(t, "DIE=for good")
	s.run("strange", "nginx")
	pod := s.pod("strange", "the pod waits", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Message != ""
	})
	if w := pod.Status.ContainerStatuses[0].State.Waiting; w.Reason != "ErrImagePull" || !strings.Contains(w.Message, "nginx") || pod.Status.Phase != corev1.PodPending {
		t.Errorf("it waits with %+v in phase %s", w, pod.Status.Phase)
	}
	s.run("broken", "known")
	s.pod("broken", "the pod is held back", func(p *corev1.Pod) bool {
		if len(p.Status.ContainerStatuses) == 0 {
			return false
		}
		c := p.Status.ContainerStatuses[0]
		return c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff" && c.RestartCount == 1 && c.LastTerminationState.Terminated.ExitCode == 3 && !ready(p)
	})
	for _, name := range []string{"strange", "broken"} {
		if err := s.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.gone("broken")
	s.await("the pod that never ran is gone", func() (bool, string) {
		_, err := s.CoreV1().Pods("default").Get(t.Context(), "strange", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

func TestLogsOfAContainer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := servePods(func(namespace, pod, container string) (string, error) {
		if namespace+"/"+pod+"/"+container != "default/web/main" {
			return "", fmt.Errorf("there is no %s", pod)
		}
		return path, nil
	}, forwarder{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // as the API server does
	base := fmt.Sprintf("https://127.0.0.1:%d", s.port())
	for of, want := range map[string]string{
		"/containerLogs/default/web/main":                        "200 one\ntwo\nthree\n",
		"/containerLogs/default/web/main?tailLines=2":            "200 two\nthree\n",
		"/containerLogs/default/web/main?tailLines=9":            "200 one\ntwo\nthree\n",
		"/containerLogs/default/web/main?tailLines=0":            "200 ",
		"/containerLogs/default/web/main?limitBytes=5":           "200 one\nt",
		"/containerLogs/default/web/main?tailLines=x":            "400 tailLines: want a number\n",
		"/containerLogs/default/other/main":                      "400 there is no other\n",
		"/containerLogs/default/web/main?previous=true":          "400 previous: the local cluster keeps one log of all runs of a container, in " + path + ", and no time of a line\n",
		"/exec/default/web/main":                                 "501 pods of the local cluster are processes of this computer: kubectl logs and kubectl port-forward are all that can be asked of them\n",
		"/containerLogs/default/web/main?follow=false&tailLines": "200 one\ntwo\nthree\n",
	} {
		resp, err := client.Get(base + of)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := fmt.Sprint(resp.StatusCode, " ", string(text)); got != want {
			t.Errorf("%s: got %q, want %q", of, got, want)
		}
	}
	resp, err := client.Get(base + "/containerLogs/default/web/main?follow=true&tailLines=0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "four")
	f.Close()
	line := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, line); err != nil || string(line) != "four\n" {
		t.Errorf("followed: %q, %v", line, err)
	}
}
