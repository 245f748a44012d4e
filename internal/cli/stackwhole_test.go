package cli

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// TestTheDefaultTemplateIsTheOneThatRunsOnALaptop: kerf local and the tests against a real control plane deploy it, and nodes
// join under it, so that it is enough for a first account as well.
func TestTheDefaultTemplateIsTheOneThatRunsOnALaptop(t *testing.T) {
	o := local.StackOptions("demo")
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	if code, got, stderr := runStack("cloudformation", "--cluster-name", "demo", "--namespace", o.Namespace, "--service-account", o.ServiceAccount); code != 0 || got != string(want) {
		t.Errorf("exit code %d: %s\nthe template differs:\n%s", code, stderr, got)
	}
}
