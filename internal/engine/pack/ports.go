package pack

import "github.com/kerf-sh/kerf/internal/engine/cluster"

func portsConflict(a, b []cluster.HostPort) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Conflicts(y) {
				return true
			}
		}
	}
	return false
}
