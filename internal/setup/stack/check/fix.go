package check

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// Fixed is what fixes a set-up.
type Fixed struct {
	Text    []byte    // a template, blocks of Terraform, policies or commands; if nothing changes empty, or with Options.Whole what was read
	Changed bool      // there is something to fix
	Left    []Finding // what it does not fix, for people to decide on; advice is not in it
}

// Fix makes what fixes what Compare finds: the resources that have to change or to be added, under the names that they
// have, or with Options.Whole a template with them in their places. For a template it is a template, for a plan blocks of
// Terraform, for policies the policies, for a live account a shell script of aws commands. data is the file that was read.
//
// Errors: as of Compare; Options.Whole for what is no template; a cluster or an account that would have to be made up; a
// change that would leave more missing than there was, which nobody should carry out.
func Fix(found *awssetup.Setup, kind Kind, data []byte, o Options) (*Fixed, error) {
	if o.Whole && kind != KindCloudFormation {
		return nil, fmt.Errorf("only a CloudFormation template can be written whole (--whole), and this was read as: %s", kind)
	}
	m, err := newFix(found, kind, o)
	if err != nil {
		return nil, err
	}
	left, err := Compare(m.s, kind, o)
	if err != nil {
		return nil, err
	}
	if left.Count(Missing) > m.missing {
		worse := left.Findings[slices.IndexFunc(left.Findings, func(f Finding) bool { return f.Severity == Missing })]
		return nil, fmt.Errorf("%s cannot be fixed this way, something would be missing afterwards (%s: %s); fix it by hand", found.Source, worse.Thing, worse.What)
	}
	out := &Fixed{Left: slices.DeleteFunc(left.Findings, func(f Finding) bool { return f.Severity == Advice })}
	if len(m.changes) == 0 {
		if o.Whole && kind == KindCloudFormation {
			out.Text = data
		}
		return out, nil
	}
	if kind == KindIAM {
		out.Left = append(out.Left, m.needless()...)
	}
	m.whole, out.Changed = o.Whole, true
	write := m.template
	switch kind {
	case KindTerraform:
		write = m.hcl
	case KindIAM:
		write = m.documents
	case KindLive:
		write = m.commands
	}
	if out.Text, err = write(data); err != nil {
		return nil, err
	}
	return out, assumptions(found, kind, o, out.Text)
}

// assumptions refuses what would be deployed with a name that was taken for granted. To find what is wrong it does as well
// as the right one, for both sides of a comparison have it.
func assumptions(found *awssetup.Setup, kind Kind, o Options, text []byte) error {
	if kind == KindLive {
		return nil
	}
	if found.ClusterName == "" && o.Stack.ClusterName == "" {
		return fmt.Errorf("what fixes %s names the cluster, which cannot be told from it: give --cluster-name", found.Source)
	}
	if found.Assumed && o.Stack.AccountID == "" && bytes.Contains(text, []byte(assumedAccount)) {
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

// mender makes a set-up that is in order out of one that is not, and keeps account of what it changes.
type fixer struct {
	c       *checker
	kind    Kind
	before  *awssetup.Setup // as it was found
	s       *awssetup.Setup
	changes []change
	missing int                 // findings of that kind before
	dropped map[string][]string // managed policies of which nothing is left, by ARN, with the roles that had them
	stale   bool                // something was changed since c was made
	whole   bool                // all of a template is to be written
}

func newFix(found *awssetup.Setup, kind Kind, o Options) (*fixer, error) {
	s := *found
	s.Roles, s.Policies, s.Queues, s.Keys = slices.Clone(s.Roles), slices.Clone(s.Policies), slices.Clone(s.Queues), slices.Clone(s.Keys)
	s.Rules, s.Alarms = slices.Clone(s.Rules), slices.Clone(s.Alarms)
	s.AccessEntries, s.PodIdentities = slices.Clone(s.AccessEntries), slices.Clone(s.PodIdentities)
	m := &fixer{kind: kind, before: found, s: &s, dropped: map[string][]string{}}
	// Later steps build on earlier ones: who may decrypt hangs on the key, who may send on the rules.
	steps := []func(){m.roles, m.queue, m.encryption, m.rules, m.sending, m.policies, m.mapping, m.alarms}
	switch {
	case kind == KindIAM:
		steps = []func(){m.roles, m.policies}
	case o.Stack.QueueARN != "":
		steps = []func(){m.roles, m.policies, m.mapping}
	}
	for _, step := range steps {
		if m.stale || m.c == nil {
			c, err := newChecker(m.s, kind, o)
			if err != nil {
				return nil, err
			}
			c.run()
			if m.c == nil {
				m.missing = c.report.Count(Missing)
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
func (m *fixer) reported(a Area, is func(f Finding) bool) bool {
	return slices.ContainsFunc(m.c.report.Findings, func(f Finding) bool { return f.Area == a && is(f) })
}

func (m *fixer) roleIndex(r *awssetup.Role) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(m.s.Roles, func(x awssetup.Role) bool { return x.Name == r.Name })
}

// queueARN is the ARN of the interruption queue; empty if there is none.
func (m *fixer) queueARN() string {
	if m.c.found.queue == nil {
		return ""
	}
	return m.c.found.queue.ARN
}

func (m *fixer) queueIndex() int {
	if m.c.found.queue == nil {
		return -1
	}
	return slices.IndexFunc(m.s.Queues, func(x awssetup.Queue) bool { return x.ARN == m.c.found.queue.ARN })
}
