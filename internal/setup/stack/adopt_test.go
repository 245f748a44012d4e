package stack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// eksModule is what the Karpenter part of the public EKS module has in a state, by versions: what is made with a pod
// identity, a node role and an access entry, an instance profile, and further policies of the caller's.
//
// Source: terraform-aws-modules/eks, modules/karpenter, v20.0 to v21: main.tf.
var eksModule = map[string][]string{
	"20 and 21": {
		`aws_iam_role.controller[0]`, `aws_iam_policy.controller[0]`, `aws_iam_role_policy_attachment.controller[0]`,
		`aws_iam_role_policy_attachment.controller_additional["mine"]`, `aws_eks_pod_identity_association.karpenter[0]`,
		`aws_sqs_queue.this[0]`, `aws_sqs_queue_policy.this[0]`,
		`aws_cloudwatch_event_rule.this["health_event"]`, `aws_cloudwatch_event_rule.this["spot_interrupt"]`,
		`aws_cloudwatch_event_rule.this["instance_rebalance"]`, `aws_cloudwatch_event_rule.this["instance_state_change"]`,
		`aws_cloudwatch_event_target.this["health_event"]`, `aws_cloudwatch_event_target.this["spot_interrupt"]`,
		`aws_cloudwatch_event_target.this["instance_rebalance"]`, `aws_cloudwatch_event_target.this["instance_state_change"]`,
		`aws_iam_role.node[0]`, `aws_iam_role_policy_attachment.node["AmazonEKSWorkerNodePolicy"]`,
		`aws_iam_role_policy_attachment.node["AmazonEC2ContainerRegistryPullOnly"]`, `aws_iam_role_policy_attachment.node["AmazonEKS_CNI_Policy"]`,
		`aws_iam_role_policy_attachment.node_additional["AmazonSSMManagedInstanceCore"]`, `aws_iam_role_policy_attachment.node_additional["mine"]`,
		`aws_eks_access_entry.node[0]`, `aws_iam_instance_profile.this[0]`,
	},
	"early 20, and IPv6": {
		`aws_iam_role.node[0]`, `aws_iam_role_policy_attachment.node["AmazonEKSWorkerNodePolicy"]`,
		`aws_iam_role_policy_attachment.node["AmazonEC2ContainerRegistryReadOnly"]`, `aws_iam_role_policy_attachment.node["AmazonEKS_CNI_IPv6_Policy"]`,
	},
}

// called are the variables that the call of the module sets: as before, and with those policies of the node role that this
// module does not attach by itself.
func called(s *Stack) map[string]cty.Value {
	policies := func(names ...string) cty.Value {
		v := map[string]cty.Value{}
		for _, name := range names {
			v[name] = cty.StringVal("arn:aws:iam::aws:policy/" + name)
		}
		return cty.MapVal(v)
	}
	nodes := []string{"mine", "AmazonSSMManagedInstanceCore"}
	for _, name := range movedPolicies {
		if !slices.ContainsFunc(s.NodeRole.ManagedPolicies, func(arn string) bool { return policyName(arn) == name }) {
			nodes = append(nodes, name)
		}
	}
	return map[string]cty.Value{"iam_role_policies": policies("mine"), "node_iam_role_additional_policies": policies(nodes...), "create_instance_profile": cty.True}
}

// instances are the addresses that a module's resources have in a state.
func (m *parsedModule) instances(s *Stack) []string {
	m.t.Helper()
	env := m.environment(s, "eu-west-1")
	policies := map[string]cty.Value{}
	for _, p := range s.Policies {
		policies[policyLabel(p)] = cty.ObjectVal(map[string]cty.Value{"arn": cty.StringVal("arn:aws:iam::111122223333:policy/" + p.LogicalID)})
	}
	env.Variables["aws_iam_policy"] = cty.ObjectVal(policies)
	variables := env.Variables["var"].AsValueMap()
	for name, v := range called(s) {
		variables[name] = v
	}
	env.Variables["var"] = cty.ObjectVal(variables)
	env.Functions = map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc, "contains": stdlib.ContainsFunc, "keys": stdlib.KeysFunc}
	locals := env.Variables["local"].AsValueMap()
	events, diags := m.locals["events"].Value(env)
	if diags.HasErrors() {
		m.t.Fatal(diags)
	}
	locals["events"] = events
	env.Variables["local"] = cty.ObjectVal(locals)

	var out []string
	for address, body := range m.resources {
		switch {
		case body.Attributes["count"] != nil:
			v, diags := body.Attributes["count"].Expr.Value(env)
			if diags.HasErrors() {
				m.t.Fatalf("%s: %v", address, diags)
			}
			if n, _ := v.AsBigFloat().Int64(); n == 1 {
				out = append(out, address+"[0]")
			}
		case body.Attributes["for_each"] != nil:
			v, diags := body.Attributes["for_each"].Expr.Value(env)
			if diags.HasErrors() {
				m.t.Fatalf("%s: %v", address, diags)
			}
			for key := range v.AsValueMap() {
				out = append(out, fmt.Sprintf("%s[%q]", address, key))
			}
		default:
			out = append(out, address)
		}
	}
	return out
}

