// Package check finds what is wrong with the AWS side of a cluster: it compares a set-up, as package setupfile or a live account gives
// it, with the stack that Kerf would set up, and says in words what is missing, too wide or different, what fails because of it, and
// what would fix it. Package fix writes that.
//
// Permissions are judged by what they do and not by how they are written: every call that the controller makes is
// evaluated against the policies found, and so is every call that it must not be able to make.
package check

import (
	"cmp"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
	"slices"
)

// Severity is how a finding stands to what is wanted.
type Severity string

// The severities. Advice alone is no reason to fail.
const (
	Missing   Severity = "missing"   // something does not work
	TooWide   Severity = "too wide"  // something may be done that should not
	Different Severity = "different" // it works otherwise than it should
	Advice    Severity = "advice"    // it works; it could be better
)

// Area is the part of the set-up that a finding is about; text output is grouped by it.
type Area string

// The areas, in the order in which they are shown.
const (
	AreaPermissions Area = "controller permissions"
	AreaNodeRole    Area = "node role"
	AreaQueue       Area = "interruption queue"
	AreaEncryption  Area = "queue encryption"
	AreaRules       Area = "event rules"
	AreaController  Area = "controller role"
	AreaLimits      Area = "limits"
	AreaAlarms      Area = "alarms"
)

var areas = []Area{AreaPermissions, AreaNodeRole, AreaController, AreaQueue, AreaEncryption, AreaRules, AreaLimits, AreaAlarms}

// Finding is one thing that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	Area     Area     `json:"area"`
	Thing    string   `json:"thing"`            // what it is about, as its owner calls it
	What     string   `json:"what"`             // what is wrong
	Why      string   `json:"why,omitempty"`    // what fails because of it
	Fix      string   `json:"remedy,omitempty"` // what fixes it

	// Where it is, as far as it has a place.
	Policy   string `json:"policy,omitempty"`
	Sid      string `json:"sid,omitempty"`
	Action   string `json:"action,omitempty"`
	Resource string `json:"resource,omitempty"`
	Key      string `json:"conditionKey,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Queue    string `json:"queue,omitempty"`
}

// Report is what a check found.
type Report struct {
	Source   string         `json:"source"`
	Kind     setupfile.Kind `json:"kind"`
	Edition  string         `json:"edition"` // of the stack that it was compared with
	Cluster  string         `json:"cluster"`
	Account  string         `json:"account,omitempty"`
	Region   string         `json:"region,omitempty"`
	Findings []Finding      `json:"findings"`
	// Unread is what could not be read, and so was not judged.
	Unread []Unread `json:"unread,omitempty"`
	// Notes say what was taken for granted.
	Notes []string `json:"notes,omitempty"`
}

// Unread is one thing that could not be judged.
type Unread struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Wrong tells whether there is any finding beyond advice.
func (r *Report) Wrong() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity != Advice })
}

// Count is the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// sort puts findings in the order in which they are shown: by area, the worst first, else as they were found.
func (r *Report) sort() {
	order := []Severity{Missing, TooWide, Different, Advice}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(areas, a.Area), slices.Index(areas, b.Area)),
			cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity)),
		)
	})
}

// Areas are all areas, in the order in which they are shown.
func Areas() []Area { return slices.Clone(areas) }
