package tagging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/obs"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// bucket is an API that takes calls at a rate, as EC2 does; rate 0 takes all.
type bucket struct {
	mu     sync.Mutex
	rate   float64
	tokens float64
	filled time.Time
	fail   error
	calls  int
	tags   map[string]map[string]string

	instances, unlisted []*cloud.Instance
}

func (b *bucket) List(context.Context, time.Duration) ([]*cloud.Instance, error) {
	return b.instances, nil
}

func (b *bucket) Get(_ context.Context, id string) (*cloud.Instance, error) {
	for _, m := range b.unlisted {
		if m.ProviderID == id {
			return m, nil
		}
	}
	return nil, &cloud.Error{Class: cloud.Throttled, Err: errors.New("slow down")}
}

func (b *bucket) Tag(_ context.Context, tags map[string]map[string]string) error {
	time.Sleep(100 * time.Millisecond) // the way to EC2 and back
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.fail != nil {
		return b.fail
	}
	if b.rate > 0 {
		now := time.Now()
		b.tokens = min(100, b.tokens+b.rate*now.Sub(b.filled).Seconds())
		if b.filled.IsZero() {
			b.tokens = 100
		}
		b.filled = now
		if b.tokens < 1 {
			return &cloud.Error{Class: cloud.Throttled, Err: errors.New("slow down")}
		}
		b.tokens--
	}
	if b.tags == nil {
		b.tags = map[string]map[string]string{}
	}
	for id, t := range tags {
		b.tags[id] = t
	}
	return nil
}

func newController(t *testing.T, b *bucket, objects ...client.Object) *Controller {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(karpv1.AddToScheme(scheme), awsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	if b.instances == nil && b.unlisted == nil {
		for _, o := range objects {
			if claim, ok := o.(*karpv1.NodeClaim); ok {
				b.instances = append(b.instances, &cloud.Instance{ProviderID: claim.Status.ProviderID, Tags: map[string]string{awsv1.TagEKSCluster: "shop"}})
			}
		}
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	return New(cluster, b, "shop", obs.NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler), clock.RealClock{})
}

func newClaim(n int) *karpv1.NodeClaim {
	c := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%03d", n)}}
	c.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	c.Status.NodeName, c.Status.ProviderID = fmt.Sprintf("node-%03d", n), fmt.Sprintf("aws:///z/i-%03d", n)
	return c
}

func request(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Name: name}}
}

func TestWhatIsTagged(t *testing.T) {
	both := map[string]string{"Name": "node-001", "karpenter.sh/nodeclaim": "pool-001"}
	for name, tc := range map[string]struct {
		edit func(*karpv1.NodeClaim)
		own  map[string]string // tags of the class
		want map[string]string
	}{
		"an instance that has joined":         {func(*karpv1.NodeClaim) {}, nil, both},
		"a name that the class gives stays":   {func(*karpv1.NodeClaim) {}, map[string]string{"Name": "web"}, map[string]string{"karpenter.sh/nodeclaim": "pool-001"}},
		"a class that is gone":                {func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Name = "other" }, nil, both},
		"an instance whose node is not there": {func(c *karpv1.NodeClaim) { c.Status.NodeName = "" }, nil, nil},
		"an instance that was tagged already": {func(c *karpv1.NodeClaim) {
			c.Annotations = map[string]string{awsv1.AnnotationInstanceTagged: "true", awsv1.AnnotationClusterNameTaggedCompatibility: "true"}
		}, nil, nil},
		"a claim of another kind of class": {func(c *karpv1.NodeClaim) { c.Spec.NodeClassRef.Kind = "OtherNodeClass" }, nil, nil},
		"a claim that is on its way out": {func(c *karpv1.NodeClaim) {
			c.Finalizers, c.DeletionTimestamp = []string{"f/f"}, &metav1.Time{Time: time.Unix(1, 0)}
		}, nil, nil},
		"a claim whose instance is not launched": {func(c *karpv1.NodeClaim) { c.Status.ProviderID = "" }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			claim, class := newClaim(1), &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			class.Spec.Tags = tc.own
			tc.edit(claim)
			b := &bucket{}
			c := newController(t, b, claim, class)
			for range 2 {
				if _, err := c.Reconcile(t.Context(), request("pool-001")); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, b.tags["aws:///z/i-001"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := min(len(tc.want), 1); b.calls != want {
				t.Errorf("%d calls for two looks, want %d", b.calls, want)
			}
			if b.calls == 0 {
				return
			}
			if err := c.client.Get(t.Context(), request("pool-001").NamespacedName, claim); err != nil {
				t.Fatal(err)
			}
			if !named(claim) || !clustered(claim) {
				t.Errorf("the claim does not say that its instance is tagged: %v", claim.Annotations)
			}
		})
	}
}

