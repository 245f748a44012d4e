package simcluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// large is a cluster of a given size that is full, so that nothing is to be done: nodes that a controller has launched, and
// pods on them that look like those of real clusters, of Deployments and of two DaemonSets.
type large struct {
	h                  *simcluster.Cluster
	nodes, pods, pools int
	perPool            int // Deployments
	names              []string
	pool               map[string]string // of a node
	heartbeat          map[string][]corev1.NodeCondition
	placed             []placed
	templates          map[string]map[string]any // spec and status of a pod, by its owner
	uids               map[string]string
	made               int
}

// placed is a pod on its node.
type placed struct {
	name, node, owner string
}

// What a node's pods request in sum, without daemons: nothing smaller than a 4xlarge has that, and nothing larger is sold.
const fullCPU, fullMemory = 15_600, 24 << 10 // millicores, MiB

func sold(o *world.Options) {
	many(o)
	o.SpotDepth, o.OnDemandDepth = 100_000, 100_000
}

func newLarge(h *simcluster.Cluster, nodes, pods, pools int) *large {
	return &large{h: h, nodes: nodes, pods: pods, pools: pools, perPool: 50, pool: map[string]string{}, heartbeat: map[string][]corev1.NodeCondition{},
		templates: map[string]map[string]any{}, uids: map[string]string{}}
}

func poolName(i int) string { return fmt.Sprintf("pool-%02d", i) }

// launch has a controller launch the nodes for one pod each, which then goes.
func (l *large) launch() {
	h := l.h
	parts := strings.SplitN(simcluster.Defaults, "---", 2)
	h.Apply(parts[1])
	for i := range l.pools {
		capacity := "[spot]"
		if i%2 == 0 {
			capacity = "[on-demand]"
		}
		h.Apply(strings.NewReplacer("name: default\nspec:\n  template", "name: "+poolName(i)+"\nspec:\n  template", "[spot, on-demand]", capacity).Replace(parts[0]))
	}
	h.Pass(time.Minute)
	h.Actors.Stop() // its scheduler would take hours
	h.StartController()
	anchors := map[string][]placed{} // pods that wait, by pool
	for i := range l.pools {
		name := fmt.Sprintf("anchor-%d", i)
		l.load(l.owner("ReplicaSet", name, name, poolName(i), fullCPU, fullMemory))
		for k := range share(l.nodes, l.pools, i) {
			p := placed{fmt.Sprintf("%s-%d", name, k), "", name}
			pod := l.pod(p, false)
			pod["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": now()}}
			l.load(pod)
			anchors[poolName(i)] = append(anchors[poolName(i)], p)
		}
	}
	ctx, pods := context.Background(), h.Kubernetes.CoreV1().Pods("default")
	taken := map[string]bool{}
	h.Eventually(20*time.Minute, "all nodes have their pod", func() (bool, string) {
		left := 0
		for _, n := range h.Nodes() {
			pool := n.Labels[karpv1.NodePoolLabelKey]
			if kept := slices.DeleteFunc(slices.Clone(n.Spec.Taints), isNotReady); len(kept) < len(n.Spec.Taints) && isReady(&n) {
				n.Spec.Taints = kept
				_, err := h.Kubernetes.CoreV1().Nodes().Update(ctx, &n, metav1.UpdateOptions{})
				l.must(ignoreConflict(err))
			}
			if n.Labels[karpv1.NodeInitializedLabelKey] != "true" || taken[n.Name] || len(anchors[pool]) == 0 {
				continue
			}
			taken[n.Name] = true
			l.must(pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: anchors[pool][0].name, Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: n.Name}}, metav1.CreateOptions{}))
			anchors[pool] = anchors[pool][1:]
		}
		for _, of := range anchors {
			left += len(of)
		}
		return left == 0, fmt.Sprint(left, " wait")
	})
	h.StopController()
	for _, o := range []client.Object{&appsv1.ReplicaSet{}, &corev1.Pod{}} {
		l.must(h.Client.DeleteAllOf(ctx, o, client.InNamespace("default"), client.GracePeriodSeconds(0)))
	}
	for _, n := range h.Nodes() {
		l.names = append(l.names, n.Name)
		l.pool[n.Name] = n.Labels[karpv1.NodePoolLabelKey]
		l.heartbeat[n.Name] = n.Status.Conditions
	}
}

