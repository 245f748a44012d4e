package stack

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// expressions are what references are called in Terraform.
func (s *Stack) expressions() map[string]string {
	e := map[string]string{
		"ClusterName": "var.cluster_name", "AWS::Partition": "local.partition", "AWS::Region": "local.region",
		"AWS::AccountId": "local.account_id", "AWS::URLSuffix": "local.dns_suffix", idEC2: "local.node_principal",
	}
	named := func(id, address string, plain string) {
		e[id], e[id+".Arn"] = address+"."+plain, address+".arn"
	}
	named(idNodeRole, "aws_iam_role.node", "name")
	named(idControllerRole, "aws_iam_role.controller", "name")
	named(idQueue, "aws_sqs_queue.this", "url")
	named(idDeadLetter, "aws_sqs_queue.dead_letter", "url")
	named(idKey, "aws_kms_key.queue", "key_id")
	e[idQueue+".QueueName"], e[idDeadLetter+".QueueName"] = "aws_sqs_queue.this.name", "aws_sqs_queue.dead_letter.name"
	for _, r := range s.Rules {
		named(r.LogicalID, fmt.Sprintf("aws_cloudwatch_event_rule.this[%q]", r.Kind), "name")
	}
	for _, p := range s.Policies {
		e[p.LogicalID] = "aws_iam_policy." + policyLabel(p) + ".arn"
	}
	return e
}

// policyLabel is what a policy is called in the module.
func policyLabel(p Policy) string {
	label := strings.TrimPrefix(p.LogicalID, "KarpenterController")
	part := strings.TrimLeft(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	label = strings.TrimSuffix(strings.TrimSuffix(label, part), "Policy")
	if label == "" {
		label = "Controller"
	}
	if part != "" {
		part = "_" + part
	}
	return snake(label) + part
}

// snake writes CamelCase as camel_case; runs of capitals stay one word.
func snake(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// module writes the text of files; hclwrite sets it in order afterwards.
type module struct {
	strings.Builder
	names    map[string]string // expressions by reference
	adopting bool              // what exists keeps its name
}

func (m *module) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

// text is a string with its references as an expression.
func (m *module) text(s string) string {
	if name, sole := soleReference(s); sole {
		return m.names[name]
	}
	var b strings.Builder
	b.WriteByte('"')
	at := 0
	for _, loc := range reference.FindAllStringIndex(s, -1) {
		b.WriteString(quoted(s[at:loc[0]]))
		b.WriteString("${" + m.names[s[loc[0]+2:loc[1]-1]] + "}")
		at = loc[1]
	}
	b.WriteString(quoted(s[at:]))
	b.WriteByte('"')
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{")

func quoted(s string) string { return escapes.Replace(s) }

func (m *module) list(items []string) string {
	out := make([]string, len(items))
	for i, s := range items {
		out[i] = m.text(s)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// document is a policy as an expression that gives its JSON.
func (m *module) document(d *iampolicy.Document) (string, error) {
	var top yaml.Node
	if err := yaml.Unmarshal(d.JSON(), &top); err != nil {
		return "", fmt.Errorf("writing a policy as HCL: %w", err)
	}
	var b strings.Builder
	b.WriteString("jsonencode(")
	m.node(&b, top.Content[0])
	b.WriteString(")")
	return b.String(), nil
}

var identifiers = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

func (m *module) node(b *strings.Builder, n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteString("{\n")
		for pair := range slices.Chunk(n.Content, 2) {
			key := m.text(pair[0].Value)
			if identifiers.MatchString(pair[0].Value) {
				key = pair[0].Value
			}
			b.WriteString(key + " = ")
			m.node(b, pair[1])
			b.WriteString("\n")
		}
		b.WriteString("}")
	case yaml.SequenceNode:
		b.WriteString("[\n")
		for i, c := range n.Content {
			m.node(b, c)
			if i < len(n.Content)-1 || c.Kind == yaml.ScalarNode {
				b.WriteString(",")
			}
			b.WriteString("\n")
		}
		b.WriteString("]")
	default:
		b.WriteString(m.text(n.Value))
	}
}
