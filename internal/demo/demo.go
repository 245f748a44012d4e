// Package demo runs the main job on one machine and tells it as it happens: pods wait, machines come, pods run; work
// goes, machines go; AWS takes a machine back, its pods move first. Every step has a time in which it must happen.
package demo

import (
	"cmp"
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
	"github.com/kerf-sh/kerf/internal/apply"
	"github.com/kerf-sh/kerf/internal/awssim/control"
	controlclient "github.com/kerf-sh/kerf/internal/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/ec2facts"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/record"
)

//go:embed pool.yaml
var pool string

//go:embed workloads.yaml
var workloads string

const namespace = "demo"

// serving is how many pods web and api have together.
const serving = 50

// Options of a run.
type Options struct {
	Out      io.Writer
	Terminal bool // Out is one: the progress line is rewritten in place
	Local    local.Options
	// Step is the longest that a step may take.
	Step time.Duration
}

type run struct {
	Options
	*view
	cluster *local.Cluster
	client  client.Client
	state   *state
	aws     *controlclient.Client
	facts   *ec2facts.Facts
	listed  map[string]ec2facts.Price // on-demand prices of the region
	told    map[string]string         // claim name to the last thing told of it
	// bought holds the decisions that bought machines, by ID.
	bought map[string]*record.Decision
}

// Run runs the demo.
//
// Errors: the step that did not happen in its time, with what was seen instead.
func Run(ctx context.Context, o Options) (err error) {
	r := &run{Options: o, view: newView(o.Out, o.Terminal), state: newState(), told: map[string]string{}, bought: map[string]*record.Decision{}}
	if r.facts, err = ec2facts.Load(); err != nil {
		return err
	}
	r.title("Kerf: the main job on this machine, with a real Kubernetes control plane and a simulated AWS")
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
	for _, chapter := range []func(context.Context) error{r.prepare, r.scaleUp, r.why, r.scaleDown, r.interrupt, r.cleanUp} {
		err := chapter(ctx)
		if err == nil {
			err = r.keepDecisions(ctx)
		}
		if err != nil {
			return fmt.Errorf("%w\nThe controller's log is %s", err, r.cluster.Controller.Log)
		}
	}
	return r.summary(ctx)
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
	for {
		r.narrate()
		c := r.state.count()
		r.bar(c.running, c.pods, fmt.Sprintf("pods running   %d/%d machines ready   $%.3f/h", c.ready, c.claims, r.price()))
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
		}
	}
}

// narrate tells what is new of the machines.
func (r *run) narrate() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	names := make([]string, 0, len(r.state.claims))
	for name := range r.state.claims {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		claim := r.state.claims[name]
		stage, text := r.stage(claim)
		if stage != "" && r.told[name] != stage {
			r.told[name] = stage
			r.line("%s", text)
		}
	}
	for name, stage := range r.told {
		if r.state.claims[name] == nil && stage != "gone" {
			r.told[name] = "gone"
			r.line("machine %s is gone", name)
		}
	}
}

// stage is where a claim stands, and how to tell it.
func (r *run) stage(claim *karpv1.NodeClaim) (stage, text string) {
	conditions := claim.StatusConditions()
	switch {
	case !claim.DeletionTimestamp.IsZero():
		return "going", fmt.Sprintf("machine %s goes: no new pods, the rest is moved", claim.Name)
	case conditions.IsTrue(karpv1.ConditionTypeInitialized):
		return "ready", fmt.Sprintf("machine %s is ready as node %s, %.1f s after it was asked for", claim.Name, claim.Status.NodeName, time.Since(claim.CreationTimestamp.Time).Seconds())
	case claim.Status.ProviderID != "":
		return "launched", fmt.Sprintf("machine %s is bought: %s in %s, %s, $%.4f/h; why: %s", claim.Name, claim.Labels[corev1.LabelInstanceTypeStable],
			claim.Labels[corev1.LabelTopologyZone], claim.Labels[karpv1.CapacityTypeLabelKey], r.priceOf(claim), cmp.Or(claim.Annotations[apply.WhyAnnotation], "not told"))
	}
	return "", ""
}

