package world

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// InstanceState is a state in the life of an instance.
type InstanceState string

// States of an instance.
const (
	StatePending      InstanceState = "pending"
	StateRunning      InstanceState = "running"
	StateShuttingDown InstanceState = "shutting-down"
	StateTerminated   InstanceState = "terminated"
	StateStopping     InstanceState = "stopping"
	StateStopped      InstanceState = "stopped"
)

// Code is the number that EC2 gives with the state's name.
func (s InstanceState) Code() int32 {
	switch s {
	case StateRunning:
		return 16
	case StateShuttingDown:
		return 32
	case StateTerminated:
		return 48
	case StateStopping:
		return 64
	case StateStopped:
		return 80
	}
	return 0
}

// Capacity types, as Karpenter names them and as fleets do. CapacityBlock is a market type only: such instances come from
// the stock of their reservation.
const (
	OnDemand      = "on-demand"
	Spot          = "spot"
	CapacityBlock = "capacity-block"
)

// Instance is an instance. Values handed out are copies.
type Instance struct {
	ID, ReservationID string
	Type              string
	Arch              string
	ImageID           string
	Zone, ZoneID      string
	SubnetID, VPCID   string
	State             InstanceState
	CapacityType      string // OnDemand or Spot
	LaunchTime        time.Time
	RunningAt         time.Time // zero until then
	TerminatedAt      time.Time // zero until then
	PrivateIP         netip.Addr
	PublicIP          netip.Addr
	PrivateDNSName    string
	ProfileARN        string
	SecurityGroupIDs  []string
	SpotRequestID     string
	// CapacityReservationID is the reservation that the instance uses, if any.
	CapacityReservationID string
	// PlacementGroupID and PlacementGroupName are of the group that the instance stands in, if any; Partition is its place
	// in a partition group, from 1.
	PlacementGroupID, PlacementGroupName string
	Partition                            int32
	FleetID                              string
	LaunchTemplateID                     string
	LaunchTemplateVersion                int64
	LaunchTemplateName                   string
	Launch                               LaunchData // what was asked for, with overrides applied
	Tags                                 map[string]string
	StateReasonCode                      string
	StateReasonMessage                   string
	StateTransitionReason                string
	Interfaces                           []Interface
	Volumes                              []VolumeAttachment
	PriceMicroUSD                        int64 // per hour, at launch

	pooled    bool // holds an instance of its pool's stock, not of a reservation
	visibleAt time.Time
	late      []lateTags
}

// Interface is a network interface of an instance.
type Interface struct {
	ID, Type, Description       string // type: interface, efa, efa-only
	SubnetID                    string
	PrivateIP                   netip.Addr // invalid for efa-only
	DeviceIndex, CardIndex      int32
	SecurityGroupIDs            []string
	MAC                         string
	DeleteOnTermination         bool
	Tags                        map[string]string
	Secondary                   []netip.Addr
	Prefixes                    []netip.Prefix // of 16 IPv4 addresses each
	Ipv6Prefixes, Ipv6Addresses int32          // how many; the simulated subnets have no IPv6 ranges to give out
	PrimaryIpv6                 bool
	ConnectionTracking          *ConnectionTracking
}

// VolumeAttachment is a volume of an instance.
type VolumeAttachment struct {
	VolumeID, Device    string
	DeleteOnTermination bool
	SizeGiB             int32
	Type                string
	Iops, Throughput    int32 // MiB/s; zero where the type has none
	Encrypted           bool
	KMSKey, SnapshotID  string // as asked for
	Tags                map[string]string
}

type lateTags struct {
	at  time.Time
	set map[string]string // value "" with drop set means delete
	del []string
}

// UserData returns the decoded user data, nil when there is none or it is not base64.
func (i *Instance) UserData() []byte {
	b, err := base64.StdEncoding.DecodeString(i.Launch.UserData)
	if err != nil || len(b) == 0 {
		return nil
	}
	return b
}

// ProviderID is the name that the cloud provider gives to the instance's node.
func (i *Instance) ProviderID() string { return "aws:///" + i.Zone + "/" + i.ID }

// Live tells whether the instance still holds capacity and an address.
func (i *Instance) Live() bool { return i.State != StateTerminated }

// Lifecycle is what EC2 calls the way in which an instance was launched: spot, capacity-block or, if ordinary, "".
func (i *Instance) Lifecycle() string {
	switch {
	case i.CapacityType == Spot:
		return Spot
	case i.Launch.market() == CapacityBlock:
		return CapacityBlock
	}
	return ""
}

