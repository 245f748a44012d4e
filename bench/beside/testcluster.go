package beside

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/local/kube"
	controlclient "github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
)

// cluster is a local cluster with one of the controllers.
type testCluster struct {
	cluster *local.Cluster
	client  client.Client
	aws     *controlclient.Client
	audit   string
	// writer is how the controller is called in the audit log.
	writer string
	say    func(format string, args ...any)
}

// open starts a cluster. The caller closes it.
func open(ctx context.Context, c Controller, binary, folder string, say func(string, ...any)) (*testCluster, error) {
	h := &testCluster{audit: filepath.Join(folder, "audit.log"), writer: c.writer, say: say}
	cluster, reader, err := c.Up(ctx, binary, local.Options{ClusterName: "beside", StateDir: folder, BootTime: time.Second, Seed: 1, AuditLog: h.audit, NodeLeaseSeconds: 600})
	if err != nil {
		return nil, err
	}
	h.cluster, h.client, h.aws = cluster, reader, controlclient.New(cluster.AWS)
	return h, nil
}

// Up starts a local cluster with the controller, whose program is binary. Calls to AWS take as long as at AWS. The client is an
// administrator's and waits for nobody. The caller closes the cluster.
func (c Controller) Up(ctx context.Context, binary string, o local.Options) (*local.Cluster, client.Client, error) {
	o.Binary, o.AWSLatency, o.ControllerEnv, o.Report = binary, 1, slices.Clone(c.Env), func(string) {}
	if c.Admin {
		// Where the cluster will put it.
		o.ControllerEnv = append(o.ControllerEnv, "KUBECONFIG="+filepath.Join(o.StateDir, "kubernetes", string(kube.Admin)+".kubeconfig"))
	}
	cluster, err := local.Up(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	config, err := cluster.Config()
	if err != nil {
		return nil, nil, errors.Join(err, cluster.Close())
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, nil, errors.Join(err, cluster.Close())
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, errors.Join(err, cluster.Close())
	}
	return cluster, reader, nil
}

func (h *testCluster) close() error { return h.cluster.Close() }

func (h *testCluster) apply(ctx context.Context, manifests string) error {
	return h.cluster.Apply(ctx, []byte(strings.ReplaceAll(manifests, "${CLUSTER_NAME}", h.cluster.Name)))
}

// until waits for something; what was seen last is in the error.
func (h *testCluster) until(ctx context.Context, limit time.Duration, what string, check func() (bool, string)) error {
	end := time.Now().Add(limit)
	for {
		ok, seen := check()
		if ok {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: not within %s; seen: %s", what, limit, seen)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; seen: %s", what, ctx.Err(), seen)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// runs waits until so many pods run and no other is there.
func (h *testCluster) runs(ctx context.Context, limit time.Duration, n int) error {
	return h.until(ctx, limit, fmt.Sprintf("%d pods run", n), func() (bool, string) {
		running, all, err := h.pods(ctx)
		return err == nil && running == n && all == n, fmt.Sprintf("%d of %d pods run %v", running, all, err)
	})
}

func (h *testCluster) pods(ctx context.Context) (running, all int, err error) {
	var pods corev1.PodList
	if err := h.client.List(ctx, &pods, client.InNamespace("default")); err != nil {
		return 0, 0, err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			running++
		}
	}
	return running, len(pods.Items), nil
}

// bill counts the instances that cost money and what they cost per hour.
func (h *testCluster) bill(ctx context.Context) (instances int, microUSD int64, err error) {
	all, err := h.aws.Instances(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, i := range all {
		if i.State == "running" || i.State == "pending" {
			instances++
			microUSD += i.MicroUSD
		}
	}
	return instances, microUSD, nil
}

// writes counts what the controller wrote to the Kubernetes API, leases left out, from an offset of the audit log on.
func (h *testCluster) writes(from int64) (n int, to int64, err error) {
	f, err := os.Open(h.audit)
	if err != nil {
		return 0, 0, fmt.Errorf("reading the audit log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, 0, fmt.Errorf("reading the audit log: %w", err)
	}
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		from += int64(len(s.Bytes())) + 1
		var line struct {
			UserAgent string
			User      struct{ Username string }
			ObjectRef struct{ Resource string }
		}
		if json.Unmarshal(s.Bytes(), &line) == nil && line.ObjectRef.Resource != "leases" && strings.Contains(line.User.Username+" "+line.UserAgent, h.writer) {
			n++
		}
	}
	return n, from, s.Err()
}
