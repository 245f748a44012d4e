package kubesim_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/sim/kubesim"
	"github.com/kerf-sh/kerf/internal/sim/memnet"
)

// inBubble serves a cluster in a bubble.
func inBubble(t *testing.T, o kubesim.Options, story func(t *testing.T, s *kubesim.Server, c kubernetes.Interface)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := kubesim.New(o)
		if err != nil {
			t.Fatal(err)
		}
		var n memnet.Network
		l, err := n.Listen("api:80")
		if err != nil {
			t.Fatal(err)
		}
		web := &http.Server{Handler: s}
		go func() { _ = web.Serve(l) }()
		transport := &http.Transport{DialContext: n.Dial}
		c, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", QPS: -1, Transport: transport, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
		if err != nil {
			t.Fatal(err)
		}
		story(t, s, c)
		s.Close()
		_ = web.Close()
		transport.CloseIdleConnections()
	})
}

func put(t *testing.T, c kubernetes.Interface, name string) string {
	t.Helper()
	o, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o.ResourceVersion
}

func TestAWatchThatResumesTooLateIsTold(t *testing.T) {
	inBubble(t, kubesim.Options{History: 4}, func(t *testing.T, s *kubesim.Server, c kubernetes.Interface) {
		first := put(t, c, "first")
		var last string
		for i := range 20 {
			last = put(t, c, fmt.Sprint("more-", i))
		}
		begin := func(version string) error {
			w, err := c.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
			if err == nil {
				w.Stop()
			}
			return err
		}
		if err := begin(first); !apierrors.IsResourceExpired(err) {
			t.Errorf("watching from a version that is forgotten gives %v", err)
		}
		if err := begin(last); err != nil {
			t.Errorf("watching from the last version gives %v", err)
		}
		put(t, c, "after")
		s.Forget()
		if err := begin(last); !apierrors.IsResourceExpired(err) {
			t.Errorf("watching from before everything was forgotten gives %v", err)
		}
	})
}

func TestAnInformerSeesAllThatHappensOverDaysAndThroughForgetting(t *testing.T) {
	inBubble(t, kubesim.Options{}, func(t *testing.T, s *kubesim.Server, c kubernetes.Interface) {
		f := informers.NewSharedInformerFactory(c, 0)
		lister := f.Core().V1().ConfigMaps().Lister()
		f.Core().V1().ConfigMaps().Informer()
		ctx, cancel := context.WithCancel(t.Context())
		f.StartWithContext(ctx)
		f.WaitForCacheSync(ctx.Done())
		for i := range 48 {
			put(t, c, fmt.Sprint("hour-", i))
			if i%5 == 0 {
				s.Forget()
			}
			time.Sleep(time.Hour)
			if _, err := lister.ConfigMaps("default").Get(fmt.Sprint("hour-", i)); err != nil {
				t.Fatalf("in hour %d: %v", i, err)
			}
		}
		cancel()
		f.Shutdown()
		if n := s.Requests()["watch configmaps"]; n < 48*60/15 {
			t.Errorf("the informer began a watch %d times in two days; they end after ten minutes at most", n)
		}
	})
}

func TestBookmarksKeepAQuietWatchFresh(t *testing.T) {
	inBubble(t, kubesim.Options{}, func(t *testing.T, _ *kubesim.Server, c kubernetes.Interface) {
		w, err := c.CoreV1().Secrets("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1", AllowWatchBookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		version := put(t, c, "elsewhere")
		began := time.Now()
		e := <-w.ResultChan()
		o, err := meta.Accessor(e.Object)
		if err != nil {
			t.Fatal(err)
		}
		if e.Type != watch.Bookmark || o.GetResourceVersion() != version || time.Since(began) > time.Minute {
			t.Errorf("after %s a %s of version %s; want a bookmark of version %s", time.Since(began), e.Type, o.GetResourceVersion(), version)
		}
	})
}

func TestOneSeedGivesTheSameNames(t *testing.T) {
	name := func(seed uint64) (out string) {
		inBubble(t, kubesim.Options{Seed: seed}, func(t *testing.T, _ *kubesim.Server, c kubernetes.Interface) {
			o, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out = o.Name + " " + string(o.UID)
		})
		return out
	}
	if a, b := name(1), name(1); a != b || !strings.HasPrefix(a, "g-") {
		t.Errorf("seed 1 gives %q and %q", a, b)
	}
	if a, b := name(1), name(2); a == b {
		t.Errorf("seeds 1 and 2 both give %q", a)
	}
}

// What a reflector asks for is drawn by its process. Two runs of one seed may draw in another order.
func TestAWatchLastsAsTheSeedSaysNotAsAReflectorDrew(t *testing.T) {
	lasts := func(seconds int64) time.Duration {
		var took time.Duration
		inBubble(t, kubesim.Options{Seed: 1}, func(t *testing.T, _ *kubesim.Server, c kubernetes.Interface) {
			began := time.Now()
			w, err := c.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
			if err != nil {
				t.Fatal(err)
			}
			for range w.ResultChan() {
			}
			took = time.Since(began)
		})
		return took
	}
	first, second := lasts(301), lasts(599)
	if first != second || first < 5*time.Minute || first > 10*time.Minute {
		t.Errorf("two that ask for 301 s and 599 s last %s and %s", first, second)
	}
	if took := lasts(7); took != 7*time.Second {
		t.Errorf("one of 7 s lasts %s", took)
	}
}
