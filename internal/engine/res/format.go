package res

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

var binaryUnits = []struct {
	size int64
	name string
}{
	{1 << 60, "Ei"}, {1 << 50, "Pi"}, {1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"},
}

// IsBytes reports whether amounts of the resource are bytes.
func IsBytes(resource string) bool {
	return resource == Memory || resource == EphemeralStorage || strings.HasPrefix(resource, "hugepages-")
}

// Format writes an amount as people read it: 250m and 4 for cpu, 3.5Gi for bytes, a plain number for counts. Bytes are
// rounded to at most two decimals; everything else is exact.
func Format(resource string, amount int64) string {
	switch {
	case resource == CPU:
		if amount%1000 == 0 {
			return strconv.FormatInt(amount/1000, 10)
		}
		if amount > 1000 || amount < -1000 {
			return strings.TrimRight(fmt.Sprintf("%d.%03d", amount/1000, abs(amount%1000)), "0")
		}
		return strconv.FormatInt(amount, 10) + "m"
	case IsBytes(resource):
		return formatBytes(amount)
	}
	return strconv.FormatInt(amount, 10)
}

func formatBytes(n int64) string {
	if n < 0 {
		return "-" + formatBytes(-max(n, -1<<63+1))
	}
	for _, u := range binaryUnits {
		if n < u.size {
			continue
		}
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
		hundredths := int64(float64(n) / float64(u.size) * 100)
		text := fmt.Sprintf("%d.%02d", hundredths/100, hundredths%100)
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		return text + u.name
	}
	return strconv.FormatInt(n, 10)
}

// String lists the amounts in name order, as in "cpu 250m, memory 1Gi".
func (l List) String() string {
	parts := make([]string, 0, len(l))
	for _, k := range slices.Sorted(maps.Keys(l)) {
		parts = append(parts, k+" "+Format(k, l[k]))
	}
	return strings.Join(parts, ", ")
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
