package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestFaults lets AWS and the controller fail in turn on one cluster. One instance is there all along and must be there at
// the end.
func TestFaults(t *testing.T) {
	t.Parallel()
	e := up(t)
	e.apply(classYAML)
	old := e.stage(t)
	old.pool("default", "", "")
	old.deploy("web", 1, "1", "")
	old.run(60*time.Second, 1)
	first := old.instances(false)[0].ID
	for _, story := range []struct {
		name string
		tell func(*testing.T, *env)
	}{
		{"EC2 answers with errors", func(t *testing.T, e *env) {
			unreachable(t, e, world.Fault{Kind: world.FaultError, Service: "ec2", Code: "InternalError", Status: 500})
		}},
		{"EC2 is throttled", func(t *testing.T, e *env) {
			unreachable(t, e, world.Fault{Kind: world.FaultThrottle, Service: "ec2"})
		}},
		{"EC2 is slow", ec2IsSlow},
		{"EC2 drops connections", func(t *testing.T, e *env) {
			unreachable(t, e, world.Fault{Kind: world.FaultLostReply, Service: "ec2", Operation: "*Fleet"})
		}},
		{"a new class while EC2 fails", newClassWhileEC2Fails},
		{"capacity comes back", capacityComesBack},
		{"one parameter is throttled", oneParameterThrottled},
		{"credentials refused", credentialsRefused},
		{"lost reply and kill", lostReplyAndKill},
		{"late visibility", lateVisibility},
		{"two replicas", twoReplicas},
	} {
		t.Run(story.name, func(t *testing.T) {
			story.tell(t, e)
			if instances := old.instances(false); len(instances) != 1 || instances[0].ID != first {
				t.Errorf("the instance from before is gone: %v", instances)
			}
		})
	}
	e.noneLeaked()
	// Nothing that was ever launched here should have ended, and nothing should have been launched for nobody.
	all, err := e.aws.Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(e.claims()); n != len(all) {
		t.Errorf("%d instances were launched in all for %d nodeclaims", len(all), n)
	}
}

// noneLeaked waits until all instances have claims and all claims have instances.
func (e *env) noneLeaked() {
	e.Helper()
	e.eventually(90*time.Second, "instances and nodeclaims are one to one", func() (bool, string) {
		c, i := e.claims(), e.instances()
		byID := map[string]bool{}
		for _, x := range c {
			byID[x.Status.ProviderID] = true
		}
		ok := len(c) == len(i)
		for _, m := range i {
			ok = ok && byID["aws:///"+m.Zone+"/"+m.ID]
		}
		return ok, fmt.Sprintf("%d nodeclaims, %d instances", len(c), len(i))
	})
}

// unreachable asks for instances while EC2 refuses everything.
func unreachable(t *testing.T, e *env, f world.Fault) {
	s := e.stage(t)
	s.pool("default", "", "")
	clear := s.fault(f)
	began := time.Now()
	s.deploy("web", 2, "1", apart("web"))
	s.eventually(60*time.Second, "a nodeclaim says which operation fails", func() (bool, string) {
		seen := ""
		for _, c := range s.mine() {
			for _, cond := range c.Status.Conditions {
				if cond.Type == karpv1.ConditionTypeLaunched && !cond.IsTrue() {
					seen += cond.Reason + ": " + cond.Message + "\n"
				}
			}
		}
		return strings.Contains(seen, "EC2: Create"), seen
	})
	s.calm(began)
	clear()
	s.run(60*time.Second, 2)
	s.matched(20 * time.Second)
	s.noneTwice(2)
}

