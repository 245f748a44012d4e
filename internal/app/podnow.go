package app

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/controller/daemon"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/record"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// podNow finds a pod, for whoever asks where it stands. Without a namespace any pod of the name does, one that waits first.
func (d *deps) podNow(ctx context.Context, namespace, name string) (now record.PodNow, known bool) {
	var pods corev1.PodList
	if err := d.GetClient().List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return record.PodNow{}, false
	}
	return podAmong(pods.Items, name, d.cache.Snapshot()), true
}

func podAmong(pods []corev1.Pod, name string, snapshot *cluster.Snapshot) record.PodNow {
	out := record.PodNow{Gone: true}
	for i := range pods {
		if p := &pods[i]; p.Name == name && (out.Gone || out.Node != "" && p.Spec.NodeName == "") {
			out = record.PodNow{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Node: p.Spec.NodeName}
			if out.Node == "" {
				out.Nominated, out.Why = p.Status.NominatedNodeName, undecided(p, snapshot)
			}
		}
	}
	return out
}

// undecided is why a pod waits that no decision is about (intake.Provisionable); empty if decisions are about it.
func undecided(p *corev1.Pod, snapshot *cluster.Snapshot) string {
	switch scheduler := p.Spec.SchedulerName; {
	case p.DeletionTimestamp != nil:
		return "it is being deleted"
	case len(p.Spec.SchedulingGates) > 0:
		return fmt.Sprintf("it is behind the scheduling gate %s: no scheduler looks at it until the gate is removed, and Kerf launches nothing for it", p.Spec.SchedulingGates[0].Name)
	case !intake.Refused(p) && scheduler != "" && scheduler != corev1.DefaultSchedulerName:
		return fmt.Sprintf("it is of scheduler %s, which has not said that it finds no node for it (condition PodScheduled is False, with the reason Unschedulable): Kerf launches nothing before", scheduler)
	case !intake.Refused(p):
		return "kube-scheduler has not said that it finds no node for it (condition PodScheduled is False, with the reason Unschedulable): Kerf launches nothing before"
	case intake.IsDaemon(p):
		if text := daemon.Waits(p, snapshot); text != "" {
			return text
		}
		return "it is of a DaemonSet and can run on its own node only: Kerf launches nothing for it"
	case intake.OptsOut(p):
		return "its node affinity demands a node without a label that all nodes of Kerf have: Kerf launches nothing for it"
	}
	return ""
}