// priceOf is a machine's price per hour in dollars, from the same dated facts that the simulated AWS sells by.
func (r *run) priceOf(claim *karpv1.NodeClaim) float64 {
	name, zone := claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone]
	if claim.Labels[karpv1.CapacityTypeLabelKey] == karpv1.CapacityTypeSpot {
		p, _ := r.facts.Spot(r.cluster.Region, zone, name)
		return float64(p.MicroUSD) / 1e6
	}
	return float64(r.listed[name].MicroUSD) / 1e6
}

func (r *run) price() float64 {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	sum := 0.0
	for _, claim := range r.state.claims {
		if claim.Status.ProviderID != "" {
			sum += r.priceOf(claim)
		}
	}
	return sum
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
	r.title("1. Work arrives: three Deployments, sixty pods, no machine")
	if err := r.cluster.Apply(ctx, []byte(workloads)); err != nil {
		return err
	}
	began := time.Now()
	if err := r.await(ctx, "all 60 pods run", func(c counts) bool { return c.pods >= 60 && c.running == c.pods }); err != nil {
		return err
	}
	c := r.state.count()
	r.line("all %d pods run on %d machines at $%.3f/h, %.1f s after they were asked for", c.running, c.claims, r.price(), time.Since(began).Seconds())
	return nil
}

// scale sets the replicas of Deployments.
func (r *run) scale(ctx context.Context, replicas map[string]int32) error {
	for _, name := range []string{"web", "api", "batch"} {
		n, ok := replicas[name]
		if !ok {
			continue
		}
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		if err := r.client.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: n}})); err != nil {
			return fmt.Errorf("scaling deployment %s: %w", name, err)
		}
	}
	return nil
}

func (r *run) scaleDown(ctx context.Context) error {
	r.title("3. Work goes: the batch ends; machines that hold nothing are given back")
	before, paid := r.state.count().claims, r.price()
	if err := r.scale(ctx, map[string]int32{"batch": 0}); err != nil {
		return err
	}
	if err := r.await(ctx, "machines without pods go", func(c counts) bool {
		return c.pods == serving && c.running == serving && c.terminating == 0 && r.empty() == 0 && r.going() == 0
	}); err != nil {
		return err
	}
	r.line("%d of %d machines are gone; the bill fell from $%.3f/h to $%.3f/h", before-r.state.count().claims, before, paid, r.price())
	return nil
}

// empty counts machines that hold none of the demo's pods.
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

func (r *run) interrupt(ctx context.Context) error {
	victim, pods := r.spotMachine()
	if victim == nil {
		return errors.New("no spot machine holds pods, so none can be interrupted")
	}
	r.title("4. AWS takes spot machine %s back in two minutes; %d pods run on it", victim.Name, pods)
	id := victim.Status.ProviderID[strings.LastIndexByte(victim.Status.ProviderID, '/')+1:]
	notified := time.Now()
	if err := r.aws.Interrupt(ctx, id, 2*time.Minute); err != nil {
		return fmt.Errorf("interrupting %s: %w", id, err)
	}
	r.line("the notice is on the queue")
	before := r.names()
	if err := r.await(ctx, "pods of the interrupted machine run elsewhere", func(c counts) bool {
		return c.pods == serving && c.running == serving && c.terminating == 0 && r.podsOn(victim.Status.NodeName) == 0
	}); err != nil {
		return err
	}
	moved := time.Since(notified)
	if moved >= 2*time.Minute {
		return fmt.Errorf("the pods of %s moved only %.0f s after the notice, when the machine was already gone", victim.Name, moved.Seconds())
	}
	replacements := 0
	for name := range r.names() {
		if !before[name] {
			replacements++
		}
	}
	if asked, ok := r.askedOfEC2(ctx, notified); ok {
		r.line("a replacement was asked of EC2 %.2f s after the notice", asked.Seconds())
	}
	r.line("its pods run elsewhere (%d machines were bought for them) %.1f s after the notice, %.0f s before AWS would have taken the machine",
		replacements, moved.Seconds(), (2*time.Minute - moved).Seconds())
	return r.await(ctx, "the interrupted machine is given back", func(counts) bool { return r.going() == 0 })
}

