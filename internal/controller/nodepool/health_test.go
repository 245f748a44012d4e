package nodepool

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cache"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// launchedClaim is a claim of the NodePool p that has an instance.
func launchedClaim() *karpv1.NodeClaim {
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "NodePool", Name: "p", UID: "u"}}}}
	claim.StatusConditions().SetTrue(karpv1.ConditionTypeLaunched)
	return claim
}

// TestAPoolThatGotNoInstancesSaysSo: that EC2 launches nothing for an hour is no reason to launch one at a time afterwards.
func TestAPoolThatGotNoInstancesSaysSo(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 1}}
	joined, none := launchedClaim(), launchedClaim()
	none.StatusConditions().SetFalse(karpv1.ConditionTypeLaunched, "RequestLimitExceeded", "EC2 was asked too often")
	for i, h := range []*Health{NewHealth(), NewHealth()} { // the second is that of a controller that has just begun to lead
		if i == 0 {
			h.Registered(none, false)
			h.Registered(none, false)
		}
		h.write(pool, time.Now)
		if _, unproven := intake.Unproven(pool, nil, nil); unproven {
			t.Error("launches are restrained")
		}
		if c := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy); !c.IsFalse() || c.Reason != "RequestLimitExceeded" || !strings.Contains(c.Message, "got no node") {
			t.Errorf("the condition is %+v", c)
		}
	}
	h := NewHealth()
	for _, c := range []*karpv1.NodeClaim{none, joined, joined, none, none, none} { // what EC2 did not launch proves nothing
		h.Registered(c, false)
		h.write(pool, time.Now)
	}
	if _, unproven := intake.Unproven(pool, nil, nil); !unproven {
		t.Error("two instances that never became nodes restrain nothing")
	}
}

func TestHealthRemembersTheLastFourLaunches(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 1}}
	claim := launchedClaim()
	now := func() time.Time { return time.Unix(0, 0) }
	h := NewHealth()
	changes := 0
	h.listen(func(string) { changes++ })
	verdict := func() metav1.ConditionStatus {
		h.write(pool, now)
		return pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy).Status
	}
	for i, step := range []struct {
		ok   bool
		want metav1.ConditionStatus
	}{
		{true, metav1.ConditionTrue}, {false, metav1.ConditionTrue}, {false, metav1.ConditionFalse},
		{true, metav1.ConditionFalse}, {true, metav1.ConditionFalse}, {true, metav1.ConditionTrue},
	} {
		if i == 0 && verdict() != metav1.ConditionUnknown {
			t.Error("a pool without launches must not claim to know")
		}
		h.Registered(claim, step.ok)
		if got := verdict(); got != step.want {
			t.Errorf("after step %d: %s, want %s", i, got, step.want)
		}
	}
	if changes != 3 {
		t.Errorf("told of %d changes, want 3", changes)
	}

	again := NewHealth() // a restart: the condition is the memory
	again.write(pool, now)
	again.Registered(claim, false)
	again.write(pool, now)
	if got := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy).Status; got != metav1.ConditionTrue {
		t.Errorf("one failure after a healthy past: %s", got)
	}
	pool.Generation = 2
	again.write(pool, now)
	if got := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy).Status; got != metav1.ConditionUnknown {
		t.Errorf("after the pool was edited: %s, want Unknown", got)
	}
}

// TestWhatFailedBeforeAChangeSaysNothingAfterIt: instances of a NodePool or EC2NodeClass that was fixed since run into the registration
// timeout for minutes.
func TestWhatFailedBeforeAChangeSaysNothingAfterIt(t *testing.T) {
	for name, change := range map[string]func(*karpv1.NodePool){
		"of the pool":  func(p *karpv1.NodePool) { p.Generation++ },
		"of the class": func(p *karpv1.NodePool) { p.Status.NodeClassObservedGeneration++ },
	} {
		pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 1}}
		pool.Status.NodeClassObservedGeneration = 1
		h := NewHealth()
		h.write(pool, time.Now)
		old := launchedClaim()
		old.StatusConditions().SetTrueWithReason(karpv1.ConditionTypeDrifted, "NodeClassDrift", "")
		change(pool)
		for i, c := range []struct {
			claim *karpv1.NodeClaim
			ok    bool
			want  metav1.ConditionStatus
		}{
			{old, false, metav1.ConditionUnknown}, {old, false, metav1.ConditionUnknown}, {old, true, metav1.ConditionTrue}, // it shows that nodes can join
			{launchedClaim(), true, metav1.ConditionTrue}, {launchedClaim(), true, metav1.ConditionTrue},
			{old, false, metav1.ConditionTrue}, {old, false, metav1.ConditionTrue},
			{launchedClaim(), false, metav1.ConditionTrue}, {launchedClaim(), false, metav1.ConditionFalse},
		} {
			h.Registered(c.claim, c.ok)
			h.write(pool, time.Now)
			if got := pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy).Status; got != c.want {
				t.Errorf("a change %s: after outcome %d: %s, want %s", name, i, got, c.want)
			}
		}
	}
}

func TestAPoolSaysHowItsLastInstanceEnded(t *testing.T) {
	pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", Generation: 1}}
	claim := launchedClaim()
	silent := claim.DeepCopy()
	claim.StatusConditions().SetFalse(karpv1.ConditionTypeRegistered, "VolumeKeyUnusable", "it had no key")
	h := NewHealth()
	says := func() string {
		h.write(pool, time.Now)
		return pool.StatusConditions().Get(karpv1.ConditionTypeNodeRegistrationHealthy).Message
	}
	h.Registered(claim, false)
	h.Registered(claim, false)
	if got := says(); !strings.HasSuffix(got, "; it had no key") {
		t.Errorf("the condition says %q", got)
	}
	h.Registered(silent, false)
	if got := says(); !strings.HasSuffix(got, "see the events of the NodeClaims") {
		t.Errorf("after an instance of which nothing is known it says %q", got)
	}
}

func TestNothingIsKnownOfAPoolThatIsGone(t *testing.T) {
	h := NewHealth()
	for _, name := range []string{"gone", "stays"} {
		pool := &karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("written-" + name)}}
		h.write(pool, time.Now)
		h.Registered(&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "NodePool", Name: name, UID: types.UID("told-" + name)}}}}, true)
	}
	c := &Controller{State: cache.New(cache.Options{}), Metrics: obs.NewMetrics(prometheus.NewRegistry()), Health: h}
	c.forget("gone")
	if len(h.pools) != 2 || h.pools["written-stays"] == nil || h.pools["told-stays"] == nil {
		t.Errorf("kept: %v", h.pools)
	}
}

// The condition is written when an outcome changes it, not when something else happens to the pool.
func TestAnOutcomeHasThePoolLookedAt(t *testing.T) {
	c := &Controller{Health: NewHealth()}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	if err := c.judged(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	claim := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "NodePool", Name: "p", UID: "u"}}}}
	c.Health.Registered(claim, true)
	if q.Len() != 1 {
		t.Fatalf("%d pools wait to be looked at, want one", q.Len())
	}
	if r, _ := q.Get(); r.Name != "p" {
		t.Errorf("pool %q is looked at, want p", r.Name)
	}
}
