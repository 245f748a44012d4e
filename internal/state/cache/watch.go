package cache

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/kerf-sh/kerf/api/autoscaling/v1beta1"
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/guard"
)

// Selection leaves out of the informers that feed a Cache what nobody needs: pods that are over take no room. To the watch, a pod that
// ends is one that is deleted.
func Selection() map[client.Object]crcache.ByObject {
	return map[client.Object]crcache.ByObject{
		&corev1.Pod{}: {Field: fields.AndSelectors(
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
			fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		)},
	}
}

// Watch feeds the cache from informers. Once the informers run, the returned function reports whether the first list of
// every kind has been taken in; before that, no decision may be made.
//
// Errors: a kind that the API server does not serve.
func (c *Cache) Watch(ctx context.Context, informers crcache.Informers) (synced func() bool, err error) {
	var registered []toolscache.ResourceEventHandlerRegistration
	for _, w := range c.watches() {
		informer, err := informers.GetInformer(ctx, w.kind, crcache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", w.kind, err)
		}
		r, err := informer.AddEventHandler(w.handler)
		if err != nil {
			return nil, fmt.Errorf("watching %T: %w", w.kind, err)
		}
		registered = append(registered, r)
	}
	return func() bool {
		for _, r := range registered {
			if !r.HasSynced() {
				return false
			}
		}
		return true
	}, nil
}

type watch struct {
	kind    client.Object
	handler toolscache.ResourceEventHandler
}

func (c *Cache) watches() []watch {
	var extra []watch
	spreads, buffers := len(c.compiler.DefaultSpreads) > 0, c.buffers.on
	if spreads || buffers {
		extra = append(extra,
			feed(&appsv1.ReplicaSet{}, c.SetReplicaSet, c.RemoveReplicaSet),
			feed(&appsv1.StatefulSet{}, c.SetStatefulSet, c.RemoveStatefulSet))
	}
	if spreads {
		extra = append(extra,
			feed(&corev1.Service{}, c.SetService, c.RemoveService),
			feed(&corev1.ReplicationController{}, c.SetReplicationController, c.RemoveReplicationController))
	}
	if buffers {
		extra = append(extra,
			feed(&corev1.PodTemplate{}, c.SetPodTemplate, c.RemovePodTemplate),
			feed(&appsv1.Deployment{}, c.SetDeployment, c.RemoveDeployment),
			feed(&autoscalingv1beta1.CapacityBuffer{}, c.SetBuffer, c.RemoveBuffer))
	}
	return append(extra, []watch{
		feed(&policyv1.PodDisruptionBudget{}, c.SetBudget, c.RemoveBudget),
		feed(&corev1.Namespace{}, c.SetNamespace, c.RemoveNamespace),
		feed(&storagev1.StorageClass{}, c.SetStorageClass, c.RemoveStorageClass),
		feed(&storagev1.CSINode{}, c.SetCSINode, c.RemoveCSINode),
		feed(&corev1.PersistentVolume{}, c.SetVolume, c.RemoveVolume),
		feed(&corev1.PersistentVolumeClaim{}, c.SetVolumeClaim, c.RemoveVolumeClaim),
		feed(&awsv1.EC2NodeClass{}, c.SetNodeClass, c.RemoveNodeClass),
		feed(&karpv1.NodePool{}, c.SetPool, c.RemovePool),
		feed(&appsv1.DaemonSet{}, c.SetDaemonSet, c.RemoveDaemonSet),
		feed(&karpv1.NodeClaim{}, c.SetClaim, c.RemoveClaim),
		feed(&corev1.Node{}, c.SetNode, c.RemoveNode),
		feed(&corev1.Pod{}, c.SetPod, c.RemovePod),
	}...)
}

// feed hands objects to the cache. One on which that panics leaves what the cache knew of it as it was; the informer goes on.
func feed[T client.Object](kind T, put, take func(T)) watch {
	where := "intake." + strings.ToLower(reflect.TypeOf(kind).Elem().Name())
	set := func(o T) { _ = guard.Run(where, func() error { put(o); return nil }) }
	remove := func(o T) { _ = guard.Run(where, func() error { take(o); return nil }) }
	return watch{kind, toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if obj, ok := o.(T); ok {
				set(obj)
			}
		},
		UpdateFunc: func(_, o any) {
			if obj, ok := o.(T); ok {
				set(obj)
			}
		},
		DeleteFunc: func(o any) {
			if lost, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = lost.Obj
			}
			if obj, ok := o.(T); ok {
				remove(obj)
			}
		},
	}}
}
