package e2e

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/local"
)

// Controllers that fill their caches before the election do their work after it. Virtual time can't play this: controller-runtime
// holds a lock while it waits for the first lists.
func TestControllersThatWarmUpDoTheirWork(t *testing.T) {
	e := up(t, func(o *local.Options) { o.ControllerEnv = append(o.ControllerEnv, "DISABLE_CONTROLLER_WARMUP=false") })
	e.apply(poolYAML)
	e.ready("default")
	e.apply(deployment("web", 2, "1", "1Gi", ""))
	e.running(2*time.Minute, "default", 2)
}
