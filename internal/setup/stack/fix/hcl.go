package fix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// hclWriter writes the changes as blocks of Terraform: of resources that are there, the arguments that change, and whole
// blocks of those that are added.
type hclWriter struct {
	m    *fixer
	plan *setupfile.PlannedSetup // that was read
	b    strings.Builder
	refs []replacement
}

func (m *fixer) hcl(data []byte) ([]byte, error) {
	p, err := setupfile.ParsePlan(data, m.c.Where())
	if err != nil {
		return nil, err
	}
	w := &hclWriter{m: m, plan: p}
	w.references()
	fmt.Fprintf(&w.b, "# What fixes %s. Of blocks that are there only the arguments that change are shown: put them into your own.\n", m.s.Source)
	w.b.WriteString((&templateWriter{m: m}).attach("# "))
	for _, c := range m.changes {
		w.change(c)
	}
	return hclwrite.Format([]byte(w.b.String())), nil
}

// references are expressions for what resources of the root module give.
func (w *hclWriter) references() {
	add := func(address, text, attr string) {
		if inRoot.MatchString(address) && text != "" {
			w.refs = append(w.refs, replacement{text, "${" + address + "." + attr + "}"})
		}
	}
	for _, x := range w.m.s.Roles {
		add(x.LogicalID, x.ARN, "arn")
	}
	for i := range w.m.s.Policies {
		x := &w.m.s.Policies[i]
		add(w.address(x.LogicalID, "aws_iam_policy", x.Name), x.ARN, "arn")
	}
	for i := range w.m.s.Queues {
		x := &w.m.s.Queues[i]
		address := w.address(x.LogicalID, "aws_sqs_queue", x.Name)
		add(address, x.ARN, "arn")
		add(address, x.URL, "url")
	}
	for _, x := range w.m.s.Keys {
		add(x.LogicalID, x.ARN, "arn")
	}
	for i := range w.m.s.Rules {
		x := &w.m.s.Rules[i]
		add(w.address(x.LogicalID, "aws_cloudwatch_event_rule", x.Name), x.ARN, "arn")
	}
	slices.SortStableFunc(w.refs, func(a, b replacement) int { return len(b.text) - len(a.text) })
}

var inRoot = regexp.MustCompile(`^aws_[a-z0-9_]+\.[A-Za-z0-9_-]+(\[[^\]]*\])?$`)

// address is that of a resource; one that is added has none yet, but the ID that the wanted stack has for it.
func (w *hclWriter) address(logical, kind, name string) string {
	if strings.Contains(logical, "aws_") {
		return logical
	}
	if logical == "" {
		logical = name
	}
	return kind + "." + label(logical)
}

var (
	words      = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	notInLabel = regexp.MustCompile(`[^a-z0-9_]+`)
)

// label is a name as Terraform writes them: KarpenterNodeRole becomes karpenter_node_role.
func label(s string) string {
	return notInLabel.ReplaceAllString(strings.ToLower(words.ReplaceAllString(s, "${1}_${2}")), "_")
}

// block writes a block at an address with its arguments.
func (w *hclWriter) block(address, kind string, arguments ...argument) {
	name := setupfile.ResourceName(address)
	w.b.WriteString("\n")
	if !inRoot.MatchString(address) || strings.Contains(address, "[") {
		fmt.Fprintf(&w.b, "# %s\n", address)
		if strings.HasPrefix(address, "module.") {
			w.b.WriteString("# (within a module: set what stands for it among the module's inputs)\n")
		}
	}
	fmt.Fprintf(&w.b, "resource %q %q {\n", kind, name)
	for _, a := range arguments {
		if a.block {
			fmt.Fprintf(&w.b, "%s {\n%s\n}\n", a.name, a.value)
			continue
		}
		fmt.Fprintf(&w.b, "%s = %s\n", a.name, a.value)
	}
	w.b.WriteString("}\n")
}

type argument struct {
	name, value string
	block       bool
}

func arg(name, value string) argument { return argument{name: name, value: value} }

// text is a quoted text with references.
func (w *hclWriter) text(s string) string {
	if ref, ok := w.reference(s); ok {
		return ref
	}
	q := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(s)
	for _, r := range w.refs {
		q = replaceToken(q, r.text, r.reference)
	}
	return `"` + q + `"`
}

