package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// lookAtHeap is how often it is looked how much was allocated, and calmAfter how many looks in a row have to find little.
	lookAtHeap, calmAfter = 5 * time.Second, 6
	// littlePerLook is what a controller allocates at most in the time of a look while hardly anything happens, in bytes.
	littlePerLook = 50 << 20
	// calmPercent is how far the heap may grow then before it is collected, busyPercent how far at other times: the holes
	// that a busy time leaves stay for long.
	calmPercent, busyPercent = 30, 60
)

// gcTuning has garbage collected more often while little is allocated, and gives back to the system what a busy time has left
// over: a controller of a thousand nodes rests nearly always, and need not hold twice what it uses for that. Collections are
// cheap then, for they are still rare. Where GOGC is set, that holds.
func gcTuning(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	ticker := time.NewTicker(lookAtHeap)
	defer ticker.Stop()
	debug.SetGCPercent(busyPercent)
	var pace pace
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch pace.look(allocated()) {
		case becameCalm:
			debug.SetGCPercent(calmPercent)
			debug.FreeOSMemory()
		case becameBusy:
			debug.SetGCPercent(busyPercent)
		}
	}
}

// pace tells calm times from busy ones.
type pace struct {
	before uint64
	looks  int // in a row that found little
}

type change int

const (
	asBefore change = iota
	becameCalm
	becameBusy
)

// look takes what was allocated since the process began, in bytes.
func (p *pace) look(total uint64) change {
	little := total-p.before <= littlePerLook
	p.before = total
	switch {
	case little:
		if p.looks++; p.looks == calmAfter {
			return becameCalm
		}
	case p.looks >= calmAfter:
		p.looks = 0
		return becameBusy
	default:
		p.looks = 0
	}
	return asBefore
}

func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
