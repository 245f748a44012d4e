package gate

// watch remembers an answer that has no end.
func (g *Gate) watch(s *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.watches == nil {
		g.watches = map[*stream]bool{}
	}
	g.watches[s] = true
	for old := range g.watches {
		select {
		case <-old.done:
			delete(g.watches, old)
		default:
		}
	}
}

// endWatches breaks all watches that are open; only the Kubernetes API has any.
func (g *Gate) endWatches(api string) {
	if api != "" && api != kubernetesAPI {
		return
	}
	g.mu.Lock()
	open := g.watches
	g.watches = nil
	g.mu.Unlock()
	for s := range open {
		_ = s.Close() // a watch that has ended already
	}
}
