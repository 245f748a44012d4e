package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// maintenanceLead is how long before scheduled work instances are drained here.
const maintenanceLead = 60 * time.Second

// TestInterruption lets AWS say all that it says of instances, of several instances at the same time. Each story has one pod
// on one spot instance.
func TestInterruption(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "KERF_MAINTENANCE_LEAD="+maintenanceLead.String())
	})
	e.apply(classYAML)
	var stories sync.WaitGroup
	for name, story := range map[string]func(*stage, *onInstance){
		"scheduled maintenance waits":    maintenanceWaits,
		"maintenance is called off":      maintenanceCalledOff,
		"retirement at short notice":     retirementSoon,
		"a health event of another kind": healthIssue,
		"rebalance is only told":         rebalanceIsTold,
		"stopped from outside":           stoppedFromOutside,
		"terminated from outside":        terminatedFromOutside,
		"a status check fails":           statusCheckFails,
		"a volume does not answer":       volumeFails,
		"a reservation is taken back":    reservationTakenBack,
		"the same warning several times": warnedAgainAndAgain,
		"a warning of another account":   warningOfAnotherAccount,
		"a state that asks for nothing":  nothingAsksForNothing,
	} {
		stories.Go(func() {
			t.Run(name, func(t *testing.T) {
				s := e.stage(t)
				s.pool("default", "- {key: karpenter.sh/capacity-type, operator: In, values: [spot]}", "")
				s.deploy("web", 1, "1", "")
				s.run(90*time.Second, 1)
				s.eventually(20*time.Second, "the nodeclaim is ready", func() (bool, string) {
					c := s.mine()
					return len(c) == 1 && c[0].StatusConditions().IsTrue(), fmt.Sprint(len(c))
				})
				story(s, &onInstance{s.instances(false)[0], s.mine()[0]})
			})
		})
	}
	stories.Wait()
	e.emptyQueue()
	e.noneLeaked()
	for _, c := range e.claims() {
		if text := c.Annotations[index.InterruptedAnnotation]; text != "" {
			t.Errorf("nodeclaim %s is left interrupted: %s", c.Name, text)
		}
	}
}

// onInstance is a stage's instance before AWS speaks of it.
type onInstance struct {
	control.Instance
	claim karpv1.NodeClaim
}

// says puts an event about an instance on the bus.
func (s *stage) says(r event.Request) event.Envelope {
	s.Helper()
	sent, err := s.aws.SendEvent(s.Context(), r)
	if err != nil {
		s.Fatal(err)
	}
	return sent
}

// goes waits until an instance is given back, and the stage's pod runs on another.
func (s *stage) goes(m *onInstance) {
	s.Helper()
	s.moved(m.claim.Status.NodeName, m.ID)
}

// handled waits until nothing is on the queue any more that tells of an instance.
func (s *stage) handled(m *onInstance) {
	s.Helper()
	s.eventually(30*time.Second, "the message has been handled", func() (bool, string) {
		q, err := s.aws.Queue(s.Context(), s.cluster.Name)
		if err != nil {
			return false, err.Error()
		}
		for _, message := range q.Messages {
			if strings.Contains(message.Body, m.ID) {
				return false, message.Body
			}
		}
		return true, ""
	})
}

func maintenanceWaits(s *stage, m *onInstance) {
	begins := time.Now().Add(maintenanceLead + 12*time.Second).Truncate(time.Second)
	s.says(event.Request{Kind: event.ScheduledChange, Instance: m.ID, Code: "AWS_EC2_SYSTEM_REBOOT_MAINTENANCE_SCHEDULED", Start: begins})
	s.told(15*time.Second, "InstanceUnhealthy", m.claim.Name, "AWS_EC2_SYSTEM_REBOOT_MAINTENANCE_SCHEDULED", begins.UTC().Format(time.RFC3339), begins.Add(-maintenanceLead).UTC().Format(time.RFC3339))
	s.eventually(15*time.Second, "the nodeclaim has it written down", func() (bool, string) {
		text := s.annotation(m, index.MaintenanceAnnotation)
		return strings.Contains(text, begins.UTC().Format(time.RFC3339)), text
	})
	s.eventually(40*time.Second, "the drain begins", func() (bool, string) {
		now := &karpv1.NodeClaim{}
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(&m.claim), now)
		return err != nil || !now.DeletionTimestamp.IsZero(), fmt.Sprint(err)
	})
	if early := time.Until(begins.Add(-maintenanceLead)); early > time.Second {
		s.Errorf("the drain began %s before its time", early)
	}
	s.goes(m)
	if late := time.Since(begins); late > 0 {
		s.Errorf("the instance was given back %s after the work on it began", late)
	}
}

func (s *stage) annotation(m *onInstance, key string) string {
	s.Helper()
	now := &karpv1.NodeClaim{}
	if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(&m.claim), now); err != nil {
		return err.Error()
	}
	return now.Annotations[key]
}

func maintenanceCalledOff(s *stage, m *onInstance) {
	sent := s.says(event.Request{Kind: event.ScheduledChange, Instance: m.ID, Start: time.Now().Add(time.Hour)})
	s.eventually(15*time.Second, "the nodeclaim has it written down", func() (bool, string) {
		text := s.annotation(m, index.MaintenanceAnnotation)
		return text != "", text
	})
	// AWS tells of the same event again, with another status.
	sent.Detail.(map[string]any)["statusCode"] = "closed"
	text, err := json.Marshal(sent)
	if err != nil {
		s.Fatal(err)
	}
	if err := s.aws.SendMessage(s.Context(), s.cluster.Name, string(text)); err != nil {
		s.Fatal(err)
	}
	s.told(15*time.Second, "MaintenanceOver", m.claim.Name, "stays")
	if text := s.annotation(m, index.MaintenanceAnnotation); text != "" {
		s.Errorf("it is still written down: %s", text)
	}
	s.stays(&m.claim)
}

