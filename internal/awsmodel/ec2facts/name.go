package ec2facts

import (
	"cmp"
	"strings"
)

// SplitName gives the parts of an instance type's name around the first dot.
func SplitName(name string) (family, size string) {
	family, size, _ = strings.Cut(name, ".")
	return family, size
}

// Compare orders types by family, then instance size (vCPUs, memory, metal last), then name: the order of Facts.Types.
func Compare(a, b *Type) int {
	fa, _ := SplitName(a.Name)
	fb, _ := SplitName(b.Name)
	metal := func(t *Type) int {
		if t.BareMetal {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(fa, fb),
		cmp.Compare(a.VCPUs, b.VCPUs),
		cmp.Compare(a.MemoryMiB, b.MemoryMiB),
		cmp.Compare(metal(a), metal(b)),
		cmp.Compare(a.Name, b.Name),
	)
}