func (i *Instance) clone() Instance {
	c := *i
	c.Tags = maps.Clone(i.Tags)
	c.SecurityGroupIDs = slices.Clone(i.SecurityGroupIDs)
	c.Interfaces = slices.Clone(i.Interfaces)
	for n := range c.Interfaces {
		c.Interfaces[n].Tags = maps.Clone(c.Interfaces[n].Tags)
	}
	c.Volumes = slices.Clone(i.Volumes)
	for n := range c.Volumes {
		c.Volumes[n].Tags = maps.Clone(c.Volumes[n].Tags)
	}
	c.late = nil
	return c
}

// settleTags makes tags visible whose time has come.
func (i *Instance) settleTags(now time.Time) {
	for len(i.late) > 0 && !now.Before(i.late[0].at) {
		l := i.late[0]
		i.late = i.late[1:]
		if i.Tags == nil {
			i.Tags = map[string]string{}
		}
		maps.Copy(i.Tags, l.set)
		for _, k := range l.del {
			delete(i.Tags, k)
		}
	}
}

// Instances returns the instances that a reader can see now, oldest first; terminated ones for an hour.
func (w *World) Instances() []Instance { return w.visible(func(string) bool { return true }) }

// InstancesOf is Instances for those of the given ids that there are.
func (w *World) InstancesOf(ids []string) []Instance {
	return w.visible(func(id string) bool { return slices.Contains(ids, id) })
}

func (w *World) visible(takes func(id string) bool) []Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	var out []Instance
	for id, i := range w.ec2.instances {
		if now.Before(i.visibleAt) || !takes(id) {
			continue
		}
		i.settleTags(now)
		out = append(out, i.clone())
	}
	slices.SortFunc(out, byLaunch)
	return out
}

func byLaunch(a, b Instance) int {
	return cmp.Or(a.LaunchTime.Compare(b.LaunchTime), cmp.Compare(a.ID, b.ID))
}

// AllInstances returns all instances, also those that a reader cannot see yet.
func (w *World) AllInstances() []Instance {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	out := sorted(w.ec2.instances, func(i *Instance) Instance { i.settleTags(now); return i.clone() })
	slices.SortFunc(out, byLaunch)
	return out
}

// EachInstance calls f for every instance that there is, in no order, also those that readers don't see yet. It copies
// nothing: f is called while the world is locked, and must neither change what it gets nor keep its maps and slices.
func (w *World) EachInstance(f func(Instance)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	for _, i := range w.ec2.instances {
		i.settleTags(now)
		f(*i)
	}
}

// Instance returns one instance if a reader can see it.
func (w *World) Instance(id string) (Instance, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.visibleLocked(id); i != nil {
		return i.clone(), true
	}
	return Instance{}, false
}

func (w *World) visibleLocked(id string) *Instance {
	now := w.clock.Now()
	i := w.ec2.instances[id]
	if i == nil || now.Before(i.visibleAt) {
		return nil
	}
	i.settleTags(now)
	return i
}

// StateChange is what a call did to an instance.
type StateChange struct {
	ID                string
	Previous, Current InstanceState
}

// Terminate ends instances. An unknown id, or one not visible yet, refuses the whole batch; one that is protected from
// termination those of its zone.
func (w *World) Terminate(ids []string) ([]StateChange, error) {
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
	var out []StateChange
	held, by := w.protectedLocked(ids)
	for _, id := range ids {
		i := w.ec2.instances[id]
		if held[i.Zone] {
			continue
		}
		prev := i.State
		w.shutDownLocked(i, "Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown",
			"User initiated")
		out = append(out, StateChange{id, prev, i.State})
	}
	if by != "" {
		return nil, Errorf("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", by)
	}
	return out, nil
}

// protectedLocked is in which zones there are live instances of these that are protected from termination, and the first
// of them. Spot instances can't be protected.
//
// Source: EC2 API reference, TerminateInstances; EC2 User Guide, "Change instance termination protection".
func (w *World) protectedLocked(ids []string) (zones map[string]bool, first string) {
	zones = map[string]bool{}
	for _, id := range ids {
		i := w.ec2.instances[id]
		if !i.Live() || i.CapacityType == Spot || !deref(i.Launch.DisableAPITermination) {
			continue
		}
		zones[i.Zone] = true
		if first == "" {
			first = id
		}
	}
	return zones, first
}

