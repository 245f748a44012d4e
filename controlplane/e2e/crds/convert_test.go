package crds_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/controlplane/harness"
)

// TestAPIServerTakesWhatIsConverted shows everything that the tests of kerf convert expect as output to a real API server,
// but for what the report of the conversion says v1 does not take.
func TestAPIServerTakesWhatIsConverted(t *testing.T) {
	names, err := filepath.Glob("../../../internal/setup/convert/testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no test data", err)
	}
	cp := harness.Start(t)
	kinds := installCRDs(t, cp.Config)
	client, err := dynamic.NewForConfig(cp.Config)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			refused := strings.Contains(section(archive, "want.report"), "v1 does not take it")
			for part := range strings.SplitSeq(section(archive, "want.yaml"), "---\n") {
				object := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
					t.Fatal(err)
				}
				at, ours := kinds[object.GetKind()]
				if !ours {
					continue
				}
				_, err := client.Resource(at.GroupVersionResource).Create(t.Context(), object, metav1.CreateOptions{
					DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
				})
				if err != nil && !refused {
					t.Errorf("refused: %v\n%s", err, part)
				}
				shown++
			}
		})
	}
	if shown < 20 {
		t.Errorf("only %d objects were shown", shown)
	}
}

// section is one file of a txtar archive.
func section(archive []byte, name string) string {
	_, after, ok := strings.Cut("\n"+string(archive), "\n-- "+name+" --\n")
	if !ok {
		return ""
	}
	text, _, _ := strings.Cut("\n"+after, "\n-- ")
	return strings.TrimPrefix(text, "\n")
}
