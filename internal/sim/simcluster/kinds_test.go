package simcluster_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// The controller starts before its custom resources are installed, says which are missing, and goes on when they are there.
func TestAControllerWaitsForItsCustomResources(t *testing.T) {
	log := listen()
	simcluster.Run(t, simcluster.Options{World: few, Log: log, NoController: true, KubernetesAddress: "door:80"}, func(h *simcluster.Cluster) {
		var installed atomic.Bool
		l, err := h.Network.Listen("door:80")
		if err != nil {
			h.T.Fatal(err)
		}
		door := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !installed.Load() && strings.HasPrefix(r.URL.Path, "/apis/karpenter.k8s.aws") {
				http.NotFound(w, r)
				return
			}
			h.API.ServeHTTP(w, r)
		})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = door.Serve(l)
		}()
		defer func() {
			h.StopController()
			_ = door.Close()
			<-ended
		}()
		process := h.StartController()
		h.Pass(10 * time.Minute)
		select {
		case <-process.Done():
			h.T.Fatalf("the controller has ended: %v", process.Err())
		default:
		}
		if said := log.with("ec2nodeclasses.karpenter.k8s.aws", "kerf manifests --crds-only"); len(said) != 1 || strings.Contains(said[0], "nodepools.karpenter.sh") {
			h.T.Errorf("it said %q", said)
		}
		installed.Store(true)
		h.Apply(onDemand)
		h.Deploy("web", 1, "1", "1Gi")
		h.Running(2*time.Minute, "web", 1)
	})
}
