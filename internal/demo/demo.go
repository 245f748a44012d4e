// Package demo runs the main job on one instance and tells it as it happens: pods wait, instances come, pods run; work
// goes, instances go; AWS takes an instance back, its pods move first; what is hardly used is consolidated, what drifted or is old is
// replaced. Every step has a time in which it must happen.
package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/leader"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	controlclient "github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/web"
)

//go:embed pool.yaml
var pool string

//go:embed workloads.yaml
var workloads string

const namespace = "demo"

// Options of a run.
type Options struct {
	Out      io.Writer
	Terminal bool // Out is one: the progress line is rewritten in place
	Local    local.Options
	// Step is the longest that a step may take.
	Step time.Duration
	// Keep keeps the cluster and its page after the end, until the context ends.
	Keep bool
}

type run struct {
	Options
	*view
	cluster *local.Cluster
	client  client.Client
	state   *state
	aws     *controlclient.Client
	ask     *leader.Controller // with a token
	facts   *ec2facts.Facts
	listed  map[string]ec2facts.Price // on-demand prices of the region
	told    map[string]string         // claim name to the last thing told of it
	// launched holds the decisions that launched instances, by ID.
	planned map[string]*record.Decision
	// moved holds the decisions by which instances went, by ID, in the order in which they were seen.
	moved    map[string]*record.Decision
	replicas map[string]int32 // of Deployments
	looked   time.Time        // when the controller was last asked for its decisions
	page     string           // its address
}

// Run runs the demo.
//
// Errors: the step that did not happen in its time, with what was seen instead.
func Run(ctx context.Context, o Options) (err error) {
	r := &run{Options: o, view: newView(o.Out, o.Terminal), state: newState(), told: map[string]string{}, planned: map[string]*record.Decision{},
		moved: map[string]*record.Decision{}, replicas: map[string]int32{"web": 30, "api": 20, "batch": 10}}
	if r.facts, err = ec2facts.Load(); err != nil {
		return err
	}
	r.title("Kerf: the main job on this machine, with a real Kubernetes control plane and a simulated AWS")
	// Instances on spot are replaced by cheaper ones on spot, too.
	o.Local.ControllerEnv = append(o.Local.ControllerEnv, "FEATURE_GATES=SpotToSpotConsolidation=true")
	o.Local.Report = func(s string) { r.line("%s", s) }
	if r.cluster, err = local.Up(ctx, o.Local); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	r.listed = r.facts.OnDemand(r.cluster.Region).Prices
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := r.connect(ctx); err != nil {
		return err
	}
	if err := r.showPage(ctx); err != nil {
		return err
	}
	for _, chapter := range []func(context.Context) error{r.prepare, r.scaleUp, r.why, r.scaleDown, r.interrupt, r.consolidate, r.roll, r.expire, r.cleanUp} {
		err := chapter(ctx)
		if err == nil {
			err = r.keepDecisions(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w\nThe controller's log is %s", err, r.cluster.Controller.Log)
		}
	}
	if err := r.summary(ctx); err != nil || !o.Keep {
		return err
	}
	r.line("the cluster and its page stay until Ctrl-C: %s", r.page)
	select {
	case <-ctx.Done():
		return nil
	case err := <-r.cluster.Ended():
		return err
	}
}

// showPage serves the page of kerf ui for the cluster as long as it runs.
func (r *run) showPage(ctx context.Context) error {
	config, err := r.cluster.Config()
	if err != nil {
		return err
	}
	if r.page, err = web.Beside(ctx, web.Options{Connect: web.At(r.cluster.Server(), config)}); err != nil {
		return err
	}
	r.line("watch it as a page: %s", r.page)
	return nil
}

func (r *run) connect(ctx context.Context) error {
	ctrllog.SetLogger(logr.Discard()) // the story is the output; the controller's log is in its file
	config, err := r.cluster.Config()
	if err != nil {
		return err
	}
	if r.client, err = r.cluster.Client(); err != nil {
		return err
	}
	if r.ask, err = (leader.At{Server: r.cluster.Controller.MetricsURL, Config: r.cluster.Config, Namespace: manifests.DefaultNamespace}).Reach(); err != nil {
		return err
	}
	r.aws = controlclient.New(r.cluster.AWS)
	informers, err := cache.New(config, cache.Options{Scheme: r.client.Scheme()})
	if err != nil {
		return fmt.Errorf("connecting to the local cluster: %w", err)
	}
	if err := r.state.follow(ctx, informers); err != nil {
		return err
	}
	go func() { _ = informers.Start(ctx) }()
	if !informers.WaitForCacheSync(ctx) {
		return errors.New("watching the local cluster: no answer")
	}
	return nil
}

// await waits until done says so, telling what happens meanwhile.
func (r *run) await(ctx context.Context, what string, done func(counts) bool) error {
	began := time.Now()
	timeout := time.NewTimer(r.Step)
	defer timeout.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		r.narrate()
		if time.Since(r.looked) >= time.Second {
			if err := r.keepDecisions(ctx); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
		c := r.state.count()
		r.bar(c.running, c.pods, fmt.Sprintf("pods running   %d/%d instances ready   $%.3f/h", c.ready, c.claims, r.price()))
		if done(c) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: interrupted after %.0f s", what, time.Since(began).Seconds())
		case err := <-r.cluster.Ended():
			return fmt.Errorf("%s: the local cluster ended: %w", what, err)
		case <-timeout.C:
			return fmt.Errorf("%s: not after %s; seen: %d pods, %d running, %d pending, %d terminating; %d NodeClaims, %d ready\n%s",
				what, r.Step, c.pods, c.running, c.pending, c.terminating, c.claims, c.ready, r.troubles(ctx))
		case <-r.state.changed:
		case <-second.C:
		}
	}
}

