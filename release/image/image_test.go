package image_test

import (
	"archive/tar"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/release/compile"
	"github.com/kerf-sh/kerf/release/image"
)

const root = "../.."

var stamp = compile.Stamp{Version: "v1.2.3", Commit: "0123456789ab", Date: "2026-01-02"}

// all compiles everything without the paths of this machine, which takes minutes.
var all = flag.Bool("all", false, "also build the image twice, from two folders, as make release-check does")

// released builds the image of the sources in a folder as a release does.
func released(t *testing.T, sources string) v1.ImageIndex {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "kerf")
	if err := compile.Program(t.Context(), sources, binary, "linux", runtime.GOARCH, stamp); err != nil {
		t.Fatal(err)
	}
	return index(t, binary)
}

// index makes the image of a program.
func index(t *testing.T, binary string) v1.ImageIndex {
	t.Helper()
	b := image.Build{Version: stamp.Version, Commit: stamp.Commit, Made: time.Unix(1767312000, 0), Binaries: map[string]string{runtime.GOARCH: binary}}
	i, err := b.Index([]string{runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

var built struct {
	sync.Once
	index v1.ImageIndex
}

// own is the image of this tree, built as make build does it.
func own(t *testing.T) v1.ImageIndex {
	t.Helper()
	built.Do(func() {
		binary := filepath.Join(t.TempDir(), "kerf")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/kerf")
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		built.index = index(t, binary)
	})
	if built.index == nil {
		t.Fatal("the image could not be built")
	}
	return built.index
}

// The same sources in another folder give the same image.
func TestTwoBuildsHaveOneDigest(t *testing.T) {
	if !*all {
		t.Skip("takes minutes; make release-check plays it")
	}
	elsewhere := t.TempDir()
	copied := exec.CommandContext(t.Context(), "bash", "-c", `cd `+root+` && git ls-files -z -- . ':!controlplane' ':!bench' | tar --null -cf - -T - | tar -xf - -C "$0"`, elsewhere)
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first, err := released(t, root).Digest()
	if err != nil {
		t.Fatal(err)
	}
	second, err := released(t, elsewhere).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("%s, and from another folder %s", first, second)
	}
}

// picked is the one image of the index.
func picked(t *testing.T) v1.Image {
	t.Helper()
	i := own(t)
	m, err := i.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%v %v", m, err)
	}
	if p := m.Manifests[0].Platform; p.OS != "linux" || p.Architecture != runtime.GOARCH {
		t.Errorf("it is for %v", p)
	}
	out, err := i.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unpack writes the image's root file system into a folder.
func unpack(t *testing.T, i v1.Image, folder string) {
	t.Helper()
	files := mutate.Extract(i)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, h.FileInfo().Mode().Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The image holds the program and nothing else: no shell, no package of a distribution.
func TestTheImageHoldsTheProgramAlone(t *testing.T) {
	config, err := picked(t).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != image.User || len(config.Config.Entrypoint) == 0 || config.Config.Entrypoint[0] != image.Binary {
		t.Errorf("%+v", config.Config)
	}
	folder := t.TempDir()
	unpack(t, picked(t), folder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "kerf tmp" {
		t.Errorf("it holds %s", got)
	}
}

// TestTheImageServesPods runs the entry point as a container would, in the image's root and as its user, with the environment of
// the Deployment that ships: a pod gets its node.
func TestTheImageServesPods(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may change the root of a process")
	}
	controlPlane, err := kube.FindBinary()
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := local.Up(t.Context(), local.Options{
		ClusterName: "demo", StateDir: t.TempDir(), ControlPlane: controlPlane, NoController: true, Examples: true, Report: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	run(t, cluster)
	c, err := cluster.Client()
	if err != nil {
		t.Fatal(err)
	}
	pod := `{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: main, image: none, resources: {requests: {cpu: "1", memory: 1Gi}}}]}}`
	if err := cluster.Apply(t.Context(), []byte(pod)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		p := &corev1.Pod{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, p); err == nil && p.Status.Phase == corev1.PodRunning {
			t.Logf("it runs on %s", p.Spec.NodeName)
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the pod did not get a node within two minutes")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// run starts the image's entry point in its own root, with nothing but what a pod has: the volume of its service account, the
// variables that lead to the API server, and no place to write to.
func run(t *testing.T, cluster *local.Cluster) {
	t.Helper()
	i := picked(t)
	config, err := i.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	unpack(t, i, folder)
	v, err := manifests.Defaults().With(map[string]any{
		"settings": map[string]any{"clusterName": "demo", "interruptionQueue": "demo"},
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := podOf(t, cluster, v)
	shipped, err := pod.Environment()
	if err != nil {
		t.Fatal(err)
	}
	// A pod has its ports to itself; here others may have them, and none asks.
	env := slices.Concat(config.Config.Env, shipped, []string{"METRICS_PORT=0", "HEALTH_PROBE_PORT=0"})
	for _, pair := range cluster.Simulator.EnvFor(cluster.ControllerKey()) {
		if name, path, _ := strings.Cut(pair, "="); name == "AWS_CA_BUNDLE" {
			bring(t, path, filepath.Join(folder, "aws-ca.pem"))
			pair = name + "=/aws-ca.pem"
		}
		env = append(env, pair)
	}
	mount(t, cluster, pod, folder)
	readOnly(t, folder)
	command := pod.Command(config.Config.Entrypoint, env)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Path, cmd.Env, cmd.Dir = command[0], env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: folder, Credential: &syscall.Credential{Uid: manifests.User, Gid: manifests.User}, Pdeathsig: syscall.SIGKILL}
	log, err := os.Create(filepath.Join(t.TempDir(), "controller.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // how it ended is known
		log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("what it said:\n%s", text)
		}
	})
}

// podOf is the pod of an installation's Deployment.
func podOf(t *testing.T, cluster *local.Cluster, v *manifests.Values) *kubelet.Pod {
	t.Helper()
	objects, err := manifests.Objects(manifests.Release{}, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			pod, err := cluster.Pod(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			return pod
		}
	}
	t.Fatal("the installation has no Deployment")
	return nil
}

// mount puts the volume of the service account where a pod has it.
func mount(t *testing.T, cluster *local.Cluster, pod *kubelet.Pod, folder string) {
	t.Helper()
	dir := filepath.Join(folder, "var/run/secrets/kubernetes.io/serviceaccount")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	volume, err := cluster.MountAt(t.Context(), pod, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(volume.Close)
	for _, name := range []string{kubelet.TokenFile, kubelet.CAFile, kubelet.NamespaceFile} {
		if err := os.Chown(filepath.Join(dir, name), manifests.User, manifests.User); err != nil {
			t.Fatal(err)
		}
	}
}

// readOnly lets the user of the image write nowhere, as readOnlyRootFilesystem does.
func readOnly(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o555)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// bring copies a file to where the user of the image may read it.
func bring(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
