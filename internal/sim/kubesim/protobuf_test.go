package kubesim_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/sim/kubesim"
)

// A client that speaks protobuf and one that speaks JSON see the same objects, whoever wrote them.
func TestProtobufSaysWhatJSONSays(t *testing.T) {
	s := server(t, kubesim.Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	defer s.Close()
	client := func(kind string) kubernetes.Interface {
		c, err := kubernetes.NewForConfig(&rest.Config{Host: web.URL, ContentConfig: rest.ContentConfig{ContentType: kind, AcceptContentTypes: kind}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	binary, text := client(runtime.ContentTypeProtobuf), client(runtime.ContentTypeJSON)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	same := func(what string) {
		t.Helper()
		a, err := binary.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		must(err)
		b, err := text.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		must(err)
		if d := cmp.Diff(b, a, cmpopts.IgnoreTypes(metav1.TypeMeta{})); d != "" {
			t.Errorf("%s: -JSON +protobuf\n%s", what, d)
		}
	}
	told, err := binary.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	must(err)
	defer told.Stop()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"app": "a"}}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}}
	a, err := binary.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	must(err)
	pod.Name = "b"
	b, err := text.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	must(err)
	same("created")
	a.Name, a.UID, a.ResourceVersion, a.CreationTimestamp = b.Name, b.UID, b.ResourceVersion, b.CreationTimestamp
	if d := cmp.Diff(b, a, cmpopts.IgnoreTypes(metav1.TypeMeta{})); d != "" {
		t.Errorf("created by each: -JSON +protobuf\n%s", d)
	}
	must(binary.CoreV1().Pods("default").Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{}))
	_, err = binary.CoreV1().Pods("default").Patch(ctx, "a", types.StrategicMergePatchType, []byte(`{"metadata":{"annotations":{"x":"y"}}}`), metav1.PatchOptions{})
	must(err)
	a, err = binary.CoreV1().Pods("default").Get(ctx, "a", metav1.GetOptions{})
	must(err)
	a.Status.Phase, a.Status.StartTime = corev1.PodRunning, new(metav1.Now())
	_, err = binary.CoreV1().Pods("default").UpdateStatus(ctx, a, metav1.UpdateOptions{})
	must(err)
	same("runs")
	a.Labels["late"] = "yes"
	if _, err = binary.CoreV1().Pods("default").Update(ctx, a, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an update of an old version: %v", err)
	}
	if err = binary.CoreV1().Pods("default").Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("another"))}}); !apierrors.IsConflict(err) {
		t.Errorf("a deletion of another: %v", err)
	}
	must(binary.PolicyV1().Evictions("default").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: new(int64(7))}}))
	same("is evicted")
	must(binary.CoreV1().Pods("default").Delete(ctx, "b", metav1.DeleteOptions{}))
	var got []string
	for len(got) < 8 {
		select {
		case e := <-told.ResultChan():
			name := "?"
			if p, ok := e.Object.(*corev1.Pod); ok {
				name = p.Name + " " + p.Annotations[metav1.InitialEventsAnnotationKey]
			}
			got = append(got, string(e.Type)+" "+name)
		case <-ctx.Done():
			t.Fatalf("a watch told only %q", got)
		}
	}
	if d := cmp.Diff([]string{"BOOKMARK  true", "ADDED a ", "ADDED b ", "MODIFIED a ", "MODIFIED a ", "MODIFIED a ", "MODIFIED a ", "DELETED b "}, got); d != "" {
		t.Error(d)
	}
	s.Forget()
	old, err := binary.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{ResourceVersion: "3"})
	if err == nil {
		e := <-old.ResultChan()
		old.Stop()
		if err = apierrors.FromObject(e.Object); e.Type != watch.Error {
			t.Errorf("%s", e.Type)
		}
	}
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from what is forgotten: %v", err)
	}
}