// Reclaim ends an instance from the provider's side, as at a spot interruption. It tells whether there was such a live
// instance.
func (w *World) Reclaim(id string) bool {
	w.mu.Lock()
	defer w.unlock()
	i := w.ec2.instances[id]
	if i == nil || i.State == StateShuttingDown || i.State == StateTerminated {
		return false
	}
	code, message := "Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination"
	if i.CapacityType != Spot {
		code, message = "Server.ScheduledStop", "Server.ScheduledStop: Stopped due to a scheduled retirement"
	}
	w.shutDownLocked(i, code, message, "Server.SpotInstanceTermination")
	return true
}

// UnknownInstances is the refusal of a call that names instances that do not exist.
func UnknownInstances(ids []string) *Error {
	if len(ids) == 1 {
		return Errorf("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", ids[0])
	}
	return Errorf("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", joinIDs(ids))
}

func joinIDs(ids []string) string {
	s := ""
	for n, id := range ids {
		if n > 0 {
			s += ", "
		}
		s += id
	}
	return s
}

func (w *World) shutDownLocked(i *Instance, code, message, transition string) {
	if i.State == StateShuttingDown || i.State == StateTerminated {
		return
	}
	i.State = StateShuttingDown
	i.StateReasonCode, i.StateReasonMessage = code, message
	i.StateTransitionReason = transition + " (" + w.clock.Now().Format("2006-01-02 15:04:05 GMT") + ")"
	w.tellLocked(i, Lifecycle.OnTerminating)
	w.tellStateLocked(i)
	w.afterLocked(w.spreadLocked(w.opts.ShutdownTime), func() { w.endLocked(i) })
}

// endLocked makes an instance terminated: its addresses and its capacity come back, its record goes after an hour.
func (w *World) endLocked(i *Instance) {
	if i.State == StateTerminated {
		return
	}
	i.State = StateTerminated
	i.TerminatedAt = w.clock.Now()
	w.releaseLocked(i)
	i.PrivateIP, i.PublicIP, i.PrivateDNSName = netip.Addr{}, netip.Addr{}, ""
	w.detachLocked(i)
	i.Interfaces, i.Volumes = nil, nil
	i.SecurityGroupIDs = nil
	w.tellLocked(i, Lifecycle.OnTerminated)
	w.tellStateLocked(i)
	w.afterLocked(w.opts.TerminatedVisible, func() {
		delete(w.ec2.instances, i.ID)
		delete(w.ec2.statuses, i.ID)
		delete(w.ec2.spotRequests, i.SpotRequestID)
	})
}

func (w *World) releaseLocked(i *Instance) {
	for _, n := range i.Interfaces {
		s := w.ec2.net.subnets[n.SubnetID]
		if s == nil {
			continue
		}
		for _, a := range append(slices.Clone(n.Secondary), n.PrivateIP) {
			if a.IsValid() {
				s.give(a)
			}
		}
		for _, p := range n.Prefixes {
			s.givePrefix(p)
		}
	}
	if i.pooled {
		w.poolFor(i).used--
		i.pooled = false
	}
	w.ec2.quotaUsed[quotaKey{i.CapacityType, QuotaClass(i.Type)}] -= w.vcpus(i.Type)
	if r := w.ec2.reservations[i.CapacityReservationID]; r != nil {
		r.used--
	}
}

// startLocked puts a new instance on its way to running or, if there is something wrong with it, to its end.
func (w *World) startLocked(i *Instance, r *Error) {
	w.tellStateLocked(i)
	if f := w.poolFaultLocked(FaultFailedLaunch, i.CapacityType, i.Type, i.Zone, i.SubnetID); f != nil {
		r = f.refusal(ClientError, ClientError+": Client error on launch", 400)
	}
	if r != nil {
		w.afterLocked(w.spreadLocked(w.opts.PendingTime), func() {
			if i.State != StatePending {
				return
			}
			i.StateReasonCode, i.StateReasonMessage = r.Code, r.Message
			i.StateTransitionReason = "Server.InternalError"
			w.tellLocked(i, Lifecycle.OnTerminating)
			i.State = StateShuttingDown
			w.tellStateLocked(i)
			w.endLocked(i)
		})
		return
	}
	w.afterLocked(w.spreadLocked(w.opts.PendingTime), func() {
		if i.State != StatePending {
			return
		}
		i.State = StateRunning
		i.RunningAt = w.clock.Now()
		w.tellLocked(i, Lifecycle.OnRunning)
		w.tellStateLocked(i)
	})
}

// spreadLocked gives a duration near d: between 0.8 and 1.2 of it.
func (w *World) spreadLocked(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*w.rand.Float64()))
}