// movesOf are the moved blocks of a module, as a parser that is not ours reads them.
func movesOf(t *testing.T, files []File) map[string]string {
	t.Helper()
	out := map[string]string{}
	i := slices.IndexFunc(files, func(f File) bool { return f.Name == "moved.tf" })
	if i < 0 {
		return out
	}
	parsed, diags := hclparse.NewParser().ParseHCL(files[i].Content, "moved.tf")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	to := map[string]bool{}
	for _, b := range parsed.Body.(*hclsyntax.Body).Blocks {
		address := func(name string) string {
			return strings.TrimSpace(string(b.Body.Attributes[name].Expr.Range().SliceBytes(files[i].Content)))
		}
		if out[address("from")] != "" || to[address("to")] {
			t.Errorf("%s or %s is moved twice", address("from"), address("to"))
		}
		out[address("from")], to[address("to")] = address("to"), true
	}
	return out
}

// TestNothingOfTheEKSModuleIsDestroyed plays what Terraform does with the old state and the new module: what is moved to,
// or stays at, an address that the module has is kept, and all else is destroyed. No argument that would replace it may be
// left to differ.
func TestNothingOfTheEKSModuleIsDestroyed(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		for version, old := range eksModule {
			s := makeStack(t, c, func(o *Options) { o.Adopt, o.Controller, o.AccessEntry = AdoptEKSModule, PodIdentity, "EC2_LINUX" })
			files, err := s.Terraform()
			if err != nil {
				t.Fatal(err)
			}
			m := parseModule(t, s)
			now, moves := m.instances(s), movesOf(t, files)
			for _, address := range old {
				at, moved := moves[address]
				if !moved {
					at = address
				} else if slices.Contains(now, address) {
					t.Errorf("version %s: %s is moved away and is there still, which Terraform refuses", version, address)
				}
				if !slices.Contains(now, at) {
					t.Errorf("version %s: %s comes to %s, which the module has not: it is destroyed", version, address, at)
				}
				kept(t, m, at)
			}
		}
	})
}

// replacing are the arguments that differ between the modules and that Terraform replaces a resource for.
//
// Source: schemas of hashicorp/aws 5.100, ForceNew.
var replacing = map[string][]string{
	"aws_iam_role": {"name", "name_prefix", "path"}, "aws_iam_policy": {"name", "name_prefix", "path", "description"}, "aws_sqs_queue": {"name", "name_prefix"},
	"aws_cloudwatch_event_rule": {"name", "name_prefix"}, "aws_cloudwatch_event_target": {"target_id"}, "aws_iam_instance_profile": {"name", "name_prefix", "path"},
}

func kept(t *testing.T, m *parsedModule, address string) {
	t.Helper()
	resource, _, _ := strings.Cut(address, "[")
	kind, _, _ := strings.Cut(resource, ".")
	if replacing[kind] == nil || m.resources[resource] == nil {
		return
	}
	var ignored []string
	for _, b := range m.resources[resource].Blocks {
		if b.Type == "lifecycle" {
			list, diags := hcl.ExprList(b.Body.Attributes["ignore_changes"].Expr)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			for _, e := range list {
				ignored = append(ignored, hcl.ExprAsKeyword(e))
			}
		}
	}
	for _, a := range replacing[kind] {
		if !slices.Contains(ignored, a) {
			t.Errorf("%s would be replaced for its %s", resource, a)
		}
	}
}

// TestAModuleThatAdoptsNothingKeepsNothing: names follow from variables there, and a change of one is a change.
func TestAModuleThatAdoptsNothingKeepsNothing(t *testing.T) {
	files, err := makeStack(t, Latest, everything).Terraform()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == "moved.tf" || strings.Contains(string(f.Content), "ignore_changes") {
			t.Errorf("%s adopts", f.Name)
		}
	}
}

func TestImportBlocksAreHCL(t *testing.T) {
	a := Adopted{Imports: []Import{{`aws_cloudwatch_event_rule.this["SpotInterrupt"]`, `Karpenter"${x}`}}}
	for address, want := range map[string]string{"": "", "module.karpenter": "module.karpenter.", `module.a["x"].module.b[0]`: `module.a["x"].module.b[0].`} {
		text, err := a.Blocks(address)
		if err != nil {
			t.Fatal(err)
		}
		f, diags := hclparse.NewParser().ParseHCL(text, "imports.tf")
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		b := f.Body.(*hclsyntax.Body).Blocks[0]
		if _, diags := hcl.AbsTraversalForExpr(b.Body.Attributes["to"].Expr); diags.HasErrors() {
			t.Errorf("%s: the address is none: %v", address, diags)
		}
		if got := string(b.Body.Attributes["to"].Expr.Range().SliceBytes(text)); got != want+a.Imports[0].Address {
			t.Errorf("it is imported to %s", got)
		}
		if v, diags := b.Body.Attributes["id"].Expr.Value(nil); diags.HasErrors() || v.AsString() != a.Imports[0].ID {
			t.Errorf("the id came out as %v: %v", v, diags)
		}
		if string(hclwrite.Format(text)) != string(text) {
			t.Errorf("it is not formatted:\n%s", text)
		}
	}
	for _, wrong := range []string{"karpenter", "module.", "module.a.b", `module.x"`, "module.a[x]"} {
		if _, err := a.Blocks(wrong); err == nil {
			t.Errorf("%q is taken for an address", wrong)
		}
	}
}
