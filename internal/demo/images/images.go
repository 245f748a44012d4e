// Package images boots one instance of every kind that an EC2NodeClass can ask for, on this instance: of each AMI family,
// from a launch template of the user's own, with GPUs, with EFA, in reserved capacity and in a capacity block. Each must
// become a node that is what the planning took it for.
package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Options of a run.
type Options struct {
	Out   io.Writer
	Local local.Options
	// Wait is the longest that all instances together may take to be ready.
	Wait time.Duration
}

type run struct {
	Options
	began   time.Time
	cluster *local.Cluster
	world   *world.World
	client  client.Client
}

// Run boots the instances and prints a table of them.
//
// Errors: what did not start; after the table, the kinds that did not come as they should.
func Run(ctx context.Context, o Options) (err error) {
	ctrllog.SetLogger(logr.Discard()) // the controller's log is in its file
	r := &run{Options: o, began: time.Now()}
	o.Local.Report = func(s string) { r.line("%s", s) }
	if err := r.up(ctx, o.Local); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	list := kinds()
	for i := range list {
		if err := r.begin(ctx, &list[i]); err != nil {
			return fmt.Errorf("%s: %w", list[i].title, err)
		}
	}
	r.line("asked for %d instances", len(list))
	booted, err := r.await(ctx, list)
	if err != nil {
		return err
	}
	table(o.Out, booted)
	if failed := failures(booted); len(failed) > 0 {
		return fmt.Errorf("%d of %d instances are not as they should be: %s\nThe controller's log is %s", len(failed), len(list), strings.Join(failed, ", "), r.cluster.Controller.Log)
	}
	fmt.Fprintf(o.Out, "\nall %d instances joined, with the labels and taints of their pools and the room that was planned with\n", len(list))
	return nil
}

// up starts the cluster, with a bootstrap stack that has what these instances need.
func (r *run) up(ctx context.Context, o local.Options) error {
	if err := os.MkdirAll(o.StateDir, 0o755); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	text, err := bootstrapStack(o.ClusterName)
	if err != nil {
		return err
	}
	o.Stack = filepath.Join(o.StateDir, "stack.yaml")
	if err := os.WriteFile(o.Stack, text, 0o644); err != nil {
		return fmt.Errorf("write the bootstrap stack: %w", err)
	}
	if r.cluster, err = local.Up(ctx, o); err != nil {
		return err
	}
	r.world = r.cluster.Simulator.World
	if r.client, err = r.cluster.Client(); err != nil {
		return errors.Join(err, r.cluster.Close())
	}
	return nil
}

// begin asks for one instance of a kind.
func (r *run) begin(ctx context.Context, k *kind) error {
	class := k.class
	if k.prepare != nil {
		values, err := k.prepare(ctx, r)
		if err != nil {
			return err
		}
		class = strings.NewReplacer(values...).Replace(class)
	}
	text := k.manifests(class)
	return r.cluster.Apply(ctx, []byte(strings.ReplaceAll(text, "${CLUSTER_NAME}", r.cluster.Name)))
}

// await waits until all instances are ready, or there is no more time.
func (r *run) await(ctx context.Context, list []kind) ([]booted, error) {
	out := make([]booted, len(list))
	for i := range list {
		out[i].kind = &list[i]
	}
	timeout := time.NewTimer(r.Wait)
	defer timeout.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		left := 0
		for i := range out {
			b := &out[i]
			if b.node != nil {
				continue
			}
			if err := r.look(ctx, b); err != nil {
				return nil, err
			}
			if b.node == nil {
				left++
				continue
			}
			r.line("%s: node %s is ready after %.1f s", b.kind.title, b.node.Name, b.after.Seconds())
		}
		if left == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-r.cluster.Ended():
			return nil, fmt.Errorf("the local cluster ended: %w", err)
		case <-tick.C:
			continue
		case <-timeout.C:
		}
		break
	}
	for i := range out {
		if out[i].node == nil {
			out[i].amiss = []string{r.why(ctx, out[i].kind.name)}
			continue
		}
		r.inspect(&out[i])
	}
	return out, nil
}

// look finds the instance of a kind, and its node once all of it is ready.
func (r *run) look(ctx context.Context, b *booted) error {
	var claims karpv1.NodeClaimList
	if err := r.client.List(ctx, &claims, client.MatchingLabels{karpv1.NodePoolLabelKey: b.kind.name}); err != nil {
		return fmt.Errorf("listing nodeclaims: %w", err)
	}
	if len(claims.Items) == 0 {
		return nil
	}
	claim := &claims.Items[0]
	b.claim = claim
	if !claim.StatusConditions().IsTrue(karpv1.ConditionTypeInitialized) {
		return nil
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": b.kind.name}); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	if len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning || pods.Items[0].Spec.NodeName != claim.Status.NodeName {
		return nil
	}
	node := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: claim.Status.NodeName}, node); err != nil {
		return client.IgnoreNotFound(err)
	}
	b.node, b.after = node, time.Since(claim.CreationTimestamp.Time)
	return nil
}

// why says what is known of a kind that has no node.
func (r *run) why(ctx context.Context, name string) string {
	class := &awsv1.EC2NodeClass{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, class); err != nil {
		return err.Error()
	}
	for _, c := range class.Status.Conditions {
		if c.Type != awsv1.ConditionTypeReady && !c.IsTrue() {
			return fmt.Sprintf("%s: %s: %s", c.Type, c.Reason, c.Message)
		}
	}
	var events corev1.EventList
	if err := r.client.List(ctx, &events); err != nil {
		return err.Error()
	}
	last := "no instance was ready in time, and no warning says why"
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning && e.Source.Component != "default-scheduler" && strings.HasPrefix(e.InvolvedObject.Name, name) {
			last = e.Reason + ": " + e.Message
		}
	}
	return last
}

// line tells something that happened.
func (r *run) line(format string, args ...any) {
	fmt.Fprintf(r.Out, "[%6.1f s] %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}
