package disrupt

import (
	"fmt"
	"os"
	"sort"
	"testing"

	"github.com/kerf-sh/kerf/internal/cluster"
)

func Dump(p *Problem) {
	s := newSearch(p)
	var ns []*nodeState
	for _, n := range s.managed() {
		ns = append(ns, n)
	}
	sort.Slice(ns, func(i, j int) bool { return ns[i].usage() < ns[j].usage() })
	var tot, fl, po float64
	for _, n := range ns {
		cu := float64(n.src.Used["cpu"]) / float64(n.src.Allocatable["cpu"])
		mu := float64(n.src.Used["memory"]) / float64(n.src.Allocatable["memory"])
		fmt.Fprintf(os.Stderr, "%s %s usage %.3f eff %.3f cpu %.2f mem %.2f pods %d price %d\n", n.src.Name, n.src.InstanceType, n.usage(), n.efficiency(), cu, mu, len(n.src.Pods), n.price)
		tot += float64(n.price)
		fl += float64(n.floor)
		po += float64(n.potential)
	}
	fmt.Fprintf(os.Stderr, "total %.2f floor %.2f potential %.2f\n", tot/1e6, fl/1e6, po/1e6)
	s.chooseTargets(emptiestFirst)
	for _, k := range []int{1, 2, 4, 8, 16, 24, 32, 48, 64, len(ns)} {
		if k <= len(ns) {
			a := s.ask(ns[:k], true)
			t, _ := total(ns[:k])
			fmt.Fprintf(os.Stderr, "set %d: %+v of %d\n", k, a, t)
		}
	}
}

var _ testing.TB
var _ cluster.Node
