package stack

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// parsedModule is a module as a parser that is not ours reads it.
type parsedModule struct {
	t         *testing.T
	resources map[string]*hclsyntax.Body // by type and name, with a dot
	data      map[string]*hclsyntax.Body
	locals    map[string]hclsyntax.Expression
	variables map[string]*hclsyntax.Body
	outputs   map[string]*hclsyntax.Body
}

func parseModule(t *testing.T, s *Stack) *parsedModule {
	t.Helper()
	files, err := s.Terraform()
	if err != nil {
		t.Fatal(err)
	}
	m := &parsedModule{t, map[string]*hclsyntax.Body{}, map[string]*hclsyntax.Body{}, map[string]hclsyntax.Expression{}, map[string]*hclsyntax.Body{}, map[string]*hclsyntax.Body{}}
	parser := hclparse.NewParser()
	for _, f := range files {
		if again := hclwrite.Format(f.Content); !bytes.Equal(again, f.Content) {
			t.Errorf("%s is not formatted:\n%s", f.Name, cmp.Diff(string(f.Content), string(again)))
		}
		if !bytes.HasSuffix(f.Content, []byte("}\n")) || bytes.Contains(f.Content, []byte("\n\n\n")) {
			t.Errorf("%s has blank lines where none belong", f.Name)
		}
		parsed, diags := parser.ParseHCL(f.Content, f.Name)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, b := range parsed.Body.(*hclsyntax.Body).Blocks {
			m.block(b)
		}
	}
	return m
}

func (m *parsedModule) block(b *hclsyntax.Block) {
	into := map[string]map[string]*hclsyntax.Body{"resource": m.resources, "data": m.data, "variable": m.variables, "output": m.outputs}[b.Type]
	switch {
	case b.Type == "locals":
		for name, a := range b.Body.Attributes {
			m.locals[name] = a.Expr
		}
	case into != nil:
		label := strings.Join(b.Labels, ".")
		if into[label] != nil {
			m.t.Errorf("%s %s is there twice", b.Type, label)
		}
		into[label] = b.Body
	}
}

// TestModulesReferToWhatTheyHave is what "terraform validate" looks at first.
func TestModulesReferToWhatTheyHave(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		for _, change := range []func(*Options){func(*Options) {}, everything} {
			s := makeStack(t, c, change)
			m := parseModule(t, s)
			files, err := s.Terraform()
			if err != nil {
				t.Fatal(err)
			}
			used := map[string]bool{}
			for _, f := range files {
				for _, r := range regexp.MustCompile(`\b(var|local)\.([a-z_]+)|\b(data\.)?(aws_[a-z_]+)\.([a-z0-9_]+)`).FindAllStringSubmatch(string(f.Content), -1) {
					var ok bool
					switch {
					case r[1] == "var":
						_, ok = m.variables[r[2]]
						used[r[2]] = true
					case r[1] == "local":
						_, ok = m.locals[r[2]]
					case r[3] != "":
						_, ok = m.data[r[4]+"."+r[5]]
					default:
						_, ok = m.resources[r[4]+"."+r[5]]
					}
					if !ok {
						t.Errorf("%s refers to %s, which is not there", f.Name, r[0])
					}
				}
			}
			for name := range m.variables {
				if !used[name] {
					t.Errorf("variable %s is not used", name)
				}
			}
		}
	})
}

// environment gives a module's references the values of the model.
func (m *parsedModule) environment(s *Stack, region string) *hcl.EvalContext {
	r := s.resolver(testAccount, region)
	p := partition.Of(region)
	object := map[string]map[string]cty.Value{} // type, name
	put := func(address, attribute, value string) {
		kind, name, _ := strings.Cut(address, ".")
		if object[kind] == nil {
			object[kind] = map[string]cty.Value{}
		}
		attributes := map[string]cty.Value{}
		if v, ok := object[kind][name]; ok {
			attributes = v.AsValueMap()
		}
		attributes[attribute] = cty.StringVal(value)
		object[kind][name] = cty.ObjectVal(attributes)
	}
	rules := map[string]cty.Value{}
	for _, x := range s.Rules {
		rules[x.Kind] = cty.ObjectVal(map[string]cty.Value{"arn": cty.StringVal(r.values[x.LogicalID+".Arn"]), "name": cty.StringVal(r.values[x.LogicalID])})
	}
	for id, address := range map[string]string{idNodeRole: "aws_iam_role.node", idControllerRole: "aws_iam_role.controller", idQueue: "aws_sqs_queue.this",
		idDeadLetter: "aws_sqs_queue.dead_letter", idKey: "aws_kms_key.queue"} {
		put(address, "arn", r.values[id+".Arn"])
		put(address, "name", r.values[id])
		put(address, "url", r.values[id])
	}
	variables := map[string]cty.Value{
		"var": cty.ObjectVal(map[string]cty.Value{"cluster_name": cty.StringVal(s.Options.ClusterName)}),
		"local": cty.ObjectVal(map[string]cty.Value{"partition": cty.StringVal(p.Name), "region": cty.StringVal(region),
			"account_id": cty.StringVal(testAccount), "dns_suffix": cty.StringVal(p.Suffix), "node_principal": cty.StringVal(p.EC2Service())}),
		"aws_cloudwatch_event_rule": cty.ObjectVal(map[string]cty.Value{"this": cty.ObjectVal(rules)}),
	}
	for kind, names := range object {
		variables[kind] = cty.ObjectVal(names)
	}
	return &hcl.EvalContext{Variables: variables, Functions: map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc}}
}