// An instance that was launched from a template of the user's own bears the template's tags from the start.
func TestANameThatTheUsersTemplateGivesStays(t *testing.T) {
	only, both := map[string]string{"karpenter.sh/nodeclaim": "pool-001"}, map[string]string{"Name": "node-001", "karpenter.sh/nodeclaim": "pool-001"}
	named := &cloud.Instance{ProviderID: "aws:///z/i-001", Tags: map[string]string{"Name": "web", awsv1.TagEKSCluster: "shop"}}
	plain := &cloud.Instance{ProviderID: "aws:///z/i-001", Tags: map[string]string{"team": "blue", awsv1.TagEKSCluster: "shop"}}
	for name, tc := range map[string]struct {
		template         string
		listed, unlisted []*cloud.Instance
		want             map[string]string
	}{
		"a template with a name":                {"lt-1:3", []*cloud.Instance{named}, nil, only},
		"a template without":                    {"lt-1:3", []*cloud.Instance{plain}, nil, both},
		"an instance that is not listed yet":    {"lt-1:3", nil, []*cloud.Instance{named}, only},
		"one of which nothing can be found out": {"lt-1:3", nil, []*cloud.Instance{{ProviderID: "aws:///z/i-002"}}, nil},
		"a template of ours":                    {"", []*cloud.Instance{named}, nil, both},
		"a template of ours, nothing is known":  {"", nil, []*cloud.Instance{{ProviderID: "aws:///z/i-002"}}, both},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(1)
			claim.Annotations = map[string]string{awsv1.AnnotationLaunchTemplate: tc.template}
			b := &bucket{instances: tc.listed, unlisted: tc.unlisted}
			_, err := newController(t, b, claim).Reconcile(t.Context(), request("pool-001"))
			if diff := cmp.Diff(tc.want, b.tags["aws:///z/i-001"]); diff != "" || (err != nil) != (tc.want == nil) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Releases of Karpenter before the tag of the cluster launched instances without; those that stay after a hand-over get it.
func TestInstancesOfOlderReleasesGetTheClustersName(t *testing.T) {
	for name, tc := range map[string]struct {
		tags map[string]string // of the instance
		want map[string]string // that are set
	}{
		"one without":           {map[string]string{"Name": "n"}, map[string]string{awsv1.TagEKSCluster: "shop"}},
		"one that has the name": {map[string]string{awsv1.TagEKSCluster: "shop"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			claim := newClaim(1)
			claim.Annotations = map[string]string{awsv1.AnnotationInstanceTagged: "true"}
			b := &bucket{unlisted: []*cloud.Instance{{ProviderID: claim.Status.ProviderID, Tags: tc.tags}}}
			c := newController(t, b, claim)
			for range 2 {
				if _, err := c.Reconcile(t.Context(), request("pool-001")); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, b.tags[claim.Status.ProviderID]); diff != "" || b.calls != len(tc.want) {
				t.Errorf("%d calls (-want +got):\n%s", b.calls, diff)
			}
			if err := c.client.Get(t.Context(), request("pool-001").NamespacedName, claim); err != nil {
				t.Fatal(err)
			}
			if !clustered(claim) {
				t.Errorf("the claim does not say so: %v", claim.Annotations)
			}
		})
	}
}

func TestAFailureIsTriedAgain(t *testing.T) {
	b := &bucket{fail: &cloud.Error{Class: cloud.Denied, Err: errors.New("missing permission ec2:CreateTags")}}
	c := newController(t, b, newClaim(1))
	if _, err := c.Reconcile(t.Context(), request("pool-001")); err == nil {
		t.Error("a failure was passed over: nobody will tag the instance")
	}
	b.fail = nil
	if _, err := c.Reconcile(t.Context(), request("pool-001")); err != nil || len(b.tags) != 1 {
		t.Errorf("then: %v, %v", b.tags, err)
	}
}

// burst tags n instances with as many workers as the controller has and returns how long that took.
func burst(t *testing.T, b *bucket, n int) time.Duration {
	t.Helper()
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		objects := make([]client.Object, n)
		queue := make(chan string, n)
		for i := range objects {
			claim := newClaim(i)
			objects[i] = claim
			queue <- claim.Name
		}
		c := newController(t, b, objects...)
		began := time.Now()
		var left, workersLeft sync.WaitGroup
		left.Add(n)
		for range workers {
			workersLeft.Go(func() {
				for name := range queue {
					for wait := firstRetry; ; wait *= 2 {
						if _, err := c.Reconcile(t.Context(), request(name)); err == nil {
							break
						}
						time.Sleep(wait)
					}
					left.Done()
				}
			})
		}
		left.Wait()
		took = time.Since(began)
		close(queue)
		workersLeft.Wait()
	})
	return took
}

func TestAThousandInstancesAreTaggedAsFastAsEC2Allows(t *testing.T) {
	free := &bucket{}
	if took := burst(t, free, 1000); took > 10*time.Second || len(free.tags) != 1000 || free.calls != 1000 {
		t.Errorf("%d instances with %d calls in %v, want 1000 with 1000 in 10 s", len(free.tags), free.calls, took)
	}
	// With the account's usual rate (10 a second, 100 at once) 90 s is the least there is.
	limited := &bucket{rate: 10}
	if took := burst(t, limited, 1000); took > 2*time.Minute || len(limited.tags) != 1000 || limited.calls > 1400 {
		t.Errorf("%d instances with %d calls in %v, want 1000 with few more in about 90 s", len(limited.tags), limited.calls, took)
	} else {
		t.Logf("at the usual rate: %v, %d calls", took, limited.calls)
	}
}

func TestCallsAreSpreadByTheClockThatIsGiven(t *testing.T) {
	at := time.Unix(1000, 0)
	clk := clocktesting.NewFakeClock(at)
	p := pace{clock: clk}
	p.note(true)
	if err := p.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	passed := make(chan error)
	go func() { passed <- p.wait(t.Context()) }()
	for !clk.HasWaiters() {
		time.Sleep(time.Millisecond)
	}
	clk.Step(firstGap)
	if err := <-passed; err != nil {
		t.Error(err)
	}
}