// troubles are the warnings of the last minutes, for the message of a step that failed.
func (r *run) troubles(ctx context.Context) string {
	var events corev1.EventList
	if err := r.client.List(context.WithoutCancel(ctx), &events); err != nil {
		return "no events: " + err.Error()
	}
	seen := map[string]bool{}
	var out []string
	for _, e := range events.Items {
		text := fmt.Sprintf("  %s %s/%s: %s", e.Reason, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message)
		if e.Type == corev1.EventTypeWarning && e.Source.Component != "default-scheduler" && !seen[e.Reason+e.Message] && len(out) < 10 {
			seen[e.Reason+e.Message] = true
			out = append(out, text)
		}
	}
	return "warnings:\n" + strings.Join(out, "\n")
}

func (r *run) prepare(ctx context.Context) error {
	r.title("0. Two NodePools and an EC2NodeClass")
	if err := r.cluster.Apply(ctx, []byte(strings.ReplaceAll(pool, "${CLUSTER_NAME}", r.cluster.Name))); err != nil {
		return err
	}
	return r.poll(ctx, "NodePool demo becomes ready", func() (bool, string, error) {
		p := &karpv1.NodePool{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: "demo"}, p); err != nil {
			return false, "", err
		}
		ready := p.StatusConditions().Root()
		if ready.IsTrue() {
			c := &awsv1.EC2NodeClass{}
			if err := r.client.Get(ctx, client.ObjectKey{Name: "demo"}, c); err != nil {
				return false, "", err
			}
			r.line("NodePool demo is ready: %d subnets, %d security groups, %d images", len(c.Status.Subnets), len(c.Status.SecurityGroups), len(c.Status.AMIs))
		}
		return ready.IsTrue(), ready.Reason + " " + ready.Message, nil
	})
}

// poll asks until a thing that no watch of the demo covers has happened.
func (r *run) poll(ctx context.Context, what string, ask func() (done bool, seen string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, r.Step)
	defer cancel()
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		done, seen, err := ask()
		if err == nil && done {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: not within %s; last seen: %s", what, r.Step, seen), err)
		case <-t.C:
		}
	}
}

func (r *run) scaleUp(ctx context.Context) error {
	r.title("1. Work arrives: three Deployments, sixty pods, no instance")
	if err := r.cluster.Apply(ctx, []byte(workloads)); err != nil {
		return err
	}
	began := time.Now()
	if err := r.await(ctx, "all 60 pods run", func(c counts) bool { return c.pods >= 60 && c.running == c.pods }); err != nil {
		return err
	}
	c := r.state.count()
	r.line("all %d pods run on %d instances at $%.3f/h, %.1f s after they were asked for", c.running, c.claims, r.price(), time.Since(began).Seconds())
	return nil
}

// scale sets the replicas of Deployments.
func (r *run) scale(ctx context.Context, replicas map[string]int32) error {
	for _, name := range slices.Sorted(maps.Keys(replicas)) {
		n := replicas[name]
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := r.client.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: n}})); err != nil {
			return fmt.Errorf("scaling deployment %s: %w", name, err)
		}
		r.replicas[name] = n
	}
	return nil
}

func (r *run) scaleDown(ctx context.Context) error {
	r.title("3. Work goes: the batch ends; instances that hold nothing are terminated")
	before, paid := r.state.count().claims, r.price()
	if err := r.scale(ctx, map[string]int32{"batch": 0}); err != nil {
		return err
	}
	if err := r.await(ctx, "instances without pods go", func(c counts) bool {
		return c.pods == r.want() && c.running == c.pods && c.terminating == 0 && r.empty() == 0 && r.going() == 0
	}); err != nil {
		return err
	}
	r.line("%d of %d instances are gone; the bill fell from $%.3f/h to $%.3f/h", before-r.state.count().claims, before, paid, r.price())
	return nil
}

// want is how many pods there should be.
func (r *run) want() int {
	n := 0
	for _, replicas := range r.replicas {
		n += int(replicas)
	}
	return n
}

// empty counts instances that hold none of the demo's pods.
func (r *run) empty() int {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	busy := map[string]bool{}
	for _, life := range r.state.pods {
		if life.pod != nil {
			busy[life.pod.Spec.NodeName] = true
		}
	}
	n := 0
	for _, claim := range r.state.claims {
		if !busy[claim.Status.NodeName] {
			n++
		}
	}
	return n
}

func (r *run) going() int {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	n := 0
	for _, claim := range r.state.claims {
		if !claim.DeletionTimestamp.IsZero() {
			n++
		}
	}
	return n
}

func (r *run) cleanUp(ctx context.Context) error {
	r.title("8. Everything ends")
	if err := r.scale(ctx, map[string]int32{"web": 0, "api": 0, "shop": 0, "notes": 0}); err != nil {
		return err
	}
	return r.await(ctx, "all instances are terminated", func(c counts) bool {
		r.state.mu.Lock()
		defer r.state.mu.Unlock()
		return len(r.state.claims) == 0 && len(r.state.nodes) == 0
	})
}
