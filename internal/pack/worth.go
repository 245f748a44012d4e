package pack

import "math"

// worthKey is a machine's choices and what a pod asks for; that decides what the pod is worth there.
type worthKey struct {
	shape *shape
	size  int
}

type worthOf struct {
	nano  int64
	found bool
}

// fairWorth is what one pod costs on the machine on which it is cheapest, were the machine filled with its like.
func (s *solver) fairWorth(sh *shape, it *item) (int64, bool) {
	if len(it.class.src.HostPorts) > 0 {
		return sh.fairWorth(it)
	}
	at := worthKey{sh, s.sizeOf(it.class)}
	w, known := s.worths[at]
	if !known {
		w.nano, w.found = sh.fairWorth(it)
		s.worths[at] = w
	}
	return w.nano, w.found
}

func (sh *shape) fairWorth(it *item) (int64, bool) {
	best, found := int64(math.MaxInt64), false
	req := it.class.req
	for _, t := range sh.order {
		net := sh.pool.net[t]
		if !req.Fits(net) || portsConflict(it.class.src.HostPorts, sh.pool.burdens[sh.pool.burdenOf[t]].ports) {
			continue
		}
		share, per := 0.0, sh.pool.perNet[t]
		for r, x := range req {
			share = max(share, float64(x)*per[r])
		}
		worth := int64(math.Ceil(share * float64(max(0, sh.price[t])) * 1000))
		if worth < best {
			best, found = worth, true
		}
	}
	return max(best, 1), found
}
