package fix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// templateWriter writes the changes as a template. Resources that are in the template that was read keep all that does
// not change, functions and comments included.
type templateWriter struct {
	m    *fixer
	g    *generaliser
	root *yaml.Node // of the template that was read
	out  *yaml.Node // Resources of the new one
	gone []string   // logical IDs of resources to take out
}

func (m *fixer) template(data []byte) ([]byte, error) {
	w := &templateWriter{m: m, g: &generaliser{}, out: mapping()}
	top := mapping("AWSTemplateFormatVersion", quotedText("2010-09-09"))
	if m.kind == setupfile.KindCloudFormation {
		var doc yaml.Node
		if err := yaml.Unmarshal(data, &doc); err != nil || len(doc.Content) != 1 {
			return nil, fmt.Errorf("read the template again: %w", err)
		}
		w.root = doc.Content[0]
		w.g = m.generaliser(clusterParameter(w.root))
		for _, section := range []string{"Transform", "Parameters", "Mappings", "Conditions"} {
			if n := member(w.root, section); n != nil {
				set(top, section, n)
			}
		}
	}
	for _, c := range m.changes {
		w.change(c)
	}
	for _, id := range w.gone {
		forget(w.out, id)
	}
	set(top, "Resources", w.out)
	if m.whole {
		top = w.merged()
	}
	if w.root.Style&yaml.FlowStyle != 0 {
		if json.Valid(data) {
			return w.json(top)
		}
		blockStyle(top) // YAML written like JSON
	}
	var b bytes.Buffer
	b.WriteString(w.head())
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(top); err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	if err := e.Close(); err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	return b.Bytes(), nil
}

