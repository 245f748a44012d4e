package convert

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what is converted now into testdata")

// The files under testdata are each a sentence, the input, and what becomes of it: want.yaml and want.report, or
// want.errors.
func TestInputBecomesWhatTestdataSays(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var in []txtar.File
			want := map[string]string{}
			for _, f := range archive.Files {
				if strings.HasPrefix(f.Name, "want.") {
					want[f.Name] = string(f.Data)
				} else {
					in = append(in, f)
				}
			}
			got := outcome(t, files(in), options(t, string(archive.Comment)))
			if *update {
				out := &txtar.Archive{Comment: archive.Comment, Files: in}
				for _, name := range []string{"want.yaml", "want.report", "want.errors"} {
					if got[name] != "" {
						out.Files = append(out.Files, txtar.File{Name: name, Data: []byte(got[name])})
					}
				}
				if err := os.WriteFile(name, txtar.Format(out), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got); go test -run %s -update writes it:\n%s", t.Name(), diff)
			}
		})
	}
}

func files(in []txtar.File) []File {
	var out []File
	for _, f := range in {
		out = append(out, File{Name: f.Name, Data: f.Data, Named: !strings.HasPrefix(f.Name, "dir/")})
	}
	return out
}

// options reads what follows "options:" in the comment of an archive.
func options(t *testing.T, comment string) Options {
	t.Helper()
	var o Options
	_, text, ok := strings.Cut(comment, "options:")
	if ok {
		if err := yaml.UnmarshalStrict([]byte(strings.TrimSpace(text)), &o); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func outcome(t *testing.T, in []File, o Options) map[string]string {
	t.Helper()
	r, err := Convert(in, o)
	if err != nil {
		return map[string]string{"want.errors": err.Error() + "\n"}
	}
	var text bytes.Buffer
	if err := r.Report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "v1 does not take it") {
		checkAgainstCRDs(t, r.Output)
	}
	again, err := Convert(in, o)
	if err != nil || !bytes.Equal(again.Output, r.Output) {
		t.Errorf("the same input gave something else the second time: %v", err)
	}
	once(t, r)
	out := map[string]string{"want.report": text.String()}
	if len(r.Output) > 0 {
		out["want.yaml"] = string(r.Output)
	}
	return out
}

// once checks that what was converted stays as it is when it is converted again.
func once(t *testing.T, r *Result) {
	t.Helper()
	if len(r.Output) == 0 {
		return
	}
	again, err := Convert([]File{{Name: "again", Data: r.Output, Named: true}}, Options{})
	if err != nil {
		t.Errorf("what comes out can't be read: %v", err)
		return
	}
	var ours bytes.Buffer // workloads that are as they should be are left out
	for part := range strings.SplitSeq(string(r.Output), "---\n") {
		if !strings.Contains(part, "karpenter.sh/v1") && !strings.Contains(part, "karpenter.k8s.aws/v1") {
			continue
		}
		if ours.Len() > 0 {
			ours.WriteString("---\n")
		}
		ours.WriteString(part)
	}
	if diff := cmp.Diff(ours.String(), string(again.Output)); diff != "" {
		t.Errorf("converting again changes it (-first +again):\n%s", diff)
	}
}

func TestReportForInstances(t *testing.T) {
	r, err := Convert([]File{{Name: "p.yaml", Named: true, Data: []byte("apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {providerRef: {name: b}, weight: 3, unheard: of}\n")}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Report.Counted())
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	find := func(path string) Field {
		for _, f := range got.Objects[0].Fields {
			if f.Path == path {
				return f
			}
		}
		return Field{}
	}
	if diff := cmp.Diff(Field{Path: "spec.weight", Outcome: Kept, To: "spec.weight"}, find("spec.weight")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Field{Path: "spec.unheard", Outcome: Lost, Why: "no such field is known", Do: "see whether it is needed"}, find("spec.unheard")); diff != "" {
		t.Error(diff)
	}
	if got.Summary != r.Report.Count() || got.Summary.Decide != 1 || got.Summary.Lost != 1 {
		t.Errorf("summary %+v", got.Summary)
	}
}

func FuzzConvertNeverPanics(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txtar")
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if !strings.HasPrefix(file.Name, "want.") {
				f.Add(file.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 1<<16)] // long texts only take longer
		r, err := Convert([]File{{Name: "in", Data: data, Named: true}}, Options{ClusterName: "demo"})
		if err == nil {
			var text bytes.Buffer
			if err := r.Report.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&text, r.Report.Count())
		}
	})
}
