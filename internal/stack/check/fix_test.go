package check_test

import (
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/stack"
	"github.com/kerf-sh/kerf/internal/stack/check"
)

// fixed makes what mends a file.
func fixed(t *testing.T, name string, data []byte, want stack.Options, o check.ReadOptions) *check.Mended {
	t.Helper()
	o.Source = name
	setup, kind, err := check.Read(data, o)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	m, err := check.Fix(setup, kind, data, check.Options{Stack: want})
	if err != nil {
		t.Fatalf("fix %s: %v", name, err)
	}
	return m
}

// merged puts the resources of a fix into a template.
func merged(t *testing.T, template, fix []byte) []byte {
	t.Helper()
	var a, b yaml.Node
	if err := yaml.Unmarshal(template, &a); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(fix, &b); err != nil {
		t.Fatalf("%v in\n%s", err, fix)
	}
	from, to := entry(b.Content[0], "Resources"), entry(a.Content[0], "Resources")
	for i := 0; i < len(from.Content); i += 2 {
		name, value := from.Content[i], from.Content[i+1]
		if was := entry(to, name.Value); was != nil {
			*was = *value
			continue
		}
		to.Content = append(to.Content, name, value)
	}
	out, err := yaml.Marshal(&a)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func entry(n *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func TestFixesOfTheGettingStartedStacksMendThem(t *testing.T) {
	for _, name := range []string{"getting-started-v0.32.yaml", "getting-started-v1.yaml"} {
		for _, c := range []stack.Compat{stack.V10, stack.Latest} {
			t.Run(name+" to "+string(c), func(t *testing.T) {
				data := readFile(t, name)
				m := fixed(t, name, data, stack.Defaults(c), check.ReadOptions{ClusterName: "demo"})
				if len(m.Left) > 0 {
					t.Errorf("left: %+v", m.Left)
				}
				if len(m.Text) == 0 {
					if name == "getting-started-v1.yaml" && c == stack.V10 {
						return
					}
					t.Fatal("there is no fix")
				}
				t.Logf("fix:\n%s", m.Text)
				// It fits wherever the template does: also for another cluster, in another region and account.
				for _, o := range []check.ReadOptions{
					{ClusterName: "demo"}, {ClusterName: "another", Region: "cn-north-1", AccountID: "999988887777"},
				} {
					r := checked(t, name, merged(t, data, m.Text), stack.Defaults(c), o)
					if len(r.Findings) > 0 || len(r.Unread) > 0 {
						t.Errorf("%s: want nothing after the fix, got\n%s", o.ClusterName, text(t, r))
					}
				}
			})
		}
	}
}
