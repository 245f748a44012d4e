package history

import "time"

// Objects as far as they are read again and again. What does not change, a pod's specification and an owner's template, is
// decoded once for each object: that is most of the bytes.

type lightMeta struct {
	Name, Namespace, UID                 string
	CreationTimestamp, DeletionTimestamp time.Time
	DeletionGracePeriodSeconds           int64
	OwnerReferences                      []lightRef
}

type lightRef struct {
	Kind, Name string
	Controller bool
}

// controller is what created the object; of no kind if nothing did.
func (m *lightMeta) controller() ref {
	for _, o := range m.OwnerReferences {
		if o.Controller {
			return ref{o.Kind, m.Namespace, o.Name}
		}
	}
	return ref{}
}

// goes is when an object's deletion was asked for; zero if it was not.
func (m *lightMeta) goes() time.Time {
	if m.DeletionTimestamp.IsZero() {
		return time.Time{}
	}
	return m.DeletionTimestamp.Add(-time.Duration(m.DeletionGracePeriodSeconds) * time.Second)
}

type lightPod struct {
	Metadata lightMeta
	Status   lightStatus
}

type lightStatus struct {
	Phase, Reason     string
	Conditions        []lightCondition
	ContainerStatuses []struct{ State lightState }
}

type lightCondition struct {
	Type, Status       string
	LastTransitionTime time.Time
}

type lightState struct {
	Running    *struct{ StartedAt time.Time }
	Terminated *struct{ StartedAt, FinishedAt time.Time }
}

type lightScaled struct {
	Metadata lightMeta
	Spec     struct{ Replicas *int }
	Status   struct{ Replicas int }
}
