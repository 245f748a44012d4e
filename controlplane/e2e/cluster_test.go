// Package e2e runs the controller as users run it, a process of its own, against a real control plane and the simulated
// AWS, and looks at what a user would look at.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	controlclient "github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
)

// kerf builds the controller's binary from this tree, once.
var kerf = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "kerf-e2e-")
	if err != nil {
		return "", err
	}
	kerfDir = dir
	binary := filepath.Join(dir, "kerf")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", binary, "./cmd/kerf")
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building kerf: %w\n%s", err, out)
	}
	return binary, nil
})

// env is a local cluster with what tests ask of it.
type env struct {
	testing.TB
	cluster *local.Cluster
	client  client.Client
	aws     *controlclient.Client
	audit   string

	refusals *refusals
}

// up starts a local cluster for one test.
func up(t testing.TB, change ...func(*local.Options)) *env {
	t.Helper()
	controlPlane, err := harness.Binary(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	binary, err := kerf()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := local.Options{
		ClusterName: "e2e", StateDir: dir, ControlPlane: controlPlane, Binary: binary, BootTime: 500 * time.Millisecond, AWSLatency: -1, Seed: 1,
		AuditLog: filepath.Join(dir, "audit.log"), Report: func(line string) { t.Log(line) },
	}
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cluster, err := local.Up(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{TB: t, cluster: cluster, aws: controlclient.New(cluster.AWS), audit: o.AuditLog, refusals: &refusals{}}
	t.Cleanup(func() {
		if t.Failed() {
			e.dump()
		}
		e.noPanics()
		e.noDenials()
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if e.client, err = cluster.Client(); err != nil {
		t.Fatal(err)
	}
	return e
}

// apply applies manifests; ${CLUSTER_NAME} is the cluster's.
func (e *env) apply(manifests string) {
	e.Helper()
	if err := e.cluster.Apply(e.Context(), []byte(strings.ReplaceAll(manifests, "${CLUSTER_NAME}", e.cluster.Name))); err != nil {
		e.Fatal(err)
	}
}

// patience is how many times as long as on an instance that does nothing else it may take until something is seen: a limit is
// for what never comes. How soon something comes is tested in virtual time.
const patience = 3

// eventually waits until check is content; what it last said is the failure.
func (e *env) eventually(timeout time.Duration, what string, check func() (ok bool, seen string)) {
	e.Helper()
	deadline := time.Now().Add(patience * timeout)
	for {
		ok, seen := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			e.Fatalf("%s: not within %s; seen: %s", what, patience*timeout, seen)
		}
		select {
		case <-e.Context().Done():
			e.Fatal(e.Context().Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func list[L any, P interface {
	*L
	client.ObjectList
}](e *env, opts ...client.ListOption) *L {
	e.Helper()
	// An API server that is very busy refuses a reader now and then.
	for end := time.Now().Add(10 * time.Second); ; {
		out := P(new(L))
		err := e.client.List(e.Context(), out, opts...)
		if err == nil {
			return (*L)(out)
		}
		if time.Now().After(end) || e.Context().Err() != nil {
			e.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (e *env) pods(namespace string) []corev1.Pod {
	return list[corev1.PodList](e, client.InNamespace(namespace)).Items
}

func (e *env) nodes() []corev1.Node { return list[corev1.NodeList](e).Items }

func (e *env) claims() []karpv1.NodeClaim { return list[karpv1.NodeClaimList](e).Items }

// running waits until n pods of a namespace run and none waits.
func (e *env) running(timeout time.Duration, namespace string, n int) {
	e.Helper()
	e.eventually(timeout, fmt.Sprintf("%d pods run in %s", n, namespace), func() (bool, string) {
		run, rest := 0, map[string]int{}
		for _, p := range e.pods(namespace) {
			if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp.IsZero() {
				run++
			} else {
				rest[string(p.Status.Phase)]++
			}
		}
		return run == n && len(rest) == 0, fmt.Sprintf("%d running, others %v; %d nodeclaims, %d nodes", run, rest, len(e.claims()), len(e.nodes()))
	})
}

// instances are the simulated AWS's that are not terminated.
func (e *env) instances() []control.Instance {
	e.Helper()
	all, err := e.aws.Instances(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	var out []control.Instance
	for _, i := range all {
		if i.State != "terminated" {
			out = append(out, i)
		}
	}
	return out
}

// nothingLeft waits until no claim, node or instance is left.
func (e *env) nothingLeft(timeout time.Duration) {
	e.Helper()
	e.eventually(timeout, "no nodeclaim, node or instance is left", func() (bool, string) {
		c, n, i := len(e.claims()), len(e.nodes()), len(e.instances())
		return c+n+i == 0, fmt.Sprintf("%d nodeclaims, %d nodes, %d instances", c, n, i)
	})
}

// oneToOne checks that every instance has one claim and every claim one instance, those that are on their way out left
// aside.
func (e *env) oneToOne() {
	e.Helper()
	// The instances are read first: whatever runs then has had its claim before.
	instances := e.instances()
	claims := map[string]karpv1.NodeClaim{}
	for _, c := range e.claims() {
		if other, ok := claims[c.Status.ProviderID]; ok && c.Status.ProviderID != "" {
			e.Errorf("nodeclaims %s and %s both have instance %s", other.Name, c.Name, c.Status.ProviderID)
		}
		claims[c.Status.ProviderID] = c
	}
	live := map[string]bool{}
	for _, i := range instances {
		id := "aws:///" + i.Zone + "/" + i.ID
		live[id] = true
		if _, ok := claims[id]; !ok && i.State != "shutting-down" {
			now, err := e.aws.Instance(e.Context(), i.ID)
			if err != nil || (now.State != "shutting-down" && now.State != "terminated") {
				e.Errorf("instance %s (%s, launched %s) has no nodeclaim", i.ID, i.State, i.Launched)
			}
		}
	}
	for id, c := range claims {
		if id != "" && !live[id] && c.DeletionTimestamp.IsZero() && time.Since(c.CreationTimestamp.Time) > 10*time.Second {
			e.Errorf("nodeclaim %s has instance %s, which does not exist", c.Name, id)
		}
	}
}

// noPanics fails the test when the controller recovered from a panic.
func (e *env) noPanics() {
	if e.cluster.Controller == nil || e.cluster.Controller.PID() == 0 {
		return
	}
	for name, v := range e.metrics() {
		if (strings.HasPrefix(name, "kerf_panics_total") || strings.HasPrefix(name, "controller_runtime_reconcile_panics_total") || strings.HasPrefix(name, "kerf_plan_violations_total")) && v != "0" {
			e.Errorf("%s is %s", name, v)
		}
	}
}

// metrics reads the controller's metrics, by name with labels.
func (e *env) metrics() map[string]string { return e.metricsOf(e.cluster.Controller) }

func (e *env) metricsOf(c *local.Controller) map[string]string {
	resp, err := http.Get(c.MetricsURL)
	if err != nil {
		e.Errorf("reading metrics: %v", err)
		return nil
	}
	defer resp.Body.Close()
	out := map[string]string{}
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), " "); ok && name != "#" {
			if i := strings.LastIndexByte(s.Text(), ' '); i > 0 {
				name, value = s.Text()[:i], s.Text()[i+1:]
			}
			out[name] = value
		}
	}
	return out
}

// reconciles is how often a controller of the process has reconciled an object.
func (e *env) reconciles(controller string) int {
	e.Helper()
	n := 0
	for name, value := range e.metrics() {
		if strings.HasPrefix(name, "controller_runtime_reconcile_total{") && strings.Contains(name, fmt.Sprintf("controller=%q", controller)) {
			count, err := strconv.ParseFloat(value, 64)
			if err != nil {
				e.Fatalf("metric %s: %v", name, err)
			}
			n += int(count)
		}
	}
	return n
}

// reconciled waits until a controller has reconciled more often than before. It is for tests of what must not happen: they
// change something, wait until the controller has had its turn, and see that nothing came of it.
func (e *env) reconciled(controller string, before int) {
	e.Helper()
	e.eventually(20*time.Second, controller+" reconciles", func() (bool, string) {
		now := e.reconciles(controller)
		return now > before, fmt.Sprintf("%d times, %d before", now, before)
	})
}

// dump tells what a person would look at first.
func (e *env) dump() {
	ctx := context.WithoutCancel(e.Context())
	var events corev1.EventList
	if err := e.client.List(ctx, &events); err == nil {
		for _, ev := range events.Items {
			if ev.Type == corev1.EventTypeWarning && ev.Source.Component != "default-scheduler" {
				e.Logf("%s event %s %s/%s: %s", ev.CreationTimestamp.Format(time.TimeOnly), ev.Reason, ev.InvolvedObject.Kind, ev.InvolvedObject.Name, ev.Message)
			}
		}
	}
	var claims karpv1.NodeClaimList
	if err := e.client.List(ctx, &claims); err == nil {
		for _, c := range claims.Items {
			text, _ := json.Marshal(c.Status.Conditions)
			e.Logf("nodeclaim %s %s: %s", c.Name, c.Status.ProviderID, text)
		}
	}
	if instances, err := e.aws.Instances(ctx); err == nil {
		for _, i := range instances {
			e.Logf("instance %s %s %s boot %+v", i.ID, i.Type, i.State, i.Boot)
		}
	}
	if e.cluster.Controller != nil {
		if text, err := os.ReadFile(e.cluster.Controller.Log); err == nil {
			lines := bytes.Split(text, []byte("\n"))
			e.Logf("controller log, the last of %d lines:\n%s", len(lines), bytes.Join(lines[max(0, len(lines)-60):], []byte("\n")))
		}
	}
}
