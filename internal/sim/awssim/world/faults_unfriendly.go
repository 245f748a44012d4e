package world

import (
	"cmp"
	"slices"
	"time"
)

// Faults that let parts of AWS disagree for a while, or let somebody else meddle.
const (
	// FaultLateProfiles makes EC2 not know instance profiles, by name (Resource), until they are Delay older than they
	// would have to be.
	FaultLateProfiles FaultKind = "late-profiles"
	// FaultMissingImages leaves images, by id (Resource), out of what is described, as though they were deregistered, while
	// parameters go on naming them.
	FaultMissingImages FaultKind = "missing-images"
	// FaultMissingSpotPrices leaves the price history of matching pools (InstanceType, Zone) out.
	FaultMissingSpotPrices FaultKind = "missing-spot-prices"
	// FaultLostTemplates deletes launch templates, by name (Resource), that a fleet names, just before it is looked at.
	FaultLostTemplates FaultKind = "lost-templates"
	// FaultStaleRole gives instances no credentials whose profile holds a matching role (Resource), as where a role was
	// deleted and made anew under its name: they boot and never join.
	FaultStaleRole FaultKind = "stale-role"
	// FaultDisorderedMessages hands out the newest message of a queue (Resource) first.
	FaultDisorderedMessages FaultKind = "disordered-messages"
)

// Switch is a behaviour of AWS that a program has to live with, under a name: the faults that bring it about.
type Switch struct {
	Name string `json:"name"`
	// Says is what AWS does.
	Says   string  `json:"says"`
	Faults []Fault `json:"faults"`
}

// Switches lists the unfriendly behaviours that have a name. Faults of a switch can be had narrower, or otherwise, by
// adding them one by one.
func Switches() []Switch {
	const some = 5 * time.Second
	return []Switch{
		{"partial-fleet", "a fleet brings some of the instances that it was asked for, and errors for the rest", []Fault{{Kind: FaultPartialFleet, Limit: 1}}},
		{"lost-reply", "a fleet is made, and its answer gets lost, three times over", []Fault{{Kind: FaultLostReply, Service: "ec2", Operation: "CreateFleet", Count: 3}}},
		{"late-instances", "new instances can't be described for some seconds", []Fault{{Kind: FaultLateInstances, Delay: some}}},
		{"late-profiles", "EC2 does not know a new instance profile for some seconds", []Fault{{Kind: FaultLateProfiles, Delay: some}}},
		{"late-tags", "tags are missing on instances for some seconds", []Fault{{Kind: FaultLateTags, Delay: some}}},
		{"throttled-parameter", "one kind of SSM parameter is throttled", []Fault{{Kind: FaultThrottle, Service: "ssm", Operation: "GetParameter*", Resource: "*x86_64*"}}},
		{"missing-images", "images are gone that SSM still names", []Fault{{Kind: FaultMissingImages}}},
		{"missing-spot-prices", "a zone has no spot price history", []Fault{{Kind: FaultMissingSpotPrices, Zone: "*a"}}},
		{"no-addresses", "subnets of a zone show free addresses and have none", []Fault{{Kind: FaultNoAddresses, Zone: "*a"}}},
		{"untidy-messages", "messages come more than once, and the newest first", []Fault{{Kind: FaultDuplicateMessage, Probability: 0.5}, {Kind: FaultDisorderedMessages}}},
		{"lost-templates", "somebody deletes launch templates", []Fault{{Kind: FaultLostTemplates, Count: 1}}},
		{"stale-role", "the role of the instances was deleted and made anew, and the profile holds the old one", []Fault{{Kind: FaultStaleRole}}},
		{"failed-launch", "instances end as they start", []Fault{{Kind: FaultFailedLaunch}}},
		{"account-rates", "requests are refused beyond the rates that an account has by default", AccountRates()},
	}
}

// SwitchOn adds the faults of a switch and tells whether there is one of that name. Switched on twice it begins afresh.
func (w *World) SwitchOn(name string) bool {
	for _, s := range Switches() {
		if s.Name != name {
			continue
		}
		w.SwitchOff(name)
		for _, f := range s.Faults {
			f.ID = switchID(name, f)
			w.AddFault(f)
		}
		return true
	}
	return false
}

// SwitchOff removes the faults of a switch and tells whether it was on.
func (w *World) SwitchOff(name string) bool {
	off := false
	for _, s := range Switches() {
		for _, f := range s.Faults {
			off = s.Name == name && w.RemoveFault(switchID(name, f)) || off
		}
	}
	return off
}

// switchID names the fault of a switch.
func switchID(name string, f Fault) string { return cmp.Or(f.ID, name+"-"+string(f.Kind)) }

// aboutLocked returns the first fault of a kind that strikes at a thing of such a name.
func (w *World) aboutLocked(kind FaultKind, name string) *Fault {
	for _, f := range w.faults.all {
		if f.Kind == kind && fits(f.Resource, name) && w.strikesLocked(f) {
			return f
		}
	}
	return nil
}

// profileLateLocked is for how much longer EC2 does not know a profile.
func (w *World) profileLateLocked(name string) time.Duration {
	if f := w.aboutLocked(FaultLateProfiles, name); f != nil {
		return f.Delay
	}
	return 0
}

// loseTemplatesLocked deletes those templates of a request that somebody else has chosen.
func (w *World) loseTemplatesLocked(r *FleetRequest) {
	for _, c := range r.Configs {
		t, err := w.templateLocked(c.Template)
		if err == nil && w.aboutLocked(FaultLostTemplates, t.Name) != nil {
			delete(w.ec2.templates, t.ID)
			delete(w.ec2.templateIDs, t.Name)
		}
	}
}

// unpricedLocked reports whether a spot pool has no price history.
func (w *World) unpricedLocked(instanceType, zone string) bool {
	return w.poolFaultLocked(FaultMissingSpotPrices, Spot, instanceType, zone, "") != nil
}

// StaleRole reports whether instances get no credentials of a role.
func (w *World) StaleRole(role string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.aboutLocked(FaultStaleRole, role) != nil
}

// handOutLocked is the order in which a queue hands its messages out.
func (w *World) handOutLocked(q *queue) []*message {
	if len(q.messages) < 2 || w.aboutLocked(FaultDisorderedMessages, q.name) == nil {
		return q.messages
	}
	out := slices.Clone(q.messages)
	slices.Reverse(out)
	return out
}
