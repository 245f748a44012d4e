package overview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpenterv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// Problem is something that is not as it should be. What counts as one is decided here, for the page, kerf top and kerf status.
type Problem struct {
	Code  string `json:"code"`
	Level Level  `json:"level"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"` // why, as far as it is known
	// Since is the zero time where it is not known; Until is set where it ends by itself.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// RetryAt is when Kerf asks AWS again by itself; the zero time where that is not known.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Kind and Object name what it is about, a pod as namespace/name. Both are empty where it is the cluster as a whole.
	Kind   string `json:"kind,omitempty"`
	Object string `json:"object,omitempty"`
	// Others are further objects of the Kind, at most twenty.
	Others []string `json:"others,omitempty"`
	Remedy string   `json:"remedy"` // a command, or what to do
	// Follows are problems that this one causes: they end with it. None of them has any of its own.
	Follows []Problem `json:"follows,omitempty"`
}

// Level is how bad a problem is.
type Level string

// The levels. With a bad one pods do not get what they need, or will not soon; a warning is something to look after.
const (
	Bad  Level = "problem"
	Warn Level = "warning"
)

// The codes of problems.
const (
	AWSSilent     = "AWSServiceFails"
	NotTrue       = "ConditionNotTrue"
	QueueNotReady = "QueueNotReady"
	PoolNotReady  = "NodePoolNotReady"
	NoNodeComing  = "PodsWithoutNode"
	SlowToJoin    = "NodesSlowToJoin"
	NodeNotReady  = "NodesNotReady"
	LaunchesFail  = "LaunchesFail"
	NotAskedOfEC2 = "LaunchesRefused"
	TakenBack     = "SpotInterruption"
	Maintenance   = "ScheduledMaintenance"
	DrainStalls   = "DrainStalled"
	Paused        = "ConsolidationPaused"
	LimitReached  = "NodePoolLimit"
	Unpriced      = "PriceUnknown"
	JustStarted   = "KerfStarts"
)

// ProblemCode is one row of the table of codes.
type ProblemCode struct{ Code, Means string }

// ProblemCodes is the table of codes, in the order in which they are asked about.
func ProblemCodes() []ProblemCode {
	return []ProblemCode{
		{TakenBack, "AWS takes instances back"},
		{Maintenance, "AWS has scheduled work on instances"},
		{AWSSilent, "calls of an AWS service fail"},
		{NotTrue, "a condition of a NodePool, an EC2NodeClass or a NodeClaim is not true"},
		{QueueNotReady, "the interruption queue can't be read"},
		{PoolNotReady, "a NodePool can't launch nodes"},
		{NotAskedOfEC2, "EC2 refuses launches for a quota, a subnet, a capacity type or an EC2NodeClass"},
		{LaunchesFail, "instances can't be launched, such as for a permission that is missing"},
		{NoNodeComing, "pods wait, and no node is on its way for them"},
		{SlowToJoin, "instances run that have not become ready nodes in time"},
		{NodeNotReady, "nodes are not ready that were"},
		{DrainStalls, "nodes drain, and a pod may not be evicted"},
		{Paused, "consolidation that moves pods is paused"},
		{LimitReached, "a NodePool has reached 95 % of a limit"},
		{JustStarted, "the controller has just started: it reads prices and instance types, or has decided on nothing yet"},
		{Unpriced, "nodes have no known price"},
	}
}

const (
	// joinsWithin is how long an instance may take to become a ready node before it is a problem. Images of EKS take one to two
	// minutes, large GPU images four; after 15 minutes the instance is terminated.
	joinsWithin = 5 * time.Minute
	// othersMost is how many objects a problem names beside its own.
	othersMost = 20
	// waitsWithin is how long a pod may wait undecided while the controller runs: decisions take a second or so.
	waitsWithin = 15 * time.Second
	// startsWithin is how long what a controller reads from AWS at its start may take before its absence is a problem: with the lease
	// of another one to run out first, half a minute.
	startsWithin = 30 * time.Second
	// stallsFor is how long a drain may wait for a pod: budgets let the next one go once the last one is ready elsewhere.
	stallsFor = 30 * time.Second
	// nearLimit is the part of a limit, in percent, from which on it is near: the next node is likely not to fit.
	nearLimit = 95
	// namedNodes is how many nodes one problem names.
	namedNodes = 5
)

