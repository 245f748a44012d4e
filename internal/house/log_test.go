package house_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/house"
)

func TestTheLogSaysWhyAClassIsNotReady(t *testing.T) {
	log := listen()
	house.Run(t, house.Options{World: few, Log: log}, func(h *house.House) {
		h.Apply(strings.Replace(onDemand, "KarpenterNodeRole-kerf", "Nobody", 1))
		h.Eventually(time.Minute, "it is said", func() (bool, string) {
			return len(log.with("resolved ec2nodeclass", "ready=false", "RoleNotFound", "does not exist")) > 0, strings.Join(log.with("resolved ec2nodeclass"), "\n")
		})
	})
}
