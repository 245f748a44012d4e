package pack

type group struct{}
type classTopology struct{}
type hostState struct{}

func (h hostState) clone() hostState { return h }

func (s *solver) compileTopology()                             {}
func (s *solver) placeCareful(taintVerdict)                    {}
func (s *solver) hostCap(c *class, h *hostState, want int) int { return want }
func (s *solver) hostAdd(c *class, h *hostState, n int)        {}
func (s *solver) countOnNode(c *class, n *node, k int)         {}
func (s *solver) countOnMachine(c *class, m *machine, k int)   {}
func (s *solver) perHost(c *class) int                         { return 0 }
func (s *solver) forcedMachines(it *item) int                  { return 1 }
func (s *solver) splitClass(c *class) {
	it := s.newItem(c, len(c.pods), "", 0)
	c.items = append(c.items, it)
	s.items = append(s.items, it)
}