// calm checks that calls which fail are not made again and again without a pause.
func (s *stage) calm(began time.Time) {
	s.Helper()
	faults, err := s.aws.Faults(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	took := time.Since(began)
	for _, f := range faults {
		s.Logf("%d calls failed within %s", f.Hits, took)
		if most := 40 + 20*int(took.Seconds()); f.Hits > most {
			s.Errorf("%d calls failed within %s, want at most %d", f.Hits, took, most)
		}
	}
}

// newClassWhileEC2Fails makes a class whose first look at EC2 fails: what it selects is not known, which is not the same
// as its selecting nothing.
func newClassWhileEC2Fails(t *testing.T, e *env) {
	s := e.stage(t)
	clear := s.fault(world.Fault{Kind: world.FaultError, Service: "ec2", Code: "InternalError", Status: 500})
	s.apply(class(s.name, `tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}`, `tags: {Name: "*private*"}`))
	conditions := func() []status.Condition {
		c := &awsv1.EC2NodeClass{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: s.name}, c); err != nil {
			t.Fatal(err)
		}
		return c.Status.Conditions
	}
	s.eventually(60*time.Second, "the class says which question failed", func() (bool, string) {
		return says(conditions(), awsv1.ConditionTypeSubnetsReady, "", "EC2: DescribeSubnets"), fmt.Sprint(conditions())
	})
	for _, c := range conditions() {
		if c.Type == awsv1.ConditionTypeSubnetsReady && c.IsFalse() {
			t.Errorf("not knowing the subnets is told as having none: %s", c.Message)
		}
	}
	clear()
	s.pool(s.name, "", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
}

// capacityComesBack sells out a pool's types, and brings them back for a controller that does not remember that.
func capacityComesBack(t *testing.T, e *env) {
	s := e.stage(t, "c5", "c6i")
	for _, types := range []string{"c5.*", "c6i.*"} {
		s.fault(world.Fault{Kind: world.FaultNoCapacity, InstanceType: types})
	}
	s.pool("default", "", "")
	s.deploy("web", 1, "1", "")
	s.told(60*time.Second, "FailedScheduling", "web", "EC2 is short of", "next try at")
	if err := s.aws.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.restart()
	s.run(60*time.Second, 1)
}

func ec2IsSlow(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.fault(world.Fault{Kind: world.FaultSlow, Service: "ec2", Delay: 4 * time.Second})
	s.deploy("web", 2, "1", apart("web"))
	s.run(80*time.Second, 2)
	s.matched(20 * time.Second)
	s.noneTwice(2)
}

// oneParameterThrottled starts the controller anew, so that it must read the images of the class again while one of them
// can't be read.
func oneParameterThrottled(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	images := func() (n int, ready bool) {
		c := &awsv1.EC2NodeClass{}
		if err := s.client.Get(t.Context(), client.ObjectKey{Name: "default"}, c); err != nil {
			t.Fatal(err)
		}
		return len(c.Status.AMIs), c.StatusConditions(false).IsTrue()
	}
	before, _ := images()
	id, err := s.aws.AddFault(t.Context(), world.Fault{Kind: world.FaultThrottle, Service: "ssm", Resource: "*/arm64/nvidia/*"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.cluster.Simulator.World.RemoveFault(id) })
	s.restart()
	s.eventually(60*time.Second, "the parameter is asked for in vain", func() (bool, string) {
		f, _ := s.cluster.Simulator.World.Fault(id)
		return f.Hits >= 3, fmt.Sprint(f.Hits)
	})
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	if n, ready := images(); n != before || !ready {
		t.Errorf("%d images, ready %v; want the %d from before", n, ready, before)
	}
}

func credentialsRefused(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	w := s.cluster.Simulator.World
	key := s.cluster.ControllerKey()
	w.DeleteAccessKey(key.ID)
	restore := func() { w.AddAccessKey(key) }
	t.Cleanup(restore)
	s.deploy("web", 1, "1", "")
	s.eventually(60*time.Second, "a nodeclaim says what to check", func() (bool, string) {
		for _, c := range s.mine() {
			if says(c.Status.Conditions, karpv1.ConditionTypeLaunched, "", "AWS_ACCESS_KEY_ID") {
				return true, ""
			}
		}
		return false, fmt.Sprintf("%d nodeclaims", len(s.mine()))
	})
	restore()
	s.run(60*time.Second, 1)
	s.matched(20 * time.Second)
	s.noneTwice(1)
}

// lostReplyAndKill loses the answer to a launch and then the only process that knew of the question.
func lostReplyAndKill(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.fault(world.Fault{Kind: world.FaultLostReply, Service: "ec2", Operation: "CreateFleet"})
	s.deploy("web", 3, "1", apart("web"))
	s.eventually(60*time.Second, "instances come of launches that nobody heard the answer of", func() (bool, string) {
		n := len(s.instances(true))
		return n > 0, fmt.Sprint(n)
	})
	if err := s.cluster.Controller.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.aws.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	claims := len(s.mine())
	t.Logf("killed with %d nodeclaims and %d instances", claims, len(s.instances(true)))
	if err := s.cluster.Controller.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.run(80*time.Second, 3)
	s.matched(60 * time.Second)
	s.noneTwice(3)
}

// lateVisibility lets EC2 show instances and their tags late, to the controller that launched them and to its successor.
func lateVisibility(t *testing.T, e *env) {
	s := e.stage(t)
	s.pool("default", "", "")
	s.fault(world.Fault{Kind: world.FaultLateInstances, Delay: 8 * time.Second})
	s.fault(world.Fault{Kind: world.FaultLateTags, Delay: 8 * time.Second})
	s.deploy("web", 3, "1", apart("web"))
	s.eventually(60*time.Second, "a fleet is launched", func() (bool, string) {
		n := len(s.instances(true))
		return n > 0, fmt.Sprint(n)
	})
	s.restart()
	s.run(80*time.Second, 3)
	s.matched(60 * time.Second)
	s.noneTwice(3)
}

// restart kills the controller and starts it again.
func (e *env) restart() {
	e.Helper()
	if err := e.cluster.Controller.Kill(); err != nil {
		e.Fatal(err)
	}
	if err := e.cluster.Controller.Start(e.Context()); err != nil {
		e.Fatal(err)
	}
}

// replica is a second controller process.
type replica struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// environment of a controller of the cluster, with changes.
func (e *env) environment(change ...string) []string {
	e.Helper()
	kubeconfig, err := e.cluster.AsController(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	out := append([]string{
		"PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig, "CLUSTER_NAME=" + e.cluster.Name,
		"METRICS_PORT=0", "HEALTH_PROBE_PORT=0", "LEADER_ELECTION_NAMESPACE=kube-system",
	}, change...)
	return out
}

// replicate starts another controller process; it ends with the test.
func (e *env) replicate(environment []string) *replica {
	e.Helper()
	binary, err := kerf()
	if err != nil {
		e.Fatal(err)
	}
	dir := e.TempDir()
	r := &replica{log: filepath.Join(dir, "replica.log"), done: make(chan struct{})}
	log, err := os.Create(r.log)
	if err != nil {
		e.Fatal(err)
	}
	defer log.Close()
	r.cmd = exec.Command(binary, "controller")
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = append(environment, "HOME="+dir), log, log
	if err := r.cmd.Start(); err != nil {
		e.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.done) }()
	e.Cleanup(func() {
		_ = r.cmd.Process.Kill() // an error means that it has ended
		<-r.done
		if e.Failed() {
			e.Logf("log of the second controller:\n%s", r.text())
		}
	})
	return r
}

func (r *replica) text() string {
	text, err := os.ReadFile(r.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// twoReplicas runs two replicas of the Deployment. The one that leads is killed while it launches instances for a burst; the
// other takes over, and nothing is launched twice.
func twoReplicas(t *testing.T, e *env) {
	const pods = 12
	s := e.stage(t)
	s.pool("default", "", "")
	other, err := s.cluster.AddReplica(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Stop() })
	all := []*local.Controller{s.cluster.Controller, other}
	leader := s.leads(all)
	all = slices.DeleteFunc(all, func(c *local.Controller) bool { return c == leader })
	s.deploy("web", pods, "1", apart("web"))
	s.eventually(60*time.Second, "the burst is under way", func() (bool, string) {
		claims := s.mine()
		return len(claims) > 0, fmt.Sprintf("%d nodeclaims", len(claims))
	})
	if err := leader.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("killed %s with %d nodeclaims, %d instances", leader.Pod, len(s.mine()), len(s.instances(true)))
	s.run(90*time.Second, pods)
	if now := s.leads(all); now == leader {
		t.Errorf("%s still leads", now.Pod)
	}
	s.matched(30 * time.Second)
	s.noneTwice(pods)
	if err := leader.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := s.leads(append(all, leader)); now == leader {
		t.Errorf("%s, which has just been started, leads", now.Pod)
	}
}

// leads waits until exactly one of the replicas leads.
func (e *env) leads(replicas []*local.Controller) *local.Controller {
	e.Helper()
	var leaders []*local.Controller
	e.eventually(60*time.Second, "one replica leads", func() (bool, string) {
		leaders = nil
		for _, c := range replicas {
			for name, value := range e.metricsOf(c) {
				if strings.HasPrefix(name, "leader_election_master_status{") && value == "1" {
					leaders = append(leaders, c)
				}
			}
		}
		return len(leaders) == 1, fmt.Sprintf("%d of %d lead", len(leaders), len(replicas))
	})
	return leaders[0]
}
