package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/aws/awscli"
	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// foundWrong is the exit code of commands that look for faults and find some.
const foundWrong = 3

// TestWrongEncryption encrypts the queue in each of the ways in which people lose its messages without noticing. Each time
// a warning of AWS is lost, the doctor names the cause, what "kerf stack check --live --fix" prints fixes it, and the next
// warning is heeded.
func TestWrongEncryption(t *testing.T) {
	t.Parallel()
	file := encryptedStack(t)
	e := up(t, func(o *local.Options) {
		o.Stack = file
		// Of several receivers one may still wait with the permissions that it began with.
		o.ControllerEnv = append(o.ControllerEnv, "KERF_QUEUE_RECEIVERS=1")
	})
	e.apply(classYAML)
	e.queueReady(30*time.Second, "")
	e.healthy()
	for _, story := range []struct {
		name string
		tell func(*stage)
	}{
		{"a key without a statement for EventBridge", keyWithoutStatement},
		{"a controller that may not decrypt", controllerWithoutDecrypt},
		{"the key that AWS manages", managedKey}, // last: it ends with another encryption than it began with
	} {
		t.Run(story.name, func(t *testing.T) { story.tell(e.stage(t)) })
	}
}

// encryptedStack writes the template of a stack whose queue has a key of its own. It has no dead-letter queue: what is not
// delivered is lost, as it is for those who followed the guides.
func encryptedStack(t *testing.T) (file string) {
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Controller, o.AccessEntry = "e2e", stack.PodIdentity, "EC2_LINUX"
	o.Namespace, o.ServiceAccount, o.KMS, o.DeadLetter = "kube-system", "kerf", true, false
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.CloudFormation()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "stack.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// kerf runs a command as the administrator of account and cluster.
func (e *env) kerf(args ...string) (code int, out, errs string) {
	e.Helper()
	binary, err := kerf()
	if err != nil {
		e.Fatal(err)
	}
	cmd := exec.CommandContext(e.Context(), binary, args...)
	cmd.Env = append(e.cluster.Simulator.EnvFor(e.cluster.Administrator()), "KUBECONFIG="+e.cluster.Kubeconfig, "HOME="+e.TempDir(), "PATH="+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			e.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return code, stdout.String(), stderr.String()
}

// healthy has the doctor prove that what EventBridge sends arrives, and find nothing wrong.
func (e *env) healthy() {
	e.Helper()
	if code, out, errs := e.kerf("doctor", "--cluster-name", e.cluster.Name, "--prove-delivery", "--verbose"); code != 0 || !strings.Contains(out, "proven") {
		e.Errorf("the doctor ends with %d:\n%s%s", code, out, errs)
	}
	if code, out, errs := e.stackCheck(); code != 0 {
		e.Errorf("the check of the stack ends with %d:\n%s%s", code, out, errs)
	}
}

func (e *env) stackCheck(more ...string) (code int, out, errs string) {
	e.Helper()
	return e.kerf(append([]string{"stack", "check", "--live", "--cluster-name", e.cluster.Name, "--dead-letter-queue=false",
		"--namespace", "kube-system", "--service-account", "kerf", "--controller", "pod-identity", "--access-entry", "EC2_LINUX"}, more...)...)
}

// sick has the doctor name the cause of what is wrong.
func (e *env) sick(words ...string) {
	e.Helper()
	code, out, errs := e.kerf("doctor", "--cluster-name", e.cluster.Name)
	if code != foundWrong {
		e.Errorf("the doctor ends with %d, want %d:\n%s%s", code, foundWrong, out, errs)
	}
	flat := strings.Join(strings.Fields(out), " ")
	for _, w := range words {
		if !strings.Contains(flat, w) {
			e.Errorf("the doctor does not say %q:\n%s%s", w, out, errs)
		}
	}
}

// warnedInVain has AWS take an instance back with a warning that nobody hears.
func (s *stage) warnedInVain(m *onInstance) {
	s.Helper()
	if err := s.aws.Interrupt(s.Context(), m.ID, time.Second); err != nil {
		s.Fatal(err)
	}
	s.eventually(30*time.Second, "AWS has taken the instance back", func() (bool, string) {
		now, err := s.aws.Instance(s.Context(), m.ID)
		return err == nil && now.State == "terminated" && strings.Contains(now.Reason, "Spot"), fmt.Sprint(now.State, now.Reason, err)
	})
	for _, ev := range list[corev1.EventList](s.env).Items {
		if ev.Reason == "SpotInterrupted" && ev.InvolvedObject.Name == m.claim.Name {
			s.Errorf("the warning was heeded: %s", ev.Message)
		}
	}
}

// failedDeliveries is how often EventBridge could not deliver to the queue.
func (e *env) failedDeliveries() float64 {
	sum := 0.0
	for _, r := range e.cluster.Simulator.World.Rules("") {
		sum += e.cluster.Simulator.World.MetricSum("AWS/Events", "FailedInvocations", map[string]string{"RuleName": r.Name})
	}
	return sum
}

// undelivered shows that a warning does not arrive, and that EventBridge counts it.
func (s *stage) undelivered(m *onInstance) {
	s.Helper()
	before := s.failedDeliveries()
	s.warnedInVain(m)
	if after := s.failedDeliveries(); after <= before {
		s.Errorf("FailedInvocations is %v, and was %v before the warning", after, before)
	}
}

// fixed applies what fixes the set-up and shows that the next warning is heeded.
func (s *stage) fixed(has ...string) {
	s.Helper()
	code, script, errs := s.stackCheck("--fix")
	if code != 0 {
		s.Errorf("the check of the stack fixes not everything (%d): %s", code, errs)
	}
	for _, w := range has {
		if !strings.Contains(script, w) {
			s.Errorf("what fixes the stack has no %q:\n%s%s", w, script, errs)
		}
	}
	s.carryOut(script)
	s.queueReady(60*time.Second, "")
	s.healthy()
	var m onInstance
	s.eventually(90*time.Second, "the pod runs on an instance that is there", func() (bool, string) {
		instances, claims, pods := s.instances(false), s.mine(), s.pods(s.name)
		if len(instances) != 1 || len(claims) != 1 || len(pods) != 1 {
			return false, fmt.Sprintf("%d instances, %d nodeclaims, %d pods", len(instances), len(claims), len(pods))
		}
		m = onInstance{instances[0], claims[0]}
		// A pod of the instance that AWS took says that it runs until its node is gone.
		on := claims[0].Status.NodeName
		return on != "" && claims[0].DeletionTimestamp.IsZero() && pods[0].Spec.NodeName == on && pods[0].Status.Phase == corev1.PodRunning,
			fmt.Sprintf("the pod is %s on %q, the nodeclaim's node is %q", pods[0].Status.Phase, pods[0].Spec.NodeName, on)
	})
	s.heeds(&m)
}

// carryOut runs the commands that fix the account, as its administrator.
func (s *stage) carryOut(script string) {
	s.Helper()
	aws, err := s.cluster.AWSSession(s.Context(), s.cluster.Administrator())
	if err != nil {
		s.Fatal(err)
	}
	if done, err := awscli.Run(s.Context(), aws, script, false); err != nil || len(done) == 0 {
		s.Errorf("running what fixes the stack (%d commands): %v\n%s", len(done), err, script)
	}
}

// queueKey is the key of the queue.
func (s *stage) queueKey() string {
	s.Helper()
	key, encrypted, err := s.cluster.Simulator.World.QueueKey(s.cluster.Name)
	if err != nil || !encrypted {
		s.Fatalf("the queue has no key: %v", err)
	}
	return key.ARN
}

// keyWithoutStatement gives the queue's key the policy that KMS gives keys by itself.
func keyWithoutStatement(s *stage) {
	m := s.serves()
	admin := s.cluster.Administrator().PrincipalARN
	if err := s.cluster.Simulator.World.PutKeyPolicy(s.queueKey(), `{"Version":"2012-10-17","Id":"key-default-1","Statement":[{"Sid":"Enable IAM User Permissions",`+
		`"Effect":"Allow","Principal":{"AWS":"`+strings.Replace(admin, "user/admin", "root", 1)+`"},"Action":"kms:*","Resource":"*"}]}`, admin, false); err != nil {
		s.Fatal(err)
	}
	s.undelivered(m)
	s.sick("queue-key-policy", "EventBridge may not use the queue's key", "kms:GenerateDataKey", "failed-deliveries")
	s.fixed("aws kms put-key-policy", "events.amazonaws.com", "kms:GenerateDataKey")
}

// controllerWithoutDecrypt takes the statement from the controller's policies without which it can't read what it receives.
// Nothing fails on EventBridge's side.
func controllerWithoutDecrypt(s *stage) {
	s.mayBeDenied("kms:Decrypt", "*")
	m := s.serves()
	w := s.cluster.Simulator.World
	changed := 0
	attached, err := w.AttachedRolePolicies(s.controllerRole())
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range attached {
		without, ok := s.withoutDecrypt(p.ARN)
		if !ok {
			continue
		}
		changed++
		if _, err := w.CreatePolicyVersion(p.ARN, without, true); err != nil {
			s.Fatal(err)
		}
	}
	if changed != 1 {
		s.Fatalf("%d policies let the controller decrypt, want one", changed)
	}
	before := s.failedDeliveries()
	s.queueReady(60*time.Second, "AccessDenied", "kms:Decrypt")
	s.warnedInVain(m)
	if after := s.failedDeliveries(); after != before {
		s.Errorf("%v deliveries failed", after-before)
	}
	s.sick("controller-decrypt", "lacks kms:Decrypt")
	s.fixed("aws iam create-policy-version", "kms:Decrypt")
}

// withoutDecrypt is a policy without its statements on kms:Decrypt; not ok if it has none.
func (s *stage) withoutDecrypt(arn string) (document string, ok bool) {
	s.Helper()
	versions, err := s.cluster.Simulator.World.PolicyVersions(arn)
	if err != nil {
		s.Fatal(err)
	}
	var d struct {
		Version   string
		Statement []map[string]any
	}
	for _, v := range versions {
		if v.Default {
			if err := json.Unmarshal([]byte(v.Document), &d); err != nil {
				s.Fatal(err)
			}
		}
	}
	left := d.Statement[:0]
	for _, st := range d.Statement {
		if strings.Contains(fmt.Sprint(st["Action"]), "kms:Decrypt") {
			ok = true
			continue
		}
		left = append(left, st)
	}
	d.Statement = left
	text, err := json.Marshal(d)
	if err != nil {
		s.Fatal(err)
	}
	return string(text), ok
}

// managedKey encrypts the queue with the key that AWS manages for SQS, which is what the console offers first.
func managedKey(s *stage) {
	m := s.serves()
	if err := s.cluster.Simulator.World.SetQueueAttributes(s.cluster.Name, map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}); err != nil {
		s.Fatal(err)
	}
	s.undelivered(m)
	s.sick("queue-managed-key", "alias/aws/sqs", "failed-deliveries")
	s.fixed("aws sqs set-queue-attributes", `"SqsManagedSseEnabled":"true"`)
}
