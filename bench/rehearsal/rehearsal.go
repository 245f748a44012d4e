package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/bench/beside"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	// leaseName is the Lease that both controllers take.
	leaseName = "karpenter-leader-election"
	// upstreamCRDs and kerfCRDs are releases of the charts of CRDs.
	upstreamCRDs, kerfCRDs = "karpenter-crd", "kerf-crd"
)

// Options say how a migration is rehearsed.
type Options struct {
	// Compat is the value of settings.kerf.compat.
	Compat string
	// Crash kills the controllers in place of letting them hand over.
	Crash bool
	// OneRelease upgrades the release karpenter-crd to the chart kerf-crd, and has upstream's charts installed by Helm 4's
	// server-side apply. Without it kerf-crd is a release of its own that takes the CRDs over, from a release that was
	// installed by client-side apply, as Helm 3 does it.
	OneRelease bool
	// Rest is how long the cluster is watched after what was under way is finished.
	Rest time.Duration
	// Binaries are the controllers' programs by the name that beside gives them.
	Binaries map[string]string
	// Folder for logs and state.
	Folder string
	// Say is told the story, one line a call.
	Say func(format string, args ...any)
}

// rehearsal is a migration that is going on.
type rehearsal struct {
	Options
	cluster *local.Cluster
	client  client.Client
	helm    *helm
	ledger  *ledger
	audit   string

	upstream, version string // folder and version of upstream's module
	kerf              string // folder of Kerf's sources
	findings          []string
}

// Build makes both controllers' programs in a folder.
func Build(ctx context.Context, folder string) (map[string]string, error) {
	out := map[string]string{}
	for _, c := range beside.Controllers() {
		path, err := c.Build(ctx, folder)
		if err != nil {
			return nil, err
		}
		out[c.Name] = path
	}
	return out, nil
}

