package plan

// Code is the kind of a Reason; the set is closed, and every Code is worded once, in Reason.Text.
type Code string

// The reasons for which a pool or the existing nodes can't take a class; and, last, those for which pods wait that a plan has a place
// for: no solver gives these.
const (
	PoolNotReady       Code = "PoolNotReady"       // Detail: what is not ready
	TaintNotTolerated  Code = "TaintNotTolerated"  // Key, Value: the taint
	LabelMismatch      Code = "LabelMismatch"      // Key; Want: the pod's side; Have: the pool's side
	LabelUnknown       Code = "LabelUnknown"       // Key is on no node of the pool; Nearest: a known key that looks like it
	NoTypeMatches      Code = "NoTypeMatches"      // Key, Want: the requirement that empties the set of types; Nearest: a value that exists
	TooLarge           Code = "TooLarge"           // Resource; Want, Have: amounts; Nearest: the type that comes closest
	NoOffering         Code = "NoOffering"         // no type × zone × capacity type that fits can be launched now; Detail: why
	LimitReached       Code = "LimitReached"       // Resource; Want: what the smallest node adds; Have: what is left of the limit
	NoAddresses        Code = "NoAddresses"        // the subnets in every zone that would do are full; Want: what the smallest node takes; Detail: what each zone has left
	HostPortTaken      Code = "HostPortTaken"      // Key: port/protocol, taken by every node's daemons; Detail: the daemon, if it is on some nodes only
	TopologyUnmet      Code = "TopologyUnmet"      // Key: topology key; Detail: which constraint
	AntiAffinityUnmet  Code = "AntiAffinityUnmet"  // Key: topology key
	AffinityUnmet      Code = "AffinityUnmet"      // Key: topology key
	MinValuesUnmet     Code = "MinValuesUnmet"     // Key; Want, Have: counts
	Contradiction      Code = "Contradiction"      // the pod asks for two things that exclude each other; Key, Detail
	NoPools            Code = "NoPools"            // there is no pool that could launch
	Unplaceable        Code = "Unplaceable"        // Detail: cluster.Class.Unplaceable
	NodesFull          Code = "NodesFull"          // existing nodes: Resource that is short on the roomiest node; Want, Have; Nearest: node
	ReservationPending Code = "ReservationPending" // waits for a reservation to be settled
	TooDear            Code = "TooDear"            // EC2 is short; Want: what is left and its price; Have: the usual price; Value, Key: how many times as much it is, and may be; Nearest: what is short; Resource: when it is asked for again; Detail: until when is waited
	AskedAgain         Code = "AskedAgain"         // their node would be launched from what EC2 lacked the last time; another of the pool is, to see whether it is there again
	CheckFailed        Code = "CheckFailed"        // the independent check refused their part of the plan
)

// Reason says why one pool (or the existing nodes) can't take a class: the first constraint that empties what is left,
// and the nearest thing that would have worked.
type Reason struct {
	Code     Code   `json:"code"`
	Pool     string `json:"pool,omitempty"`
	Key      string `json:"key,omitempty"`
	Value    string `json:"value,omitempty"`
	Resource string `json:"resource,omitempty"`
	Want     string `json:"want,omitempty"`
	Have     string `json:"have,omitempty"`
	Nearest  string `json:"nearest,omitempty"`
	Detail   string `json:"detail,omitempty"`
	// Refused is what keeps offerings that would do from being asked for, of NoOffering. It is for whoever looks for the cause in this
	// process, and is not recorded: Detail says it.
	Refused Refusals `json:"-"`
	// Types counts how many instance types were left before this constraint.
	Types int `json:"types,omitempty"`
}
