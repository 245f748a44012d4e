package pack

import "github.com/kerf-sh/kerf/internal/engine/cluster"

// taintVerdict says how taints stand to tolerations.
type taintVerdict int

func judgeTaints(taints []cluster.Taint, tolerations []cluster.Toleration) taintVerdict {
	if len(taints) == 0 {
		return bears
	}
	if _, ok := cluster.Untolerated(taints, tolerations, cluster.NoSchedule, cluster.NoExecute); ok {
		return barred
	}
	if _, ok := cluster.Untolerated(taints, tolerations, cluster.PreferNoSchedule); ok {
		return avoids
	}
	return bears
}

const (
	bears  taintVerdict = iota // all taints are tolerated
	avoids                     // only PreferNoSchedule is not
	barred                     // NoSchedule or NoExecute is not
)
