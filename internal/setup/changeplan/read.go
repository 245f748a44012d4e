package changeplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// seen is the cluster as it was read.
type seen struct {
	state   *cache.Cache
	pools   map[string]*karpv1.NodePool
	classes map[string]*awsv1.EC2NodeClass
	claims  []*karpv1.NodeClaim      // of the kind that Kerf serves, by name
	pods    map[string][]*corev1.Pod // by node
	budgets []policyv1.PodDisruptionBudget
	// gaps name what could not be read and what follows.
	gaps []string
}

// without is what follows when a kind may not be read that a plan can be made without.
var without = map[string]string{
	"namespaces":             "pods that choose others by the labels of namespaces may be placed wrongly",
	"storageclasses":         "where volumes may be is not known",
	"csinodes":               "how many volumes nodes attach is not known",
	"persistentvolumes":      "where volumes are is not known",
	"persistentvolumeclaims": "which volumes pods need is not known",
	"daemonsets":             "new nodes are planned without room for daemons",
	"poddisruptionbudgets":   "what they block is not known",
}

// read lists what a plan is made of.
//
// Errors: a kind that there is no plan without, with the verb and the resource that may not be read.
func read(ctx context.Context, reader client.Reader, state *cache.Cache) (*seen, error) {
	s := &seen{state: state, pools: map[string]*karpv1.NodePool{}, classes: map[string]*awsv1.EC2NodeClass{}, pods: map[string][]*corev1.Pod{}}
	var (
		namespaces corev1.NamespaceList
		storage    storagev1.StorageClassList
		csiNodes   storagev1.CSINodeList
		volumes    corev1.PersistentVolumeList
		pvcs       corev1.PersistentVolumeClaimList
		classes    awsv1.EC2NodeClassList
		pools      karpv1.NodePoolList
		daemons    appsv1.DaemonSetList
		claims     karpv1.NodeClaimList
		nodes      corev1.NodeList
		pods       corev1.PodList
		budgets    policyv1.PodDisruptionBudgetList
	)
	for _, step := range []struct {
		what string
		list client.ObjectList
		take func()
	}{
		{"ec2nodeclasses", &classes, func() {
			each(classes.Items, func(o *awsv1.EC2NodeClass) { s.classes[o.Name] = o; state.SetNodeClass(o) })
		}},
		{"nodepools", &pools, func() {
			each(pools.Items, func(o *karpv1.NodePool) { s.pools[o.Name] = o; state.SetPool(o) })
		}},
		{"namespaces", &namespaces, func() { each(namespaces.Items, state.SetNamespace) }},
		{"storageclasses", &storage, func() { each(storage.Items, state.SetStorageClass) }},
		{"csinodes", &csiNodes, func() { each(csiNodes.Items, state.SetCSINode) }},
		{"persistentvolumes", &volumes, func() { each(volumes.Items, state.SetVolume) }},
		{"persistentvolumeclaims", &pvcs, func() { each(pvcs.Items, state.SetVolumeClaim) }},
		{"daemonsets", &daemons, func() { each(daemons.Items, state.SetDaemonSet) }},
		{"poddisruptionbudgets", &budgets, func() { s.budgets = budgets.Items; each(budgets.Items, state.SetBudget) }},
		{"nodeclaims", &claims, func() {
			each(claims.Items, func(o *karpv1.NodeClaim) {
				if intake.IsManaged(o.Spec.NodeClassRef) {
					s.claims = append(s.claims, o)
				}
				state.SetClaim(o)
			})
		}},
		{"nodes", &nodes, func() { each(nodes.Items, state.SetNode) }},
		{"pods", &pods, func() {
			each(pods.Items, func(o *corev1.Pod) {
				if o.Spec.NodeName != "" {
					s.pods[o.Spec.NodeName] = append(s.pods[o.Spec.NodeName], o)
				}
				state.SetPod(o)
			})
		}},
	} {
		err := reader.List(ctx, step.list)
		follows, optional := without[step.what]
		status := apierrors.APIStatus(nil)
		switch {
		case err == nil:
			step.take()
		case meta.IsNoMatchError(err):
			return nil, fmt.Errorf("the cluster does not know %s: install the chart kerf-crd", step.what)
		case optional && errors.As(err, &status):
			s.gaps = append(s.gaps, fmt.Sprintf("may not list %s (%v): %s", step.what, apierrors.ReasonForError(err), follows))
		default:
			return nil, fmt.Errorf("listing %s: %w", step.what, err)
		}
	}
	slices.SortFunc(s.claims, func(a, b *karpv1.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

func each[T any](items []T, take func(*T)) {
	for i := range items {
		take(&items[i])
	}
}
