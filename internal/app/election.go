package app

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"github.com/kerf-sh/kerf/internal/settings"
)

// leaseTimeout bounds one call of the election: less than the time in which a leader must renew its lease, 10 s, so that
// one call that hangs does not cost the lead.
const leaseTimeout = 5 * time.Second

// lock makes the Lease that replicas elect their leader by. Its calls have a rate limit of their own: renewing must not
// wait behind a burst of writes. The manager would make one like it, but leave its event broadcaster running for ever.
//
// Errors: no namespace is set and none is known.
func lock(config *rest.Config, s settings.Settings) (*resourcelock.LeaseLock, *lateRecorder, error) {
	namespace := s.LeaderElectionNamespace
	if namespace == "" {
		own, err := os.ReadFile(namespaceFile)
		if err != nil {
			return nil, nil, errors.New("the namespace of the leader's lease is not known (outside a cluster set LEADER_ELECTION_NAMESPACE, or DISABLE_LEADER_ELECTION=true)")
		}
		namespace = strings.TrimSpace(string(own))
	}
	// In a container the variable is the name of the pod, or with hostNetwork of the node; so is the name of the host.
	host := os.Getenv("HOSTNAME")
	if host == "" {
		var err error
		if host, err = os.Hostname(); err != nil {
			return nil, nil, fmt.Errorf("naming this replica: %w", err)
		}
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.QPS, config.Burst, config.Timeout = 20, 20, leaseTimeout
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("making the client of the leader's lease: %w", err)
	}
	events := &lateRecorder{}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: s.LeaderElectionName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID()), EventRecorder: events},
	}, events, nil
}

// lateRecorder passes events on once it is known where to; the manager that has the recorder needs the lock first.
type lateRecorder struct {
	to atomic.Pointer[record.EventRecorder]
}

// Eventf implements resourcelock.EventRecorder.
func (r *lateRecorder) Eventf(o kruntime.Object, kind, reason, format string, args ...any) {
	if to := r.to.Load(); to != nil {
		(*to).Eventf(o, kind, reason, format, args...)
	}
}

func (r *lateRecorder) set(to record.EventRecorder) { r.to.Store(&to) }
