package check_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// reportOfFirst does all that the command does with a plan.
func reportOfFirst(t *testing.T, plan []byte, want stack.Options) *check.Report {
	t.Helper()
	o := check.Options{Stack: want}
	setup, kind, err := setupfile.Read(plan, setupfile.ReadOptions{Source: "plan.json", ClusterName: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := check.Compare(setup, kind, o)
	if err != nil {
		t.Fatal(err)
	}
	check.OlderEdition(setup, kind, o)
	if flags := check.Unasked(setup, kind, o); len(flags) > 0 {
		t.Errorf("it is said to be made with %v", flags)
	}
	if err := r.WriteProblems(&bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	return r
}

// What a plan leaves open is not judged, and all else is in order.
func TestFirstPlansOfTheOwnModule(t *testing.T) {
	for name, change := range map[string]func(*stack.Options){
		"default":      func(*stack.Options) {},
		"pod identity": func(o *stack.Options) { o.Controller, o.AccessEntry = stack.PodIdentity, "EC2_LINUX" },
		"key":          func(o *stack.Options) { o.KMS, o.Controller = true, stack.PodIdentity },
		"v1.0":         func(o *stack.Options) { *o = stack.Defaults(stack.V10) },
		"v0.32":        func(o *stack.Options) { *o = stack.Defaults(stack.V032) },
	} {
		t.Run(name, func(t *testing.T) {
			o := stack.Defaults(stack.Latest)
			change(&o)
			o.ClusterName = "demo"
			s, err := stack.New(o)
			if err != nil {
				t.Fatal(err)
			}
			files, err := s.Terraform()
			if err != nil {
				t.Fatal(err)
			}
			var source []byte
			for _, f := range files {
				source = append(append(source, f.Content...), '\n')
			}
			r := reportOfFirst(t, firstPlan(t, source, map[string]cty.Value{"cluster_name": cty.StringVal("demo")}, ""), o)
			if len(r.Findings) > 0 {
				t.Errorf("want no finding, got\n%s", checktest.Text(t, r))
			}
			if len(r.Unread) == 0 || !slices.ContainsFunc(r.Unread, func(u check.Unread) bool { return strings.Contains(u.Why, "until the plan is applied") }) {
				t.Errorf("nothing is said to be not judged until the plan is applied: %+v", r.Unread)
			}
		})
	}
}

// What is found in first plans of the public EKS module is true of it.
func TestFirstPlansOfTheEKSModule(t *testing.T) {
	for version, vars := range map[string]map[string]cty.Value{
		"v19": {"cluster_name": cty.StringVal("demo"), "oidc_provider_arn": cty.StringVal("arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC")},
		"v20": {"cluster_name": cty.StringVal("demo")},
		"v21": {"cluster_name": cty.StringVal("demo")},
	} {
		t.Run(version, func(t *testing.T) {
			source := slices.Concat(checktest.ReadFile(t, "eks-karpenter-"+version+".tf"), []byte("\n"), checktest.ReadFile(t, "eks-karpenter-queue.tf"))
			o := stack.Defaults(stack.Latest)
			if version == "v19" {
				o.Namespace = "karpenter" // the module's own, for the service account
			}
			r := reportOfFirst(t, firstPlan(t, source, vars, "karpenter"), o)
			var got []string
			for _, f := range r.Findings {
				if f.Severity != check.Advice {
					got = append(got, string(f.Severity)+": "+f.Thing+": "+f.What)
				}
			}
			want := []string{
				"too wide: Karpenter-demo: its policy lets rules of any account send to it",
				"missing: capacity reservation interruption: no rule brings it to the queue",
			}
			if version == "v19" {
				want = append([]string{"too wide: Karpenter-demo: its policy does not refuse calls without TLS"}, want...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("want %q, got\n%s", want, checktest.Text(t, r))
			}
			if !slices.ContainsFunc(r.Unread, func(u check.Unread) bool {
				return strings.HasPrefix(u.What, "document of policy") && strings.Contains(u.Why, "until the plan is applied")
			}) {
				t.Errorf("the controller's policy is not said to be not judged: %+v", r.Unread)
			}
		})
	}
}

// A policy that cannot be read is named, and nothing is said to be missing for it.
func TestPoliciesOfTemplatesThatCannotBeRead(t *testing.T) {
	template := string(checktest.ReadFile(t, "getting-started-v1.yaml"))
	i := strings.Index(template, "      PolicyDocument: !Sub |")
	if i < 0 {
		t.Fatal("the template's policy is not where it was")
	}
	head, body := template[:i], template[i:]
	end := strings.Index(body, "\n  Karpenter")
	for name, text := range map[string]string{
		"imported": head + "      PolicyDocument: !ImportValue ControllerPolicy" + body[end:],
		"typo":     head + strings.Replace(body, `"Effect": "Allow"`, `"Effect": "Alow"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			r := reportOfFirst(t, []byte(text), stack.Defaults(stack.Latest))
			if !slices.ContainsFunc(r.Unread, func(u check.Unread) bool { return strings.HasPrefix(u.What, "document of policy") }) {
				t.Errorf("the policy is not said to be unread: %+v", r.Unread)
			}
			for _, f := range r.Findings {
				if f.Area == check.AreaPermissions {
					t.Errorf("%s: %s: %s", f.Severity, f.Thing, f.What)
				}
			}
		})
	}
}
