package obs

import (
	_ "embed" // the table
	"strings"
)

//go:embed karpenter.tsv
var karpenterTable string

// Served is whether a metric of Karpenter has a series.
type Served string

// Values of Served.
const (
	Always Served = "yes"   // in every cluster with a node
	Once   Served = "event" // once what it counts has happened
	Never  Served = "no"    // the note says why, and what serves instead
)

// KarpenterMetric is what Karpenter's reference says of one of its metrics, and what Kerf makes of it.
type KarpenterMetric struct {
	Name, Type string
	Labels     []string
	// NodeLabels says that the well-known labels of nodes are among the labels too.
	NodeLabels bool
	Served     Served
	Note       string
}

// Karpenter are the metrics of Karpenter, in the order of the table.
func Karpenter() []KarpenterMetric {
	var out []KarpenterMetric
	for line := range strings.Lines(karpenterTable) {
		line = strings.TrimSuffix(line, "\n")
		columns := strings.Split(line, "\t")
		if strings.HasPrefix(line, "#") || len(columns) != 5 || columns[0] == "name" {
			continue
		}
		m := KarpenterMetric{Name: columns[0], Type: columns[1], Served: Served(columns[3]), Note: columns[4]}
		for _, label := range strings.Fields(columns[2]) {
			if label == "+nodelabels" {
				m.NodeLabels = true
			} else {
				m.Labels = append(m.Labels, label)
			}
		}
		out = append(out, m)
	}
	return out
}
