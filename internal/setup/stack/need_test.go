package stack

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

const testAccount = "111122223333"

// everything turns on all that a stack can have.
func everything(o *Options) {
	o.KMS, o.Controller, o.AccessEntry = true, PodIdentity, "EC2_LINUX"
	o.CapacityReservations, o.PlacementGroups, o.InstanceStatus, o.ZonalShift, o.LaunchTemplates = true, true, true, true, true
	o.DeadLetter, o.MaxReceives, o.Alarms, o.RuleSources = true, 5, true, true
	o.Parameters = []string{"arn:aws:ssm:eu-west-1:111122223333:parameter/images/*"}
	o.PassRoles = []string{"arn:aws:iam::111122223333:role/Mine"}
	o.VolumeKeys = []string{"arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"}
	o.AlarmActions = []string{"arn:aws:sns:eu-west-1:111122223333:oncall"}
}

func makeStack(t *testing.T, c Compat, change ...func(*Options)) *Stack {
	t.Helper()
	o := Defaults(c)
	o.ClusterName = "demo"
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func eachEdition(t *testing.T, f func(t *testing.T, c Compat)) {
	for _, c := range Editions() {
		t.Run(string(c), func(t *testing.T) { f(t, c) })
	}
}

// identity are the policies of a deployed stack, but for one action of one statement.
func identity(s *Stack, region string, leaveOut func(sid, action string) bool) iampolicy.Policies {
	var p iampolicy.Policies
	for _, x := range s.Setup(testAccount, region).Policies {
		d := *x.Document
		d.Statements = slices.Clone(d.Statements)
		for i := range d.Statements {
			st := &d.Statements[i]
			st.Actions = slices.DeleteFunc(slices.Clone(st.Actions), func(a string) bool { return leaveOut != nil && leaveOut(st.Sid, a) })
		}
		d.Statements = slices.DeleteFunc(d.Statements, func(st iampolicy.Statement) bool { return len(st.Actions) == 0 })
		p.Identity = append(p.Identity, iampolicy.Named{Name: x.Name, Document: &d})
	}
	return p
}

func TestEveryNeedIsAllowedByTheStatementThatItNames(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		for _, region := range []string{"eu-west-1", "cn-north-1", "us-gov-west-1", "us-isof-south-1"} {
			if c == V032 && region == "cn-north-1" {
				continue // it knows EC2 by one name only, see checkCluster
			}
			for name, change := range map[string]func(*Options){"with defaults": func(*Options) {}, "with everything": everything} {
				s := makeStack(t, c, change)
				p, w, n := identity(s, region, nil), s.Where(testAccount, region), 0
				for _, need := range s.Needs() {
					sid, _ := need.Statement(&s.Options)
					for _, call := range need.Calls(w) {
						n++
						if d := iampolicy.Evaluate(call, p); !d.OK() || d.Sid != sid {
							t.Errorf("%s, %s: %s on %s is %s by %q, want allowed by %q; near: %q (what is granted stands in controller.go)\ncontext: %v", region, name, call.Action, call.Resource, d.Outcome, d.Sid, sid, d.Near(), call.Context)
						}
					}
				}
				if n < 50 {
					t.Errorf("%s, %s: %d calls tried, want more", region, name, n)
				}
			}
		}
	})
}

func TestNeedsThatAStackDoesNotCoverAreRefused(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		s := makeStack(t, c)
		p, w := identity(s, "eu-west-1", nil), s.Where(testAccount, "eu-west-1")
		w.QueueKey = "arn:aws:kms:eu-west-1:111122223333:key/1"
		w.Parameters, w.VolumeKeys = []string{"arn:aws:ssm:eu-west-1:111122223333:parameter/x"}, []string{"arn:aws:kms:eu-west-1:111122223333:key/2"}
		for _, need := range Needs() {
			if _, ok := need.Statement(&s.Options); ok {
				continue
			}
			for _, call := range need.Calls(w) {
				if d := iampolicy.Evaluate(call, p); d.OK() {
					t.Errorf("%s on %s is allowed by %s without %s", call.Action, call.Resource, d.Sid, need.Option)
				}
			}
		}
	})
}

func TestWhatMustNotBeIsRefused(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		for _, region := range []string{"eu-west-1", "us-east-1", "cn-north-1"} {
			s := makeStack(t, c, everything)
			p, w := identity(s, region, nil), s.Where(testAccount, region)
			for _, need := range MustNot() {
				for _, call := range need.Calls(w) {
					d := iampolicy.Evaluate(call, p)
					if need.RefusedBy(c) == d.OK() {
						t.Errorf("%s: %s: %s on %s is %s by %q of %q", region, need.Feature, call.Action, call.Resource, d.Outcome, d.Sid, d.Policy)
					}
				}
			}
		}
	})
}

func TestOneActionTakenAwayFailsWhatNeedsItAndNothingElse(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		s := makeStack(t, c, everything)
		w, needs := s.Where(testAccount, "eu-west-1"), s.Needs()
		var calls [][]iampolicy.Call
		for _, n := range needs {
			calls = append(calls, n.Calls(w))
		}
		for _, x := range s.Policies {
			for _, st := range x.Document.Statements {
				for _, action := range st.Actions {
					p := identity(s, "eu-west-1", func(sid, a string) bool { return sid == st.Sid && a == action })
					failed := 0
					for i, n := range needs {
						sid, _ := n.Statement(&s.Options)
						want := sid == st.Sid && n.Action == action && !(c.TagsByCluster() && strings.Contains(n.Without, AllowedByTemplates)) // the options have these
						for _, call := range calls[i] {
							if ok := iampolicy.Evaluate(call, p).OK(); ok == want {
								t.Errorf("without %s in %s: %s on %s (%s) allowed: %t", action, st.Sid, call.Action, call.Resource, n.Why, ok)
							}
						}
						if want {
							failed++
						}
					}
					if failed == 0 && !isSpare(c, st.Sid, action, "") {
						t.Errorf("%s in %s is needed by nothing and not listed as spare", action, st.Sid)
					}
				}
			}
		}
	})
}

