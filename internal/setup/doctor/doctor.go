// Package doctor looks at what is set up around a controller, in AWS and in the cluster, for the mistakes that people make
// there, and says of each whether it was made, how that shows, and what fixes it.
//
// Looking (Look) and judging (Examine) are apart: all that is judged is in an Input, so that a judgement needs no network
// and can be tried on any set-up. Nothing is changed by either.
package doctor

import (
	"slices"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/account"
)

// Status is how a check came out.
type Status string

// The statuses. Unknown is a check that could not be made, skipped one that does not concern this set-up; both say why.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Failed  Status = "failed"
	Unknown Status = "unknown"
	Skipped Status = "skipped"
)

// Result is what one check found.
type Result struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	Title  string `json:"title"` // what is so when all is well
	Looked string `json:"looked"`
	Status Status `json:"status"`
	// Finding is one line; of unknown and skipped checks it says why.
	Finding  string   `json:"finding"`
	Evidence []string `json:"evidence,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`

	asked bool // for by name, so that it is said also where it is ok
}

// Report is what the doctor found.
type Report struct {
	Cluster        string   `json:"cluster"`
	Account        string   `json:"account,omitempty"`
	Region         string   `json:"region,omitempty"`
	Queue          string   `json:"queue,omitempty"`
	ControllerRole string   `json:"controllerRole,omitempty"`
	Results        []Result `json:"results"`
	// Unseen is what was to be looked at and could not be, AWS or the cluster: of that the report says nothing.
	Unseen []string `json:"unseen,omitempty"`
	// Notes are what the reader should know of how it was looked: which half is missing, what could not be read.
	Notes []string `json:"notes,omitempty"`
}

// Count is the number of checks that came out so.
func (r *Report) Count(s Status) int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Status == s {
			n++
		}
	}
	return n
}

// Input is all that is judged. A half that could not be looked at is nil, and the text beside it says why.
type Input struct {
	ClusterName string
	// Queue is the interruption queue as it was given or found, in whatever form, and QueueFrom says where.
	Queue, QueueFrom string

	AWS   *account.Account
	NoAWS string

	Metrics   *account.Metrics
	NoMetrics string
	Recent    *account.Metrics // of the last minutes; nil when they could not be read

	// Refused are actions of the controller that IAM itself calls denied, with its reason; nil when it could not be asked.
	Refused map[string]string

	Subnets   []account.Subnet
	NoSubnets string
	// SecurityGroups are those of the EC2NodeClasses; NoGroups is why they could not be read.
	SecurityGroups []account.SecurityGroup
	NoGroups       string

	// VolumeKey is the account's for volumes that name none; NoVolumeKey is why it could not be read.
	VolumeKey   account.VolumeKey
	NoVolumeKey string

	Kube   *Objects
	NoKube string

	// Proof is nil when no proof was asked for; ProofError is why one could not be made.
	Proof      *account.Proof
	ProofError string

	// LeftOut are the halves that nobody asked for; checks that need them are skipped.
	LeftOut needs

	Now time.Time
}

// needs say what a check can't do without.
type needs int

const (
	needAWS needs = 1 << iota
	needKube
)

// check is one thing that can be wrong.
type check struct {
	id, title, looked string
	needs             needs
	run               func(*Input) Result // fills Status, Finding, Evidence and Remedy
}

// Examine makes all checks.
func Examine(in *Input) *Report {
	r := &Report{Cluster: in.ClusterName, Queue: in.Queue, Notes: notes(in)}
	if in.AWS != nil {
		r.Account, r.Region, r.ControllerRole = in.AWS.AccountID, in.AWS.Region, in.AWS.ControllerRole
		if in.AWS.QueueARN != "" {
			r.Queue = in.AWS.QueueARN
		}
	}
	if in.AWS == nil && in.LeftOut&needAWS == 0 {
		r.Unseen = append(r.Unseen, "AWS could not be looked at: "+in.NoAWS)
	}
	if in.Kube == nil && in.LeftOut&needKube == 0 {
		r.Unseen = append(r.Unseen, "the cluster could not be looked at: "+in.NoKube)
	}
	if in.NoSubnets != "" {
		r.Unseen = append(r.Unseen, "EC2 could not be asked: "+in.NoSubnets)
	}
	for i, c := range checks {
		var res Result
		switch {
		case c.needs&in.LeftOut != 0:
			res = skipped("it needs a half that was left out")
		case c.needs&needAWS != 0 && in.AWS == nil:
			res = unknown("AWS could not be looked at: %s", in.NoAWS)
		case c.needs&needKube != 0 && in.Kube == nil:
			res = unknown("the cluster could not be looked at: %s", in.NoKube)
		default:
			res = c.run(in)
		}
		res.Number, res.ID, res.Title, res.Looked = i+1, c.id, c.title, c.looked
		r.Results = append(r.Results, res)
	}
	return r
}

func notes(in *Input) []string {
	var out []string
	switch {
	case in.LeftOut&needAWS != 0:
		out = append(out, "AWS was left out")
	case in.AWS == nil:
		out = append(out, "AWS was not looked at; --no-aws leaves it out on purpose")
	default:
		for _, g := range in.AWS.Gaps {
			out = append(out, "not read: "+g.What+": "+g.Why)
		}
		if in.AWS.ControllerRole != "" {
			out = append(out, "the controller's role is taken to be "+in.AWS.ControllerRole+" ("+in.AWS.ControllerRoleFrom+")")
		}
	}
	switch {
	case in.LeftOut&needKube != 0:
		out = append(out, "the cluster was left out")
	case in.Kube == nil:
		out = append(out, "the cluster was not looked at; --no-kubernetes leaves it out on purpose")
	default:
		for _, g := range in.Kube.Gaps {
			out = append(out, "not read: "+g)
		}
	}
	if in.Proof != nil {
		for _, c := range in.Proof.Left {
			out = append(out, "the proof of delivery could not be cleaned up; run: "+c)
		}
	}
	return out
}

// condition is what the controller itself says of the queue: a reason and a message when it can't use it.
func (in *Input) condition() (reason, message string) {
	if in.Kube == nil {
		return "", ""
	}
	for i := range in.Kube.Classes {
		for _, c := range in.Kube.Classes[i].Status.Conditions {
			if c.Type == awsv1.ConditionTypeInterruptionQueueReady && c.Status == "False" {
				return c.Reason, c.Message
			}
		}
	}
	return "", ""
}

// IDs are the checks' identifiers in their order.
func IDs() []string {
	var out []string
	for _, c := range checks {
		out = append(out, c.id)
	}
	return slices.Clone(out)
}
