package kubelet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// TestPortsAreForwarded asks as the API server does for "kubectl port-forward": the pod's port 8080 is another of this computer.
func TestPortsAreForwarded(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "it is me") }))
	defer web.Close()
	at, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	real, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	s, err := servePods(nil, forwarder{func(namespace, pod string, port int) (int, error) {
		if namespace+"/"+pod != "default/web" || port != 8080 {
			return 0, errors.New("there is no such port")
		}
		return real, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for port, want := range map[int]string{8080: "it is me", 9090: ""} {
		round, upgrader, err := spdy.RoundTripperFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		if err != nil {
			t.Fatal(err)
		}
		to := &url.URL{Scheme: "https", Host: fmt.Sprintf("127.0.0.1:%d", s.port()), Path: "/portForward/default/web"}
		ended, ready, failed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		var said strings.Builder
		f, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: round}, http.MethodPost, to), []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ended, ready, io.Discard, &said)
		if err != nil {
			t.Fatal(err)
		}
		go func() { failed <- f.ForwardPorts() }()
		select {
		case err := <-failed:
			t.Fatal(err)
		case <-ready:
		}
		ports, err := f.GetPorts()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", ports[0].Local)); err == nil {
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			got = string(text)
		}
		close(ended)
		<-failed
		if got != want {
			t.Errorf("port %d answers %q, want %q", port, got, want)
		}
	}
}
