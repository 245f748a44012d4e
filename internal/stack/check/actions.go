package check

import (
	"path"
	"strings"
	"sync"

	"github.com/kerf-sh/kerf/internal/stack"
)

// actions are those that have a use, lower case.
type actions struct {
	wanted map[string]bool
	other  map[string]string // not wanted now, with what they are for
}

// knownActions are the actions of the wanted stack, and of what could be wanted: other features and other editions.
func (c *checker) knownActions() actions {
	a := actions{wanted: map[string]bool{}, other: otherActions()}
	for _, p := range c.wanted.policies {
		for _, s := range p.Document.Statements {
			for _, x := range s.Actions {
				a.wanted[strings.ToLower(x)] = true
			}
		}
	}
	return a
}

// otherActions are what features and older editions need, with which of them it is.
var otherActions = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	add := func(what string, o stack.Options) {
		o.ClusterName = assumedCluster
		s, err := stack.New(o)
		if err != nil {
			return
		}
		for _, p := range s.Policies {
			for _, st := range p.Document.Statements {
				for _, x := range st.Actions {
					if x = strings.ToLower(x); out[x] == "" {
						out[x] = what
					}
				}
			}
		}
	}
	for _, f := range features {
		o := stack.Defaults(stack.Latest)
		o.InstanceStatus = false
		f.set(&o, "arn:aws:kms:"+assumedRegion+":"+assumedAccount+":key/x")
		add("only "+f.what+" need it", o)
	}
	for _, e := range []stack.Compat{stack.V032, stack.V10} {
		add("only older editions need it", stack.Defaults(e))
	}
	return out
})

// coveredBy tells whether a wildcard stands for known actions only, as far as that can be told: it names a verb and its
// beginning, and all that AWS has with that beginning is known to be only reading.
func (a *actions) coveredBy(pattern string) bool {
	_, verb, ok := strings.Cut(pattern, ":")
	if !ok || !strings.HasPrefix(verb, "Describe") && !strings.HasPrefix(verb, "List") {
		return false
	}
	for x := range a.wanted {
		if ok, err := path.Match(strings.ToLower(pattern), x); ok && err == nil {
			return true
		}
	}
	return false
}

// A feature of the controller needs permissions of its own.
type feature struct {
	name, what string
	set        func(o *stack.Options, arn string)
}

var features = []feature{
	{"capacity-reservations", "capacity reservations", func(o *stack.Options, _ string) { o.CapacityReservations = true }},
	{"placement-groups", "placement groups", func(o *stack.Options, _ string) { o.PlacementGroups = true }},
	{"instance-status", "checks of instance status", func(o *stack.Options, _ string) { o.InstanceStatus = true }},
	{"zonal-shift", "zonal shifts", func(o *stack.Options, _ string) { o.ZonalShift = true }},
	{"launch-templates", "users' launch templates", func(o *stack.Options, _ string) { o.LaunchTemplates = true }},
	{"pass-roles", "roles of one's own", func(o *stack.Options, _ string) { o.PassRoles = []string{"arn:aws:iam::" + assumedAccount + ":role/x"} }},
	{"volume-keys", "volumes with keys of one's own", func(o *stack.Options, arn string) { o.VolumeKeys = []string{arn} }},
	{"queue-key", "queues with a key of one's own", func(o *stack.Options, arn string) { o.KMSKey = arn }},
}
