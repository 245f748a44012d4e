package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// A check without the options that a stack was written with names them, and no others.
func TestTheOptionsThatAStackWasWrittenWithAreFound(t *testing.T) {
	const (
		key       = "arn:aws:kms:eu-west-1:222233334444:key/abc"
		role      = "arn:aws:iam::222233334444:role/mine"
		parameter = "arn:aws:ssm:eu-west-1:222233334444:parameter/mine"
	)
	for name, c := range map[string]struct {
		written, given func(*stack.Options)
		want           []string
	}{
		"none is needed where nothing is found": {written: func(*stack.Options) {}},
		"each of several that share a statement": {
			written: func(o *stack.Options) {
				o.CapacityReservations, o.PlacementGroups, o.LaunchTemplates = true, true, true
			},
			want: []string{"--capacity-reservations", "--placement-groups", "--launch-templates"},
		},
		"not those that were given": {
			written: func(o *stack.Options) { o.CapacityReservations, o.PlacementGroups = true, true },
			given:   func(o *stack.Options) { o.PlacementGroups = true },
			want:    []string{"--capacity-reservations"},
		},
		"one with its value":          {written: func(o *stack.Options) { o.VolumeKeys = []string{key} }, want: []string{"--volume-key " + key}},
		"one with each of its values": {written: func(o *stack.Options) { o.VolumeKeys = []string{key, key + "d"} }, want: []string{"--volume-key " + key + " --volume-key " + key + "d"}},
		"a role and a parameter": {
			written: func(o *stack.Options) {
				o.LaunchTemplates, o.PassRoles, o.Parameters = true, []string{role}, []string{parameter}
			},
			want: []string{"--launch-templates", "--pass-role " + role, "--ssm-parameter " + parameter},
		},
		"none that takes a permission away":                {written: func(o *stack.Options) { o.InstanceStatus = false }},
		"none that is given and was not written":           {written: func(*stack.Options) {}, given: func(o *stack.Options) { o.ZonalShift = true }},
		"the rest is advised on as before, with an option": {written: func(o *stack.Options) { o.ZonalShift, o.Alarms = true, false }, want: []string{"--zonal-shift"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := stack.Defaults(stack.Latest)
			o.ClusterName = "demo"
			o.CapacityReservations, o.PlacementGroups, o.ZonalShift = false, false, false
			given := o
			c.written(&o)
			if c.given != nil {
				c.given(&given)
			}
			found, kind, err := setupfile.Read(checktest.Template(t, o), setupfile.ReadOptions{Source: "stack.yaml", ClusterName: "demo"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, check.Unasked(found, kind, check.Options{Stack: given})); diff != "" {
				t.Errorf("flags (-want +got):\n%s", diff)
			}
		})
	}
}

// A policy that can't be read, as in a first Terraform plan, is no reason to end without an answer, whatever else is found.
func TestAPolicyThatCanNotBeReadEndsNoCheck(t *testing.T) {
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	given := o
	o.VolumeKeys, o.InstanceStatus = []string{"arn:aws:kms:eu-west-1:222233334444:key/abc"}, false
	found, kind, err := setupfile.Read(checktest.Template(t, o), setupfile.ReadOptions{Source: "stack.yaml", ClusterName: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range found.Policies {
		found.Policies[i].Document = nil
		check.Unasked(found, kind, check.Options{Stack: given})
		if r, err := check.Compare(found, kind, check.Options{Stack: given}); err != nil || len(r.Findings) == 0 {
			t.Errorf("%d policies can't be read: %v, %+v", i+1, err, r)
		}
	}
}

// A node role that was said to be elsewhere is the one that the controller must be able to pass; nothing is said of it.
func TestANodeRoleElsewhereIsTakenAtItsName(t *testing.T) {
	const role = "arn:aws:iam::222233334444:role/team/nodes"
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	given := o
	o.NodeRole = role
	for named, want := range map[string]bool{role: false, "": true} {
		h := check.Hints{NodeRole: named}
		found, kind, err := setupfile.Read(checktest.Template(t, o), setupfile.ReadOptions{Source: "stack.yaml", ClusterName: "demo", AccountID: "222233334444"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := check.Compare(found, kind, check.Options{Stack: given, Hints: h})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(r.Findings) > 0; got != want {
			t.Errorf("--node-role %q: findings: %v", named, r.Findings)
		}
		if i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Severity == check.TooWide }); want && (i < 0 || !strings.Contains(r.Findings[i].Fix, "--node-role "+role)) {
			t.Errorf("nothing tells of --node-role: %v", r.Findings)
		}
	}
}

// Reading more of AWS's parameters than was asked for is too wide; without asking it is not.
func TestParametersOfAWSBeyondThoseGivenAreTooWide(t *testing.T) {
	o := stack.Defaults(stack.Latest)
	o.ClusterName = "demo"
	found, kind, err := setupfile.Read(checktest.Template(t, o), setupfile.ReadOptions{Source: "stack.yaml", ClusterName: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	for _, paths := range [][]string{nil, {"/aws/service/bottlerocket/*"}} {
		given := o
		given.PublicParameters = paths
		r, err := check.Compare(found, kind, check.Options{Stack: given})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Count(check.TooWide); got != len(paths) {
			t.Errorf("%v: %d things are too wide: %v", paths, got, r.Findings)
		}
		for _, f := range r.Findings {
			if !strings.Contains(f.Fix, "--public-parameter") {
				t.Errorf("the fix does not name the flag: %s", f.Fix)
			}
		}
	}
}