// Started reports whether the controller has just started: what is wrong may not be known yet.
func Started(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Code == JustStarted })
}

// informing are the conditions that stop no launches.
var informing = []string{awsv1.ConditionTypeInterruptionQueueReady, awsv1.ConditionTypeInstanceStatusReady, karpenterv1.ConditionTypeNodeRegistrationHealthy}

// behind is what is behind a document.
type behind struct {
	unwell []*known              // nodes that may be a problem
	coming []*known              // nodes that pods wait for
	stuck  func(class int) stuck // why pods of a class found no place
	pod    func(class int) *cluster.Pod
	pools  []*cluster.Pool
	// givesUp is after how long an instance is ended that has not joined; 0 where that is not known.
	givesUp time.Duration
}

// problems is what is wrong, the worst first; what follows from another problem is inside it. d is complete but for its nodes.
func problems(d *Document, b behind) []Problem {
	var out found
	out.addAll(interrupted(d))
	for _, s := range d.Services {
		if !s.Answers {
			out.add(Problem{Code: AWSSilent, Level: Bad, Title: "AWS " + strings.ToUpper(s.Name) + ": calls fail", Text: s.Error, Since: s.Since, Kind: kindAWS, Object: s.Name, Remedy: asksAgain(s.Name)})
		}
	}
	troubled, queue := map[object]bool{}, false
	for _, t := range d.Troubles {
		troubled[object{t.Kind, t.Name}] = true
		if t.Kind == kindClaim || t.Condition == awsv1.ConditionTypeInterruptionQueueReady && queue {
			continue
		}
		queue = queue || t.Condition == awsv1.ConditionTypeInterruptionQueueReady // one queue, whatever classes there are
		p := Problem{Code: NotTrue, Level: Bad, Title: t.title(), Text: t.plainly(), Since: t.Since, Kind: t.Kind, Object: t.Name, Remedy: t.remedy(d)}
		if so := t.consequence(&d.Bill); so != "" {
			p.Text += "; " + so
		}
		if slices.Contains(informing, t.Condition) {
			p.Level = Warn
		}
		out.add(p, causesOf(t)...)
	}
	out.claims(d, &b)
	if q := d.Queue; q != nil && !q.Ready && q.Message != "" && !queue {
		out.add(Problem{Code: QueueNotReady, Level: Warn, Title: noNotice + ": " + q.Name, Text: q.Message + "; " + withoutNotice(d.Bill.Spot), Kind: "Queue", Object: q.Name, Remedy: "kerf doctor"}, object{kindAWS, "sqs"})
	}
	fresh := d.At.Sub(d.Since) < startsWithin
	starts := fresh && (d.Bill.Unpriced > 0 || slices.ContainsFunc(d.Pools, func(p Pool) bool { return p.NotReady != "" }))
	switch start := (Problem{Code: JustStarted, Level: Warn, Since: d.Since, Remedy: "none needed: it takes some seconds"}); {
	case starts:
		start.Title, start.Text = "Kerf has just started: prices and instance types are being read", "until then costs are too low; pods that wait are decided on after that, and once this replica leads"
		out.add(start)
	case fresh && d.decides.IsZero():
		start.Title, start.Text = "Kerf has just started, and has decided on nothing yet", "it decides once this replica leads and has read the cluster: what is wrong may not be known before"
		out.add(start)
	}
	for _, pool := range d.Pools {
		if pool.NotReady != "" && !starts && !troubled[object{kindPool, pool.Name}] {
			out.add(Problem{Code: PoolNotReady, Level: Bad, Title: "NodePool " + pool.Name + " can't launch nodes", Text: pool.NotReady, Kind: kindPool, Object: pool.Name, Remedy: "kubectl describe nodepool " + pool.Name}, object{kindClass, pool.Class})
		}
	}
	for _, c := range d.Closures {
		if title, remedy := c.refused(b.instead(c.CapacityType, b.waitingFor(d, &c), d.Closures)); title != "" {
			out.add(Problem{Code: NotAskedOfEC2, Level: Warn, Title: title, Text: c.why(), RetryAt: c.Opens, Kind: kindEC2, Object: c.Scope, Remedy: remedy})
		}
	}
	out.withoutNode(d, &b)
	out.unlaunched(&b)
	out.addAll(nodeProblems(d, b.unwell, troubled))
	out.addAll(stalled(d))
	if d.Held != nil {
		out.add(Problem{Code: Paused, Level: Warn, Title: "Consolidation that moves pods is paused", Text: d.Held.Why, Until: d.Held.Until, Remedy: "none needed: it resumes by itself; kubectl get events -A --field-selector reason=ConsolidationHeld"})
	}
	for _, pool := range d.Pools {
		for _, resource := range slices.Sorted(maps.Keys(pool.Limits)) {
			limit, used := pool.Limits[resource], pool.Used[resource]
			if limit > 0 && 100*float64(used) >= nearLimit*float64(limit) {
				out.add(Problem{Code: LimitReached, Level: Warn, Title: fmt.Sprintf("NodePool %s uses %d %% of its limit of %s", pool.Name, int64(100*float64(used)/float64(limit)), resource), Text: "beyond it no node is launched, and pods wait", Kind: kindPool, Object: pool.Name, Remedy: "kubectl edit nodepool " + pool.Name + " (raise spec.limits." + resource + ")"})
			}
		}
	}
	if n := d.Bill.Unpriced; n > 0 && !starts {
		out.add(Problem{Code: Unpriced, Level: Warn, Title: counted(n, "node has", "nodes have") + " no known price", Text: "the cost does not count them", Remedy: "kerf doctor"})
	}
	return out.joined()
}

