package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// parseSubnets reads "zone:subnet:free addresses".
func parseSubnets(items []string) ([]cluster.Subnet, error) {
	var out []cluster.Subnet
	for _, item := range items {
		zone, rest, _ := strings.Cut(item, ":")
		id, free, _ := strings.Cut(rest, ":")
		n, err := strconv.ParseInt(free, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("subnets %q: want zone:subnet:free", item)
		}
		out = append(out, cluster.Subnet{ID: id, Zone: zone, Free: n})
	}
	slices.SortFunc(out, func(a, b cluster.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}
