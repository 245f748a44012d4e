package pack

// place solves the problem with the preferences of the choice as demands, and without any others. It solves it again where
// pods are not where they were counted ahead, or limits that were deferred are exceeded.
func (k *memory) place(p *Problem, preferences choice, hint domainHint) *solver {
	unsure := map[string]bool{}
	for {
		s := newSolver(p, k)
		s.unsure, s.choice, s.hint = unsure, preferences, hint
		s.compile()
		s.placeAll()
		if !s.exceedsLimits() && !s.missedShares() {
			return s
		}
	}
}

// placeAll runs the passes: first without the nodes and pools that a PreferNoSchedule taint asks to avoid, then with
// them for what is left. Within a pass higher ranks go first. Where nothing can run short, new nodes are launched for all
// ranks together, because that packs better.
func (s *solver) placeAll() {
	ranks, scarce := s.ranks(), s.scarce()
	for _, worst := range []taintVerdict{bears, avoids} {
		for i := range ranks {
			s.placeSequentially(worst, &ranks[i])
			for _, it := range s.podGroups {
				if it.left > 0 && it.class.rank == ranks[i] {
					s.placeOnNodes(it, it.left, worst)
				}
			}
			if scarce {
				s.launchRank(worst, &ranks[i])
			}
		}
		if !scarce {
			s.launchAll(worst)
		}
		s.placeSequentially(worst, nil)
	}
	s.merge()
	if scarce { // a merger may have left some of a limit
		for i := range ranks {
			s.launchRank(avoids, &ranks[i])
		}
	}
	s.lastResort = true
	s.placeSequentially(avoids, nil)
	s.squeeze()
}

// launchAll opens new nodes until every item is placed or can't be.
func (s *solver) launchAll(worst taintVerdict) { s.launchRank(worst, nil) }

// launchRank is buyAll for the items of one rank; nil for all.
func (s *solver) launchRank(worst taintVerdict, only *rank) {
	s.sumDemand(worst, only)
	stale := 0
	for i, it := range s.podGroups {
		if only != nil && it.class.rank != *only {
			continue
		}
		if stale--; stale < 0 {
			stale = s.assemble(i, only) / 2
		}
		for it.left > 0 {
			s.joinNewNodes(it, it.left, worst)
			if it.left == 0 {
				break
			}
			p := s.choosePool(it, worst)
			if p != it.pool {
				s.moveDemand(it, p)
			}
			if p == nil || s.openNode(it, p, it.left, true) == 0 {
				if p == nil || !s.nextPool(it, p, worst) {
					break
				}
			}
		}
		s.moveDemand(it, nil)
	}
}

// nextPool tries the pools after p, which could carry the item by itself but not now.
func (s *solver) nextPool(it *podGroup, p *pool, worst taintVerdict) bool {
	for next := s.poolAfter(it, p, worst); next != nil; next = s.poolAfter(it, next, worst) {
		s.moveDemand(it, next)
		if s.openNode(it, next, it.left, true) > 0 {
			return true
		}
	}
	return false
}

// joinNewNodes uses room on new nodes that are launched already and that would not get dearer by it.
func (s *solver) joinNewNodes(it *podGroup, want int, worst taintVerdict) int {
	got := 0
	s.listSpare()
	cpu, memory := it.class.req[s.lead[0]], it.class.req[s.lead[1]]
	for i, m := range s.newNodes {
		if got == want {
			break
		}
		if spare := &s.spare[i]; cpu > spare[0] && cpu > 0 || memory > spare[1] && memory > 0 {
			continue
		}
		if m.pool == it.pool && !m.sequential && !m.ranked {
			continue // it was filled with all that its pool's items could use
		}
		v := s.view(it, m.pool)
		if v.shape == nil && m.reserved == nil || v.verdict > worst {
			continue
		}
		got += s.joinFree(it, m, want-got)
	}
	return got
}

// joinFree puts pods on a new node as far as its cheapest type has room.
func (s *solver) joinFree(it *podGroup, m *newNode, want int) int {
	t := m.best
	room := m.pool.net[t].Clone()
	room.Sub(m.used, 1)
	if !it.class.req.Fits(room) {
		return 0
	}
	next := s.join(m.shape, it, t)
	if next == nil || next.price[t] > m.shape.price[t] {
		return 0
	}
	// What was charged may be less than this type has; it must still be within the limits.
	m.pool.refund(m)
	defer m.pool.charge(m)
	before := len(m.parts)
	if !m.pool.affordable.Has(t) || s.take(m, it, t, room, want) != taken {
		return 0
	}
	n := m.parts[before].n
	m.settleAll()
	s.noteSpare(m)
	it.left -= n
	s.dropDemand(it, n)
	s.countOnNewNode(it.class, m, n)
	return n
}

// sumDemand assigns every item to the pool it would be launched for and adds up what each pool has to carry.
func (s *solver) sumDemand(worst taintVerdict, only *rank) {
	for _, p := range s.pools {
		clear(p.demand)
		p.worth = 0
	}
	for _, it := range s.podGroups {
		it.pool = nil
		if it.left > 0 && (only == nil || it.class.rank == *only) {
			s.moveDemand(it, s.choosePool(it, worst))
		}
	}
}

func (s *solver) moveDemand(it *podGroup, p *pool) {
	if it.pool != nil {
		s.dropDemand(it, it.left)
	}
	it.pool = p
	if p != nil {
		p.demand.Add(it.class.req, it.left)
		p.worth += it.on[p.rank].worth * int64(it.left)
	}
}

func (s *solver) dropDemand(it *podGroup, n int) {
	if it.pool == nil {
		return
	}
	it.pool.demand.Sub(it.class.req, n)
	it.pool.worth -= it.on[it.pool.rank].worth * int64(n)
}

// missedShares finds classes that were dealt out over domains but did not find their places there. What was counted on
// their behalf then misled others, so the problem is solved again with those classes placed pod by pod. It is true when
// there is a new one, so it can't go on for ever.
func (s *solver) missedShares() bool {
	missed := false
	for _, it := range s.podGroups {
		if it.class.topo.share != nil && (it.left > 0 || s.tipped(it)) && !s.unsure[it.class.src.ID] {
			s.unsure[it.class.src.ID] = true
			missed = true
		}
	}
	return missed
}
