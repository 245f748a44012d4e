package world

// Lifecycle is told when instances change state. Calls are made outside the world's lock, so an implementation may call
// back; calls for one instance come in order. They must not block for long: with a real clock they run on a timer's
// goroutine.
type Lifecycle interface {
	// OnRunning is called when an instance has left pending.
	OnRunning(Instance)
	// OnTerminating is called when an instance begins to shut down, whoever asked for it.
	OnTerminating(Instance)
	// OnTerminated is called when an instance has released its address and its capacity.
	OnTerminated(Instance)
}

// AddLifecycle makes h hear of all changes from now on.
func (w *World) AddLifecycle(h Lifecycle) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hooks = append(w.hooks, h)
}

// StateWatcher is told every state that an instance comes into, the first one included, in order and under the same
// rules as a Lifecycle.
type StateWatcher interface{ OnState(Instance) }

// AddStateWatcher makes s hear of all states from now on.
func (w *World) AddStateWatcher(s StateWatcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watchers = append(w.watchers, s)
}

// tellStateLocked tells what state an instance is in.
func (w *World) tellStateLocked(i *Instance) {
	seen := i.clone()
	for _, s := range w.watchers {
		w.events = append(w.events, func() { s.OnState(seen) })
	}
}

func (w *World) tellLocked(i *Instance, call func(Lifecycle, Instance)) {
	seen := i.clone()
	for _, h := range w.hooks {
		w.events = append(w.events, func() { call(h, seen) })
	}
}
