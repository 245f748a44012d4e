// Package permissions_test holds the policies of the bootstrap stack to the controller's calls, both ways: with them all
// that the controller does at AWS works and nothing is refused; with any one action taken out, what needs it fails, says
// which permission is missing and what to do, and all the rest works on.
//
// Everything is real but the instances behind it: the policies are deployed as a CloudFormation stack, the calls are those
// of the product over the SDK, and the simulated AWS judges each of them.
package permissions_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
)

// outcome is what came of a path.
type outcome struct {
	amiss  string // what a user sees; empty: it works
	denied []authz.Denial
}

// runAll prepares all paths, takes grants out of the policies, and runs the paths.
func (c *cluster) runAll(take ...grant) map[string]outcome {
	c.t.Helper()
	may := paths
	if !c.stack.Options.LaunchTemplates {
		may = slices.DeleteFunc(slices.Clone(paths), func(p path) bool { return p.name == ofTheUser })
	}
	runs := make([]func(), len(may))
	for i, p := range may {
		runs[i] = p.prepare(c)
		c.clean(p.name)
	}
	c.takeAway(take...)
	c.denied()
	out := map[string]outcome{}
	for i, p := range may {
		runs[i]()
		out[p.name] = outcome{c.observed(), c.denied()}
	}
	return out
}

func TestMain(m *testing.M) {
	code := m.Run()
	closing.Wait()
	os.Exit(code)
}

// all is what make test-all sets.
var all = flag.Bool("all", false, "take every single action away, not every fourth")

func TestOneActionTakenAwayFailsWhatNeedsItAndSaysSo(t *testing.T) {
	a := newAccount(t, stack.Latest, nil)
	units := append(a.granted(), a.parts()...)
	known := map[string]bool{}
	for i, g := range units {
		known[g.String()] = true
		if slices.Contains(unjudged, g.String()) {
			continue
		}
		t.Run(g.String(), func(t *testing.T) {
			if i%4 != 0 && !*all {
				t.Skip("make test-all plays it: go test ./internal/sim/coverage/permissions -args -all")
			}
			t.Parallel()
			want := a.expected(g)
			if len(want) == 0 {
				t.Fatalf("no path is said to need it")
			}
			var change func(*stack.Options)
			if slices.Contains(stoodInFor, g.String()) {
				change = noTemplates
			}
			c := newCluster(newAccount(t, stack.Latest, change))
			check(t, c, g, want, c.runAll(g))
		})
	}
	for name := range fails {
		if !known[name] {
			t.Errorf("%s is not in the policies", name)
		}
	}
}

// TestSpotRequestsNeedNoTagsWhereUsersTemplatesMayBeUsed: what such templates need stands in for the grants that are
// otherwise missed, and only the tags are lost.
func TestSpotRequestsNeedNoTagsWhereUsersTemplatesMayBeUsed(t *testing.T) {
	for _, tc := range []struct {
		take grant
		want []string
	}{
		{grant{"AllowScopedEC2InstanceActionsWithTags", "ec2:RunInstances", "spot-instances-request"}, nil},
		// Classes say it at each trial; a launch fails only while the outcome of an earlier trial is believed.
		{grant{"AllowScopedResourceCreationTagging", "ec2:CreateTags", "spot-instances-request"}, slices.Concat(classes, []string{launchingSpot})},
	} {
		t.Run(tc.take.String(), func(t *testing.T) {
			t.Parallel()
			c := newCluster(newAccount(t, stack.Latest, nil))
			check(t, c, tc.take, tc.want, c.runAll(tc.take))
		})
	}
}

func noTemplates(o *stack.Options) { o.LaunchTemplates = false }

// expected are the paths that fail without a grant: those of the table, or of the grant's parts.
func (a *account) expected(g grant) []string {
	if list, ok := fails[g.String()]; ok {
		return list
	}
	var out []string
	for _, part := range a.parts() {
		if part.sid == g.sid && part.action == g.action {
			out = append(out, fails[part.String()]...)
		}
	}
	return out
}

func check(t *testing.T, c *cluster, g grant, want []string, got map[string]outcome) {
	t.Helper()
	var all strings.Builder
	for _, p := range paths {
		o := got[p.name]
		all.WriteString(o.amiss)
		failed := o.amiss != ""
		for _, d := range o.denied {
			// Trials find things out, and nothing need be said of what does not fail by them.
			if d.Action != g.action && (failed || !d.DryRun) {
				t.Errorf("%s: %s on %s was refused, too", p.name, d.Action, d.Resource)
			}
		}
		switch {
		case failed != slices.Contains(want, p.name):
			t.Errorf("%s: fails: %t, want %t\n%s", p.name, failed, !failed, o.amiss)
		case failed && !says(o.amiss, g.action):
			t.Errorf("%s: nothing says that %s is missing and what to do:\n%s", p.name, g.action, o.amiss)
		case failed && len(o.denied) == 0:
			t.Errorf("%s: fails and no call was refused:\n%s", p.name, o.amiss)
		case !failed && slices.ContainsFunc(o.denied, func(d authz.Denial) bool { return !d.DryRun }):
			t.Errorf("%s: calls were refused and nobody hears of it: %v", p.name, o.denied)
		}
	}
	for _, n := range c.needs(g) {
		seen(t, n, g.String(), all.String(), &c.stack.Options)
	}
}

