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
)

// Options say what a set-up is compared with.
type Options struct {
	// Stack are the options of the stack that is wanted. Names, account and region that it leaves out are those found.
	Stack stack.Options
	Hints Hints
	// Whole makes Fix write all of a template, with what it fixes in its place.
	Whole bool
}

// Compare judges what was found.
//
// Errors: options that make no stack.
func Compare(found *awssetup.Setup, kind Kind, o Options) (*Report, error) {
	c, err := newChecker(found, kind, o)
	if err != nil {
		return nil, err
	}
	c.run()
	return c.report, nil
}

// checker holds both sides while they are compared.
type checker struct {
	report *Report
	found  *parts
	wanted *parts
	stack  *stack.Stack
	asked  stack.Options // as they were given
	hints  Hints

	needed  []need
	samples map[*awssetup.Event][]eventpattern.Event
}

func newChecker(found *awssetup.Setup, kind Kind, o Options) (*checker, error) {
	h := o.Hints
	h.ServiceAccount = cmp.Or(h.ServiceAccount, o.Stack.ServiceAccount, "karpenter")
	p := findParts(found, h)
	if o.Stack.QueueARN != "" { // whoever owns it answers for it
		p.queue = nil
	}
	r := &Report{
		Source: found.Source, Kind: kind, Edition: string(o.Stack.Compat), Account: found.AccountID, Region: found.Region, Findings: []Finding{},
	}
	if kind != KindLive { // there the names are not only the user's
		for _, hint := range []struct {
			name, what, flag string
			found            bool
		}{
			{h.Queue, "queue", "--queue", p.queue != nil}, {h.NodeRole, "role", "--node-role", p.nodeRole != nil}, {h.ControllerRole, "role", "--controller-role", p.controller != nil},
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
	if p.queue != nil && p.queue.FIFO {
		// That it should be another queue is said once, and not again of every permission.
		renameResource(setup, setup.Queues[0].ARN, p.queue.ARN)
	}
	queue := ""
	if len(setup.Queues) > 0 {
		queue = setup.Queues[0].Name
	}
	c := &checker{report: r, found: p, stack: s, asked: o.Stack, hints: h, wanted: findParts(setup, Hints{Queue: queue, ServiceAccount: h.ServiceAccount})}
	for _, g := range found.Gaps {
		r.Unread = append(r.Unread, Unread{What: g.What, Why: g.Why})
	}
	if found.Assumed {
		r.Notes = append(r.Notes, "the account is not known; "+assumedAccount+" stands for it (--account-id)")
	}
	if found.AssumedRegion {
		r.Notes = append(r.Notes, "the region is not known; "+assumedRegion+" stands for it (--region)")
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
func adapt(o stack.Options, p *parts, h Hints, r *Report) stack.Options {
	o.Region, o.AccountID = p.Region, p.AccountID
	o.ClusterName = cmp.Or(o.ClusterName, p.ClusterName)
	if o.ClusterName == "" {
		o.ClusterName = assumedCluster
		r.Notes = append(r.Notes, "the cluster's name is not known; "+assumedCluster+" stands for it (--cluster-name)")
	}
	if p.queue != nil && o.QueueName == "" {
		if name := strings.TrimSuffix(p.queue.Name, ".fifo"); name != o.ClusterName {
			o.QueueName = name
		}
	}
	if p.nodeRole != nil {
		if name := p.nodeRole.Name; o.NodeRoleName == "" && name != "KarpenterNodeRole-"+o.ClusterName {
			o.NodeRoleName = name
		}
		if strings.HasPrefix(p.nodeRole.Path, "/") && (o.Path == "" || o.Path == "/") {
			o.Path = p.nodeRole.Path
		}
	}
	if p.nodeRole == nil && o.NodeRoleName == "" {
		o.NodeRoleName, o.Path = madeElsewhere(h.NodeRole, o.Path)
	}
	adaptNames(&o)
	// What makes a key or a role is for who writes a stack; here the ones that are there count.
	o.KMS = false
	if o.KMSKey == "" && p.queue != nil && p.queue.KMSKey != "" {
		if arn, ok := p.keyARN(p.queue.KMSKey); ok {
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
func (p *parts) keyARN(id string) (string, bool) {
	if k := p.key(id); k != nil {
		return k.ARN, k.Manager != "AWS"
	}
	if strings.HasPrefix(id, "arn:") && strings.Contains(id, ":key/") {
		return id, true
	}
	return "", false
}

// key finds a key by id, ARN, alias or the ARN of an alias.
func (p *parts) key(id string) *awssetup.Key {
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

func (c *checker) run() {
	c.permissions()
	if c.report.Kind != KindIAM || len(c.found.Roles) > 0 {
		c.nodeRole()
		c.controllerRole()
	}
	switch {
	case c.report.Kind == KindIAM:
		c.report.Notes = append(c.report.Notes, "policies alone were read; queue, key, rules and alarms were not judged")
	case c.queueElsewhere():
		c.mapping()
		c.report.Notes = append(c.report.Notes, "the queue "+c.asked.QueueARN+" is somebody else's; its policy, key, rules and alarms were not judged")
	default:
		c.mapping()
		c.queue()
		c.encryption()
		c.askedFor()
		c.rules()
		c.alarms()
	}
	c.limits()
	c.report.sort()
}

// queueElsewhere tells whether the queue is none of the stack's.
func (c *checker) queueElsewhere() bool { return c.asked.QueueARN != "" }

// askedFor judges what is only wanted because it was asked for.
func (c *checker) askedFor() {
	if q := c.found.queue; q != nil {
		base := Finding{Severity: Different, Area: AreaEncryption, Thing: q.Name, Queue: q.Name}
		key, own := c.found.keyARN(q.KMSKey)
		switch {
		case c.asked.KMS && !own:
			base.What, base.Fix = "it is not encrypted with a key of yours, as --kms asks", "add the key, its policy and its use as kerf stack --kms writes them"
			c.add(base)
		case c.asked.KMSKey != "" && key != c.asked.KMSKey:
			base.What, base.Fix = "it is not encrypted with "+c.asked.KMSKey+", as --kms-key asks", "set KmsMasterKeyId to it"
			c.add(base)
		}
		for _, k := range slices.Sorted(maps.Keys(c.asked.Tags)) {
			if q.Tags[k] != c.asked.Tags[k] {
				c.add(Finding{
					Severity: Different, Area: AreaQueue, Thing: q.Name, Queue: q.Name,
					What: fmt.Sprintf("it does not have the tag %s=%s, as --tags asks", k, c.asked.Tags[k]), Fix: "add the tag",
				})
			}
		}
	}
	if b := c.asked.PermissionsBoundary; b != "" {
		for r, area := range map[*awssetup.Role]Area{c.found.nodeRole: AreaNodeRole, c.found.controller: AreaController} {
			if r != nil && r.Boundary != b {
				c.add(Finding{
					Severity: Missing, Area: area, Thing: r.Name, What: "it does not have the permissions boundary " + b + ", as --permissions-boundary asks",
					Why: "its policies can be widened without limit", Fix: "set it",
				})
			}
		}
	}
}

func (c *checker) add(f Finding) { c.report.Findings = append(c.report.Findings, f) }

// controllerARN is the ARN of the controller's role, or what it would be.
func (c *checker) controllerARN() string {
	if r := c.found.controller; r != nil && r.ARN != "" {
		return r.ARN
	}
	return c.where().global("iam", "role/"+c.report.Cluster+"-karpenter")
}

func (c *checker) where() place {
	return place{c.found.Partition, c.found.Region, c.found.AccountID}
}

// decide evaluates a call of the controller against the policies of one side.
func (c *checker) decide(p *parts, call iampolicy.Call) iampolicy.Decision {
	if call.Caller.Account == "" {
		call.Caller = iampolicy.Caller{ARN: c.controllerARN(), Account: c.found.AccountID}
	}
	all := iampolicy.Policies{Identity: p.policies, Boundary: p.boundary, ResourceOwner: c.found.AccountID}
	switch {
	case strings.HasPrefix(call.Action, "sqs:") && c.found.queue != nil && call.Resource == p.queue.ARN:
		all.Resource = p.queue.Policy
	case strings.HasPrefix(call.Action, "kms:"):
		if k := p.key(call.Resource); k != nil && k.Policy != nil {
			all.Resource, all.ResourceOnly = k.Policy, true
		}
	}
	return iampolicy.Evaluate(call, all)
}

// list joins things for a message.
func list(things []string) string {
	const enough = 6
	if len(things) > enough {
		return strings.Join(things[:enough], ", ") + fmt.Sprintf(" and %d more", len(things)-enough)
	}
	return enumerate(things)
}