func (p *Problem) rank() int {
	if p.Level == Bad {
		return 0
	}
	return 1
}

// nodeProblems joins nodes that have the same problem: when a zone fails, hundreds do.
func nodeProblems(d *Document, nodes []*known, troubled map[object]bool) (out []Problem) {
	var slow, sick []*Node
	for _, k := range nodes {
		switch n := k.shown; n.State {
		case Joining, Starting:
			if d.At.Sub(n.Created) >= joinsWithin && !troubled[object{kindClaim, n.Claim}] {
				slow = append(slow, n)
			}
		case NotReady:
			sick = append(sick, n)
		case Launching, Ready, Leaving, Draining:
		}
	}
	if len(slow) > 0 {
		n := slices.MinFunc(slow, func(a, b *Node) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name)) })
		p := Problem{Code: SlowToJoin, Level: Bad, Title: counted(len(slow), "instance has not become a ready node", "instances have not become ready nodes"), Text: names(slow) + d.cost(slow), Since: n.Created, Kind: "Node", Object: n.Name, Remedy: "kerf doctor; kubectl get nodeclaims -o wide"}
		if n.Claim != "" {
			p.Remedy = "kerf doctor; kubectl describe nodeclaim " + n.Claim
		}
		out = append(out, p)
	}
	if len(sick) > 0 {
		p := Problem{Code: NodeNotReady, Level: Warn, Title: counted(len(sick), "node is", "nodes are") + " not ready", Text: names(sick) + carried(sick), Kind: "Node", Object: sick[0].Name, Remedy: "kubectl describe node " + sick[0].Name}
		if len(sick) == 1 && sick[0].Claim == "" {
			p.Text += ", which Kerf did not launch"
		}
		out = append(out, p)
	}
	return out
}

func names(nodes []*Node) string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.Name
	}
	return someOf(all)
}

// someOf names the first few.
func someOf(all []string) string {
	text := strings.Join(all[:min(len(all), namedNodes)], ", ")
	if more := len(all) - namedNodes; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// counted is a number with what it counts.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
