package fix_test

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
	"github.com/kerf-sh/kerf/internal/setup/stack/check/checktest"
	"github.com/kerf-sh/kerf/internal/setup/stack/fix"
	"github.com/kerf-sh/kerf/internal/setup/stack/setupfile"
)

// fixed makes what fixes a file.
func fixed(t *testing.T, name string, data []byte, want stack.Options, o setupfile.ReadOptions) *fix.Fixed {
	t.Helper()
	o.Source = name
	setup, kind, err := setupfile.Read(data, o)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	m, err := fix.Write(setup, kind, data, fix.Options{Options: check.Options{Stack: want}})
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
		for _, c := range []stack.Compat{stack.V032Later, stack.Latest} {
			t.Run(name+" to "+string(c), func(t *testing.T) {
				data := checktest.ReadFile(t, name)
				m := fixed(t, name, data, stack.Defaults(c), setupfile.ReadOptions{ClusterName: "demo"})
				if len(m.Left) > 0 {
					t.Errorf("left: %+v", m.Left)
				}
				if len(m.Text) == 0 {
					if name == "getting-started-v1.yaml" && c == stack.V032Later {
						return
					}
					t.Fatal("there is no fix")
				}
				t.Logf("fix:\n%s", m.Text)
				// It fits wherever the template does: also for another cluster, in another region and account.
				for _, o := range []setupfile.ReadOptions{
					{ClusterName: "demo"}, {ClusterName: "another", Region: "cn-north-1", AccountID: "999988887777"},
				} {
					r := checktest.Checked(t, name, merged(t, data, m.Text), stack.Defaults(c), o)
					if len(r.Findings) > 0 || len(r.Unread) > 0 {
						t.Errorf("%s: want nothing after the fix, got\n%s", o.ClusterName, checktest.Text(t, r))
					}
				}
			})
		}
	}
}

// TestFixesMendWhatIsMissingInATemplate takes each resource and each property out of a template, one at a time.
func TestFixesMendWhatIsMissingInATemplate(t *testing.T) {
	o := checktest.Everything(stack.Latest)
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	template, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for name, data := range withParts(t, template) {
		setup, kind, err := setupfile.Read(data, setupfile.ReadOptions{Source: name, ClusterName: "demo"})
		if err != nil {
			continue // others refer to it
		}
		tried++
		m, err := fix.Write(setup, kind, data, fix.Options{Options: check.Options{Stack: o}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		fixed := data
		if len(m.Text) > 0 {
			fixed = merged(t, data, m.Text)
		}
		r := checktest.Checked(t, name, fixed, o, setupfile.ReadOptions{ClusterName: "demo"})
		// That a key is not rotated is advice, and --fix leaves it to its owner.
		r.Findings = slices.DeleteFunc(r.Findings, func(f check.Finding) bool { return strings.Contains(f.What, "is not rotated") })
		if len(r.Findings) > 0 || len(m.Left) > 0 {
			t.Errorf("without %s: want nothing after the fix, got\n%s\nfix:\n%s", name, checktest.Text(t, r), m.Text)
		}
	}
	const enough = 60
	if tried < enough {
		t.Errorf("only %d templates could be read", tried)
	}
}

// withParts are templates that lack one resource or one property, by its name.
func withParts(t *testing.T, template []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	read := func() (*yaml.Node, *yaml.Node) {
		var doc yaml.Node
		if err := yaml.Unmarshal(template, &doc); err != nil {
			t.Fatal(err)
		}
		return &doc, entry(doc.Content[0], "Resources")
	}
	write := func(name string, doc *yaml.Node) {
		text, err := yaml.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	_, all := read()
	for i := 0; i < len(all.Content); i += 2 {
		doc, resources := read()
		drop(entry(doc.Content[0], "Outputs"), nil)
		resources.Content = append(resources.Content[:i:i], resources.Content[i+2:]...)
		write(all.Content[i].Value, doc)
		properties := entry(all.Content[i+1], "Properties")
		for k := 0; k < len(properties.Content); k += 2 {
			doc, resources := read()
			p := entry(resources.Content[i+1], "Properties")
			p.Content = append(p.Content[:k:k], p.Content[k+2:]...)
			write(all.Content[i].Value+"."+properties.Content[k].Value, doc)
		}
	}
	return out
}

// drop empties a map.
func drop(n *yaml.Node, _ any) {
	if n != nil {
		n.Content = n.Content[:0]
	}
}