// ignoreConflict is nil where somebody was faster: the next look finds it again.
func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func isNotReady(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// share is how many of n things the i-th of so many gets.
func share(n, of, i int) int { return n*(i+1)/of - n*i/of }

var daemons = []string{"net", "proxy"}

// fill puts the pods on the nodes.
func (l *large) fill() {
	for _, d := range daemons {
		l.load(l.owner("DaemonSet", d, d, "", 50, 64))
	}
	turn := map[string]int{}
	for i, node := range l.names {
		for _, d := range daemons {
			l.place(d, node)
		}
		n := max(share(l.pods, len(l.names), i)-len(daemons), 2) / 2 * 2
		step := fullCPU / n / 8 // pods come in pairs, one as much smaller as the other is larger than the mean
		for k := range n {
			size := fullCPU/n + (1-2*(k%2))*step*(k/2%8)
			pool := l.pool[node]
			t := turn[pool] % l.perPool
			turn[pool]++
			name := fmt.Sprintf("%s-app-%02d-%d", pool, t, size)
			if l.templates[name] == nil {
				l.load(l.owner("Deployment", name, name, pool, size, fullMemory/n))
				l.load(l.owner("ReplicaSet", name, name, pool, size, fullMemory/n))
				if t%5 == 0 {
					l.load(map[string]any{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": name, "namespace": "default"},
						"spec":   map[string]any{"maxUnavailable": "20%", "selector": map[string]any{"matchLabels": map[string]any{"app": name}}},
						"status": map[string]any{"disruptionsAllowed": int64(1), "currentHealthy": int64(5), "desiredHealthy": int64(4), "expectedPods": int64(5)}})
				}
			}
			l.place(name, node)
		}
	}
}

func (l *large) load(o map[string]any) {
	if err := l.h.API.Load(o); err != nil {
		l.h.T.Fatal(err)
	}
	if kind := o["kind"]; kind == "ReplicaSet" || kind == "DaemonSet" {
		meta := o["metadata"].(map[string]any)
		l.uids[meta["name"].(string)] = meta["uid"].(string)
	}
}

// owner is a workload, and notes what its pods are like.
func (l *large) owner(kind, name, app, pool string, cpu, memory int) map[string]any {
	var env, managed []string
	for i := range 12 {
		env = append(env, fmt.Sprintf(`{"name": "SETTING_%d", "value": "what the application reads from its environment %d"}`, i, i))
	}
	for i := range 2 {
		managed = append(managed, fmt.Sprintf(`{"manager": "writer-%d", "operation": "Update", "apiVersion": "v1", "time": "2000-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"main\"}": {"f:env": {}, "f:image": {}, "f:resources": {}}}}}}`, i))
	}
	selector := `{}`
	if pool != "" {
		selector = fmt.Sprintf(`{"karpenter.sh/nodepool": %q}`, pool)
	}
	var t map[string]any
	l.must(json.Unmarshal(fmt.Appendf(nil, `{
		"managed": [%s],
		"spec": {
			"nodeSelector": %s, "restartPolicy": "Always", "schedulerName": "default-scheduler", "dnsPolicy": "ClusterFirst", "serviceAccountName": "default", "terminationGracePeriodSeconds": 30, "priority": 0,
			"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
			"volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}, {"configMap": {"name": "kube-root-ca.crt"}}]}}, {"name": "config", "configMap": {"name": %q}}],
			"containers": [{
				"name": "main", "image": "registry.example.com/team/application:v1.2.3", "ports": [{"containerPort": 8080}], "env": [%s],
				"resources": {"requests": {"cpu": "%dm", "memory": "%dMi"}, "limits": {"memory": "%dMi"}},
				"readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10}, "livenessProbe": {"httpGet": {"path": "/live", "port": 8080}, "periodSeconds": 10},
				"volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}, {"name": "config", "mountPath": "/config"}]
			}]
		},
		"statuses": [{"name": "main", "ready": true, "started": true, "restartCount": 0, "image": "registry.example.com/team/application:v1.2.3", "imageID": "registry.example.com/team/application@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "containerID": "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "state": {"running": {"startedAt": "2000-01-01T00:00:00Z"}}}]
	}`, strings.Join(managed, ","), selector, app, strings.Join(env, ","), cpu, memory, memory), &t))
	l.templates[name] = t
	labels := map[string]any{"app": app, "app.kubernetes.io/part-of": "everything"}
	meta := map[string]any{"name": name, "namespace": "default", "labels": labels, "generation": int64(1)}
	if kind == "ReplicaSet" {
		meta["ownerReferences"] = []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "deployment-of-" + name, "controller": true}}
	}
	return map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": app}},
		"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": t["spec"]},
	}}
}

