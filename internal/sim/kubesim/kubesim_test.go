package kubesim_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/api/crds"
	"github.com/kerf-sh/kerf/internal/sim/kubesim"
	"github.com/kerf-sh/kerf/internal/sim/kubesim/conformance"
)

var write = flag.Bool("write", false, "write down what the simulation answers, instead of comparing")

// TestItAnswersAsARealServerDoes compares with answers that a real kube-apiserver gave to the same script.
func TestItAnswersAsARealServerDoes(t *testing.T) {
	s := server(t, kubesim.Options{})
	web := httptest.NewServer(s)
	defer web.Close()
	defer s.Close()
	got, err := conformance.Play(t.Context(), http.DefaultClient, web.URL)
	if err != nil {
		t.Fatal(err)
	}
	if *write {
		if err := os.WriteFile("testdata/answers.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

func server(t *testing.T, o kubesim.Options) *kubesim.Server {
	t.Helper()
	all, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		one, err := kubesim.Define(d)
		if err != nil {
			t.Fatal(err)
		}
		o.Definitions = append(o.Definitions, one)
	}
	s, err := kubesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
