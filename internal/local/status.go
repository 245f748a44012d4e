package local

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Status is the state of a running cluster with what a look at it shows.
type Status struct {
	State

	Nodes       int    `json:"nodes"`
	NodesReady  int    `json:"nodesReady"`
	Pods        int    `json:"pods"` // that have not ended
	PodsRunning int    `json:"podsRunning"`
	Controller  string `json:"controller"` // ready, not ready, none; how many of several replicas, or of an installation's pods, are ready
}

// statusTimeout bounds each of the looks that ReadStatus takes.
const statusTimeout = 10 * time.Second

// ReadStatus returns the status of the cluster that runs in the folder.
//
// Errors: ErrNotRunning; otherwise that the cluster does not answer.
func ReadStatus(ctx context.Context, dir string) (Status, error) {
	state, err := ReadState(dir)
	if err != nil {
		return Status{}, err
	}
	s := Status{State: state, Controller: controllerStatus(state)}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	cfg, err := clientcmd.BuildConfigFromFlags("", state.Kubeconfig)
	if err != nil {
		return Status{}, fmt.Errorf("read %s: %w", state.Kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return Status{}, fmt.Errorf("read %s: %w", state.Kubeconfig, err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return Status{}, fmt.Errorf("list the nodes of the local cluster: %w", err)
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return Status{}, fmt.Errorf("list the pods of the local cluster: %w", err)
	}
	s.count(nodes.Items, pods.Items)
	if state.NodeGroup != "" {
		s.Controller = installedStatus(state.NodeGroup, nodes.Items, pods.Items)
	}
	return s, nil
}

func controllerStatus(s State) string {
	if s.HealthURL == "" {
		return "none"
	}
	client, ready := &http.Client{Timeout: statusTimeout}, 0
	all := append([]string{s.HealthURL}, s.Replicas...)
	for _, url := range all {
		if probe(client, url+"/readyz") == nil {
			ready++
		}
	}
	switch {
	case len(all) > 1:
		return fmt.Sprintf("%d of %d replicas ready", ready, len(all))
	case ready == 0:
		return "not ready"
	}
	return "ready"
}

// installedStatus tells what runs of an installation on the nodes of a node group.
func installedStatus(group string, nodes []corev1.Node, pods []corev1.Pod) string {
	of := map[string]bool{}
	for _, n := range nodes {
		of[n.Name] = n.Labels[nodeGroupLabel] == group
	}
	var names []string
	ready, all := 0, 0
	for _, p := range pods {
		if !of[p.Spec.NodeName] {
			continue
		}
		all++
		if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			ready++
		}
		names = append(names, p.Namespace+"/"+p.Name)
	}
	if all == 0 {
		return "none; \"helm install\" or \"kubectl apply\" of Kerf starts it on the nodes of " + group
	}
	slices.Sort(names)
	return fmt.Sprintf("%d of %d pods ready on the nodes of %s: %s", ready, all, group, strings.Join(names, ", "))
}

func probe(client *http.Client, url string) error {
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}

func (s *Status) count(nodes []corev1.Node, pods []corev1.Pod) {
	s.Nodes = len(nodes)
	for _, n := range nodes {
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				s.NodesReady++
			}
		}
	}
	for _, p := range pods {
		switch p.Status.Phase {
		case corev1.PodRunning:
			s.Pods++
			s.PodsRunning++
		case corev1.PodPending:
			s.Pods++
		}
	}
}

// Write writes the status as lines of text.
func (s Status) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"cluster", fmt.Sprintf("%s, Kubernetes %s, running since %s, process %d", s.Cluster, s.Version, s.Started.Local().Format(time.DateTime), s.PID)},
		{"kubeconfig", s.Kubeconfig},
		{"API server", s.Server},
		{"AWS", fmt.Sprintf("%s, region %s, interruption queue %s", s.AWS, s.Region, s.Queue)},
		{"controller", s.Controller},
		{"metrics", s.MetricsURL},
		{"nodes", fmt.Sprintf("%d, %d of them ready", s.Nodes, s.NodesReady)},
		{"pods", fmt.Sprintf("%d, %d of them running", s.Pods, s.PodsRunning)},
		{"logs", strings.Join(s.Logs, ", ")},
	} {
		if row[1] != "" {
			fmt.Fprintf(t, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}
