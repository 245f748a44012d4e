package world

import (
	"net/http"
	"slices"
	"time"
)

// ZonalShift is traffic of a cluster that is moved away from a zone.
type ZonalShift struct {
	ZoneID string
	// Expires is when it ends by itself; zero for an autoshift, which AWS begins and ends.
	Expires   time.Time
	Started   time.Time
	Automatic bool
}

// EnableZonalShift registers a cluster with ARC, or takes it out.
func (w *World) EnableZonalShift(cluster string, enabled bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.eks.clusters[cluster]
	if c == nil {
		return noCluster(cluster)
	}
	if c.ZonalShift = enabled; !enabled {
		delete(w.eks.shifts, c.ARN)
	}
	return nil
}

func noCluster(name string) error {
	return &Error{Code: "ResourceNotFoundException", Message: "No cluster found for name: " + name + ".", Status: http.StatusNotFound}
}

// StartZonalShift moves traffic of a cluster away from a zone. A resource has one shift that people began at a time.
func (w *World) StartZonalShift(cluster string, s ZonalShift) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.eks.clusters[cluster]
	switch {
	case c == nil:
		return noCluster(cluster)
	case !c.ZonalShift:
		return &Error{Code: "ResourceNotFoundException", Message: "The resource " + c.ARN + " is not registered with ARC.", Status: http.StatusNotFound}
	case !slices.ContainsFunc(w.ec2.net.zones, func(z Zone) bool { return z.ID == s.ZoneID }):
		return &Error{Code: "ValidationException", Message: "The zone " + s.ZoneID + " does not exist.", Status: http.StatusBadRequest}
	case !s.Automatic && slices.ContainsFunc(w.shiftsLocked(c.ARN), func(o ZonalShift) bool { return !o.Automatic }):
		return &Error{Code: "ConflictException", Message: "The resource " + c.ARN + " has an active zonal shift.", Status: http.StatusConflict}
	}
	if s.Started = w.clock.Now(); s.Automatic {
		s.Expires = time.Time{}
	}
	w.eks.shifts[c.ARN] = append(w.shiftsLocked(c.ARN), s)
	return nil
}

// EndZonalShifts ends all shifts of a cluster.
func (w *World) EndZonalShifts(cluster string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.eks.clusters[cluster]
	if c == nil {
		return noCluster(cluster)
	}
	delete(w.eks.shifts, c.ARN)
	return nil
}

// ZonalShifts returns the shifts of a cluster by its ARN; false when ARC does not know it.
func (w *World) ZonalShifts(arn string) ([]ZonalShift, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.eks.clusters {
		if c.ARN == arn && c.ZonalShift {
			return w.shiftsLocked(arn), true
		}
	}
	return nil, false
}

// shiftsLocked are the shifts that have not expired.
func (w *World) shiftsLocked(arn string) []ZonalShift {
	now := w.clock.Now()
	return slices.DeleteFunc(slices.Clone(w.eks.shifts[arn]), func(s ZonalShift) bool { return !s.Automatic && !now.Before(s.Expires) })
}
