package rehearsal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// judge compares what has happened since a swap with what was under way then. From the rest on, nothing may have happened.
func (r *rehearsal) judge(ctx context.Context, to string, u *underway, rest int, refused int, forbidden float64) error {
	found := len(r.findings)
	events := r.ledger.since(u.mark)
	t, wrong := u.judge(events, rest-u.mark, to == kerfName)
	for _, text := range wrong {
		r.wrong("%s", text)
	}
	if err := r.judgeNodes(ctx); err != nil {
		return err
	}
	denied := r.denials(refused)
	for _, d := range denied {
		r.wrong("AWS refused %s", d)
	}
	now, err := r.forbidden(ctx)
	if err != nil {
		return err
	}
	if now > forbidden {
		r.wrong("the API server forbade %.0f requests; writes among them: %v", now-forbidden, r.forbiddenWrites())
	}
	if crashes := r.cluster.Controller.Restarts(); crashes > 0 {
		r.wrong("%s's controller ended %d times by itself; see %s", to, crashes, r.cluster.Controller.Log)
	}
	r.Say("  since the swap: %d nodes removed and %d launched (%d in excess, and removed again), %d pods moved; %d calls refused by IAM, %.0f forbidden by RBAC.",
		t.removed, t.launched, t.surplus, t.moved, len(denied), now-forbidden)
	if n := len(r.findings) - found; n > 0 {
		r.Say("  %d things are wrong.", n)
	} else {
		r.Say("  All of that was under way at the swap. 0 other nodes replaced, 0 other pods moved, 0 nodes drifted, 0 instances leaked.")
	}
	return nil
}

// tally counts what happened since a swap; surplus are nodes that were launched and removed again since.
type tally struct{ removed, launched, surplus, moved int }

// judge says what is wrong with the events since a swap. Those from rest on happened when nothing should.
//
// What was under way may be finished: its nodes are removed, their pods move, and for each a node may be launched. If that is
// not strict, a node that was launched since may be removed again, without pods: upstream does so when it is started in the
// middle of a drain. Such a node was not there at the swap.
func (u *underway) judge(events []event, rest int, strict bool) (tally, []string) {
	var t tally
	var out []string
	wrong := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	since := map[string]bool{}
	for _, e := range events {
		known := u.may(e.claim) || u.replacements[e.claim]
		expected := known || !strict && since[e.claim]
		switch e.kind {
		case claimCreated:
			t.launched++
			since[e.claim] = true
		case claimRemoved:
			t.removed++
			if since[e.claim] {
				t.surplus++
			}
			if !expected {
				wrong("NodeClaim %s of pool %s (%s) was removed and was not under way", e.claim, e.pool, e.detail)
			}
		case claimDrifted:
			wrong("NodeClaim %s of pool %s drifted after the swap: %s", e.claim, e.pool, e.detail)
		case nodeDisrupted:
			if !expected {
				wrong("NodeClaim %s of pool %s was disrupted and was not under way: %s", e.claim, e.pool, e.detail)
			}
		case podRemoved:
			if t.moved++; !known {
				wrong("pod %s was removed from node %s, which was not under way", e.pod, e.detail)
			}
		case podRestarted:
			wrong("pod %s was restarted on node %s", e.pod, e.detail)
		}
	}
	launched, most := t.launched, len(u.drifted)+len(u.leaving)
	if !strict {
		launched -= t.surplus
	}
	if launched > most {
		wrong("%d nodes were launched for %d that were under way", launched, most)
	}
	for _, e := range events[rest:] {
		wrong("at rest: NodeClaim %q, pod %q: %s %s", e.claim, e.pod, e.kind, e.detail)
	}
	return t, out
}

// judgeNodes holds NodeClaims, nodes and instances against each other.
func (r *rehearsal) judgeNodes(ctx context.Context) error {
	var claims karpv1.NodeClaimList
	var nodes corev1.NodeList
	if err := r.client.List(ctx, &claims); err != nil {
		return err
	}
	if err := r.client.List(ctx, &nodes); err != nil {
		return err
	}
	byInstance := map[string]string{}
	for i := range claims.Items {
		c := &claims.Items[i]
		byInstance[c.Status.ProviderID[strings.LastIndexByte(c.Status.ProviderID, '/')+1:]] = c.Name
		conditions := c.StatusConditions()
		for _, t := range []string{karpv1.ConditionTypeLaunched, karpv1.ConditionTypeRegistered, karpv1.ConditionTypeInitialized, karpv1.ConditionTypeReady} {
			if !conditions.IsTrue(t) {
				r.wrong("NodeClaim %s: condition %s is not true: %v", c.Name, t, conditions.Get(t))
			}
		}
		if d := conditions.Get(karpv1.ConditionTypeDrifted); d != nil && d.IsTrue() {
			r.wrong("NodeClaim %s is drifted: %s %s", c.Name, d.Reason, d.Message)
		}
	}
	for _, n := range nodes.Items {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == karpv1.DisruptedTaintKey }) {
			r.wrong("node %s still has the taint %s", n.Name, karpv1.DisruptedTaintKey)
		}
	}
	live := map[string]bool{}
	for _, i := range r.cluster.Simulator.World.Instances() {
		if i.Live() {
			if live[i.ID] = true; byInstance[i.ID] == "" {
				r.wrong("instance %s is nobody's: no NodeClaim has it", i.ID)
			}
		}
	}
	for id, claim := range byInstance {
		if !live[id] {
			r.wrong("NodeClaim %s has instance %q, which does not run", claim, id)
		}
	}
	return nil
}

// refusals is how many calls of the controllers AWS has refused so far.
func (r *rehearsal) refusals() int { return len(r.cluster.Simulator.Permissions.Denied().Denials) }

// denials are the calls that AWS refused to the controllers after the first so many refusals.
func (r *rehearsal) denials(after int) []string {
	controller := r.cluster.ControllerKey().PrincipalARN
	var out []string
	for _, d := range r.cluster.Simulator.Permissions.Denied().Denials[after:] {
		if d.Principal == controller {
			out = append(out, fmt.Sprintf("%s on %s in a call of %s: %s", d.Action, d.Resource, d.Operation, d.Outcome))
		}
	}
	return out
}

// forbidden is how many requests the API server has answered with 403 so far, reads among them.
func (r *rehearsal) forbidden(ctx context.Context) (float64, error) {
	config, err := r.cluster.Config()
	if err != nil {
		return 0, err
	}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	text, err := c.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the API server's metrics: %w", err)
	}
	total := 0.0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_request_total{") && strings.Contains(line, `code="403"`) {
			n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, '}')+1:]), 64)
			if err != nil {
				return 0, fmt.Errorf("read the API server's metrics: %q: %w", line, err)
			}
			total += n
		}
	}
	return total, nil
}

// forbiddenWrites are the writes that the API server answered with 403, by user and object, each once.
func (r *rehearsal) forbiddenWrites() []string {
	f, err := os.Open(r.audit)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	var out []string
	for s.Scan() {
		var line struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Subresource, Name string }
			ResponseStatus struct {
				Code    int
				Message string
			}
		}
		if json.Unmarshal(s.Bytes(), &line) == nil && line.ResponseStatus.Code == 403 {
			out = append(out, fmt.Sprint(line.User.Username, " ", line.Verb, " ", line.ObjectRef.Resource, "/", line.ObjectRef.Subresource, " ", line.ObjectRef.Name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