// retirementSoon is announced both ways, by message and by instance status, and so near that there is nothing to wait for.
func retirementSoon(s *stage, m *onInstance) {
	s.says(event.Request{Kind: event.ScheduledChange, Instance: m.ID, Start: time.Now().Add(maintenanceLead - 5*time.Second), Announce: true})
	s.told(10*time.Second, "InstanceUnhealthy", m.claim.Name, event.Retirement, "pods are moved")
	s.goes(m)
}

// healthIssue is an event about an instance that asks nobody to do anything.
func healthIssue(s *stage, m *onInstance) {
	s.says(event.Request{Kind: event.ScheduledChange, Instance: m.ID, Code: "AWS_EC2_OPERATIONAL_ISSUE"})
	s.handled(m)
	s.stays(&m.claim)
}

func rebalanceIsTold(s *stage, m *onInstance) {
	s.says(event.Request{Kind: event.Rebalance, Instance: m.ID})
	s.told(15*time.Second, "SpotRebalanceRecommendation", m.claim.Name, m.ID)
	s.handled(m)
	s.stays(&m.claim)
}

func stoppedFromOutside(s *stage, m *onInstance) {
	if err := s.aws.Stop(s.Context(), m.ID); err != nil {
		s.Fatal(err)
	}
	s.told(15*time.Second, "InstanceStopping", m.claim.Name, m.ID)
	s.goes(m)
	s.eventually(30*time.Second, "the stopped instance is terminated", func() (bool, string) {
		now, err := s.aws.Instance(s.Context(), m.ID)
		return err == nil && now.State == "terminated", fmt.Sprint(now.State, err)
	})
}

func terminatedFromOutside(s *stage, m *onInstance) {
	if err := s.aws.Terminate(s.Context(), m.ID); err != nil {
		s.Fatal(err)
	}
	s.told(15*time.Second, "InstanceTerminating", m.claim.Name, m.ID)
	s.goes(m)
}

// statusCheckFails is seen by polling: no message tells of it.
func statusCheckFails(s *stage, m *onInstance) {
	if err := s.cluster.Simulator.World.ImpairSince(m.ID, world.CheckInstance, time.Now().Add(-3*time.Minute)); err != nil {
		s.Fatal(err)
	}
	s.told(90*time.Second, "InstanceUnhealthy", m.claim.Name, "instance status check", m.ID)
	s.goes(m)
	if n := s.metric(`karpenter_interruption_instance_status_unhealthy_total{category="InstanceStatus"}`); n != 1 {
		s.Errorf("%v instances with a failed status check are counted, want 1", n)
	}
}

func volumeFails(s *stage, m *onInstance) {
	if err := s.cluster.Simulator.World.ImpairSince(m.ID, world.CheckVolumes, time.Now().Add(-3*time.Minute)); err != nil {
		s.Fatal(err)
	}
	s.told(90*time.Second, "AttachedVolumeUnhealthy", m.claim.Name, m.ID)
	s.stays(&m.claim)
}

func reservationTakenBack(s *stage, m *onInstance) {
	s.says(event.Request{Kind: event.ReservationInterrupted, Instance: m.ID})
	s.told(15*time.Second, "CapacityReservationInstanceInterrupted", m.claim.Name, m.ID)
	s.goes(m)
}

// warnedAgainAndAgain repeats a warning while its instance is being drained: one replacement is launched, and it is no reason
// to give back that one too.
func warnedAgainAndAgain(s *stage, m *onInstance) {
	if err := s.aws.Interrupt(s.Context(), m.ID, 2*time.Minute); err != nil {
		s.Fatal(err)
	}
	for range 5 {
		s.says(event.Request{Kind: event.SpotInterruption, Instance: m.ID})
	}
	s.told(15*time.Second, "SpotInterrupted", m.claim.Name, m.ID)
	s.says(event.Request{Kind: event.SpotInterruption, Instance: m.ID})
	s.goes(m)
	s.says(event.Request{Kind: event.SpotInterruption, Instance: m.ID})
	s.handled(m)
	s.run(30*time.Second, 1)
	s.noneTwice(2)
}

// warningOfAnotherAccount names an instance that is nobody's here.
func warningOfAnotherAccount(s *stage, m *onInstance) {
	foreign := &onInstance{Instance: control.Instance{ID: "i-0f0f0f0f0f0f0f0f1"}}
	before := s.metric("kerf_interruption_foreign_messages_total")
	s.says(event.Request{Kind: event.SpotInterruption, Instance: foreign.ID, Account: "210987654321"})
	// While instances are being launched, it might be one of these.
	s.eventually(60*time.Second, "the message is dropped", func() (bool, string) {
		n := s.metric("kerf_interruption_foreign_messages_total")
		return n > before, fmt.Sprint(n)
	})
	s.stays(&m.claim)
}

// nothingAsksForNothing tells of an instance that it runs.
func nothingAsksForNothing(s *stage, m *onInstance) {
	s.says(event.Request{Kind: event.StateChange, Instance: m.ID, State: "running"})
	s.handled(m)
	s.stays(&m.claim)
}
