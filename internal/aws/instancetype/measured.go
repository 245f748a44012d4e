package instancetype

import (
	"sync"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// alike is what decides how much of its memory an instance keeps, as far as is known.
type alike struct {
	stated int
	arch   string
	metal  bool
}

func kindOf(t *ec2facts.Type) alike { return alike{t.MemoryMiB, firstArch(t), t.BareMetal} }

func firstArch(t *ec2facts.Type) string {
	if len(t.Architectures) == 0 {
		return ""
	}
	return t.Architectures[0]
}

// leastByKind has, for instances of equal size, the least memory that a guest of any of them saw, in MiB.
var leastByKind = sync.OnceValue(func() map[alike]int64 {
	out := map[alike]int64{}
	facts, err := ec2facts.Load()
	if err != nil {
		return out // whoever loads the facts at start-up reports it
	}
	for i := range facts.Types {
		t := &facts.Types[i]
		if t.GuestMemoryMiB == 0 {
			continue
		}
		k, m := kindOf(t), int64(t.GuestMemoryMiB)
		if old, ok := out[k]; !ok || m < old {
			out[k] = m
		}
	}
	return out
})

func leastMeasured(t *ec2facts.Type) (int64, bool) {
	m, ok := leastByKind()[kindOf(t)]
	return m, ok
}