// seen holds what the docs say of a missing permission to what was seen without it.
func seen(t *testing.T, n stack.Need, without, text string, o *stack.Options) {
	t.Helper()
	says, untagged, _ := strings.Cut(n.Without, stack.UntaggedSpot)
	lacks := func(says string) bool {
		return slices.ContainsFunc(marks(says), func(mark string) bool { return !strings.Contains(text, mark) })
	}
	switch {
	case strings.HasSuffix(says, stack.AllowedByTemplates) && o.LaunchTemplates:
		return
	case untagged == "":
	case !o.Compat.TagsByCluster(), o.LaunchTemplates && lacks(says): // without the whole action no launch comes as far as its tags
		says = untagged
	}
	for _, mark := range marks(says) {
		if !strings.Contains(text, mark) {
			t.Errorf("without %s: docs say %s; %q was not seen in\n%s", without, says, mark, text)
		}
	}
}

// says tells whether a text names a missing permission and the place where it is to be given.
func says(text, action string) bool {
	if strings.Contains(text, "Client.InternalError") { // EC2 itself does not say what is missing
		return strings.Contains(text, action) && strings.Contains(text, "policies of the controller's role")
	}
	return strings.Contains(text, "missing permission "+action+": allow it in the policies of the controller's role")
}

var editions = stack.Editions()

// TestTheWholePoliciesAreEnoughAndNotMore runs everything under the policies of each edition: nothing is refused but what
// the edition does not have, and what was not used is listed with a reason.
func TestTheWholePoliciesAreEnoughAndNotMore(t *testing.T) {
	for _, edition := range editions {
		t.Run(string(edition), func(t *testing.T) {
			t.Parallel()
			c := newCluster(newAccount(t, edition, nil))
			works(t, c, c.runAll())
			used := map[grant]bool{}
			for _, u := range c.sim.Permissions.Permissions() {
				used[grant{sid: u.Sid, action: u.Action}] = true
			}
			for _, g := range c.granted() {
				switch listed := c.spare(g); {
				case !used[g] && !listed:
					t.Errorf("%s is granted and was not used, and nothing says why it is there", g)
				case used[g] && listed:
					t.Errorf("%s was used, and is listed as not called", g)
				}
			}
		})
	}
}

// TestWhatIsListedAsSpareIsNotNeeded takes out all that the table of spares has, at once.
func TestWhatIsListedAsSpareIsNotNeeded(t *testing.T) {
	for _, edition := range editions {
		t.Run(string(edition), func(t *testing.T) {
			t.Parallel()
			c := newCluster(newAccount(t, edition, nil))
			var list []grant
			for _, s := range stack.Spares(edition) {
				if len(strings.Fields(s.Why)) < 5 {
					t.Errorf("%s in %s: why is it there?", s.Action, s.Sid)
				}
				list = append(list, grant{s.Sid, s.Action, strings.Join(s.Kinds, ",")})
			}
			works(t, c, c.runAll(list...))
		})
	}
}

// works tells whether all paths do, but for calls that the edition does not allow; these are seen as the docs say.
func works(t *testing.T, c *cluster, got map[string]outcome) {
	t.Helper()
	lacking := c.lacking()
	var all strings.Builder
	for name, o := range got {
		all.WriteString(o.amiss)
		for _, d := range o.denied {
			if !slices.ContainsFunc(lacking, func(g grant) bool { return g.action == d.Action && g.covers(d.Resource) }) {
				t.Errorf("%s: %s on %s was refused", name, d.Action, d.Resource)
			}
		}
		if o.amiss != "" && len(o.denied) == 0 {
			t.Errorf("%s:\n%s", name, o.amiss)
		}
	}
	for _, n := range stack.Needs() {
		if _, ok := n.Statement(&c.stack.Options); !ok && n.Option == "" {
			seen(t, n, n.Action, all.String(), &c.stack.Options)
		}
	}
}

// lacking are the calls that an edition does not allow, though the controller makes them.
func (a *account) lacking() []grant {
	var out []grant
	for _, n := range stack.Needs() {
		if _, ok := n.Statement(&a.stack.Options); !ok && n.Option == "" {
			out = append(out, grant{action: n.Action, kinds: strings.Join(n.Kinds, ",")})
		}
	}
	return out
}

// spare tells whether a whole action of a statement is listed as not called.
func (a *account) spare(g grant) bool {
	return slices.ContainsFunc(stack.Spares(a.stack.Options.Compat), func(s stack.Spare) bool { return s.Sid == g.sid && s.Action == g.action && s.Kinds == nil })
}

// TestProfilesThatStayAreToldOfInTheWordsOfTheProcess: that loop is the process's own.
func TestProfilesThatStayAreToldOfInTheWordsOfTheProcess(t *testing.T) {
	text, err := os.ReadFile("../../../app/profiles.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), fmt.Sprintf("log.Warn(%q", profilesStay)) {
		t.Errorf("internal/app logs something else than %q", profilesStay)
	}
}