func (m *parsedModule) policy(address, attribute string, env *hcl.EvalContext) *iampolicy.Document {
	m.t.Helper()
	body := m.resources[address]
	if body == nil || body.Attributes[attribute] == nil {
		m.t.Fatalf("%s has no %s", address, attribute)
	}
	v, diags := body.Attributes[attribute].Expr.Value(env)
	if diags.HasErrors() {
		m.t.Fatalf("%s: %v", address, diags)
	}
	d, err := iampolicy.Parse([]byte(v.AsString()))
	if err != nil {
		m.t.Fatalf("%s: %v", address, err)
	}
	return d
}

// TestPoliciesOfModulesAreThoseOfTheModel evaluates the expressions as Terraform would.
func TestPoliciesOfModulesAreThoseOfTheModel(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		for _, region := range []string{"eu-west-1", "cn-north-1"} {
			s := makeStack(t, c, everything)
			m, want := parseModule(t, s), s.Setup(testAccount, region)
			env := m.environment(s, region)
			compare := func(address, attribute string, want *iampolicy.Document) {
				if diff := cmp.Diff(normal(want), normal(m.policy(address, attribute, env))); diff != "" {
					t.Errorf("%s in %s (-model +module):\n%s", address, region, diff)
				}
			}
			for i, p := range s.Policies {
				compare("aws_iam_policy."+policyLabel(p), "policy", want.Policies[i].Document)
			}
			compare("aws_iam_role.node", "assume_role_policy", want.Roles[0].Trust)
			compare("aws_iam_role.controller", "assume_role_policy", want.Roles[1].Trust)
			compare("aws_sqs_queue_policy.this", "policy", want.Queues[0].Policy)
			compare("aws_sqs_queue_policy.dead_letter", "policy", want.Queues[1].Policy)
			compare("aws_kms_key.queue", "policy", want.Keys[0].Policy)
		}
	})
}

func TestModulesHaveTheOutputsThatUsersKnow(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		m := parseModule(t, makeStack(t, c))
		for _, name := range []string{
			"iam_role_name", "iam_role_arn", "iam_role_unique_id", "queue_arn", "queue_name", "queue_url", "event_rules", "node_iam_role_name",
			"node_iam_role_arn", "node_iam_role_unique_id", "node_access_entry_arn", "instance_profile_arn", "instance_profile_id",
			"instance_profile_name", "instance_profile_unique", "namespace", "service_account",
		} {
			if m.outputs[name] == nil {
				t.Errorf("no output %s", name)
			}
		}
	})
}

func TestQueueOfModulesIsThatOfTheModel(t *testing.T) {
	for name, x := range map[string]struct {
		change  func(*Options)
		has     map[string]string
		hasNone []string
	}{
		"SQS's own encryption":    {func(*Options) {}, map[string]string{"sqs_managed_sse_enabled": "true", "message_retention_seconds": "300"}, []string{"kms_master_key_id"}},
		"a key of the stack's":    {func(o *Options) { o.KMS = true }, map[string]string{"kms_master_key_id": "aws_kms_key.queue.arn"}, []string{"sqs_managed_sse_enabled"}},
		"no dead-letter queue":    {func(o *Options) { o.DeadLetter = false }, nil, []string{"redrive_policy"}},
		"a visibility of its own": {func(o *Options) { o.Visibility = 60e9 }, map[string]string{"visibility_timeout_seconds": "60"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := makeStack(t, Latest, x.change)
			files, err := s.Terraform()
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(files, func(f File) bool { return f.Name == "queue.tf" })
			body := parseModule(t, s).resources["aws_sqs_queue.this"]
			for k, v := range x.has {
				a := body.Attributes[k]
				if a == nil || string(a.Expr.Range().SliceBytes(files[i].Content)) != v {
					t.Errorf("%s is not %s", k, v)
				}
			}
			for _, k := range x.hasNone {
				if body.Attributes[k] != nil {
					t.Errorf("%s is set", k)
				}
			}
		})
	}
}

func TestTextsOfUsersCannotBreakOut(t *testing.T) {
	s := makeStack(t, Latest, func(o *Options) { o.Tags = map[string]string{`a"b\`: "x%{if true}\ny", "c": `"}`} })
	m := parseModule(t, s)
	v, diags := m.variables["tags"].Attributes["default"].Expr.Value(nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	got := v.AsValueMap()
	if got[`a"b\`].AsString() != "x%{if true}\ny" || got["c"].AsString() != `"}` {
		t.Errorf("tags came out as %v", got)
	}
}
