package world

// StateOf returns the state of an instance, whether or not a reader of the API can see it yet.
func (w *World) StateOf(id string) (InstanceState, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.ec2.instances[id]
	if i == nil {
		return "", false
	}
	return i.State, true
}