func (l *large) must(err error) {
	if err != nil {
		l.h.T.Helper()
		l.h.T.Fatal(err)
	}
}

// place puts one more pod of an owner on a node, where it runs.
func (l *large) place(owner, node string) {
	l.made++
	p := placed{fmt.Sprintf("%s-%06d", owner, l.made), node, owner}
	l.load(l.pod(p, true))
	l.placed = append(l.placed, p)
}

func (l *large) pod(p placed, runs bool) map[string]any {
	t, kind := l.templates[p.owner], "ReplicaSet"
	if p.owner == daemons[0] || p.owner == daemons[1] {
		kind = "DaemonSet"
	}
	spec := maps.Clone(t["spec"].(map[string]any))
	status := map[string]any{"phase": "Pending", "qosClass": "Burstable"}
	if runs {
		spec["nodeName"] = p.node
		status = running(t["statuses"])
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod", "spec": spec, "status": status,
		"metadata": map[string]any{
			"name": p.name, "namespace": "default", "labels": map[string]any{"app": p.owner, "app.kubernetes.io/part-of": "everything", "pod-template-hash": "5d4f8b7c9"},
			"annotations": map[string]any{"checksum/config": "0123456789abcdef0123456789abcdef"}, "managedFields": t["managed"],
			"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": p.owner, "uid": l.uids[p.owner], "controller": true, "blockOwnerDeletion": true}},
		},
	}
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

func running(statuses any) map[string]any {
	now := now()
	var conditions []any
	for _, c := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, map[string]any{"type": c, "status": "True", "lastTransitionTime": now})
	}
	return map[string]any{"phase": "Running", "qosClass": "Burstable", "startTime": now, "hostIP": "10.0.0.1", "podIP": "10.1.0.1", "podIPs": []any{map[string]any{"ip": "10.1.0.1"}},
		"conditions": conditions, "containerStatuses": statuses}
}

// beat is what kubelets write in a second: each writes its node's status every five minutes, if nothing else.
func (l *large) beat(second int) {
	for i := second % 300; i < len(l.names); i += 300 {
		name := l.names[i]
		now := metav1.Now()
		for k := range l.heartbeat[name] {
			l.heartbeat[name][k].LastHeartbeatTime = now
		}
		b, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": l.heartbeat[name]}})
		l.must(err)
		_, err = l.h.Kubernetes.CoreV1().Nodes().Patch(context.Background(), name, types.MergePatchType, b, metav1.PatchOptions{}, "status")
		l.must(err)
	}
}

// replace lets n pods go, and others come in their places: each is created, bound, and runs.
func (l *large) replace(n, at int) {
	ctx, pods := context.Background(), l.h.Kubernetes.CoreV1().Pods("default")
	var next []placed
	for i := range n {
		k := (at + i) * 7919 % len(l.placed)
		old := &l.placed[k]
		if l.templates[old.owner] == nil || old.owner == daemons[0] || old.owner == daemons[1] {
			continue
		}
		l.must(pods.Delete(ctx, old.name, metav1.DeleteOptions{}))
		l.made++
		gone := *old
		*old = placed{fmt.Sprintf("%s-%06d", old.owner, l.made), old.node, old.owner}
		next = append(next, gone, *old)
	}
	l.h.Pass(300 * time.Millisecond)
	for i := 0; i < len(next); i += 2 {
		l.must(pods.Delete(ctx, next[i].name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
		l.load(l.pod(next[i+1], false))
	}
	l.h.Pass(300 * time.Millisecond)
	for i := 1; i < len(next); i += 2 {
		l.must(pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: next[i].name, Namespace: "default"}, Target: corev1.ObjectReference{Kind: "Node", Name: next[i].node}}, metav1.CreateOptions{}))
	}
	l.h.Pass(300 * time.Millisecond)
	for i := 1; i < len(next); i += 2 {
		b, err := json.Marshal(map[string]any{"status": running(l.templates[next[i].owner]["statuses"])})
		l.must(err)
		_, err = pods.Patch(ctx, next[i].name, types.MergePatchType, b, metav1.PatchOptions{}, "status")
		l.must(err)
	}
}
