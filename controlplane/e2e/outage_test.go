package e2e

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestOutages lets services that classes are resolved with fall silent on a running cluster, one after the other. Each is
// named; instances are launched all the while; nothing that runs is touched; and all is well again soon after it comes back.
func TestOutages(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(classYAML)
	old := e.stage(t)
	old.pool("default", "", "")
	old.deploy("web", 1, "1", "")
	old.run(60*time.Second, 1)
	first := old.instances(false)[0].ID
	for _, service := range []string{"ssm", "iam"} {
		t.Run(service, func(t *testing.T) {
			s := e.stage(t)
			w := s.cluster.Simulator.World
			fault := w.AddFault(world.Fault{Kind: world.FaultSlow, Service: service, Delay: time.Hour})
			t.Cleanup(func() { w.RemoveFault(fault) })
			// A new class asks for what no class asked for before.
			s.apply(class(s.name, "alias: al2023@latest", "alias: bottlerocket@latest"))
			s.pool("default", "", "")
			s.deploy("web", 1, "1", "")
			s.run(60*time.Second, 1)
			s.eventually(90*time.Second, "the service is named", func() (bool, string) {
				seen := s.answers()
				metric := s.metrics()[fmt.Sprintf("kerf_aws_service_up{service=%q}", service)]
				return strings.Contains(seen, service+" does not answer") && metric == "0", seen + "; metric " + metric
			})
			if c := s.classConditions("default"); slices.ContainsFunc(c, func(c status.Condition) bool { return !c.IsTrue() }) {
				t.Errorf("the class that was ready says %+v", c)
			}
			if resp, err := http.Get(s.cluster.Controller.HealthURL + "/readyz"); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("readyz: %v, %v", resp, err)
			} else {
				resp.Body.Close()
			}
			w.RemoveFault(fault)
			s.run(90*time.Second, 1)
			s.eventually(90*time.Second, "the service answers again", func() (bool, string) {
				seen := s.answers()
				return !strings.Contains(seen, service+" does not answer"), seen
			})
			if instances := old.instances(false); len(instances) != 1 || instances[0].ID != first {
				t.Errorf("the instance from before is gone: %v", instances)
			}
			s.noneTwice(1)
		})
	}
	e.noneLeaked()
}

// answers is what the controller says of the AWS services.
func (s *stage) answers() string {
	s.Helper()
	resp, err := http.Get(s.cluster.Controller.HealthURL + "/readyz/aws")
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *stage) classConditions(name string) []status.Condition {
	s.Helper()
	c := &awsv1.EC2NodeClass{}
	if err := s.client.Get(s.Context(), client.ObjectKey{Name: name}, c); err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(c.Status.Conditions, func(c status.Condition) bool { return c.Type == awsv1.ConditionTypeInterruptionQueueReady })
}
