package local

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
)

// loopback is the address of pods that are processes of this instance.
const loopback = "127.0.0.1"

// nameLetters are those of the random ends of pods' names.
const nameLetters = "bcdfghjklmnpqrstvwxz2456789"

// Pod is what a kubelet would know of a new pod of a Deployment.
func (c *Cluster) Pod(ctx context.Context, d *appsv1.Deployment) (*kubelet.Pod, error) {
	client, err := c.kubernetes()
	if err != nil {
		return nil, err
	}
	name := d.Name + "-"
	for range 5 {
		name += string(nameLetters[rand.IntN(len(nameLetters))]) //nolint:gosec // a name, no secret
	}
	pod := kubelet.PodOf(d, name)
	if pod.Node, err = os.Hostname(); err != nil {
		return nil, err
	}
	return pod, c.complete(ctx, client, pod)
}

// complete adds what a pod finds around it: its address, its node's resources, the services and data of its namespace.
func (c *Cluster) complete(ctx context.Context, client kubernetes.Interface, pod *kubelet.Pod) (err error) {
	pod.Address = loopback
	pod.Allocatable = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI)}
	if pod.Services, err = c.services(ctx, client, pod.Namespace); err != nil {
		return err
	}
	pod.Data = func(kind, name string) (map[string]string, error) {
		return data(ctx, client, pod.Namespace, kind, name)
	}
	return nil
}

// services are those whose addresses a container finds in its environment. That of the Kubernetes API is where it answers:
// nothing routes cluster IPs here.
func (c *Cluster) services(ctx context.Context, client kubernetes.Interface, namespace string) ([]corev1.Service, error) {
	list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the services of namespace %s: %w", namespace, err)
	}
	server, err := url.Parse(c.Kube.Server)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(server.Port(), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read the port of %s: %w", c.Kube.Server, err)
	}
	api := corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: server.Hostname(), Ports: []corev1.ServicePort{{Name: "https", Port: int32(port)}}}}
	api.Name = "kubernetes"
	return append([]corev1.Service{api}, list.Items...), nil
}

// data reads a ConfigMap or a Secret.
func data(ctx context.Context, client kubernetes.Interface, namespace, kind, name string) (map[string]string, error) {
	if kind == "ConfigMap" {
		m, err := client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return m.Data, nil
	}
	s, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range s.Data {
		out[key] = string(value)
	}
	return out, nil
}

// Mount makes the volume with the token of a pod's service account. Its caller closes it.
func (c *Cluster) Mount(ctx context.Context, pod *kubelet.Pod) (*kubelet.Volume, error) {
	return c.MountAt(ctx, pod, filepath.Join(c.StateDir, "pods", pod.Name, "serviceaccount"))
}

// MountAt is Mount with a folder of the caller's.
func (c *Cluster) MountAt(ctx context.Context, pod *kubelet.Pod, dir string) (*kubelet.Volume, error) {
	return c.mount(ctx, dir, kubelet.Account{Namespace: pod.Namespace, Name: pod.ServiceAccount, Bound: pod.Name + "-token"})
}

func (c *Cluster) mount(ctx context.Context, dir string, account kubelet.Account) (*kubelet.Volume, error) {
	client, err := c.kubernetes()
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(c.Kube.CA)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the API server: %w", err)
	}
	return kubelet.Mount(ctx, client, dir, account, ca, c.options.Report)
}

// AsController returns a kubeconfig of the controller's service account, for what does as the controller may do. Its token is
// kept fresh until the cluster is closed.
func (c *Cluster) AsController(ctx context.Context) (kubeconfig string, err error) {
	d, err := c.Deployment(0, 0)
	if err != nil {
		return "", err
	}
	pod, err := c.Pod(ctx, d)
	if err != nil {
		return "", err
	}
	volume, err := c.Mount(ctx, pod)
	if err != nil {
		return "", err
	}
	c.volumes = append(c.volumes, volume)
	return volume.Kubeconfig(c.Kube.Server)
}

// kubernetes makes a client of the cluster's administrator.
func (c *Cluster) kubernetes() (kubernetes.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
