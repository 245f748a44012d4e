package bench

import (
	"cmp"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Cost is what a computation took. CPU time, garbage collection included, is what counts on an instance with other work.
type Cost struct {
	Wall, CPU     time.Duration
	Bytes, Allocs uint64
	// Runs of which this is the median by CPU time.
	Runs int
}

func (c *Cost) plus(o Cost) {
	c.Wall += o.Wall
	c.CPU += o.CPU
	c.Bytes += o.Bytes
	c.Allocs += o.Allocs
	c.Runs = max(c.Runs, o.Runs)
}

// measure runs prepare and then run, which alone counts, again and again until there are enough runs or enough time
// went by.
func measure(runs int, enough time.Duration, prepare func() error, run func() error) (Cost, error) {
	var all []Cost
	for total := time.Duration(0); len(all) < runs && (len(all) == 0 || total < enough); {
		if err := prepare(); err != nil {
			return Cost{}, err
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start, cpu := time.Now(), cpuTime()
		if err := run(); err != nil {
			return Cost{}, err
		}
		c := Cost{Wall: time.Since(start), CPU: cpuTime() - cpu}
		runtime.ReadMemStats(&after)
		c.Bytes, c.Allocs = after.TotalAlloc-before.TotalAlloc, after.Mallocs-before.Mallocs
		all = append(all, c)
		total += c.Wall
	}
	slices.SortFunc(all, func(x, y Cost) int { return cmp.Compare(x.CPU, y.CPU) })
	out := all[len(all)/2]
	out.Runs = len(all)
	return out, nil
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
