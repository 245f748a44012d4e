package app

import (
	"cmp"
	"errors"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/controller/guestmemory"
)

// guestMemory learns from nodes how much memory instances have, and keeps it over restarts.
func (d *deps) guestMemory() error {
	book := d.provider.Memory()
	return errors.Join(
		d.Add(&guestmemory.Keeper{Client: d.GetClient(), Reader: d.GetAPIReader(), Namespace: ownNamespace(d.LeaderElectionNamespace), Book: book, Log: d.log}),
		(&guestmemory.Controller{Client: d.GetClient(), Book: book, Metrics: d.metrics, Log: d.logger("providers.instancetype.capacity")}).Register(d.Manager),
	)
}

// namespaceFile names the namespace of the pod that the process runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace is where the controller keeps objects of its own: with the Lease.
func ownNamespace(setting string) string {
	pod, err := os.ReadFile(namespaceFile)
	if err != nil {
		pod = nil // not in a pod
	}
	return cmp.Or(setting, strings.TrimSpace(string(pod)), metav1.NamespaceSystem)
}