// isSpare tells whether an action on a resource is listed as not needed.
func isSpare(c Compat, sid, action, resource string) bool {
	return slices.ContainsFunc(Spares(c), func(x Spare) bool {
		return x.Sid == sid && x.Action == action && (x.Kinds == nil || slices.ContainsFunc(x.Kinds, func(k string) bool { return strings.Contains(resource, ":"+k+"/") }))
	})
}

// TestEveryGrantIsUsedOrSpare looks at every statement, action and resource.
func TestEveryGrantIsUsedOrSpare(t *testing.T) {
	eachEdition(t, func(t *testing.T, c Compat) {
		s := makeStack(t, c, everything)
		w := s.Where(testAccount, "eu-west-1")
		used := map[[3]string]bool{}
		all := identity(s, "eu-west-1", nil)
		for _, n := range s.Needs() {
			sid, _ := n.Statement(&s.Options)
			for _, call := range n.Calls(w) {
				for _, x := range all.Identity {
					for _, st := range x.Document.Statements {
						for _, res := range st.Resources {
							if st.Sid == sid && matches(res, call.Resource) {
								used[[3]string{sid, call.Action, res}] = true
							}
						}
					}
				}
			}
		}
		for _, x := range all.Identity {
			for _, st := range x.Document.Statements {
				for _, a := range st.Actions {
					for _, res := range st.Resources {
						if isUsed := used[[3]string{st.Sid, a, res}]; isUsed == isSpare(c, st.Sid, a, res) {
							t.Errorf("%s on %s in %s: used %t, listed as spare %t", a, res, st.Sid, isUsed, isUsed)
						}
					}
				}
			}
		}
	})
}

func matches(pattern, arn string) bool {
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(arn, "/", "|"))
	return ok
}

// notTheController are packages that call AWS for the tools, with their user's permissions.
var notTheController = []string{"awscli", "account", "factsync", "stackdeploy"}

// operations that are judged as another action, and those that are no calls of a service.
var judgedAs = map[string]string{"sqs:DeleteMessageBatch": "sqs:DeleteMessage", "imds:GetRegion": ""}

// TestTheTableOfNeedsHasAllThatTheCodeCalls reads the code of the AWS adapter: every input of an SDK operation there is a
// call, and every call is in the table; and what the table has without an option is called.
func TestTheTableOfNeedsHasAllThatTheCodeCalls(t *testing.T) {
	called := map[string]string{}
	err := filepath.WalkDir("../../aws", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(notTheController, d.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil //nolint:nilerr // being edited; the compiler tells
		}
		sdk := map[string]bool{}
		for _, i := range f.Imports {
			if _, service, ok := strings.Cut(strings.Trim(i.Path.Value, `"`), "aws-sdk-go-v2/service/"); ok && !strings.Contains(service, "/") {
				sdk[service] = true
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, _ := sel.X.(*ast.Ident)
			if op, ok := strings.CutSuffix(sel.Sel.Name, "Input"); ok && pkg != nil && sdk[pkg.Name] {
				called[pkg.Name+":"+op] = p
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	needed := map[string]bool{}
	for _, n := range Needs() {
		needed[n.Action] = true
	}
	for op, where := range called {
		action, other := judgedAs[op]
		if !other {
			action = op
		}
		if action != "" && !needed[action] {
			t.Errorf("%s calls %s, which no entry of Needs has", where, op)
		}
	}
	for _, n := range Needs() {
		if n.Feature == featureUnused || n.Operation != "" || n.Option != "" {
			continue
		}
		if _, ok := called[n.Action]; !ok {
			t.Errorf("Needs has %s, which the AWS adapter does not call", n.Action)
		}
	}
	if len(called) < 20 {
		t.Errorf("found %d calls in the code, want more: %v", len(called), called)
	}
}

func TestNeedsNameStatementsOptionsAndEffects(t *testing.T) {
	flags, err := os.ReadFile("../../cli/stack.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range Needs() {
		if n.Why == "" || n.Without == "" || n.Sid == "" || len(n.Kinds) == 0 || n.Feature == "" {
			t.Errorf("incomplete: %+v", n)
		}
		if (n.Option == "") != (n.on == nil) {
			t.Errorf("%s: an option has a name and a test, or neither", n.Action)
		}
		for option := range strings.SplitSeq(n.Option, " or ") {
			if option != "" && !strings.Contains(string(flags), `"`+strings.TrimPrefix(option, "--")+`"`) {
				t.Errorf("%s needs %s, which is no flag", n.Action, option)
			}
		}
	}
}

func TestCallsHaveTheCallersSession(t *testing.T) {
	s := makeStack(t, Latest, everything)
	n := Needs()[0]
	got := n.Calls(s.Where(testAccount, "cn-north-1"))[0]
	want := iampolicy.Caller{ARN: "arn:aws-cn:sts::111122223333:assumed-role/demo-karpenter/kerf", Account: testAccount}
	if diff := cmp.Diff(want, got.Caller); diff != "" {
		t.Errorf("caller (-want +got):\n%s", diff)
	}
	if got.Context["aws:principalarn"][0] != "arn:aws-cn:iam::111122223333:role/demo-karpenter" {
		t.Errorf("aws:PrincipalArn is %s", got.Context["aws:principalarn"])
	}
}
