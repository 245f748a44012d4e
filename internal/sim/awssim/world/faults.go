package world

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// FaultKind says what a Fault does.
type FaultKind string

// The kinds of fault. Request faults (the first four) look at Service, Operation and Principal; the others are read by
// the part that they concern.
const (
	// FaultThrottle refuses with the service's throttling error: all matching calls while Count lasts, or, when Rate is
	// set, those beyond the rate.
	FaultThrottle FaultKind = "throttle"
	// FaultError refuses with Code, Message and Status without acting.
	FaultError FaultKind = "error"
	// FaultSlow answers after Delay.
	FaultSlow FaultKind = "slow"
	// FaultLostReply acts, then drops the connection without an answer.
	FaultLostReply FaultKind = "lost-reply"

	// FaultNoCapacity makes pools that match CapacityType, InstanceType and Zone empty. Code and Message replace the
	// usual error if set; for spot, AuthFailure.ServiceLinkedRoleCreationNotPermitted is such a code.
	FaultNoCapacity FaultKind = "no-capacity"
	// FaultPartialFleet gives fleets at most Limit instances, and InsufficientInstanceCapacity for the rest.
	FaultPartialFleet FaultKind = "partial-fleet"
	// FaultSilentFleet gives fleets at most Limit instances, and no error for the rest.
	FaultSilentFleet FaultKind = "silent-fleet"
	// FaultLateInstances hides new instances from reads by Delay.
	FaultLateInstances FaultKind = "late-instances"
	// FaultLateTags hides tags, those given at launch and later ones, from reads by Delay.
	FaultLateTags FaultKind = "late-tags"
	// FaultFailedLaunch lets instances that match go from pending to terminated with Code and Message as state reason, as
	// a volume key without permission does.
	FaultFailedLaunch FaultKind = "failed-launch"
	// FaultNoAddresses makes launches in matching subnets (SubnetID) fail although they show free addresses.
	FaultNoAddresses FaultKind = "no-addresses"
)

// Fault is one misbehaviour, as data. Empty patterns match all; patterns are globs.
type Fault struct {
	ID   string    `json:"id,omitempty"` // given by AddFault when empty
	Kind FaultKind `json:"kind"`

	Service   string `json:"service,omitempty"`
	Operation string `json:"operation,omitempty"`
	Principal string `json:"principal,omitempty"`
	// Resource narrows a request fault to requests that name such a thing (a parameter's path, an instance id), where the
	// service tells.
	Resource string `json:"resource,omitempty"`

	CapacityType string `json:"capacityType,omitempty"` // on-demand or spot
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	SubnetID     string `json:"subnetId,omitempty"`

	Code    string        `json:"code,omitempty"`
	Message string        `json:"message,omitempty"`
	Status  int           `json:"status,omitempty"`
	Delay   time.Duration `json:"delay,omitempty"` // in JSON nanoseconds, or text such as "30s"

	Count       int       `json:"count,omitempty"`       // strikes before it is spent; 0 = without end
	Skip        int       `json:"skip,omitempty"`        // matching calls to let pass first
	Probability float64   `json:"probability,omitempty"` // of striking; 0 = always
	Rate        float64   `json:"rate,omitempty"`        // throttle: calls per second that pass
	Burst       float64   `json:"burst,omitempty"`       // throttle: calls that pass at once
	Limit       int       `json:"limit,omitempty"`       // partial-fleet, silent-fleet
	Until       time.Time `json:"until,omitzero"`        // spent from then on

	Hits int `json:"hits"` // how often it struck
	Seen int `json:"seen"` // how often it was asked

	tokens float64
	filled time.Time
}

type faultList struct {
	all  []*Fault
	next int
}

// AddFault switches a fault on and returns its id.
func (w *World) AddFault(f Fault) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.ID == "" {
		w.faults.next++
		f.ID = "fault-" + strconv.Itoa(w.faults.next)
	}
	f.tokens, f.filled = max(f.Burst, 1), w.clock.Now()
	w.faults.all = slices.DeleteFunc(w.faults.all, func(o *Fault) bool { return o.ID == f.ID })
	w.faults.all = append(w.faults.all, &f)
	return f.ID
}

// RemoveFault switches a fault off and tells whether there was one of that id.
func (w *World) RemoveFault(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.faults.all)
	w.faults.all = slices.DeleteFunc(w.faults.all, func(o *Fault) bool { return o.ID == id })
	return len(w.faults.all) < n
}

// ClearFaults switches all faults off.
func (w *World) ClearFaults() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults.all = nil
}

// Faults returns all faults with their counters, spent ones included.
func (w *World) Faults() []Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]Fault, len(w.faults.all))
	for i, f := range w.faults.all {
		out[i] = *f
	}
	return out
}

// Fault returns one fault with its counters.
func (w *World) Fault(id string) (Fault, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults.all {
		if f.ID == id {
			return *f, true
		}
	}
	return Fault{}, false
}

// ThrottlingCode stands for a service's own throttling error, which a server puts in its place.
const ThrottlingCode = "ThrottlingException"

// Interception is what the faults have in store for a request.
type Interception struct {
	Delay     time.Duration // wait so long before acting
	Err       *Error        // refuse with this; nothing may be done
	Throttled bool          // Err says "too fast"; its code is ThrottlingCode unless the fault gave one
	DropReply bool          // act, then close the connection without an answer
	FaultIDs  []string
}

