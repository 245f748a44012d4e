package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
)

// queueSilence is how long instances may come without a message before that is told here.
const queueSilence = 5 * time.Second

// TestQueue takes the interruption queue away in one way after the other. Each time the class says what is wrong, instances
// are launched all the same, and when the queue is back a warning is heeded.
func TestQueue(t *testing.T) {
	t.Parallel()
	e := up(t, func(o *local.Options) {
		o.ControllerEnv = append(o.ControllerEnv, "KERF_QUEUE_SILENCE="+queueSilence.String(), "KERF_REBALANCE=replace")
	})
	e.apply(classYAML)
	e.queueReady(30*time.Second, "")
	for _, story := range []struct {
		name string
		tell func(*stage)
	}{
		{"no message comes", noMessageComes}, // first: it counts from the controller's start
		{"the queue is missing at start", queueMissingAtStart},
		{"the queue is deleted and made again", queueMadeAgain},
		{"the permission is taken away and given back", queueDenied},
		{"rebalance replaces", rebalanceReplaces},
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(e.stage(t)) })
	}
	e.emptyQueue()
	e.noneLeaked()
}

// queueReady waits until the class and the metric say that the queue works, or why it does not.
func (e *env) queueReady(timeout time.Duration, reason string, words ...string) {
	e.Helper()
	want := 0.0
	if reason == "" {
		want = 1
	}
	e.eventually(timeout, fmt.Sprintf("class and metric say of the queue: %q %q", reason, words), func() (bool, string) {
		c := &awsv1.EC2NodeClass{}
		if err := e.client.Get(e.Context(), client.ObjectKey{Name: "default"}, c); err != nil {
			return false, err.Error()
		}
		now := c.StatusConditions(false).Get(awsv1.ConditionTypeInterruptionQueueReady)
		if now == nil {
			return false, "no condition"
		}
		metric, ok := e.metrics()[`kerf_interruption_queue_ready{queue="`+e.cluster.Name+`"}`]
		right := now.IsTrue() && reason == "" || says(c.Status.Conditions, now.Type, reason, words...)
		return ok && right && metric == fmt.Sprint(want), fmt.Sprintf("%s %s: %s; metric %q", now.Status, now.Reason, now.Message, metric)
	})
}

// serves shows that instances are launched, and returns the stage's.
func (s *stage) serves() *onInstance {
	s.Helper()
	s.pool("default", "- {key: karpenter.sh/capacity-type, operator: In, values: [spot]}", "")
	s.deploy("web", 1, "1", "")
	s.run(90*time.Second, 1)
	return &onInstance{s.instances(false)[0], s.mine()[0]}
}

// heeds shows that a spot warning reaches the controller.
func (s *stage) heeds(m *onInstance) {
	s.Helper()
	if err := s.aws.Interrupt(s.Context(), m.ID, 2*time.Minute); err != nil {
		s.Fatal(err)
	}
	s.told(30*time.Second, "SpotInterrupted", m.claim.Name, m.ID)
	s.goes(m)
}

func noMessageComes(s *stage) {
	enable := func(on bool) {
		for _, r := range s.cluster.Simulator.World.Rules("") {
			if err := s.cluster.Simulator.World.SetRuleEnabled(r.Name, on); err != nil {
				s.Fatal(err)
			}
		}
	}
	enable(false)
	s.serves()
	s.queueReady(60*time.Second, "NoMessages", "EventBridge", "kerf doctor --prove-delivery")
	s.told(10*time.Second, "InterruptionQueueNotReady", "default", "NoMessages")
	enable(true)
	s.scaleIn(s.name, "web", 0)
	s.eventually(60*time.Second, "the instance goes", func() (bool, string) { n := len(s.instances(false)); return n == 0, fmt.Sprint(n) })
	s.queueReady(60*time.Second, "")
}

func queueMissingAtStart(s *stage) {
	if err := s.cluster.Controller.Kill(); err != nil {
		s.Fatal(err)
	}
	again := s.deleteQueue()
	if err := s.cluster.Controller.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.queueReady(60*time.Second, "QueueNotFound", s.cluster.Name, "INTERRUPTION_QUEUE")
	m := s.serves()
	again()
	s.queueReady(60*time.Second, "")
	s.heeds(m)
}

func queueMadeAgain(s *stage) {
	m := s.serves()
	again := s.deleteQueue()
	s.queueReady(60*time.Second, "QueueNotFound", s.cluster.Name, "INTERRUPTION_QUEUE")
	again()
	s.queueReady(60*time.Second, "")
	s.heeds(m)
}

// deleteQueue deletes the interruption queue and returns what makes it again as it was.
func (s *stage) deleteQueue() (again func()) {
	s.Helper()
	w, name := s.cluster.Simulator.World, s.cluster.Name
	have, err := w.QueueAttributes(name)
	if err != nil {
		s.Fatal(err)
	}
	tags, err := w.QueueTags(name)
	if err != nil {
		s.Fatal(err)
	}
	attributes := map[string]string{}
	for _, k := range []string{"MessageRetentionPeriod", "VisibilityTimeout", "SqsManagedSseEnabled", "RedrivePolicy", "Policy"} {
		if v := have[k]; v != "" {
			attributes[k] = v
		}
	}
	if err := w.DeleteQueue(name); err != nil {
		s.Fatal(err)
	}
	return func() {
		if _, err := w.CreateTaggedQueue(name, attributes, tags); err != nil {
			s.Fatal(err)
		}
	}
}

// queueDenied takes the permission away while the controller runs. A warning that comes meanwhile is heeded when it is back.
func queueDenied(s *stage) {
	s.mayBeDenied("sqs:*", "*:"+s.cluster.Name)
	m := s.serves()
	const policy = "TakenAway"
	w, role := s.cluster.Simulator.World, s.controllerRole()
	if err := w.PutRolePolicy(role, policy, `{"Version":"2012-10-17","Statement":{"Sid":"Away","Effect":"Deny","Action":"sqs:ReceiveMessage","Resource":"*"}}`); err != nil {
		s.Fatal(err)
	}
	back := func() error { return w.DeleteRolePolicy(role, policy) }
	s.queueReady(60*time.Second, "AccessDenied", "sqs:ReceiveMessage")
	if err := s.aws.Interrupt(s.Context(), m.ID, 2*time.Minute); err != nil {
		s.Fatal(err)
	}
	if err := back(); err != nil {
		s.Fatal(err)
	}
	s.told(60*time.Second, "SpotInterrupted", m.claim.Name, m.ID)
	s.goes(m)
	s.queueReady(60*time.Second, "")
}

// controllerRole is the name of the controller's role.
func (e *env) controllerRole() string {
	parts := strings.Split(e.cluster.ControllerKey().PrincipalARN, "/")
	return parts[1]
}

func rebalanceReplaces(s *stage) {
	m := s.serves()
	s.says(event.Request{Kind: event.Rebalance, Instance: m.ID})
	s.told(30*time.Second, "SpotRebalanceRecommendation", m.claim.Name, m.ID)
	s.goes(m)
	for _, now := range s.instances(false) {
		if now.Type == m.Type && now.Zone == m.Zone {
			s.Errorf("the replacement is %s in %s, of which AWS has just warned", now.Type, now.Zone)
		}
	}
}
