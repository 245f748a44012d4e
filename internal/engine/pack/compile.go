package pack

// compile makes a model of the problem: classes, pools, nodes and topology as the stages read them, and items of the pods.
func (s *solver) compile() {
	s.makeSchema()
	s.compileClasses()
	s.compileDaemons()
	s.compileKey = s.memory.use(s)
	s.compileReservations()
	s.compileSubnets()
	s.compilePools()
	for _, c := range s.classes {
		c.rank = s.rankOf(c)
	}
	s.compileNodes()
	s.compileTopology()
	s.restrictClasses()
	if s.moving != nil {
		for _, n := range s.nodes {
			s.hostOf(n)
		}
	} else {
		s.compileItems()
	}
}

// compileItems makes items of all classes and sorts them, hardest first.
func (s *solver) compileItems() {
	for _, c := range s.classes {
		if c.broken != "" {
			continue
		}
		if !c.sequential {
			s.splitClass(c)
		}
	}
	s.sortItems()
}