// reference is the expression that stands for a whole text.
func (w *hclWriter) reference(s string) (string, bool) {
	for _, r := range w.refs {
		if s == r.text {
			return strings.TrimSuffix(strings.TrimPrefix(r.reference, "${"), "}"), true
		}
	}
	return "", false
}

func (w *hclWriter) texts(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, w.text(s))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// jsonencode is JSON as an expression that makes it.
func (w *hclWriter) jsonencode(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return w.text(string(text))
	}
	return "jsonencode(" + w.value(v) + ")"
}

func (w *hclWriter) value(v any) string {
	switch v := v.(type) {
	case string:
		return w.text(v)
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, w.value(e))
		}
		if len(out) > 1 {
			return "[\n" + strings.Join(out, ",\n") + ",\n]"
		}
		return "[" + strings.Join(out, "") + "]"
	case map[string]any:
		var b strings.Builder
		b.WriteString("{\n")
		for _, k := range slices.SortedFunc(maps.Keys(v), inPolicyOrder) {
			key := k
			if !bareKey.MatchString(k) {
				key = strconv.Quote(k)
			}
			fmt.Fprintf(&b, "%s = %s\n", key, w.value(v[k]))
		}
		b.WriteString("}")
		return b.String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(b)
}

// policyOrder is the order in which people read the members of policies.
var policyOrder = []string{"Condition", "Resource", "Action", "Principal", "Effect", "Sid", "Statement", "Id", "Version"}

func inPolicyOrder(a, b string) int {
	return cmp.Or(cmp.Compare(slices.Index(policyOrder, b), slices.Index(policyOrder, a)), cmp.Compare(a, b))
}

var bareKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// find looks for a resource of the plan by its type and an attribute.
func (w *hclWriter) find(kind, attr, value string) *setupfile.PlannedResource {
	for _, c := range w.plan.Managed(kind) {
		if c.Value(attr) == value {
			return &c
		}
	}
	return nil
}

func (w *hclWriter) change(c change) {
	s := w.m.s
	switch c.part {
	case rolePart:
		w.role(c)
	case policyPart:
		p := &s.Policies[c.index]
		if c.has("drop") {
			fmt.Fprintf(&w.b, "\n# remove %s and what attaches it: nothing in it is needed\n", p.LogicalID)
			return
		}
		address := w.address(p.LogicalID, "aws_iam_policy", p.Name)
		arguments := []argument{arg("policy", w.jsonencode(p.Document.JSON()))}
		if c.added {
			arguments = append([]argument{arg("name", w.text(p.Name))}, arguments...)
		}
		w.block(address, "aws_iam_policy", arguments...)
		if c.added {
			for _, role := range p.AttachedTo {
				w.attachment(role, label(p.LogicalID), p.ARN)
			}
		}
	case keyPart:
		w.key(c)
	case queuePart:
		w.queue(c)
	case queuePolicyPart:
		q := &s.Queues[c.index]
		policy := arg("policy", w.jsonencode(q.Policy.JSON()))
		if at := w.find("aws_sqs_queue_policy", "queue_url", q.URL); at != nil {
			w.block(at.Address, "aws_sqs_queue_policy", policy)
			return
		}
		w.block("aws_sqs_queue_policy."+label(setupfile.ResourceName(w.address(q.LogicalID, "aws_sqs_queue", q.Name))), "aws_sqs_queue_policy", arg("queue_url", w.text(q.URL)), policy)
	case rulePart:
		w.rule(c)
	case alarmPart:
		w.alarm(&s.Alarms[c.index])
	case accessEntryPart:
		e := &s.AccessEntries[c.index]
		w.block(w.address(e.LogicalID, "aws_eks_access_entry", "node"), "aws_eks_access_entry",
			arg("cluster_name", w.text(w.m.c.Report.Cluster)), arg("principal_arn", w.text(e.PrincipalARN)), arg("type", w.text(e.Type)))
	case podIdentityPart:
		a := &s.PodIdentities[c.index]
		w.block(w.address(a.LogicalID, "aws_eks_pod_identity_association", "controller"), "aws_eks_pod_identity_association",
			arg("cluster_name", w.text(w.m.c.Report.Cluster)), arg("namespace", w.text(a.Namespace)), arg("service_account", w.text(a.ServiceAccount)), arg("role_arn", w.text(a.RoleARN)))
	}
}