// Run rehearses a migration and returns what was found wrong, nothing if all went as reserved for.
//
// Errors: what does not start, or does not come to pass in time, so that the story can't go on.
func Run(ctx context.Context, o Options) (findings []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &rehearsal{Options: o, audit: filepath.Join(o.Folder, "audit.log")}
	if r.kerf, err = root(); err != nil {
		return nil, err
	}
	if r.upstream, r.version, err = upstreamModule(ctx); err != nil {
		return nil, err
	}
	controlPlane := os.Getenv(kube.BinaryEnv)
	if controlPlane == "" {
		controlPlane = filepath.Join(r.kerf, "bin", kube.BinaryName)
	}
	if r.cluster, err = local.Up(ctx, local.Options{
		ControlPlane: controlPlane,
		ClusterName:  "shop", StateDir: o.Folder, Bare: true, Seed: 1, BootTime: 2 * time.Second, AWSLatency: 1, AuditLog: r.audit,
		NodeLeaseSeconds: 600, Binary: o.Binaries["kerf"], Programs: map[string]string{upstreamImage: o.Binaries["upstream"]},
		Report: func(string) {},
	}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	if r.client, err = r.cluster.Client(); err != nil {
		return nil, err
	}
	if r.helm, err = newHelm(r.cluster.Kubeconfig, o.OneRelease); err != nil {
		return nil, err
	}
	for _, act := range []func(context.Context) error{r.begin, r.toKerf, r.toUpstream, r.tidy, r.end} {
		if err := act(ctx); err != nil {
			return r.findings, err
		}
	}
	return r.findings, nil
}

// wrong notes a finding.
func (r *rehearsal) wrong(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.findings = append(r.findings, text)
	r.Say("  WRONG: %s", text)
}

// begin installs upstream and brings the fleet up.
func (r *rehearsal) begin(ctx context.Context) error {
	r.Say("Upstream's Karpenter %s is installed in cluster %s, Kubernetes %s.", r.version, r.cluster.Name, r.cluster.Kube.Version)
	if err := r.apply(ctx, systemNodes()); err != nil {
		return err
	}
	crds, controller, err := r.charts()
	if err != nil {
		return err
	}
	if err := r.helm.add(ctx, upstreamCRDs, crds, nil, r.helm.serverSide, false); err != nil {
		return err
	}
	if err := r.helm.add(ctx, release, controller, r.upstreamValues(), r.helm.serverSide, false); err != nil {
		return err
	}
	d, err := r.deployment(ctx)
	if err != nil {
		return err
	}
	if err := r.cluster.RollOut(ctx, d); err != nil {
		return err
	}
	config, err := r.cluster.Config()
	if err != nil {
		return err
	}
	if r.ledger, err = watch(ctx, config); err != nil {
		return err
	}
	if err := r.reserve(); err != nil {
		return err
	}
	if err := r.apply(ctx, classes()+pools()+work()); err != nil {
		return err
	}
	if err := r.running(ctx, 8*time.Minute); err != nil {
		return err
	}
	if err := r.apply(ctx, render()); err != nil {
		return err
	}
	if err := r.running(ctx, 3*time.Minute); err != nil {
		return err
	}
	if err := r.quiet(ctx, 30*time.Second, 5*time.Minute); err != nil {
		return err
	}
	var claims karpv1.NodeClaimList
	if err := r.client.List(ctx, &claims); err != nil {
		return err
	}
	if n := len(claims.Items); n != fleetSize {
		return fmt.Errorf("upstream made %d nodes, the story needs %d, each full", n, fleetSize)
	}
	return nil
}

// charts are upstream's, of the CRDs and of the controller.
func (r *rehearsal) charts() (crds, controller *chartv2.Chart, err error) {
	if crds, err = loadUpstream(filepath.Join(r.upstream, "charts", "karpenter-crd"), r.version); err != nil {
		return nil, nil, err
	}
	controller, err = loadUpstream(filepath.Join(r.upstream, "charts", "karpenter"), r.version)
	return crds, controller, err
}

// kerfCharts are Kerf's, of the CRDs and of the controller.
func (r *rehearsal) kerfCharts() (crds, controller *chartv2.Chart, err error) {
	if crds, err = load(filepath.Join(r.kerf, "charts", "kerf-crd")); err != nil {
		return nil, nil, err
	}
	controller, err = load(filepath.Join(r.kerf, "charts", "kerf"))
	return crds, controller, err
}

// upstreamValues are those of a user of upstream's guide.
func (r *rehearsal) upstreamValues() map[string]any {
	return map[string]any{
		"settings": map[string]any{"clusterName": r.cluster.Name, "interruptionQueue": r.cluster.Name},
		"controller": map[string]any{
			"resources": map[string]any{"requests": map[string]any{"cpu": 1, "memory": "1Gi"}, "limits": map[string]any{"cpu": 1, "memory": "1Gi"}},
		},
	}
}

// reserve makes the capacity reservation of the reserved pool.
func (r *rehearsal) reserve() error {
	w := r.cluster.Simulator.World
	for _, subnet := range w.Subnets() {
		if subnet.Public || !w.Offered(reservedType, subnet.Zone) {
			continue
		}
		_, err := w.AddReservation(world.Reservation{Type: reservedType, Zone: subnet.Zone, Total: reserved, MatchCriteria: "targeted", Tags: map[string]string{"for": "rehearsal"}})
		return err
	}
	return fmt.Errorf("reserve capacity: no subnet is in a zone that offers %s", reservedType)
}

func (r *rehearsal) apply(ctx context.Context, manifests string) error {
	return r.cluster.Apply(ctx, []byte(strings.NewReplacer("${CLUSTER_NAME}", r.cluster.Name, "${REGION}", r.cluster.Region).Replace(manifests)))
}

// deployment is the controller's, as Helm made it.
func (r *rehearsal) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: release}, d); err != nil {
		return nil, fmt.Errorf("read the controller's Deployment: %w", err)
	}
	return d, nil
}

