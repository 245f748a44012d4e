package check

import (
	"path"
	"strings"
	"sync"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// actions are those that have a use, lower case.
type actions struct {
	wanted map[string]bool
	other  map[string]use // not wanted now
}

// use is what an action is for.
type use struct {
	what string
	flag string // of the commands on stacks, that gives it; empty for those of older editions
}

// knownActions are the actions of the wanted stack, and of what could be wanted: other features and other editions.
func (c *Comparison) knownActions() actions {
	a := actions{wanted: map[string]bool{}, other: otherActions()}
	for _, p := range c.Wanted.ControllerPolicies {
		for _, s := range p.Document.Statements {
			for _, x := range s.Actions {
				a.wanted[strings.ToLower(x)] = true
			}
		}
	}
	return a
}

// otherActions are what features and older editions need, with which of them it is.
var otherActions = sync.OnceValue(func() map[string]use {
	out := map[string]use{}
	add := func(u use, o stack.Options) {
		o.ClusterName = setupfile.AssumedCluster
		s, err := stack.New(o)
		if err != nil {
			return
		}
		for _, p := range s.Policies {
			for _, st := range p.Document.Statements {
				for _, x := range st.Actions {
					if x = strings.ToLower(x); out[x].what == "" {
						out[x] = u
					}
				}
			}
		}
	}
	for _, f := range features {
		o := stack.Defaults(stack.Latest)
		o.InstanceStatus, o.CapacityReservations, o.PlacementGroups, o.ZonalShift = false, false, false, false
		f.set(&o, []string{f.madeUpAt(setupfile.Place{}.Complete())})
		add(use{"only " + f.what + " need it", f.flag}, o)
	}
	for _, e := range []stack.Compat{stack.V032, stack.V032Later, stack.V10} {
		add(use{what: "only older editions need it"}, stack.Defaults(e))
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
	flag, what string
	on         func(o *stack.Options) bool
	set        func(o *stack.Options, arns []string)
	// named is the statement whose resources are the flag's values; empty for flags without a value.
	named string
}

var features = []feature{
	{
		flag: "--capacity-reservations", what: "capacity reservations",
		on:  func(o *stack.Options) bool { return o.CapacityReservations },
		set: func(o *stack.Options, _ []string) { o.CapacityReservations = true },
	},
	{
		flag: "--placement-groups", what: "placement groups",
		on:  func(o *stack.Options) bool { return o.PlacementGroups },
		set: func(o *stack.Options, _ []string) { o.PlacementGroups = true },
	},
	{
		flag: "--instance-status", what: "checks of instance status",
		on:  func(o *stack.Options) bool { return o.InstanceStatus },
		set: func(o *stack.Options, _ []string) { o.InstanceStatus = true },
	},
	{
		flag: "--zonal-shift", what: "zonal shifts",
		on:  func(o *stack.Options) bool { return o.ZonalShift },
		set: func(o *stack.Options, _ []string) { o.ZonalShift = true },
	},
	{
		flag: "--launch-templates", what: "users' launch templates",
		on:  func(o *stack.Options) bool { return o.LaunchTemplates },
		set: func(o *stack.Options, _ []string) { o.LaunchTemplates = true },
	},
	{
		flag: "--pass-role", what: "roles of one's own", named: "AllowPassingUserRoles",
		on:  func(o *stack.Options) bool { return len(o.PassRoles) > 0 },
		set: func(o *stack.Options, arns []string) { o.PassRoles = arns },
	},
	{
		flag: "--ssm-parameter", what: "images that parameters of one's own name", named: "AllowUserSSMParameterReads",
		on:  func(o *stack.Options) bool { return len(o.Parameters) > 0 },
		set: func(o *stack.Options, arns []string) { o.Parameters = arns },
	},
	{
		flag: "--volume-key", what: "volumes with keys of one's own", named: "AllowVolumeKeyUse",
		on:  func(o *stack.Options) bool { return len(o.VolumeKeys) > 0 },
		set: func(o *stack.Options, arns []string) { o.VolumeKeys = arns },
	},
	{
		flag: "--kms-key", what: "queues with a key of one's own", named: "AllowInterruptionQueueKeyDecrypt",
		on:  func(o *stack.Options) bool { return o.KMSKey != "" },
		set: func(o *stack.Options, arns []string) { o.KMSKey = arns[0] },
	},
}

// madeUpAt is a value for the flags that need one, of the place where the set-up is.
func (f *feature) madeUpAt(w setupfile.Place) string {
	switch f.flag {
	case "--pass-role":
		return w.Global("iam", "role/x")
	case "--ssm-parameter":
		return w.ARN("ssm", "parameter/x")
	}
	return w.ARN("kms", "key/x")
}