func (w *hclWriter) attachment(role, name, policy string) {
	w.block("aws_iam_role_policy_attachment."+name, "aws_iam_role_policy_attachment", arg("role", w.text(role)), arg("policy_arn", w.text(policy)))
}

func (w *hclWriter) role(c change) {
	r := &w.m.s.Roles[c.index]
	address := w.address(r.LogicalID, "aws_iam_role", r.Name)
	if c.has("trust") {
		w.block(address, "aws_iam_role", arg("assume_role_policy", w.jsonencode(r.Trust.JSON())))
	}
	if c.has("managed") {
		for _, arn := range r.ManagedPolicyARNs {
			if w.findAttachment(r.Name, arn) == nil {
				w.attachment(r.Name, label(r.Name+"_"+arn[strings.LastIndex(arn, "/")+1:]), arn)
			}
		}
		if at := w.findAttachment(r.Name, "arn:"+w.m.s.Partition+":iam::aws:policy/"+check.AdministratorPolicy); at != nil && !slices.Contains(r.ManagedPolicyARNs, at.Value("policy_arn")) {
			fmt.Fprintf(&w.b, "\n# remove the block %s\n", at.Address)
		}
	}
	for _, a := range c.attrs {
		if name, ok := strings.CutPrefix(a, "drop inline "); ok {
			at := address + ", its inline_policy " + name
			if x := w.find("aws_iam_role_policy", "name", name); x != nil {
				at = x.Address
			}
			fmt.Fprintf(&w.b, "\n# remove %s: nothing in it is needed\n", at)
		}
	}
	for _, n := range r.Inline {
		if c.has("inline " + n.Name) {
			if at := w.find("aws_iam_role_policy", "name", n.Name); at != nil {
				w.block(at.Address, "aws_iam_role_policy", arg("policy", w.jsonencode(n.Document.JSON())))
			} else {
				w.block(address, "aws_iam_role", argument{"inline_policy", fmt.Sprintf("name = %s\npolicy = %s", w.text(n.Name), w.jsonencode(n.Document.JSON())), true})
			}
		}
	}
}

func (w *hclWriter) findAttachment(role, arn string) *setupfile.PlannedResource {
	for _, c := range w.plan.Managed("aws_iam_role_policy_attachment") {
		if c.Value("role") == role && c.Value("policy_arn") == arn {
			return &c
		}
	}
	return nil
}

func (w *hclWriter) key(c change) {
	k := &w.m.s.Keys[c.index]
	if c.has("enabled") {
		w.block(k.LogicalID, "aws_kms_key", arg("is_enabled", "true"))
	}
	if !c.has("policy") {
		return
	}
	policy := arg("policy", w.jsonencode(k.Policy.JSON()))
	if at := w.find("aws_kms_key_policy", "key_id", k.ID); at != nil {
		w.block(at.Address, "aws_kms_key_policy", policy)
		return
	}
	w.block(k.LogicalID, "aws_kms_key", policy)
}

