package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	karpenterv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/status"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// A missing permission or a wrong start-up script hits every new NodeClaim. They are one problem, with all pods that wait for them.

// claims are the problems of NodeClaims that launch or that have not become nodes: one for each condition and reason.
func (f *found) claims(d *Document, b *behind) {
	type joined struct {
		Trouble
		names []string
	}
	var groups []*joined
	at, named := map[[2]string]int{}, map[string]bool{}
	for _, step := range []string{karpenterv1.ConditionTypeLaunched, karpenterv1.ConditionTypeRegistered, karpenterv1.ConditionTypeInitialized, ""} {
		for _, t := range d.Troubles {
			if t.Kind != kindClaim || named[t.Name] || step != "" && t.Condition != step {
				continue
			}
			named[t.Name] = true // the later conditions of a claim wait for the first
			t.Message = t.Why()
			key := [2]string{t.Condition, t.Message}
			i, ok := at[key]
			if !ok {
				i, at[key] = len(groups), len(groups)
				groups = append(groups, &joined{Trouble: t})
			}
			g := groups[i]
			g.names = append(g.names, t.Name)
			if t.Since.Before(g.Since) {
				g.Since = t.Since
			}
		}
	}
	for _, g := range groups {
		f.claim(d, b, &g.Trouble, g.names)
	}
}

// claim is the problem of the NodeClaims in which one condition is not true for the same reason; t is that of the first.
func (f *found) claim(d *Document, b *behind, t *Trouble, names []string) {
	p := Problem{Code: NotTrue, Level: Warn, Title: t.title(), Text: t.Message, Since: t.Since, Kind: kindClaim, Object: t.Name, Others: others(names, t.Name), Remedy: t.remedy(d)}
	var nodes []*Node
	var instances []string
	for _, k := range b.unwell {
		if slices.Contains(names, k.shown.Claim) {
			nodes = append(nodes, k.shown)
			if id := k.from.ProviderID[strings.LastIndex(k.from.ProviderID, "/")+1:]; id != "" {
				instances = append(instances, id)
			}
		}
	}
	silent := len(f.known([]object{{kindAWS, "ec2"}})) > 0 // then the pods follow from that
	switch t.Condition {
	case karpenterv1.ConditionTypeLaunched:
		p.Code, p.Level = LaunchesFail, Bad
		p.Title = counted(len(names), "instance can't be launched", "instances can't be launched")
		if t.Reason == status.ReasonAwaitingReconciliation {
			p.Title, p.Text = counted(len(names), "instance was asked for", "instances were asked for")+", and EC2 has not answered yet", ""
		}
		p.Remedy = "kerf doctor; " + p.Remedy
		if what, act, ok := permission(t.Message); ok {
			p.Text, p.Remedy = what, act+"; Kerf tries again by itself; kerf doctor"
		}
	case karpenterv1.ConditionTypeRegistered:
		p.Code, p.Title = SlowToJoin, counted(len(names), "instance runs and has not joined the cluster", "instances run and have not joined the cluster")
		p.Text += d.cost(nodes)
		if younger := b.younger(nodes); younger > 0 {
			p.Text += "; " + counted(younger, "younger instance has", "younger instances have") + " not joined either"
		}
		p.Remedy = "compare user data, role, security groups and subnets of the EC2NodeClass with a node that joined; kerf doctor; " + p.Remedy
		if len(instances) > 0 {
			p.Text += "; in EC2: " + strings.Join(instances[:min(len(instances), namedNodes)], ", ")
			p.Remedy = "read what the instance says; aws ec2 get-console-output --latest --output text --instance-id " + instances[0] + "; " + p.Remedy
		}
		if b.givesUp > 0 {
			p.Text += fmt.Sprintf("; Kerf ends an instance that has not joined after %d min, and launches another if pods wait", int(b.givesUp.Minutes()))
		}
	case karpenterv1.ConditionTypeInitialized:
		p.Code, p.Title = SlowToJoin, counted(len(names), "node has joined and can't take pods yet", "nodes have joined and can't take pods yet")
		p.Text += d.cost(nodes)
	}
	if p.Code == SlowToJoin && d.At.Sub(t.Since) >= joinsWithin {
		p.Level = Bad
	}
	if pods, oldest := b.waitFor(func(n *cluster.Node, _ *cluster.Pod) bool { return slices.Contains(names, n.Claim) }); pods > 0 && !silent {
		p.Title += "; " + counted(pods, "pod waits", "pods wait") + " for " + them(len(names))
		p.Remedy += "; kerf explain pod " + oldest.String()
	}
	f.add(p, causesOf(*t)...)
}

// others are the names beside one, as many as a problem tells of.
func others(names []string, one string) (out []string) {
	for _, n := range names {
		if n != one && len(out) < othersMost {
			out = append(out, n)
		}
	}
	return out
}

// younger counts the instances that run, have not joined, and are younger than all of some.
func (b *behind) younger(than []*Node) (n int) {
	if len(than) == 0 {
		return 0
	}
	newest := slices.MaxFunc(than, func(x, y *Node) int { return x.Created.Compare(y.Created) }).Created
	for _, k := range b.unwell {
		if k.shown.State == Joining && k.shown.Created.After(newest) {
			n++
		}
	}
	return n
}

// permission splits what is said of a missing permission into what is wrong and what allows it; false where text is of something else.
func permission(text string) (what, act string, ok bool) {
	before, after, ok := strings.Cut(text, lacks)
	if !ok {
		return "", "", false
	}
	action, act, _ := strings.Cut(after, ": ")
	why, then, two := strings.Cut(act, "; ")
	if what = before + lacks + action; two && !strings.HasPrefix(why, "allow ") {
		what, act = what+": "+why, then
	}
	return what, act, act != ""
}

// lacks is what errors say before the name of an action that a policy refuses.
const lacks = "missing permission "

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

// Why is the message of a claim's condition without what is this claim's and this request's only.
func (t *Trouble) Why() string {
	text := cmp.Or(t.Message, t.Reason)
	if i := strings.LastIndex(text, `"`+t.Name+`"`); i >= 0 {
		if _, rest, ok := strings.Cut(text[i:], ": "); ok {
			text = rest
		}
	}
	return withoutSDK(text)
}

// waitFor counts the pods for which room is kept on nodes that are on their way, and finds the one that waits longest.
func (b *behind) waitFor(counts func(*cluster.Node, *cluster.Pod) bool) (pods int, oldest *cluster.Pod) {
	for _, k := range b.coming {
		for _, pod := range k.waiting {
			if !counts(k.from, pod) {
				continue
			}
			pods++
			if oldest == nil || pod.CreatedAt.Before(oldest.CreatedAt) {
				oldest = pod
			}
		}
	}
	return pods, oldest
}