// json is the template as JSON, for one that was. It has no comments; what they say goes where people look first.
func (w *templateWriter) json(top *yaml.Node) ([]byte, error) {
	if said := strings.TrimPrefix(strings.ReplaceAll(w.head(), "\n# ", " "), "# "); !w.m.whole && said != "" {
		with := mapping("Description", plainText(strings.TrimSpace(said)))
		with.Content = append(with.Content, top.Content...)
		top = with
	}
	var b bytes.Buffer
	if err := writeJSON(&b, top, ""); err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// merged is the template that was read with what is fixed in its place.
func (w *templateWriter) merged() *yaml.Node {
	top := clone(w.root)
	resources := member(top, "Resources")
	for i := 0; i+1 < len(w.out.Content); i += 2 {
		set(resources, w.out.Content[i].Value, w.out.Content[i+1])
	}
	for _, id := range w.gone {
		drop(resources, id)
		forget(top, id)
	}
	return top
}

func (w *templateWriter) head() string {
	if w.m.whole {
		return w.attach("# ")
	}
	return "# What fixes " + w.m.s.Source + ": put these resources in the place of those with the same logical IDs, or beside the others.\n" +
		"# Do not deploy this alone: the stack would lose all that is not in it. With --whole the template is written with them in their places.\n" +
		w.attach("# ") + w.takeOut("# ")
}

// attach says which new policies somebody has to attach.
func (w *templateWriter) attach(prefix string) string {
	var names []string
	for _, c := range w.m.changes {
		if c.part == policyPart && c.added && len(w.m.s.Policies[c.index].AttachedTo) == 0 {
			names = append(names, w.m.s.Policies[c.index].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return prefix + "Attach to the role of the controller, which is not in it: " + check.List(names) + "\n"
}

// takeOut says which resources nothing is left of.
func (w *templateWriter) takeOut(prefix string) string {
	if len(w.gone) == 0 {
		return ""
	}
	return prefix + "Take out what nothing is needed of, and what refers to it: " + check.List(w.gone) + "\n"
}

func clusterParameter(root *yaml.Node) string {
	n := member(root, "Parameters")
	if n == nil {
		return ""
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if setupfile.IsClusterParameter(n.Content[i].Value) {
			return n.Content[i].Value
		}
	}
	return ""
}

// resource is the resource with an ID in the new template, with its properties: as it was read, or a new one.
func (w *templateWriter) resource(id, kind string) *yaml.Node {
	r := member(w.out, id)
	if r == nil {
		if was := member(member(w.root, "Resources"), id); was != nil {
			r = clone(was)
		} else {
			r = mapping("Type", plainText(kind))
		}
		set(w.out, id, r)
	}
	p := member(r, "Properties")
	if p == nil {
		p = mapping()
		set(r, "Properties", p)
	}
	return p
}

// known tells whether the template that was read has a resource.
func (w *templateWriter) known(id string) bool {
	return member(member(w.root, "Resources"), id) != nil
}

var notInIDs = regexp.MustCompile(`[^A-Za-z0-9]`)

// id is the logical ID of a resource; one that has none gets one from its name.
func id(logical, name string) string {
	if logical != "" && !notInIDs.MatchString(logical) {
		return logical
	}
	return notInIDs.ReplaceAllString(name, "")
}

func (w *templateWriter) change(c change) {
	switch c.part {
	case rolePart:
		w.role(c)
	case policyPart:
		w.policy(c)
	case keyPart:
		w.key(c)
	case queuePart:
		w.queue(c)
	case queuePolicyPart:
		q := &w.m.s.Queues[c.index]
		p := w.resource(w.queuePolicyID(id(q.LogicalID, q.Name)), "AWS::SQS::QueuePolicy")
		if member(p, "Queues") == nil && member(p, "Queue") == nil {
			set(p, "Queues", sequence(w.text(q.URL)))
		}
		set(p, "PolicyDocument", w.document(q.Policy))
	case rulePart:
		w.rule(c)
	case alarmPart:
		w.alarm(c)
	case accessEntryPart:
		e := &w.m.s.AccessEntries[c.index]
		p := w.resource(id(e.LogicalID, "KarpenterNodeAccessEntry"), "AWS::EKS::AccessEntry")
		if member(p, "ClusterName") == nil {
			set(p, "ClusterName", w.text(w.m.c.Report.Cluster))
		}
		if member(p, "PrincipalArn") == nil {
			set(p, "PrincipalArn", w.text(e.PrincipalARN))
		}
		drop(p, "KubernetesGroups")
		set(p, "Type", plainText(e.Type))
	case podIdentityPart:
		a := &w.m.s.PodIdentities[c.index]
		p := w.resource(id(a.LogicalID, podIdentityID), "AWS::EKS::PodIdentityAssociation")
		set(p, "ClusterName", w.text(w.m.c.Report.Cluster))
		set(p, "Namespace", plainText(a.Namespace))
		set(p, "ServiceAccount", plainText(a.ServiceAccount))
		set(p, "RoleArn", w.text(a.RoleARN))
	}
}

// whole tells whether all properties of a resource have to be written, for there is nothing that has them.
func (w *templateWriter) whole(c change, id string) bool { return c.added || !w.known(id) }

func (c change) has(attr string) bool {
	for _, a := range c.attrs {
		if a == attr {
			return true
		}
	}
	return false
}

func (w *templateWriter) role(c change) {
	r := &w.m.s.Roles[c.index]
	rid := id(r.LogicalID, r.Name)
	whole := w.whole(c, rid)
	for i, was := range w.m.before.Roles[c.index].Inline {
		for _, n := range r.Inline {
			if n.Name == was.Name && c.has("inline "+n.Name) {
				w.inline(rid, i, n)
			}
		}
	}
	for i, was := range slices.Backward(w.m.before.Roles[c.index].Inline) {
		if c.has("drop inline " + was.Name) {
			w.dropInline(rid, i, was.Name)
		}
	}
	if !whole && !c.has("trust") && !c.has("managed") {
		return
	}
	p := w.resource(rid, "AWS::IAM::Role")
	if whole {
		set(p, "RoleName", w.text(r.Name))
		set(p, "Path", w.text(r.Path))
	}
	if (whole || c.has("trust")) && r.Trust != nil {
		set(p, "AssumeRolePolicyDocument", w.document(r.Trust))
	}
	if whole || c.has("managed") {
		set(p, "ManagedPolicyArns", w.texts(r.ManagedPolicyARNs))
	}
}

// inline writes a policy that is part of its role, or a resource of its own.
func (w *templateWriter) inline(role string, index int, n iampolicy.Named) {
	policies := member(member(member(member(w.root, "Resources"), role), "Properties"), "Policies")
	if policies != nil && index < len(policies.Content) {
		p := w.resource(role, "AWS::IAM::Role")
		set(member(p, "Policies").Content[index], "PolicyDocument", w.document(n.Document))
		return
	}
	if rid, kind := w.inlineResource(n.Name); rid != "" {
		set(w.resource(rid, kind), "PolicyDocument", w.document(n.Document))
	}
}

// dropInline takes out a policy that is part of its role, or a resource of its own.
func (w *templateWriter) dropInline(role string, index int, name string) {
	policies := member(member(member(member(w.root, "Resources"), role), "Properties"), "Policies")
	if policies == nil || index >= len(policies.Content) {
		if rid, _ := w.inlineResource(name); rid != "" {
			w.gone = append(w.gone, rid)
		}
		return
	}
	p := w.resource(role, "AWS::IAM::Role")
	list := member(p, "Policies")
	if list.Content = append(list.Content[:index:index], list.Content[index+1:]...); len(list.Content) == 0 {
		drop(p, "Policies")
	}
}

// inlineResource finds the resource that is an inline policy of a name.
func (w *templateWriter) inlineResource(policy string) (id, kind string) {
	resources := member(w.root, "Resources")
	for i := 0; resources != nil && i+1 < len(resources.Content); i += 2 {
		kind := member(resources.Content[i+1], "Type")
		if kind == nil || kind.Value != "AWS::IAM::Policy" && kind.Value != "AWS::IAM::RolePolicy" {
			continue
		}
		name := member(member(resources.Content[i+1], "Properties"), "PolicyName")
		if name != nil && mayBe(name, policy) {
			return resources.Content[i].Value, kind.Value
		}
	}
	return "", ""
}

// reference is a reference within a text of a template.
var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// mayBe tells whether a text of a template may come to a value.
func mayBe(n *yaml.Node, value string) bool {
	if n.Tag == "!Ref" || n.Kind != yaml.ScalarNode {
		return true
	}
	parts := reference.Split(n.Value, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	ok, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", value)
	return ok && err == nil
}

func (w *templateWriter) policy(c change) {
	x := &w.m.s.Policies[c.index]
	pid := id(x.LogicalID, x.Name)
	if c.has("drop") {
		w.gone = append(w.gone, pid)
		return
	}
	p := w.resource(pid, "AWS::IAM::ManagedPolicy")
	if w.whole(c, pid) {
		set(p, "ManagedPolicyName", w.text(x.Name))
		var roles []*yaml.Node
		for _, name := range x.AttachedTo {
			if r := w.m.s.RoleBy(name); r != nil && r.LogicalID != "" {
				roles = append(roles, function("!Ref", r.LogicalID))
			} else {
				roles = append(roles, w.text(name))
			}
		}
		if len(roles) > 0 {
			set(p, "Roles", sequence(roles...))
		}
	}
	set(p, "PolicyDocument", w.document(x.Document))
}

func (w *templateWriter) key(c change) {
	k := &w.m.s.Keys[c.index]
	p := w.resource(id(k.LogicalID, "Key"+k.ID), "AWS::KMS::Key")
	if c.has("enabled") {
		set(p, "Enabled", scalar("!!bool", "true"))
	}
	if c.has("policy") {
		set(p, "KeyPolicy", w.document(k.Policy))
	}
}

func (w *templateWriter) seconds(d time.Duration) *yaml.Node {
	return scalar("!!int", strconv.Itoa(int(d/time.Second)))
}

func (w *templateWriter) queue(c change) {
	q := &w.m.s.Queues[c.index]
	qid := id(q.LogicalID, q.Name)
	p := w.resource(qid, "AWS::SQS::Queue")
	whole := w.whole(c, qid)
	if whole {
		set(p, "QueueName", w.text(q.Name))
	}
	if whole || c.has("retention") {
		set(p, "MessageRetentionPeriod", w.seconds(q.Retention))
	}
	if whole || c.has("visibility") {
		set(p, "VisibilityTimeout", w.seconds(q.Visibility))
	}
	if c.has("delay") {
		set(p, "DelaySeconds", w.seconds(0))
	}
	if c.has("size") {
		set(p, "MaximumMessageSize", w.seconds(time.Duration(q.MaxMessage)*time.Second)) // a plain number, too
	}
	if whole || c.has("encryption") {
		if c.has("key") {
			drop(p, "KmsMasterKeyId")
		}
		w.encryption(p, q.KMSKey, q.ManagedSSE)
	}
	if (whole || c.has("redrive")) && q.DeadLetter != "" {
		set(p, "RedrivePolicy", mapping("deadLetterTargetArn", w.text(q.DeadLetter), "maxReceiveCount", scalar("!!int", strconv.Itoa(q.MaxReceives))))
	}
	if whole && len(q.Tags) > 0 || c.has("tags") {
		tags := sequence()
		if was := member(p, "Tags"); was != nil && was.Kind == yaml.SequenceNode {
			tags = was
		}
		if v := q.Tags["karpenter.sh/discovery"]; v != "" {
			tags.Content = append(tags.Content, mapping("Key", plainText("karpenter.sh/discovery"), "Value", w.text(v)))
		}
		set(p, "Tags", tags)
	}
}

// encryption writes one of the two ways. A key that the template has already stays as it is written.
func (w *templateWriter) encryption(p *yaml.Node, key string, managed bool) {
	if managed {
		drop(p, "KmsMasterKeyId")
		drop(p, "KmsDataKeyReusePeriodSeconds")
		set(p, "SqsManagedSseEnabled", scalar("!!bool", "true"))
		return
	}
	drop(p, "SqsManagedSseEnabled")
	if member(p, "KmsMasterKeyId") == nil && key != "" {
		set(p, "KmsMasterKeyId", w.text(key))
	}
}

// queuePolicyID is the ID of the resource that holds the policy of a queue.
func (w *templateWriter) queuePolicyID(queue string) string {
	resources := member(w.root, "Resources")
	for i := 0; resources != nil && i+1 < len(resources.Content); i += 2 {
		kind := member(resources.Content[i+1], "Type")
		p := member(resources.Content[i+1], "Properties")
		if kind == nil || kind.Value != "AWS::SQS::QueuePolicy" && kind.Value != "AWS::SQS::QueueInlinePolicy" {
			continue
		}
		if refersTo(member(p, "Queues"), queue) || refersTo(member(p, "Queue"), queue) {
			return resources.Content[i].Value
		}
	}
	return queue + "Policy"
}

// refersTo tells whether a function within a node names a resource.
func refersTo(n *yaml.Node, id string) bool {
	if n == nil {
		return false
	}
	if n.Kind == yaml.ScalarNode && (n.Value == id || strings.HasPrefix(n.Value, id+".") || strings.Contains(n.Value, "${"+id+"}")) {
		return true
	}
	for _, c := range n.Content {
		if refersTo(c, id) {
			return true
		}
	}
	return false
}

func (w *templateWriter) rule(c change) {
	r := &w.m.s.Rules[c.index]
	rid := id(r.LogicalID, r.Name)
	p := w.resource(rid, "AWS::Events::Rule")
	whole := w.whole(c, rid)
	if whole || c.has("pattern") {
		set(p, "EventPattern", jsonNode(r.Pattern))
	}
	if c.has("enabled") {
		set(p, "State", plainText("ENABLED"))
	}
	if !whole && !c.has("targets") {
		return
	}
	targets := sequence()
	if was := member(p, "Targets"); was != nil && was.Kind == yaml.SequenceNode {
		targets = was
	}
	for i, t := range r.Targets {
		if i >= len(targets.Content) {
			targets.Content = append(targets.Content, mapping("Id", plainText(t.ID), "Arn", w.text(t.ARN)))
		}
		for _, way := range []awssetup.Input{awssetup.Constant, awssetup.Path, awssetup.Transformer} {
			if t.Input == "" && t.ARN == w.m.queueARN() {
				drop(targets.Content[i], string(way))
			}
		}
		if n := targets.Content[i]; t.DeadLetter != "" && member(n, "DeadLetterConfig") == nil {
			set(n, "DeadLetterConfig", mapping("Arn", w.text(t.DeadLetter)))
		}
	}
	set(p, "Targets", targets)
}

func (w *templateWriter) alarm(c change) {
	a := &w.m.s.Alarms[c.index]
	aid := id(a.LogicalID, a.Name)
	p := w.resource(aid, "AWS::CloudWatch::Alarm")
	if w.whole(c, aid) {
		dimensions := sequence()
		for name, value := range a.Dimensions {
			dimensions.Content = append(dimensions.Content, mapping("Name", plainText(name), "Value", w.text(value)))
		}
		for _, f := range []struct {
			name  string
			value *yaml.Node
		}{
			{"AlarmName", w.text(a.Name)}, {"Namespace", plainText(a.Namespace)}, {"MetricName", plainText(a.Metric)}, {"Dimensions", dimensions},
			{"Statistic", plainText(a.Statistic)}, {"Period", w.seconds(a.Period)}, {"EvaluationPeriods", scalar("!!int", strconv.Itoa(max(1, a.Periods)))},
			{"Threshold", number(a.Threshold)}, {"ComparisonOperator", plainText(a.Comparison)},
			{"TreatMissingData", plainText("notBreaching")},
		} {
			set(p, f.name, f.value)
		}
	}
	if len(a.Actions) > 0 {
		set(p, "AlarmActions", w.texts(a.Actions))
	}
}