// Intercept asks the faults about a request before it is acted on. resources are the names in it, if the service knows
// them.
func (w *World) Intercept(service, operation, principal string, resources ...string) Interception {
	w.mu.Lock()
	defer w.mu.Unlock()
	var in Interception
	for _, f := range w.faults.all {
		if !f.fitsRequest(service, operation, principal, resources) || in.Err != nil {
			continue
		}
		switch f.Kind {
		case FaultThrottle, FaultError, FaultSlow, FaultLostReply:
			if !w.strikesLocked(f) {
				continue
			}
		default:
			continue
		}
		in.FaultIDs = append(in.FaultIDs, f.ID)
		switch f.Kind {
		case FaultThrottle:
			in.Throttled = true
			in.Err = f.refusal(ThrottlingCode, "Rate exceeded", 400)
		case FaultError:
			in.Err = f.refusal("InternalError", "An internal error has occurred.", 500)
		case FaultSlow:
			in.Delay += f.Delay
		case FaultLostReply:
			in.DropReply = true
		}
	}
	return in
}

func (f *Fault) refusal(code, message string, status int) *Error {
	e := &Error{Code: f.Code, Message: f.Message, Status: f.Status}
	if e.Code == "" {
		e.Code = code
		if e.Status == 0 {
			e.Status = status
		}
	}
	if e.Message == "" {
		e.Message = message
	}
	if e.Status == 0 {
		e.Status = 400
	}
	return e
}

func (f *Fault) fitsRequest(service, operation, principal string, resources []string) bool {
	if !fits(f.Service, service) || !fits(f.Operation, operation) || !fits(f.Principal, principal) {
		return false
	}
	if f.Resource == "" {
		return true
	}
	return slices.ContainsFunc(resources, func(r string) bool { return Match(f.Resource, r) })
}

func fits(pattern, s string) bool { return pattern == "" || Match(pattern, s) }

// strikesLocked counts one matching occasion and says whether the fault strikes at it.
func (w *World) strikesLocked(f *Fault) bool {
	now := w.clock.Now()
	if !f.Until.IsZero() && !now.Before(f.Until) {
		return false
	}
	if f.Count > 0 && f.Hits >= f.Count {
		return false
	}
	f.Seen++
	if f.Seen <= f.Skip {
		return false
	}
	if f.Rate > 0 {
		burst := max(f.Burst, 1)
		f.tokens = min(burst, f.tokens+f.Rate*now.Sub(f.filled).Seconds())
		f.filled = now
		if f.tokens >= 1 {
			f.tokens--
			return false
		}
	}
	if f.Probability > 0 && w.rand.Float64() >= f.Probability {
		return false
	}
	f.Hits++
	return true
}

// poolFaultLocked returns the first fault of a kind that strikes at a launch in a pool.
func (w *World) poolFaultLocked(kind FaultKind, capacityType, instanceType, zone, subnet string) *Fault {
	for _, f := range w.faults.all {
		if f.Kind == kind && fits(f.CapacityType, capacityType) && fits(f.InstanceType, instanceType) &&
			fits(f.Zone, zone) && fits(f.SubnetID, subnet) && w.strikesLocked(f) {
			return f
		}
	}
	return nil
}

// delayLocked returns the longest delay that faults of a kind ask for.
func (w *World) delayLocked(kind FaultKind, instanceType, zone string) time.Duration {
	var d time.Duration
	for _, f := range w.faults.all {
		if f.Kind == kind && fits(f.InstanceType, instanceType) && fits(f.Zone, zone) && w.strikesLocked(f) {
			d = max(d, f.Delay)
		}
	}
	return d
}

// AccountRates returns throttling faults with the request rates that an EC2 account has by default: calls that change
// something 5 per second with bursts of 50, calls that read 20 with bursts of 100, and the rates of the launch,
// terminate and tag calls.
func AccountRates() []Fault {
	rate := func(id, op string, rate, burst float64) Fault {
		return Fault{ID: "rate-" + id, Kind: FaultThrottle, Service: "ec2", Operation: op, Rate: rate, Burst: burst}
	}
	return []Fault{
		rate("fleet", "CreateFleet", 2, 5),
		rate("run", "RunInstances", 2, 5),
		rate("terminate", "TerminateInstances", 5, 100),
		rate("tag", "CreateTags", 10, 100),
		rate("describe", "Describe*", 20, 100),
		rate("template-create", "CreateLaunchTemplate", 5, 50),
		rate("template-delete", "DeleteLaunchTemplate", 5, 50),
	}
}

// FaultKinds lists every kind of fault.
func FaultKinds() []FaultKind {
	return []FaultKind{
		FaultThrottle, FaultError, FaultSlow, FaultLostReply, FaultNoCapacity, FaultPartialFleet, FaultSilentFleet, FaultLateInstances, FaultLateTags,
		FaultFailedLaunch, FaultNoAddresses, FaultDuplicateMessage, FaultWrongCluster,
		FaultLateProfiles, FaultMissingImages, FaultMissingSpotPrices, FaultLostTemplates, FaultStaleRole, FaultDisorderedMessages,
	}
}

// ParseFault reads a fault from JSON.
//
// Errors name the field or kind that does not exist, and the kinds that do.
func ParseFault(text []byte) (Fault, error) {
	type fields Fault
	var f Fault
	in := struct {
		*fields
		Delay any `json:"delay"`
	}{fields: (*fields)(&f)}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	switch delay := in.Delay.(type) {
	case string:
		var wrong error
		f.Delay, wrong = time.ParseDuration(delay)
		err = errors.Join(err, wrong)
	case float64:
		f.Delay = time.Duration(delay)
	}
	if err != nil {
		return f, fmt.Errorf(`fault %s: want JSON such as {"kind":"no-capacity","capacityType":"spot"} or {"kind":"slow","service":"ec2","delay":"30s"}: %w`, text, err)
	}
	if !slices.Contains(FaultKinds(), f.Kind) {
		return f, fmt.Errorf("fault kind %q does not exist; the kinds are %q", f.Kind, FaultKinds())
	}
	return f, nil
}
