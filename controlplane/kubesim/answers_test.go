// Package kubesim_test shows the simulated Kubernetes API to be like a real one.
package kubesim_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/controlplane/harness"
	"github.com/kerf-sh/kerf/internal/sim/kubesim/conformance"
)

var write = flag.Bool("write", false, "write down what the real server answers, instead of comparing")

// answers is what the simulation is compared with.
const answers = "../../internal/sim/kubesim/testdata/answers.txt"

func TestTheAnswersAreThoseOfARealServer(t *testing.T) {
	cp := harness.Start(t)
	install(t, cp.Config)
	client, err := rest.HTTPClientFor(cp.Config)
	if err != nil {
		t.Fatal(err)
	}
	got, err := conformance.Play(t.Context(), client, cp.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	if *write {
		if err := os.WriteFile(answers, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// install applies the definitions, and waits until they are served.
func install(t *testing.T, config *rest.Config) {
	t.Helper()
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	api := client.ApiextensionsV1().CustomResourceDefinitions()
	for _, d := range all {
		if _, err := api.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, d := range all {
			now, err := api.Get(ctx, d.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			if !slices.ContainsFunc(now.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
			}) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
