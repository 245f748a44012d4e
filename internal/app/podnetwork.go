package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
)

// podNetwork follows the settings of the cluster's network plug-in.
type podNetwork struct {
	log  *slog.Logger
	last atomic.Pointer[podnetwork.Settings]
}

// watchPodNetwork begins to follow; what is set at the start is read at once, so that the first plan already heeds it. A
// cluster without the plug-in has no settings.
func watchPodNetwork(ctx context.Context, informers crcache.Informers, reader client.Reader, log *slog.Logger) (*podNetwork, error) {
	n := &podNetwork{log: log}
	n.last.Store(&podnetwork.Settings{})
	d := &appsv1.DaemonSet{}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: podnetwork.Namespace, Name: podnetwork.Name}, d); err == nil {
		n.set(d)
	} else if client.IgnoreNotFound(err) != nil {
		log.Warn("could not read the DaemonSet kube-system/aws-node yet; until it is read, nodes are planned with the pods that interfaces carry", "error", err)
	}
	informer, err := informers.GetInformer(ctx, &appsv1.DaemonSet{}, crcache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watching the network plug-in: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.FilteringResourceEventHandler{
		FilterFunc: func(o any) bool {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			d, ok := o.(*appsv1.DaemonSet)
			return ok && d.Namespace == podnetwork.Namespace && d.Name == podnetwork.Name
		},
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { n.set(o) },
			UpdateFunc: func(_, o any) { n.set(o) },
			DeleteFunc: func(any) { n.put(podnetwork.Settings{}) },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("watching the network plug-in: %w", err)
	}
	return n, nil
}

func (n *podNetwork) set(o any) {
	if d, ok := o.(*appsv1.DaemonSet); ok {
		n.put(podnetwork.Read(d))
	}
}

func (n *podNetwork) put(s podnetwork.Settings) {
	if old := n.last.Swap(&s); *old != s {
		n.log.Info("the network plug-in's settings decide how many pods new nodes take", "prefix_delegation", s.PrefixDelegation,
			"custom_networking", s.CustomNetworking, "pod_eni", s.PodENI, "ipv6", s.IPv6, "max_eni", s.MaxENI)
	}
}

// settings are the present ones.
func (n *podNetwork) settings() podnetwork.Settings { return *n.last.Load() }
