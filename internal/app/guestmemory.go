package app

import (
	"cmp"
	"errors"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	learn "github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/controller/guestmemory"
)

// guestMemory learns from nodes how much memory instances have, and keeps it over restarts.
func (p *process) guestMemory(book *learn.Book) error {
	return errors.Join(
		p.Add(&guestmemory.Keeper{Client: p.GetClient(), Reader: p.GetAPIReader(), Namespace: ownNamespace(p.LeaderElectionNamespace), Book: book, Log: p.log}),
		(&guestmemory.Controller{Client: p.GetClient(), Book: book, Metrics: p.metrics, Log: p.logger("providers.instancetype.capacity")}).Register(p.Manager),
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
