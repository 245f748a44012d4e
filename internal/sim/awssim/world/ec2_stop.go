package world

// Stop shuts a running instance down without ending it, as an owner or a scheduled stop does. It tells whether there was
// such a running instance. Stopped instances keep their capacity here and cannot be started again.
func (w *World) Stop(id string) bool {
	w.mu.Lock()
	defer w.unlock()
	i := w.ec2.instances[id]
	if i == nil || i.State != StateRunning {
		return false
	}
	w.stopLocked(i)
	return true
}

// StopInstances stops instances, all or none. Those that stop already or are stopped stay as they are.
//
// Source: EC2 API reference, StopInstances; EC2 User Guide, "Stop and start Amazon EC2 instances" and "Stop a Spot Instance".
func (w *World) StopInstances(ids []string) ([]StateChange, error) {
	w.mu.Lock()
	defer w.unlock()
	var missing []string
	for _, id := range ids {
		if w.visibleLocked(id) == nil {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return nil, UnknownInstances(missing)
	}
	for _, id := range ids {
		i := w.ec2.instances[id]
		switch {
		case i.CapacityType == Spot: // spot requests are one-time here
			return nil, Errorf("UnsupportedOperation", "You can't stop the Spot Instance '%s' because it is associated with a one-time Spot Instance request. "+
				"You can only stop Spot Instances associated with persistent Spot Instance requests.", id)
		case i.State != StateRunning && i.State != StateStopping && i.State != StateStopped:
			return nil, Errorf("IncorrectInstanceState", "This instance '%s' is not in a state from which it can be stopped.", id)
		}
	}
	var out []StateChange
	for _, id := range ids {
		i := w.ec2.instances[id]
		prev := i.State
		if prev == StateRunning {
			w.stopLocked(i)
		}
		out = append(out, StateChange{id, prev, i.State})
	}
	return out, nil
}

func (w *World) stopLocked(i *Instance) {
	i.State = StateStopping
	i.StateReasonCode, i.StateReasonMessage = "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown"
	i.StateTransitionReason = "User initiated (" + w.clock.Now().Format("2006-01-02 15:04:05 GMT") + ")"
	w.tellLocked(i, Lifecycle.OnTerminating)
	w.tellStateLocked(i)
	w.afterLocked(w.spreadLocked(w.opts.ShutdownTime), func() {
		if i.State == StateStopping {
			i.State = StateStopped
			w.tellStateLocked(i)
		}
	})
}
