package cfn_test

import (
	"os"
	"testing"

	"github.com/kerf-sh/kerf/internal/cfn"
)

func TestGettingStartedTemplatesRead(t *testing.T) {
	for _, f := range []string{"v0.32", "v1"} {
		data, err := os.ReadFile("../awssim/cloudformation/testdata/getting-started-" + f + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		tpl, err := cfn.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		s, err := tpl.Static(cfn.Pseudo{Region: "cn-north-1", AccountID: "123456789012", StackName: "s"}, map[string]string{"ClusterName": "demo"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Resources {
			t.Logf("%s %v %v", r.ID, r.Ref, r.Values)
		}
		t.Logf("%+v", s.Gaps)
	}
}
