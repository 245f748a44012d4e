package truth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/bench/beside"
	"github.com/kerf-sh/kerf/internal/local"
	controlclient "github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/sim/simcluster/actors"
	"github.com/kerf-sh/kerf/internal/simulate"
	"github.com/kerf-sh/kerf/internal/simulate/drive"
	"github.com/kerf-sh/kerf/internal/simulate/workload"
)

// manager says that no controller of the cluster looks after a Job: the driver begins and ends its pods.
const manager = "simulate.kerf.sh/driver"

// run is a story that is being played in a local cluster.
type run struct {
	client client.Client
	aws    *controlclient.Client
	driver *drive.Driver
	played *Played
	zero   time.Time

	pods map[types.NamespacedName]*seen
	// known are instances; those that were there before the story began are not counted as launched.
	known map[string]bool
	waits []float64
}

type seen struct {
	created time.Time
	since   time.Time // when it was first seen running
	ended   bool
}

// Local plays a story in a local cluster, with one of the controllers, in real time.
//
// Errors: what does not start; a step that is refused.
func Local(ctx context.Context, s Story, c beside.Controller, binary string, seed uint64) (p *Played, err error) {
	folder, err := os.MkdirTemp("", "kerf-truth-")
	if err != nil {
		return nil, fmt.Errorf("playing %s with %s: %w", s.Name, c.Name, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("playing %s with %s: %w; logs in %s", s.Name, c.Name, err, folder)
			return
		}
		_ = os.RemoveAll(folder) // a folder of the system's for such files
	}()
	// Two seconds pass until an instance runs.
	cluster, reader, err := c.Up(ctx, binary, local.Options{ClusterName: "truth", StateDir: folder, Seed: seed, BootTime: boot - 2*time.Second})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	r := &run{client: reader, aws: controlclient.New(cluster.AWS), played: &Played{}, pods: map[types.NamespacedName]*seen{}, known: map[string]bool{}}
	if err := cluster.Apply(ctx, bytes.ReplaceAll(pool(), []byte("${CLUSTER_NAME}"), []byte(cluster.Name))); err != nil {
		return nil, err
	}
	return r.played, r.play(ctx, s)
}

func (r *run) play(ctx context.Context, s Story) error {
	w, err := s.workload()
	if err != nil {
		return err
	}
	for i := range w.Steps {
		namespace, _ := workload.Split(w.Steps[i].Workload)
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if err := r.client.Create(ctx, n); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	if err := wait(ctx, 30*time.Second); err != nil { // the class is resolved and the first prices are read
		return err
	}
	r.zero = time.Now().Add(Warmup)
	r.driver = drive.New(w, r.client, r.zero, Warmup, r.job)
	if err := r.driver.First(ctx); err != nil {
		return err
	}
	next := time.Duration(0)
	for {
		at := time.Since(r.zero)
		if at >= Horizon+time.Second {
			slices.Sort(r.waits)
			r.played.P50, r.played.P95 = simulate.Quantile(r.waits, .5), simulate.Quantile(r.waits, .95)
			return nil
		}
		if err := r.driver.Due(ctx, time.Now()); err != nil {
			return err
		}
		ended, gone, running, err := r.look(ctx)
		if err != nil {
			return err
		}
		if err := r.driver.Replace(ctx, ended, gone); err != nil {
			return err
		}
		if at >= next {
			if err := r.sample(ctx, at, running); err != nil {
				return err
			}
			next += every
		}
		if err := wait(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// job makes the Job that pods belong to: the garbage collector removes pods whose owner is not there.
func (r *run) job(ctx context.Context, namespace, name string) (types.UID, error) {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	j.Spec.ManagedBy = new(manager)
	j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1"}}}
	err := r.client.Create(ctx, j)
	if apierrors.IsAlreadyExists(err) {
		err = r.client.Get(ctx, client.ObjectKeyFromObject(j), j)
	}
	return j.UID, err
}

// look asks what pods there are, and ends those of jobs that have run for as long as they do.
func (r *run) look(ctx context.Context) (ended, gone []string, running int, err error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods); err != nil {
		return nil, nil, 0, err
	}
	now := time.Now()
	there := map[types.NamespacedName]bool{}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Labels[drive.WorkloadLabel] == "" {
			continue
		}
		name := client.ObjectKeyFromObject(p)
		there[name] = true
		s := r.pods[name]
		if s == nil {
			s = &seen{created: p.CreationTimestamp.Time}
			r.pods[name] = s
		}
		if s.ended || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			continue
		}
		running++
		if s.since.IsZero() {
			s.since = now
			if now.After(r.zero) {
				r.waits = append(r.waits, now.Sub(s.created).Seconds())
			}
		}
		runs, err := time.ParseDuration(p.Annotations[actors.RunsFor])
		if err != nil || now.Sub(s.since) < runs { // a pod without one does not end
			continue
		}
		s.ended = true
		p.Status.Phase = corev1.PodSucceeded
		if err := client.IgnoreNotFound(r.client.Status().Update(ctx, p)); err != nil && !apierrors.IsConflict(err) {
			return nil, nil, 0, err
		}
		ended = append(ended, name.String())
	}
	for name, s := range r.pods {
		if there[name] {
			continue
		}
		if !s.ended {
			gone = append(gone, name.String())
		}
		delete(r.pods, name)
	}
	return ended, gone, running, nil
}

// sample adds a point, and counts what was launched.
func (r *run) sample(ctx context.Context, at time.Duration, running int) error {
	all, err := r.aws.Instances(ctx)
	if err != nil {
		return err
	}
	p := Point{At: at.Truncate(time.Second), Running: running}
	for _, i := range all {
		if !r.known[i.ID] {
			r.known[i.ID] = true
			if i.Launched.After(r.zero) {
				r.played.Launches++
			}
		}
		switch i.State {
		case "running":
			p.Bill += float64(i.MicroUSD) / 1e6
			p.Nodes++
		case "pending":
			p.Nodes++
		}
	}
	r.played.Points = append(r.played.Points, p)
	return nil
}
