package interruption

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
)

// Instances knows which instances are ours: those of the managed NodeClaims.
//
// Concurrency: safe. The zero value is empty and ready.
type Instances struct {
	mu        sync.RWMutex
	claims    map[string]string // instance id → NodeClaim
	instances map[string]string // NodeClaim → instance id, empty while it is not launched
	launching int
	synced    func() bool

	silence silence
}

// Watch follows NodeClaims.
func (m *Instances) Watch(ctx context.Context, informers crcache.Cache, now func() time.Time) error {
	informer, err := informers.GetInformer(ctx, &karpv1.NodeClaim{}, crcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if claim, ok := o.(*karpv1.NodeClaim); ok {
				m.Set(nil, claim, now())
			}
		},
		UpdateFunc: func(old, o any) {
			was, _ := old.(*karpv1.NodeClaim)
			if claim, ok := o.(*karpv1.NodeClaim); ok {
				m.Set(was, claim, now())
			}
		},
		DeleteFunc: func(o any) {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if object, err := meta.Accessor(o); err == nil {
				m.Remove(object.GetName())
			}
		},
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.synced = handler.HasSynced
	m.mu.Unlock()
	return nil
}

// wait waits until the first list is in: before that every instance would look like somebody else's.
func (m *Instances) wait(ctx context.Context, clk clock.Clock) bool {
	for {
		m.mu.RLock()
		synced := m.synced
		m.mu.RUnlock()
		if synced == nil || synced() {
			return ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-clk.After(20 * time.Millisecond):
		}
	}
}

// Set takes a claim in. was is what the claim was before, nil when this is the first that is seen of it.
func (m *Instances) Set(was, claim *karpv1.NodeClaim, now time.Time) {
	if !index.Managed(claim) {
		return
	}
	id := claim.Status.ProviderID[strings.LastIndexByte(claim.Status.ProviderID, '/')+1:]
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claims == nil {
		m.claims, m.instances = map[string]string{}, map[string]string{}
	}
	m.removeLocked(claim.Name)
	m.instances[claim.Name] = id
	if id != "" {
		m.claims[id] = claim.Name
	} else {
		m.launching++
	}
	for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeInstanceTerminating} {
		if was != nil && !was.StatusConditions().IsTrue(t) && claim.StatusConditions().IsTrue(t) {
			m.silence.changed(now)
		}
	}
}

// Remove forgets a claim.
func (m *Instances) Remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeLocked(name)
}

func (m *Instances) removeLocked(name string) {
	id, ok := m.instances[name]
	if !ok {
		return
	}
	delete(m.instances, name)
	if id == "" {
		m.launching--
	} else if m.claims[id] == name {
		delete(m.claims, id)
	}
}

// Has reports whether an instance is ours.
func (m *Instances) Has(instanceID string) bool {
	_, ok := m.claim(instanceID)
	return ok
}

// Expecting reports whether there are claims whose instance is not known yet.
func (m *Instances) Expecting() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.launching > 0
}

// all are the ids of our instances, in order.
func (m *Instances) all() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.claims))
}

func (m *Instances) claim(instanceID string) (string, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	name, ok := m.claims[instanceID]
	return name, ok
}