// askedOfEC2 is how long after a moment the first machine was asked for.
func (r *run) askedOfEC2(ctx context.Context, since time.Time) (time.Duration, bool) {
	calls, err := r.aws.Calls(ctx, "CreateFleet")
	if err != nil {
		return 0, false
	}
	for _, c := range calls {
		if c.At.After(since) && !c.DryRun {
			return c.At.Sub(since), true
		}
	}
	return 0, false
}

// spotMachine picks the spot machine with the most pods.
func (r *run) spotMachine() (*karpv1.NodeClaim, int) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	on := map[string]int{}
	for _, life := range r.state.pods {
		if life.pod != nil {
			on[life.pod.Spec.NodeName]++
		}
	}
	var best *karpv1.NodeClaim
	for _, claim := range r.state.claims {
		if claim.Labels[karpv1.CapacityTypeLabelKey] != karpv1.CapacityTypeSpot || on[claim.Status.NodeName] == 0 {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(on[claim.Status.NodeName], on[best.Status.NodeName]), cmp.Compare(best.Name, claim.Name)) > 0 {
			best = claim
		}
	}
	if best == nil {
		return nil, 0
	}
	return best, on[best.Status.NodeName]
}

func (r *run) names() map[string]bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	out := map[string]bool{}
	for name := range r.state.claims {
		out[name] = true
	}
	return out
}

func (r *run) podsOn(node string) int {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	n := 0
	for _, life := range r.state.pods {
		if life.pod != nil && life.pod.Spec.NodeName == node {
			n++
		}
	}
	return n
}

func (r *run) cleanUp(ctx context.Context) error {
	r.title("5. Everything ends")
	if err := r.scale(ctx, map[string]int32{"web": 0, "api": 0}); err != nil {
		return err
	}
	return r.await(ctx, "all machines are given back", func(c counts) bool {
		r.state.mu.Lock()
		defer r.state.mu.Unlock()
		return len(r.state.claims) == 0 && len(r.state.nodes) == 0
	})
}

func (r *run) summary(ctx context.Context) error {
	instances, err := r.aws.Instances(ctx)
	if err != nil {
		return fmt.Errorf("asking the simulated AWS for its machines: %w", err)
	}
	leaked := slices.DeleteFunc(slices.Clone(instances), func(i control.Instance) bool { return i.State == "terminated" || i.State == "shutting-down" })
	l := r.state.latencies()
	r.state.mu.Lock()
	launched, gone := len(r.state.launched), len(r.state.gone)
	r.state.mu.Unlock()
	r.title("Summary")
	fmt.Fprintf(r.Out, "  pods that ran            %d\n", len(l))
	fmt.Fprintf(r.Out, "  pending to running       p50 %.1f s   p99 %.1f s\n", quantile(l, .5).Seconds(), quantile(l, .99).Seconds())
	fmt.Fprintf(r.Out, "  machines                 %d launched, %d terminated, %d leaked\n", launched, gone, len(leaked))
	denied := r.denied()
	fmt.Fprintf(r.Out, "  calls refused by IAM     %d\n", len(denied))
	for _, d := range denied {
		fmt.Fprintf(r.Out, "    %s\n", d)
	}
	if err := r.judge(); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "  took                     %.0f s\n", time.Since(r.start).Seconds())
	if len(denied) > 0 && r.Local.Stack == "" {
		return fmt.Errorf("the stack's policies refused %s", denied[0])
	}
	if len(leaked) > 0 {
		return fmt.Errorf("%d machines are still in the simulated AWS, the first is %s (%s)", len(leaked), leaked[0].ID, leaked[0].State)
	}
	if launched != gone {
		return fmt.Errorf("%d machines were launched, but %d NodeClaims ended", launched, gone)
	}
	return nil
}

// denied lists, once each, what the policies of the deployed stack refused.
func (r *run) denied() []string {
	seen := map[string]int{}
	for _, d := range r.cluster.Simulator.Permissions.Denied().Denials {
		seen[d.Action+" on "+d.Resource]++
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, fmt.Sprintf("%s (%d times)", what, seen[what]))
	}
	return out
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
