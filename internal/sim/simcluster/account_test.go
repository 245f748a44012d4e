package simcluster_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// outside runs functions in a goroutine of its own, out of any bubble that is made later: a profiler sleeps, and a bubble's
// clock would run for it.
type outside struct {
	ask  chan func()
	done chan struct{} // made out of the bubble too
}

func newOutside() outside {
	o := outside{make(chan func()), make(chan struct{})}
	go func() {
		for f := range o.ask {
			f()
			o.done <- struct{}{}
		}
	}()
	return o
}

func (o outside) do(f func()) {
	o.ask <- f
	<-o.done
}

// account is what the controller of a cluster took of the processor and of memory between two moments, apart from what the
// cluster took. Both are one process, so:
//
//   - The processor's time is that of a profile, by the label that all goroutines of a controller bear. What bears no label,
//     which is the collection of garbage and the Go scheduler, is split as what was allocated is.
//   - What was allocated is that of a profile of the heap, by its stacks: the cluster's have a handler of the server's, a
//     package of the cluster's or one of the simulations' in them.
type account struct {
	outside outside
	cpu     bytes.Buffer
	heap    [2]int64 // bytes that the controller and the cluster had allocated when it began
	count   int64    // objects that the controller had allocated then
}

func (a *account) begin() error {
	var err error
	a.outside.do(func() {
		a.heap, a.count = allocatedBy()
		err = pprof.StartCPUProfile(&a.cpu)
	})
	return err
}

// spent is what an account ends with.
type spent struct {
	// CPU is the controller's, Cluster the cluster's; both have their share of Unlabelled.
	CPU, Simulated, Unlabelled time.Duration
	Bytes, Objects             int64 // that the controller allocated
}

func (a *account) end() (spent, error) {
	var s spent
	var err error
	a.outside.do(func() {
		pprof.StopCPUProfile()
		heap, count := allocatedBy()
		heap[0], heap[1] = heap[0]-a.heap[0], heap[1]-a.heap[1]
		s.Bytes, s.Objects = heap[0], count-a.count
		var by map[string]time.Duration
		if by, err = byLabel(a.cpu.Bytes(), simcluster.ProfileLabel); err != nil {
			return
		}
		s.CPU, s.Simulated, s.Unlabelled = by["controller"], by["simulated"], by[""]
		ours := time.Duration(float64(s.Unlabelled) * float64(heap[0]) / float64(max(heap[0]+heap[1], 1)))
		s.CPU, s.Simulated = s.CPU+ours, s.Simulated+s.Unlabelled-ours
	})
	return s, err
}

// allocatedBy is what was allocated since the process began, by the controller and by the cluster, and in how many objects
// by the controller. Both are estimates from samples.
func allocatedBy() (size [2]int64, controller int64) {
	runtime.GC() // the profile is that of the last collection
	runtime.GC()
	var records []runtime.MemProfileRecord
	for n, ok := runtime.MemProfile(nil, true); !ok; {
		records = make([]runtime.MemProfileRecord, n+100)
		if n, ok = runtime.MemProfile(records, true); ok {
			records = records[:n]
		}
	}
	for i := range records {
		who := 0
		bytes, objects := scaled(&records[i])
		if isCluster(records[i].Stack()) {
			who = 1
		} else {
			controller += objects
		}
		size[who] += bytes
	}
	return size, controller
}

// scaled is what a record of the sampled stands for: an object is sampled the likelier the larger it is.
func scaled(r *runtime.MemProfileRecord) (bytes, objects int64) {
	if r.AllocObjects == 0 {
		return 0, 0
	}
	mean := float64(r.AllocBytes) / float64(r.AllocObjects)
	scale := 1 / (1 - math.Exp(-mean/float64(runtime.MemProfileRate)))
	return int64(float64(r.AllocBytes) * scale), int64(float64(r.AllocObjects) * scale)
}

func isCluster(stack []uintptr) bool {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		for _, of := range []string{"net/http.(*conn).serve", "internal/sim/kubesim.", "internal/sim/awssim", "internal/sim/simcluster_test.", "internal/sim/simcluster/actors."} {
			if strings.Contains(f.Function, of) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}

// live is how many bytes of the heap are in use once garbage is collected.
func live() int64 {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// byLabel sums the time of a profile of the processor by the values of a label; what does not bear it is under "". The
// format is profile.proto's: of a Profile field 2 are the samples and field 6 the strings, of a Sample field 2 are the values,
// the second of which is nanoseconds, and field 3 the labels, whose fields 1 and 2 are key and value.
func byLabel(profile []byte, label string) (map[string]time.Duration, error) {
	r, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return nil, fmt.Errorf("read a profile: %w", err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read a profile: %w", err)
	}
	type sample struct {
		took       int64
		key, value []uint64
	}
	var text []string
	var samples []sample
	fields(raw, func(n int, _ uint64, b []byte) {
		switch n {
		case 6:
			text = append(text, string(b))
		case 2:
			var s sample
			fields(b, func(n int, v uint64, b []byte) {
				switch n {
				case 2: // two values, so few that they are not packed
					s.took = int64(v)
				case 3:
					var key, value uint64
					fields(b, func(n int, v uint64, _ []byte) {
						switch n {
						case 1:
							key = v
						case 2:
							value = v
						}
					})
					s.key, s.value = append(s.key, key), append(s.value, value)
				}
			})
			samples = append(samples, s)
		}
	})
	out := map[string]time.Duration{}
	for _, s := range samples {
		of := ""
		for i, key := range s.key {
			if text[key] == label {
				of = text[s.value[i]]
			}
		}
		out[of] += time.Duration(s.took)
	}
	return out, nil
}

// fields calls f for each field of a message with its number, and its value if it is a varint or else its bytes.
func fields(b []byte, f func(n int, v uint64, b []byte)) {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		b = b[n:]
		v, n := binary.Uvarint(b)
		b = b[n:]
		switch tag & 7 {
		case 0:
			f(int(tag>>3), v, nil)
		case 2:
			f(int(tag>>3), 0, b[:v])
			b = b[v:]
		default:
			panic(fmt.Sprintf("a field of type %d in a profile", tag&7))
		}
	}
}
