package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// Options say what a set-up is compared with.
type Options struct {
	// Stack are the options of the stack that is wanted. Names, account and region that it leaves out are those found.
	Stack stack.Options
	Hints Hints
}

// Compare judges what was found.
//
// Errors: options that make no stack.
func Compare(found *awssetup.Setup, kind setupfile.Kind, o Options) (*Report, error) {
	c, err := NewComparison(found, kind, o)
	if err != nil {
		return nil, err
	}
	c.Judge()
	return c.Report, nil
}

// Comparison holds both sides while they are compared. Package fix asks it what is wrong and what is wanted.
type Comparison struct {
	Report *Report
	Found  *Parts
	Wanted *Parts
	Stack  *stack.Stack
	Asked  stack.Options // as they were given
	hints  Hints

	needed  []Need
	samples map[*awssetup.Event][]eventpattern.Event
}

// NewComparison puts what was found beside the stack that is wanted; Judge compares them.
//
// Errors: options that make no stack.
func NewComparison(found *awssetup.Setup, kind setupfile.Kind, o Options) (*Comparison, error) {
	h := o.Hints
	h.ServiceAccount = cmp.Or(h.ServiceAccount, o.Stack.ServiceAccount, "karpenter")
	p := findParts(found, h)
	if o.Stack.QueueARN != "" { // whoever owns it answers for it
		p.Queue = nil
	}
	r := &Report{
		Source: found.Source, Kind: kind, Edition: string(o.Stack.Compat), Account: found.AccountID, Region: found.Region, Findings: []Finding{},
	}
	if kind != setupfile.KindLive { // there the names are not only the user's
		for _, hint := range []struct {
			name, what, flag string
			found            bool
		}{
			{h.Queue, "queue", "--queue", p.Queue != nil}, {h.NodeRole, "role", "--node-role", p.NodeRole != nil}, {h.ControllerRole, "role", "--controller-role", p.Controller != nil},
		} {
			if hint.name != "" && !hint.found {
				r.Notes = append(r.Notes, fmt.Sprintf("there is no %s %s here (%s)", hint.what, hint.name, hint.flag))
			}
		}
	}
	want := adapt(o.Stack, p, h, r)
	r.Cluster = want.ClusterName
	s, err := stack.New(want)
	if err != nil {
		return nil, fmt.Errorf("the stack to compare with: %w", err)
	}
	setup := s.Setup(found.AccountID, found.Region)
	if p.Queue != nil && p.Queue.FIFO {
		// That it should be another queue is said once, and not again of every permission.
		renameResource(setup, setup.Queues[0].ARN, p.Queue.ARN)
	}
	queue := ""
	if len(setup.Queues) > 0 {
		queue = setup.Queues[0].Name
	}
	c := &Comparison{Report: r, Found: p, Stack: s, Asked: o.Stack, hints: h, Wanted: findParts(setup, Hints{Queue: queue, ServiceAccount: h.ServiceAccount})}
	for _, g := range found.Gaps {
		r.Unread = append(r.Unread, Unread{What: g.What, Why: g.Why})
	}
	if found.Assumed {
		r.Notes = append(r.Notes, "the account is not known; "+setupfile.AssumedAccount+" stands for it (--account-id)")
	}
	if found.AssumedRegion {
		r.Notes = append(r.Notes, "the region is not known; "+setupfile.AssumedRegion+" stands for it (--region)")
	}
	return c, nil
}

// renameResource gives permissions on one thing for another.
func renameResource(s *awssetup.Setup, from, to string) {
	for _, p := range s.Policies {
		for _, st := range p.Document.Statements {
			for i, r := range st.Resources {
				if r == from {
					st.Resources[i] = to
				}
			}
		}
	}
}

