package world

import "strconv"

// RunRequest is what RunInstances asks for: at least Min and at most Max instances of one kind.
type RunRequest struct {
	ClientToken string `json:"-"`
	Min, Max    int
	Template    *TemplateRef
	Data        LaunchData // over the template's
	SubnetID    string
	Zone        string
}

// CheckRun judges a request as a dry run does: all that launching would check before it looks for room.
func (w *World) CheckRun(r RunRequest) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.runPlanLocked(r)
	return err
}

// Run launches instances. Unlike a fleet it is refused as a whole when fewer than Min can be had.
func (w *World) Run(r RunRequest) ([]Instance, error) {
	w.mu.Lock()
	defer w.unlock()
	seen, err := w.tokenLocked("RunInstances", r.ClientToken, r)
	if err != nil {
		return nil, err
	}
	if ids, ok := seen.([]string); ok {
		return w.copiesLocked(ids), nil
	}
	ids, err := w.runLocked(r)
	if err != nil {
		w.dropTokenLocked("RunInstances", r.ClientToken)
		return nil, err
	}
	w.keepTokenLocked("RunInstances", r.ClientToken, ids)
	return w.copiesLocked(ids), nil
}

func (w *World) runLocked(r RunRequest) ([]string, error) {
	l, err := w.runPlanLocked(r)
	if err != nil {
		return nil, err
	}
	if err := w.roomForLocked(l, r.Min); err != nil {
		return nil, err
	}
	var ids []string
	reservation := w.newIDLocked("r")
	for range r.Max {
		i, err := w.placeLocked(l)
		if err != nil {
			if len(ids) >= r.Min {
				break
			}
			for _, id := range ids { // a fault struck half-way: nothing of this call may stay
				w.undoLocked(w.ec2.instances[id])
			}
			return nil, err
		}
		i.ReservationID = reservation
		ids = append(ids, i.ID)
	}
	return ids, nil
}

func (w *World) runPlanLocked(r RunRequest) (*launch, error) {
	if r.Min < 1 || r.Max < r.Min {
		return nil, Errorf("InvalidParameterValue", "MinCount %s and MaxCount %s do not fit each other.", strconv.Itoa(r.Min), strconv.Itoa(r.Max))
	}
	data, capacityType := r.Data, OnDemand
	var template *LaunchTemplate
	var version TemplateVersion
	if r.Template != nil {
		var err error
		if template, err = w.templateLocked(*r.Template); err != nil {
			return nil, err
		}
		if version, err = template.Version(r.Template.Version); err != nil {
			return nil, err
		}
		data = version.Data.merge(r.Data)
	}
	if data.market() == Spot {
		capacityType = Spot
	}
	zone := r.Zone
	if zone == "" && data.Placement != nil {
		zone = data.Placement.AvailabilityZone
	}
	l, err := w.checkLocked(data, capacityType, r.SubnetID, zone)
	if err != nil {
		return nil, err
	}
	l.template, l.version = template, version.Number
	return l, nil
}

// undoLocked takes an instance back that nobody has heard of.
func (w *World) undoLocked(i *Instance) {
	i.State = StateTerminated // so that its timers find nothing to do
	w.releaseLocked(i)
	delete(w.ec2.spotRequests, i.SpotRequestID)
	delete(w.ec2.instances, i.ID)
}

func (w *World) copiesLocked(ids []string) []Instance {
	var out []Instance
	for _, id := range ids {
		if i := w.ec2.instances[id]; i != nil {
			out = append(out, i.clone())
		}
	}
	return out
}
