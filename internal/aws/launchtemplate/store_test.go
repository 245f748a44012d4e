package launchtemplate_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/session/sessiontest"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func start(t *testing.T) (*awssim.Server, *ec2.Client, *sessiontest.Calls) {
	t.Helper()
	s, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Close() })
	for _, kv := range s.Env() {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	calls := &sessiontest.Calls{}
	clients, err := session.New(t.Context(), session.Options{Middleware: calls.Middleware()})
	if err != nil {
		t.Fatal(err)
	}
	return s, clients.EC2, calls
}

func template(t *testing.T, class, text string) *launchtemplate.Template {
	t.Helper()
	c := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: class}}
	out, err := launchtemplate.Build(launchtemplate.Input{Class: c, Region: "us-east-1", Tags: launchtemplate.Tags(c, launchtemplate.Cluster{Name: "kerf"}, "pool"), UserData: text, Family: awsv1.AMIFamilyAL2023})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestManyWhoNeedATemplateMakeItOnce(t *testing.T) {
	s, api, calls := start(t)
	store := launchtemplate.NewStore(api, "kerf", time.Now)
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			if err := store.Ensure(t.Context(), template(t, "a", string(rune('a'+i%3)))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := calls.Of("CreateLaunchTemplate"); n != 3 || len(s.World.Templates()) != 3 {
		t.Errorf("%d calls made %d templates, want 3", n, len(s.World.Templates()))
	}
}

func TestATemplateThatASlowCallHoldsDoesNotHoldOthers(t *testing.T) {
	s, api, _ := start(t)
	store := launchtemplate.NewStore(api, "kerf", time.Now)
	s.World.AddFault(world.Fault{Kind: world.FaultSlow, Operation: "CreateLaunchTemplate", Delay: time.Hour, Count: 1})
	stuck := template(t, "a", "stuck")
	go store.Ensure(t.Context(), stuck)
	for s.World.Faults()[0].Hits == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := store.Ensure(t.Context(), template(t, "a", "other")); err != nil {
		t.Fatal(err)
	}
}

func TestWhatExistsAlreadyIsTaken(t *testing.T) {
	_, api, calls := start(t)
	first := launchtemplate.NewStore(api, "kerf", time.Now)
	tmpl := template(t, "a", "x")
	if err := first.Ensure(t.Context(), tmpl); err != nil {
		t.Fatal(err)
	}
	blind := launchtemplate.NewStore(api, "kerf", time.Now)
	if err := blind.Ensure(t.Context(), tmpl); err != nil {
		t.Fatalf("a template that exists must do: %v", err)
	}
	informed := launchtemplate.NewStore(api, "kerf", time.Now)
	if err := informed.Hydrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := calls.Of("CreateLaunchTemplate")
	if err := informed.Ensure(t.Context(), tmpl); err != nil || calls.Of("CreateLaunchTemplate") != before {
		t.Errorf("got %v after a needless call", err)
	}
	informed.Forget(tmpl.Name)
	if err := informed.Ensure(t.Context(), tmpl); err != nil || calls.Of("CreateLaunchTemplate") != before+1 {
		t.Errorf("a forgotten template must be made again: %v", err)
	}
}

func TestUnusedTemplatesAreCollected(t *testing.T) {
	s, api, _ := start(t)
	now := time.Now()
	store := launchtemplate.NewStore(api, "kerf", func() time.Time { return now })
	used, idle := template(t, "a", "used"), template(t, "a", "idle")
	for _, x := range []*launchtemplate.Template{used, idle} {
		if err := store.Ensure(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := store.Collect(t.Context(), time.Hour, nil); n != 0 || err != nil {
		t.Fatalf("young templates: %d deleted, %v", n, err)
	}
	now = now.Add(2 * time.Hour)
	if err := store.Ensure(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Collect(t.Context(), time.Hour, nil); n != 1 || err != nil {
		t.Fatalf("%d deleted, %v, want 1", n, err)
	}
	if left := s.World.Templates(); len(left) != 1 || left[0].Name != used.Name {
		t.Errorf("left are %v", left)
	}
	if err := store.Ensure(t.Context(), idle); err != nil || len(s.World.Templates()) != 2 {
		t.Errorf("a collected template must be made again when it is needed: %v", err)
	}
}

func TestAClassTakesItsTemplatesWithIt(t *testing.T) {
	s, api, _ := start(t)
	store := launchtemplate.NewStore(api, "kerf", time.Now)
	for _, class := range []string{"a", "b"} {
		if err := store.Ensure(t.Context(), template(t, class, class)); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Release(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if left := s.World.Templates(); len(left) != 1 || left[0].Name != template(t, "b", "b").Name {
		t.Errorf("left are %v", left)
	}
}