func (w *hclWriter) queue(c change) {
	q := &w.m.s.Queues[c.index]
	var arguments []argument
	if c.added {
		arguments = append(arguments, arg("name", w.text(q.Name)))
	}
	if c.added || c.has("retention") {
		arguments = append(arguments, arg("message_retention_seconds", wholeSeconds(q.Retention)))
	}
	if c.added || c.has("visibility") {
		arguments = append(arguments, arg("visibility_timeout_seconds", wholeSeconds(q.Visibility)))
	}
	if c.has("delay") {
		arguments = append(arguments, arg("delay_seconds", "0"))
	}
	if c.has("size") {
		arguments = append(arguments, arg("max_message_size", fmt.Sprint(q.MaxMessage)))
	}
	if c.added || c.has("encryption") {
		if q.ManagedSSE {
			arguments = append(arguments, arg("sqs_managed_sse_enabled", "true"), arg("kms_master_key_id", "null"))
		} else {
			arguments = append(arguments, arg("sqs_managed_sse_enabled", "null"), arg("kms_master_key_id", w.text(q.KMSKey)))
		}
	}
	if (c.added || c.has("redrive")) && q.DeadLetter != "" {
		arguments = append(arguments, arg("redrive_policy", fmt.Sprintf("jsonencode({\ndeadLetterTargetArn = %s\nmaxReceiveCount = %d\n})", w.text(q.DeadLetter), q.MaxReceives)))
	}
	if c.added && len(q.Tags) > 0 || c.has("tags") {
		tags := map[string]any{}
		for k, v := range q.Tags {
			tags[k] = v
		}
		arguments = append(arguments, arg("tags", w.value(tags)))
	}
	w.block(w.address(q.LogicalID, "aws_sqs_queue", q.Name), "aws_sqs_queue", arguments...)
}

func (w *hclWriter) rule(c change) {
	r := &w.m.s.Rules[c.index]
	address := w.address(r.LogicalID, "aws_cloudwatch_event_rule", r.Name)
	var arguments []argument
	if c.added {
		arguments = append(arguments, arg("name", w.text(r.Name)))
	}
	if c.added || c.has("pattern") {
		arguments = append(arguments, arg("event_pattern", w.jsonencode(r.Pattern)))
	}
	if c.has("enabled") {
		arguments = append(arguments, arg("state", `"ENABLED"`))
	}
	if len(arguments) > 0 {
		w.block(address, "aws_cloudwatch_event_rule", arguments...)
	}
	if !c.added && !c.has("targets") {
		return
	}
	for _, t := range r.Targets {
		w.target(r, t, address)
	}
}

func (w *hclWriter) target(r *awssetup.Rule, t awssetup.Target, rule string) {
	var dead []argument
	if t.DeadLetter != "" {
		dead = []argument{{"dead_letter_config", "arn = " + w.text(t.DeadLetter), true}}
	}
	for _, c := range w.plan.Managed("aws_cloudwatch_event_target") {
		if c.Value("rule") == r.Name && c.Value("arn") == t.ARN {
			if t.Input == "" && t.ARN == w.m.queueARN() {
				for _, way := range []string{"input", "input_path"} {
					if c.Value(way) != "" {
						dead = append(dead, arg(way, "null"))
					}
				}
				if c.HasBlock("input_transformer") {
					fmt.Fprintf(&w.b, "\n# remove the block input_transformer of %s\n", c.Address)
				}
			}
			if len(dead) > 0 {
				w.block(c.Address, c.Type, dead...)
			}
			return
		}
	}
	name := w.text(r.Name)
	if inRoot.MatchString(rule) {
		name = rule + ".name"
	}
	w.block("aws_cloudwatch_event_target."+label(setupfile.ResourceName(rule)), "aws_cloudwatch_event_target",
		append([]argument{arg("rule", name), arg("target_id", w.text(t.ID)), arg("arn", w.text(t.ARN))}, dead...)...)
}

func (w *hclWriter) alarm(a *awssetup.Alarm) {
	dimensions := map[string]any{}
	for k, v := range a.Dimensions {
		dimensions[k] = v
	}
	arguments := []argument{
		arg("alarm_name", w.text(a.Name)), arg("namespace", w.text(a.Namespace)), arg("metric_name", w.text(a.Metric)), arg("dimensions", w.value(dimensions)),
		arg("statistic", w.text(a.Statistic)), arg("period", wholeSeconds(a.Period)), arg("evaluation_periods", strconv.Itoa(max(1, a.Periods))),
		arg("threshold", strconv.FormatFloat(a.Threshold, 'f', -1, 64)), arg("comparison_operator", w.text(a.Comparison)), arg("treat_missing_data", `"notBreaching"`),
	}
	if len(a.Actions) > 0 {
		arguments = append(arguments, arg("alarm_actions", w.texts(a.Actions)))
	}
	w.block(w.address(a.LogicalID, "aws_cloudwatch_metric_alarm", a.Name), "aws_cloudwatch_metric_alarm", arguments...)
}
