package fix_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// resourceOf finds a resource of a plan by type and label, also within modules.
func resourceOf(module map[string]any, kind, label string) map[string]any {
	list, _ := module["resources"].([]any)
	for _, r := range list {
		if m := r.(map[string]any); m["type"] == kind && m["name"] == label {
			return m
		}
	}
	children, _ := module["child_modules"].([]any)
	for _, c := range children {
		if m := resourceOf(c.(map[string]any), kind, label); m != nil {
			return m
		}
	}
	return nil
}

// attributes are what AWS gives a resource for its name.
func attributes(kind, name, account string) cty.Value {
	arn := map[string]string{
		"aws_sqs_queue": "arn:aws:sqs:eu-west-1:" + account + ":" + name, "aws_cloudwatch_event_rule": "arn:aws:events:eu-west-1:" + account + ":rule/" + name,
		"aws_iam_policy": "arn:aws:iam::" + account + ":policy/" + name, "aws_iam_role": "arn:aws:iam::" + account + ":role/" + name,
		"aws_kms_key": "arn:aws:kms:eu-west-1:" + account + ":key/planned-aws-kms-key-karpenter-sqs",
	}[kind]
	return cty.ObjectVal(map[string]cty.Value{
		"arn": cty.StringVal(arn), "name": cty.StringVal(name), "url": cty.StringVal("https://sqs.eu-west-1.amazonaws.com/" + account + "/" + name),
	})
}

// appliedTo gives a plan what blocks of Terraform say, as a plan made with them would have it.
func appliedTo(t *testing.T, plan, fix []byte, account string) []byte {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(plan, &p); err != nil {
		t.Fatal(err)
	}
	root := p["planned_values"].(map[string]any)["root_module"].(map[string]any)
	file, diags := hclsyntax.ParseConfig(fix, "fix.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%v in\n%s", diags, fix)
	}
	ctx := &hcl.EvalContext{Functions: map[string]function.Function{"jsonencode": stdlib.JSONEncodeFunc}}
	objects := map[string]map[string]cty.Value{}
	blocks := file.Body.(*hclsyntax.Body).Blocks
	for _, b := range blocks {
		kind, label := b.Labels[0], b.Labels[1]
		name := label
		if was := resourceOf(root, kind, label); was != nil {
			name, _ = was["values"].(map[string]any)["name"].(string)
		} else if a := b.Body.Attributes["name"]; a != nil {
			if v, d := a.Expr.Value(ctx); !d.HasErrors() {
				name = v.AsString()
			}
		}
		if objects[kind] == nil {
			objects[kind] = map[string]cty.Value{}
		}
		objects[kind][label] = attributes(kind, name, account)
	}
	for _, r := range root["resources"].([]any) {
		m := r.(map[string]any)
		kind, label := m["type"].(string), m["name"].(string)
		name, _ := m["values"].(map[string]any)["name"].(string)
		if objects[kind] == nil {
			objects[kind] = map[string]cty.Value{}
		}
		objects[kind][label] = attributes(kind, name, account)
	}
	ctx.Variables = map[string]cty.Value{}
	for kind, byLabel := range objects {
		ctx.Variables[kind] = cty.ObjectVal(byLabel)
	}
	for _, b := range blocks {
		applyBlock(t, root, b, ctx)
	}
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func applyBlock(t *testing.T, root map[string]any, b *hclsyntax.Block, ctx *hcl.EvalContext) {
	t.Helper()
	kind, label := b.Labels[0], b.Labels[1]
	r := resourceOf(root, kind, label)
	if r == nil {
		r = map[string]any{"address": kind + "." + label, "mode": "managed", "type": kind, "name": label, "values": map[string]any{}}
		root["resources"] = append(root["resources"].([]any), r)
	}
	values := r["values"].(map[string]any)
	for name, a := range b.Body.Attributes {
		values[name] = evaluated(t, a.Expr, ctx)
	}
	for _, n := range b.Body.Blocks {
		inner := map[string]any{}
		for name, a := range n.Body.Attributes {
			inner[name] = evaluated(t, a.Expr, ctx)
		}
		values[n.Type] = []any{inner}
	}
}

func evaluated(t *testing.T, e hclsyntax.Expression, ctx *hcl.EvalContext) any {
	t.Helper()
	v, diags := e.Value(ctx)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	b, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFixesOfPlansMendThem(t *testing.T) {
	for name, account := range map[string]string{
		"seed-003-plan.json": "123456789012", "seed-003-new-plan.json": "123456789012", "seed-002-plan.json": "111122223333",
	} {
		t.Run(name, func(t *testing.T) {
			data := checktest.ReadFile(t, name)
			want := stack.Defaults(stack.Latest)
			if name == "seed-002-plan.json" { // it tells neither, and what fixes it names them
				want.ClusterName, want.AccountID = "demo", account
			}
			m := fixed(t, name, data, want, setupfile.ReadOptions{})
			if len(m.Left) > 0 {
				t.Errorf("left: %+v", m.Left)
			}
			if got := string(hclwrite.Format(m.Text)); got != string(m.Text) {
				t.Error("the fix is not formatted as terraform fmt does")
			}
			r := checktest.Checked(t, name, appliedTo(t, data, m.Text, account), want, setupfile.ReadOptions{})
			for _, f := range r.Findings {
				// The node role may be made elsewhere.
				if f.Area != check.AreaNodeRole && !strings.Contains(f.What, "is hidden for") && !strings.Contains(f.What, "is not rotated") { // which makes no difference, and is left
					t.Errorf("after the fix: %s: %s: %s", f.Severity, f.Thing, f.What)
				}
			}
			if len(r.Unread) > 0 {
				t.Errorf("after the fix: %+v", r.Unread)
			}
			if t.Failed() {
				t.Log(fmt.Sprint("\n", strings.TrimSpace(string(m.Text))))
			}
		})
	}
}
