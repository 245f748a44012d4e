package beside

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// burst is pods that come within a minute.
type burst struct {
	name, what string
	pods       int
	// parts are applied one after the other, with a pause between them.
	parts []string
	pause time.Duration
}

// bursts are those that are told: what teams start on a Monday morning.
func bursts() []burst {
	five := make([]string, 5)
	for i := range five {
		size := sizes[2*i]
		five[i] = deployment(fmt.Sprintf("part-%d", i), 300, size.cpu, size.memory, "")
	}
	trickle := make([]string, 60)
	for i := range trickle {
		trickle[i] = pod(fmt.Sprintf("lone-%d", i), "500m", "512Mi")
	}
	ten := ""
	for i, size := range sizes {
		ten += deployment(fmt.Sprintf("size-%d", i), 100, size.cpu, size.memory, "")
	}
	return []burst{
		{"sizes", "ten Deployments of 100 pods, each of another size", 1000, []string{ten}, 0},
		{"deployment", "a Deployment of 2,000 pods", 2000, []string{deployment("burst", 2000, "500m", "512Mi", "")}, 0},
		{"five", "five Deployments of 300 pods that begin within ten seconds", 1500, five, 2 * time.Second},
		{"job", "a Job of 500 pods, all at once", 500, []string{job("burst", 500, "500m", "512Mi")}, 0},
		{"trickle", "60 pods without an owner, one a second", 60, trickle, time.Second},
	}
}

// begin applies the parts of a burst and waits until all its pods run. The bill is what runs then. That many busy
// loops run on each core meanwhile.
func begin(b burst, loops int) func(context.Context, *testCluster) (*Figures, error) {
	return func(ctx context.Context, h *testCluster) (*Figures, error) {
		if err := h.apply(ctx, class("default", "al2023@latest")+pool("default", "default", `
- {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
- {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
- {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
- {key: kubernetes.io/arch, operator: In, values: [amd64]}`)); err != nil {
			return nil, err
		}
		if loops > 0 {
			stop, err := spin(ctx, loops*runtime.NumCPU())
			if err != nil {
				return nil, err
			}
			defer stop()
		}
		// The classes are resolved and the first prices read: a burst meets a controller that has been there for a while.
		if err := h.wait(ctx, 30*time.Second); err != nil {
			return nil, err
		}
		return h.measure(ctx, func(f *Figures) error {
			began := time.Now()
			for k, part := range b.parts {
				if k > 0 {
					if err := h.wait(ctx, b.pause); err != nil {
						return err
					}
				}
				if err := h.apply(ctx, part); err != nil {
					return err
				}
			}
			if err := h.runs(ctx, 15*time.Minute, b.pods); err != nil {
				return err
			}
			f.Served = time.Since(began)
			return nil
		})
	}
}

func (h *testCluster) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// spin runs so many busy loops until it is stopped.
func spin(ctx context.Context, loops int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running []*exec.Cmd
	stop = func() {
		cancel()
		for _, c := range running {
			_ = c.Wait() // killed
		}
	}
	for range loops {
		c := exec.CommandContext(ctx, "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("keeping a core busy: %w", err)
		}
		running = append(running, c)
	}
	return stop, nil
}
