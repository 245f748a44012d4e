package simcluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

func TestTheLogSaysWhyAClassIsNotReady(t *testing.T) {
	log := listen()
	simcluster.Run(t, simcluster.Options{World: few, Log: log}, func(h *simcluster.Cluster) {
		h.Apply(strings.Replace(onDemand, "KarpenterNodeRole-kerf", "Nobody", 1))
		h.Eventually(time.Minute, "it is said", func() (bool, string) {
			return len(log.with("resolved ec2nodeclass", "ready=false", "RoleNotFound", "does not exist")) > 0, strings.Join(log.with("resolved ec2nodeclass"), "\n")
		})
	})
}