// adapt makes the wanted stack one for what was found: with its names, so that only what matters differs.
func adapt(o stack.Options, p *Parts, h Hints, r *Report) stack.Options {
	o.Region, o.AccountID = "", "" // what only stands for them must not be held against ARNs that were given
	if !p.AssumedRegion {
		o.Region = p.Region
	}
	if !p.Assumed {
		o.AccountID = p.AccountID
	}
	o.ClusterName = cmp.Or(o.ClusterName, p.ClusterName)
	if o.ClusterName == "" {
		o.ClusterName = setupfile.AssumedCluster
		r.Notes = append(r.Notes, "the cluster's name is not known; "+setupfile.AssumedCluster+" stands for it (--cluster-name)")
	}
	if p.Queue != nil && o.QueueName == "" {
		if name := strings.TrimSuffix(p.Queue.Name, ".fifo"); name != o.ClusterName {
			o.QueueName = name
		}
	}
	if p.NodeRole != nil {
		if name := p.NodeRole.Name; o.NodeRoleName == "" && name != "KarpenterNodeRole-"+o.ClusterName {
			o.NodeRoleName = name
		}
		if strings.HasPrefix(p.NodeRole.Path, "/") && (o.Path == "" || o.Path == "/") {
			o.Path = p.NodeRole.Path
		}
	}
	if p.NodeRole == nil && o.NodeRoleName == "" {
		o.NodeRoleName, o.Path = madeElsewhere(h.NodeRole, o.Path)
	}
	adaptNames(&o)
	// What makes a key or a role is for who writes a stack; here the ones that are there count.
	o.KMS = false
	if o.KMSKey == "" && p.Queue != nil && p.Queue.KMSKey != "" {
		if arn, ok := p.keyARN(p.Queue.KMSKey); ok {
			o.KMSKey = arn
		}
	}
	return o
}

// madeElsewhere is the name and path of a node role that is not here, by its name or ARN.
func madeElsewhere(role, path string) (string, string) {
	if _, full, ok := strings.Cut(role, ":role/"); ok {
		i := strings.LastIndexByte(full, '/')
		return full[i+1:], "/" + full[:i+1]
	}
	return role, path
}

// adaptNames gives names that AWS would refuse shorter stand-ins: that they are too long is found elsewhere.
func adaptNames(o *stack.Options) {
	const room = 76 // of the 80 that a queue may have, "-dlq" comes after it
	if len(cmp.Or(o.QueueName, o.ClusterName)) > room {
		o.QueueName = cmp.Or(o.QueueName, o.ClusterName)[:room]
	}
	if len(cmp.Or(o.NodeRoleName, "KarpenterNodeRole-"+o.ClusterName)) > maxRoleName {
		o.NodeRoleName = cmp.Or(o.NodeRoleName, "KarpenterNodeRole-"+o.ClusterName)[:maxRoleName]
	}
	if len(cmp.Or(o.ControllerRoleName, o.ClusterName+"-karpenter")) > maxRoleName {
		o.ControllerRoleName = cmp.Or(o.ControllerRoleName, o.ClusterName+"-karpenter")[:maxRoleName]
	}
	const end = 80 // of the 128 that a policy may have, as long as any that is not refused
	if len(cmp.Or(o.PolicySuffix, o.ClusterName)) > end {
		o.PolicySuffix = cmp.Or(o.PolicySuffix, o.ClusterName)[:end]
	}
}

// keyARN is the ARN of a customer's key that is given by id, ARN or alias; not ok for keys of AWS and unknown ones.
func (p *Parts) keyARN(id string) (string, bool) {
	if k := p.Key(id); k != nil {
		return k.ARN, k.Manager != "AWS"
	}
	if strings.HasPrefix(id, "arn:") && strings.Contains(id, ":key/") {
		return id, true
	}
	return "", false
}

// Key finds a key by id, ARN, alias or the ARN of an alias.
func (p *Parts) Key(id string) *awssetup.Key {
	if _, alias, ok := strings.Cut(id, ":alias/"); ok {
		id = "alias/" + alias
	}
	for i := range p.Keys {
		if k := &p.Keys[i]; id != "" && (k.ID == id || k.ARN == id || slices.Contains(k.Aliases, id)) {
			return k
		}
	}
	return nil
}

