package terminate_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/controller/terminate"
)

// busy is an API server that has whoever asks come back in ten seconds.
type busy struct{ asked int }

func (b *busy) RoundTrip(*http.Request) (*http.Response, error) {
	b.asked++
	refusal := apierrors.NewTooManyRequests("the budget is still being processed", 10).Status()
	refusal.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(refusal)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"10"}}, Body: io.NopCloser(strings.NewReader(string(body))),
	}, nil
}

func TestARefusedEvictionComesBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &busy{}
		config := &rest.Config{Host: "http://api", Transport: server, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
		config.Wrap(terminate.OwnPace)
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		pod := metav1.ObjectMeta{Namespace: "x", Name: "a"}
		err = client.CoreV1().Pods("x").EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: pod})
		if !apierrors.IsTooManyRequests(err) || server.asked != 1 || time.Since(began) != 0 {
			t.Errorf("%v after %s and %d calls", err, time.Since(began), server.asked)
		}
		// Nothing else is kept from coming back as the server says.
		_, err = client.CoreV1().Pods("x").Create(t.Context(), &corev1.Pod{ObjectMeta: pod}, metav1.CreateOptions{})
		if !apierrors.IsTooManyRequests(err) || server.asked < 3 || time.Since(began) < 10*time.Second {
			t.Errorf("%v after %s and %d calls", err, time.Since(began), server.asked)
		}
	})
}