// until waits for something; what was seen last is in the error.
func (r *rehearsal) until(ctx context.Context, limit time.Duration, what string, check func() (bool, string)) error {
	end := time.Now().Add(limit)
	for {
		ok, seen := check()
		switch {
		case ok:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s: not within %s; seen: %s", what, limit, seen)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; seen: %s", what, context.Cause(ctx), seen)
		case err := <-r.cluster.Ended():
			return fmt.Errorf("%s: the cluster ended: %w", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// running waits until every Deployment of the fleet is whole.
func (r *rehearsal) running(ctx context.Context, limit time.Duration) error {
	return r.until(ctx, limit, "the pods run", func() (bool, string) {
		var all appsv1.DeploymentList
		if err := r.client.List(ctx, &all, client.InNamespace("default")); err != nil {
			return false, err.Error()
		}
		var short []string
		for _, d := range all.Items {
			if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != *d.Spec.Replicas || d.Status.Replicas != *d.Spec.Replicas {
				short = append(short, fmt.Sprintf("%s %d of %d", d.Name, d.Status.ReadyReplicas, *d.Spec.Replicas))
			}
		}
		return len(short) == 0, strings.Join(short, ", ")
	})
}

// quiet waits until nothing has happened to a node for a while.
func (r *rehearsal) quiet(ctx context.Context, still, limit time.Duration) error {
	mark, since := r.ledger.mark(), time.Now()
	return r.until(ctx, limit, fmt.Sprintf("nothing happens for %s", still), func() (bool, string) {
		if now := r.ledger.mark(); now != mark {
			mark, since = now, time.Now()
		}
		return time.Since(since) >= still, fmt.Sprintf("%d events", mark)
	})
}

// relabel changes the label of a pool's nodes, so that they all drift.
func (r *rehearsal) relabel(ctx context.Context, pool, value string) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"labels":{"release":%q}}}}}`, value))
	p := &karpv1.NodePool{}
	p.Name = pool
	if err := r.client.Patch(ctx, p, patch); err != nil {
		return fmt.Errorf("change NodePool %s: %w", pool, err)
	}
	return nil
}

func (r *rehearsal) scale(ctx context.Context, name string, replicas int) error {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = "default", name
	if err := r.client.Patch(ctx, d, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))); err != nil {
		return fmt.Errorf("scale %s: %w", name, err)
	}
	return nil
}

// swapProcess runs the controller that the Deployment says now in place of the one that runs, until it has the Lease.
func (r *rehearsal) swapProcess(ctx context.Context) error {
	d, err := r.deployment(ctx)
	if err != nil {
		return err
	}
	before, err := r.leader(ctx)
	if err != nil {
		return err
	}
	how := "started beside the old one, which then ended as it was asked to"
	if r.Crash {
		how = "started after the old one was killed"
		if err := r.cluster.Controller.Kill(); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := r.cluster.RollOut(ctx, d); err != nil {
		return err
	}
	r.Say("  %s was %s (%s).", d.Spec.Template.Spec.Containers[0].Image, how, time.Since(began).Round(100*time.Millisecond))
	began = time.Now()
	if err := r.until(ctx, 2*time.Minute, "the next controller leads", func() (bool, string) {
		now, err := r.leader(ctx)
		return err == nil && now != "" && now != before, fmt.Sprint(now, " ", err)
	}); err != nil {
		return err
	}
	r.Say("  it leads; the Lease was free %s later.", time.Since(began).Round(100*time.Millisecond))
	return nil
}

// leader is who holds the Lease; empty: nobody.
func (r *rehearsal) leader(ctx context.Context) (string, error) {
	l := &coordinationv1.Lease{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: leaseName}, l); err != nil {
		return "", fmt.Errorf("read the Lease: %w", err)
	}
	if l.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *l.Spec.HolderIdentity, nil
}

// census counts what there is.
func (r *rehearsal) census(ctx context.Context) (string, error) {
	var claims karpv1.NodeClaimList
	var pods corev1.PodList
	if err := errors.Join(r.client.List(ctx, &claims), r.client.List(ctx, &pods, client.InNamespace("default"))); err != nil {
		return "", err
	}
	types, drifted, running, instances := map[string]int{}, 0, 0, 0
	for i := range claims.Items {
		types[claims.Items[i].Labels[karpv1.CapacityTypeLabelKey]]++
		if claims.Items[i].StatusConditions().IsTrue(karpv1.ConditionTypeDrifted) {
			drifted++
		}
	}
	for _, p := range pods.Items {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			running++
		}
	}
	for _, i := range r.cluster.Simulator.World.Instances() {
		if i.Live() {
			instances++
		}
	}
	return fmt.Sprintf("%d nodes (%d spot, %d on-demand, %d reserved), %d of them drifted; %d EC2 instances; %d of %d pods run",
		len(claims.Items), types["spot"], types["on-demand"], types["reserved"], drifted, instances, running, len(pods.Items)), nil
}

// sayCensus tells what there is.
func (r *rehearsal) sayCensus(ctx context.Context, when string) error {
	text, err := r.census(ctx)
	if err != nil {
		return err
	}
	r.Say("  %s: %s.", when, text)
	return nil
}
