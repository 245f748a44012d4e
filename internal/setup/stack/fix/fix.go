// Package fix writes what fixes the AWS side of a cluster: what package check finds, in the form that was read. It changes the set-up
// until check finds nothing more to change, and then writes what has changed as a template, as blocks of Terraform, as policies, or
// as a script of aws commands.
package fix

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// Options say what a set-up is compared with, and how much is written.
type Options struct {
	check.Options
	// Whole makes Write write all of a template, with what it fixes in its place.
	Whole bool
}

// Fixed is what fixes a set-up.
type Fixed struct {
	Text    []byte          // a template, blocks of Terraform, policies or commands; if nothing changes empty, or with Options.Whole what was read
	Changed bool            // there is something to fix
	Left    []check.Finding // what it does not fix, for people to decide on; advice is not in it
}

// Write writes what fixes what check.Compare finds: the resources that have to change or to be added, under the names that they
// have, or with Options.Whole a template with them in their places. For a template it is a template, for a plan blocks of
// Terraform, for policies the policies, for a live account a shell script of aws commands. data is the file that was read.
//
// Errors: as of Compare; Options.Whole for what is no template; a cluster or an account that would have to be made up; a
// change that would leave more missing than there was, which nobody should carry out.
func Write(found *awssetup.Setup, kind setupfile.Kind, data []byte, o Options) (*Fixed, error) {
	if o.Whole && kind != setupfile.KindCloudFormation {
		return nil, fmt.Errorf("only a CloudFormation template can be written whole (--whole), and this was read as: %s", kind)
	}
	m, err := newFix(found, kind, o.Options)
	if err != nil {
		return nil, err
	}
	left, err := check.Compare(m.s, kind, o.Options)
	if err != nil {
		return nil, err
	}
	if left.Count(check.Missing) > m.missing {
		worse := left.Findings[slices.IndexFunc(left.Findings, func(f check.Finding) bool { return f.Severity == check.Missing })]
		return nil, fmt.Errorf("%s cannot be fixed this way, something would be missing afterwards (%s: %s); fix it by hand", found.Source, worse.Thing, worse.What)
	}
	out := &Fixed{Left: slices.DeleteFunc(left.Findings, func(f check.Finding) bool { return f.Severity == check.Advice })}
	m.ownPolicy(out.Left)
	if len(m.changes) == 0 {
		if o.Whole && kind == setupfile.KindCloudFormation {
			out.Text = data
		}
		return out, nil
	}
	if kind == setupfile.KindIAM {
		out.Left = append(out.Left, m.needless()...)
	}
	m.whole, out.Changed = o.Whole, true
	write := m.template
	switch kind {
	case setupfile.KindTerraform:
		write = m.hcl
	case setupfile.KindIAM:
		write = m.documents
	case setupfile.KindLive:
		write = m.commands
	}
	if out.Text, err = write(data); err != nil {
		return nil, err
	}
	return out, assumptions(found, kind, o.Options, out.Text)
}

// assumptions refuses what would be deployed with a name that was taken for granted. To find what is wrong it does as well
// as the right one, for both sides of a comparison have it.
func assumptions(found *awssetup.Setup, kind setupfile.Kind, o check.Options, text []byte) error {
	if kind == setupfile.KindLive {
		return nil
	}
	if found.ClusterName == "" && o.Stack.ClusterName == "" {
		return fmt.Errorf("what fixes %s names the cluster, which cannot be told from it: give --cluster-name", found.Source)
	}
	if found.Assumed && o.Stack.AccountID == "" && bytes.Contains(text, []byte(setupfile.AssumedAccount)) {
		return fmt.Errorf("what fixes %s names the account, which cannot be told from it: give --account-id", found.Source)
	}
	return nil
}

// part is a kind of resource.
type part int

const (
	rolePart part = iota
	policyPart
	keyPart
	queuePart
	queuePolicyPart
	rulePart
	alarmPart
	accessEntryPart
	podIdentityPart
)

// change is one resource that is to be changed or added, by its place in the lists of the fixed set-up.
type change struct {
	part  part
	index int
	added bool
	attrs []string // what changes, if it was there
}

// fixer makes a set-up that is in order out of one that is not, and keeps account of what it changes.
type fixer struct {
	c       *check.Comparison
	kind    setupfile.Kind
	before  *awssetup.Setup // as it was found
	s       *awssetup.Setup
	changes []change
	missing int                 // findings of that kind before
	dropped map[string][]string // managed policies of which nothing is left, by ARN, with the roles that had them
	stale   bool                // something was changed since c was made
	whole   bool                // all of a template is to be written
}

func newFix(found *awssetup.Setup, kind setupfile.Kind, o check.Options) (*fixer, error) {
	s := *found
	s.Roles, s.Policies, s.Queues, s.Keys = slices.Clone(s.Roles), slices.Clone(s.Policies), slices.Clone(s.Queues), slices.Clone(s.Keys)
	s.Rules, s.Alarms = slices.Clone(s.Rules), slices.Clone(s.Alarms)
	s.AccessEntries, s.PodIdentities = slices.Clone(s.AccessEntries), slices.Clone(s.PodIdentities)
	m := &fixer{kind: kind, before: found, s: &s, dropped: map[string][]string{}}
	// Later steps build on earlier ones: who may decrypt hangs on the key, who may send on the rules.
	steps := []func(){m.roles, m.queue, m.encryption, m.rules, m.sending, m.policies, m.mapping, m.alarms}
	switch {
	case kind == setupfile.KindIAM:
		steps = []func(){m.roles, m.policies}
	case o.Stack.QueueARN != "":
		steps = []func(){m.roles, m.policies, m.mapping}
	}
	for _, step := range steps {
		if m.stale || m.c == nil {
			c, err := check.NewComparison(m.s, kind, o)
			if err != nil {
				return nil, err
			}
			c.Judge()
			if m.c == nil {
				m.missing = c.Report.Count(check.Missing)
			}
			m.c, m.stale = c, false
		}
		step()
	}
	return m, nil
}

// touch notes that a resource changes.
func (m *fixer) touch(p part, index int, attrs ...string) {
	m.stale = true
	for i := range m.changes {
		if c := &m.changes[i]; c.part == p && c.index == index {
			for _, a := range attrs {
				c.attrs = appendNew(c.attrs, a)
			}
			return
		}
	}
	m.changes = append(m.changes, change{part: p, index: index, attrs: attrs})
}

func (m *fixer) added(p part, index int) {
	m.stale = true
	m.changes = append(m.changes, change{part: p, index: index, added: true})
}

// reported tells whether there is a finding of an area that a test takes.
func (m *fixer) reported(a check.Area, is func(f check.Finding) bool) bool {
	return slices.ContainsFunc(m.c.Report.Findings, func(f check.Finding) bool { return f.Area == a && is(f) })
}

func (m *fixer) roleIndex(r *awssetup.Role) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(m.s.Roles, func(x awssetup.Role) bool { return x.Name == r.Name })
}

// queueARN is the ARN of the interruption queue; empty if there is none.
func (m *fixer) queueARN() string {
	if m.c.Found.Queue == nil {
		return ""
	}
	return m.c.Found.Queue.ARN
}

func (m *fixer) queueIndex() int {
	if m.c.Found.Queue == nil {
		return -1
	}
	return slices.IndexFunc(m.s.Queues, func(x awssetup.Queue) bool { return x.ARN == m.c.Found.Queue.ARN })
}

// appendNew appends what is not in the list.
func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