// Judge fills the report.
func (c *Comparison) Judge() {
	c.permissions()
	if c.Report.Kind != setupfile.KindIAM || len(c.Found.Roles) > 0 {
		c.nodeRole()
		c.controllerRole()
	}
	switch {
	case c.Report.Kind == setupfile.KindIAM:
		c.Report.Notes = append(c.Report.Notes, "policies alone were read; queue, key, rules and alarms were not judged")
	case c.queueElsewhere():
		c.mapping()
		c.Report.Notes = append(c.Report.Notes, "the queue "+c.Asked.QueueARN+" is somebody else's; its policy, key, rules and alarms were not judged")
	default:
		c.mapping()
		c.queue()
		c.encryption()
		c.askedFor()
		c.rules()
		c.alarms()
	}
	c.limits()
	c.Report.sort()
}

// queueElsewhere tells whether the queue is none of the stack's.
func (c *Comparison) queueElsewhere() bool { return c.Asked.QueueARN != "" }

// askedFor judges what is only wanted because it was asked for.
func (c *Comparison) askedFor() {
	if q := c.Found.Queue; q != nil {
		base := Finding{Severity: Different, Area: AreaEncryption, Thing: q.Name, Queue: q.Name}
		key, own := c.Found.keyARN(q.KMSKey)
		switch {
		case c.Asked.KMS && !own:
			base.What, base.Fix = "it is not encrypted with a key of yours, as --kms asks", "add the key, its policy and its use as kerf stack --kms writes them"
			c.add(base)
		case c.Asked.KMSKey != "" && key != c.Asked.KMSKey:
			base.What, base.Fix = "it is not encrypted with "+c.Asked.KMSKey+", as --kms-key asks", "set KmsMasterKeyId to it"
			c.add(base)
		}
		for _, k := range slices.Sorted(maps.Keys(c.Asked.Tags)) {
			if q.Tags[k] != c.Asked.Tags[k] {
				c.add(Finding{
					Severity: Different, Area: AreaQueue, Thing: q.Name, Queue: q.Name,
					What: fmt.Sprintf("it does not have the tag %s=%s, as --tags asks", k, c.Asked.Tags[k]), Fix: "add the tag",
				})
			}
		}
	}
	if b := c.Asked.PermissionsBoundary; b != "" {
		for r, area := range map[*awssetup.Role]Area{c.Found.NodeRole: AreaNodeRole, c.Found.Controller: AreaController} {
			if r != nil && r.Boundary != b {
				c.add(Finding{
					Severity: Missing, Area: area, Thing: r.Name, What: "it does not have the permissions boundary " + b + ", as --permissions-boundary asks",
					Why: "its policies can be widened without limit", Fix: "set it",
				})
			}
		}
	}
}

func (c *Comparison) add(f Finding) { c.Report.Findings = append(c.Report.Findings, f) }

// controllerARN is the ARN of the controller's role, or what it would be.
func (c *Comparison) controllerARN() string {
	if r := c.Found.Controller; r != nil && r.ARN != "" {
		return r.ARN
	}
	return c.Where().Global("iam", "role/"+c.Report.Cluster+"-karpenter")
}

// Where is where the set-up lies.
func (c *Comparison) Where() setupfile.Place {
	return setupfile.Place{Partition: c.Found.Partition, Region: c.Found.Region, Account: c.Found.AccountID}
}

// decide evaluates a call of the controller against the policies of one side.
func (c *Comparison) decide(p *Parts, call iampolicy.Call) iampolicy.Decision {
	if call.Caller.Account == "" {
		call.Caller = iampolicy.Caller{ARN: c.controllerARN(), Account: c.Found.AccountID}
	}
	all := iampolicy.Policies{Identity: p.ControllerPolicies, Boundary: p.boundary, ResourceOwner: c.Found.AccountID}
	switch {
	case strings.HasPrefix(call.Action, "sqs:") && c.Found.Queue != nil && call.Resource == p.Queue.ARN:
		all.Resource = p.Queue.Policy
	case strings.HasPrefix(call.Action, "kms:"):
		if k := p.Key(call.Resource); k != nil && k.Policy != nil {
			all.Resource, all.ResourceOnly = k.Policy, true
		}
	}
	return iampolicy.Evaluate(call, all)
}

// List joins things for a message.
func List(things []string) string {
	const enough = 6
	if len(things) > enough {
		return strings.Join(things[:enough], ", ") + fmt.Sprintf(" and %d more", len(things)-enough)
	}
	return Enumerate(things)
}

// appendNew appends what is not in the list.
func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
