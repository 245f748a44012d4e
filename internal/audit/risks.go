package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// The codes of risks.
const (
	NoOtherPlace  = "PodsWithoutOtherPlace"
	NeverEvicted  = "BudgetsThatNeverAllow"
	UsedUp        = "BudgetsThatAllowNoneNow"
	TwoBudgets    = "PodsOfSeveralBudgets"
	OneNode       = "AllReplicasOnOneNode"
	OneZone       = "AllReplicasInOneZone"
	OneReplica    = "OneReplica"
	AllSpot       = "AllReplicasOnSpot"
	WithoutOwner  = "PodsWithoutOwner"
	NoRequests    = "PodsWithoutRequests"
	NotReadyNodes = "NodesNotReady"
	WithoutNode   = "InstancesWithoutNode"
	WaitingPods   = "PendingPods"
	UnknownPrice  = "NodesWithoutPrice"
	BadAnnotation = "UnreadableAnnotation"
)

// risks finds what may cost pods their place.
func (a *audit) risks() {
	a.withoutPlace()
	a.budgetRisks()
	a.replicaRisks()
	a.podRisks()
	a.nodeRisks()
	for _, kind := range []string{"pods", "nodes"} {
		if a.st.from.Missing(kind) {
			a.report.RisksUnknown = kind + " could not be read"
		}
	}
	slices.SortStableFunc(a.report.Risks, func(x, y Risk) int { return cmp.Compare(levelRank(x.Level), levelRank(y.Level)) })
}

func levelRank(l Level) int {
	if l == High {
		return 0
	}
	return 1
}

func (a *audit) risk(r Risk, objects []Object) {
	if len(objects) == 0 {
		return
	}
	r.Objects, r.Count = limited(objects)
	a.report.Risks = append(a.report.Risks, r)
}

func (a *audit) withoutPlace() {
	var objects []Object
	for _, u := range a.unplaced {
		objects = append(objects, Object{Kind: "Pod", Name: u.pod.String(), Detail: u.why})
	}
	sortObjects(objects)
	a.risk(Risk{
		Code: NoOtherPlace, Level: High, Title: "Pods that no new node could take", Text: "They run, and were they evicted they would wait: no pool may launch a node on which they fit. Their nodes are left out of every saving.",
		Remedy: "See the reason beside each: a label that no pool has, a volume in a zone without a subnet, a limit.",
	}, objects)
}

func sortObjects(list []Object) {
	slices.SortFunc(list, func(x, y Object) int { return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name)) })
}

// budgetRisks are PodDisruptionBudgets that stand in the way of every drain.
func (a *audit) budgetRisks() {
	refused := map[string]int{}
	held := map[string]bool{}
	var several []Object
	for _, ref := range a.sortedPods() {
		p := a.st.pods[ref]
		if p.Spec.NodeName == "" || intake.IsDaemon(p) || intake.IsMirror(p) {
			continue
		}
		name, many := a.st.budgets.Guardian(p)
		if many {
			several = append(several, Object{Kind: "Pod", Name: ref.String()})
			continue
		}
		if name == "" {
			continue
		}
		key := p.Namespace + "/" + name
		if a.st.budgets.Hold(p) {
			held[key] = true
		}
		if a.st.budgets.Refuse(p) != "" {
			refused[key]++
		}
	}
	var never, now []Object
	for _, b := range a.st.from.Budgets {
		key := b.Namespace + "/" + b.Name
		n := refused[key]
		if n == 0 {
			continue
		}
		o := Object{Kind: "PodDisruptionBudget", Name: key, Detail: fmt.Sprintf("%s, %s guarded", ruleOf(b.Spec.MinAvailable != nil, b.Spec.MinAvailable, b.Spec.MaxUnavailable), plural(n, "pod"))}
		s := b.Status
		if held[key] || s.ExpectedPods > 0 && s.DesiredHealthy >= s.ExpectedPods {
			never = append(never, o)
		} else {
			o.Detail += fmt.Sprintf("; %d of %d healthy, %d needed", s.CurrentHealthy, s.ExpectedPods, s.DesiredHealthy)
			now = append(now, o)
		}
	}
	a.risk(Risk{
		Code: NeverEvicted, Level: High, Title: "PodDisruptionBudgets that can never allow an eviction", Text: "They want as many pods as there are. A node with such a pod can't be drained: not for an upgrade, not for a repair, not to save money.",
		Remedy: "maxUnavailable: 1, or one replica more than minAvailable.",
	}, never)
	a.risk(Risk{
		Code: UsedUp, Level: Low, Title: "PodDisruptionBudgets that allow none now", Text: "Pods are missing that they want: until they are there, no other is evicted.",
		Remedy: "Find out why the missing pods are not ready.",
	}, now)
	a.risk(Risk{
		Code: TwoBudgets, Level: High, Title: "Pods that more than one PodDisruptionBudget selects", Text: "The eviction API refuses such pods always.", Remedy: "Let one budget select them.",
	}, several)
}

func ruleOf(least bool, minAvailable, maxUnavailable interface{ String() string }) string {
	if least {
		return "minAvailable: " + minAvailable.String()
	}
	return "maxUnavailable: " + maxUnavailable.String()
}

// replicaRisks are workloads that one node, one zone or one notice ends.
func (a *audit) replicaRisks() {
	var node, zone, one, spot []Object
	zones := len(a.st.zones(func(n *audited) bool { return n.from == ofPool || n.from == ofGroup }))
	partly := map[owner]bool{} // other replicas run where nothing is known
	for _, p := range a.st.nodeless {
		partly[a.st.owners.of(p)] = true
	}
	found := a.demandsOnce()
	list := make([]owner, 0, len(found))
	for o := range found {
		list = append(list, o)
	}
	slices.SortFunc(list, func(x, y owner) int { return cmp.Or(cmp.Compare(x.String(), y.String()), cmp.Compare(x.kind, y.kind)) })
	for _, o := range list {
		d := found[o]
		if d.daemon || o.kind == "Pod" || o.kind == "Job" || o.kind == "CronJob" || partly[o] {
			continue
		}
		x := o.object()
		x.Detail = plural(d.Pods, "pod")
		switch {
		case d.Pods == 1:
			one = append(one, x)
			continue
		case len(d.onNodes) == 1:
			x.Detail += " on " + sortedKeys(d.onNodes)[0]
			node = append(node, x)
		case len(d.zones) == 1 && zones > 1:
			x.Detail += " in " + sortedKeys(d.zones)[0]
			zone = append(zone, x)
		}
		if d.spot == d.Pods && len(d.onNodes) < d.Pods {
			spot = append(spot, x)
		}
	}
	a.risk(Risk{
		Code: OneNode, Level: High, Title: "Workloads with all replicas on one node", Text: "Their replicas protect against nothing: when the node goes, all of them do.",
		Remedy: "A topology spread over kubernetes.io/hostname, or over zones.",
	}, node)
	a.risk(Risk{
		Code: OneZone, Level: Low, Title: "Workloads with all replicas in one zone", Text: "The cluster has other zones.", Remedy: "A topology spread over topology.kubernetes.io/zone.",
	}, zone)
	a.risk(Risk{
		Code: AllSpot, Level: Low, Title: "Workloads only on spot, with several replicas on a node", Text: "One notice of AWS takes more than one replica.", Remedy: "Spread them over nodes, or run some on demand.",
	}, spot)
	a.risk(Risk{
		Code: OneReplica, Level: Low, Title: "Workloads with one replica", Text: "Each move of their pod is an outage of the workload, however short.", Remedy: "Two replicas, or the annotation " + karpv1.DoNotDisruptAnnotationKey + " where a restart must wait.",
	}, one)
}

// podRisks are about single pods.
func (a *audit) podRisks() {
	var orphans, asks []Object
	missing := map[owner]string{}
	var invalid []Object
	waiting := 0
	for _, ref := range a.sortedPods() {
		p := a.st.pods[ref]
		switch {
		case p.Spec.NodeName == "":
			waiting++
			continue
		case intake.IsMirror(p):
			continue
		}
		if n := a.st.byName[p.Spec.NodeName]; n == nil || n.from != ofPool && n.from != ofGroup {
			continue
		}
		if len(p.OwnerReferences) == 0 {
			orphans = append(orphans, Object{Kind: "Pod", Name: ref.String(), Detail: "on " + p.Spec.NodeName})
		}
		requests := intake.PodRequests(p)
		var lacks []string
		for _, r := range []string{string(corev1.ResourceCPU), string(corev1.ResourceMemory)} {
			if requests[r] == 0 {
				lacks = append(lacks, r)
			}
		}
		if len(lacks) > 0 {
			missing[a.st.owners.of(p)] = "without " + strings.Join(lacks, " and ")
		}
	}
	for o, what := range missing {
		x := o.object()
		x.Detail = what
		asks = append(asks, x)
	}
	for _, p := range a.st.standing.Invalid {
		invalid = append(invalid, Object{Kind: "Pod", Name: p.Namespace + "/" + p.Name, Detail: fmt.Sprintf("%s: %q", karpv1.DoNotDisruptAnnotationKey, p.Annotations[karpv1.DoNotDisruptAnnotationKey])})
	}
	sortObjects(asks)
	a.risk(Risk{
		Code: WithoutOwner, Level: High, Title: "Pods without an owner", Text: "Nothing creates them anew: evicted, they are gone.", Remedy: "A Deployment, a StatefulSet or a Job.",
	}, orphans)
	a.risk(Risk{
		Code: NoRequests, Level: Low, Title: "Workloads without requests", Text: "They count as nothing where nodes are chosen, and take from others what they use. Every amount of this report leaves them out.", Remedy: "Requests for CPU and memory.",
	}, asks)
	a.risk(Risk{
		Code: BadAnnotation, Level: High, Title: "Annotations that can't be read", Text: "They mean to keep pods from being disrupted, and do not.", Remedy: `"true", "false", or a duration such as "30m".`,
	}, invalid)
	if waiting > 0 {
		var objects []Object
		for _, ref := range a.sortedPods() {
			if p := a.st.pods[ref]; p.Spec.NodeName == "" {
				objects = append(objects, Object{Kind: "Pod", Name: ref.String()})
			}
		}
		a.risk(Risk{Code: WaitingPods, Level: High, Title: "Pods that wait for a node", Text: "They are in no amount of this report.", Remedy: "kubectl describe pod says why."}, objects)
	}
}

// nodeRisks are about single nodes.
func (a *audit) nodeRisks() {
	var sick, absent, unpriced []Object
	for _, n := range a.st.nodes {
		if n.from != ofPool && n.from != ofGroup {
			continue
		}
		switch {
		case n.absent:
			o := nodeObject(n)
			o.Kind, o.Detail = "NodeClaim", fmt.Sprintf("%s, created %s before the audit", o.Detail, a.st.from.TakenAt.Sub(n.CreatedAt).Round(time.Second))
			absent = append(absent, o)
		case !n.Ready:
			sick = append(sick, nodeObject(n))
		}
		if !n.known {
			what := n.InstanceType
			if what == "" {
				what = "no label " + corev1.LabelInstanceTypeStable
			}
			unpriced = append(unpriced, Object{Kind: "Node", Name: n.Name, Detail: what})
		}
	}
	a.risk(Risk{Code: NotReadyNodes, Level: High, Title: "Nodes that are not ready", Text: "They are paid for.", Remedy: "kubectl describe node says since when, and why."}, sick)
	a.risk(Risk{Code: WithoutNode, Level: High, Title: "Instances without a node", Text: "They were launched and are paid for, and no node of them is there. One that has just been launched takes a minute or two.", Remedy: "kubectl describe nodeclaim says what is missing; Karpenter and Kerf give up an instance after 15 minutes."}, absent)
	a.risk(Risk{Code: UnknownPrice, Level: High, Title: "Nodes without a known type or price", Text: "They count as nothing in the bill, and their pods are in no floor.", Remedy: "Give their price with --prices, or ask your account with --with-aws."}, unpriced)
}

// sortedPods are the pods that are not over, by namespace and name.
func (a *audit) sortedPods() []cluster.PodRef {
	if a.order == nil {
		for ref := range a.st.pods {
			a.order = append(a.order, ref)
		}
		slices.SortFunc(a.order, func(x, y cluster.PodRef) int {
			return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
		})
	}
	return a.order
}

// follows says what is not known where a kind could not be read.
var follows = map[string]string{
	"nodes":                  "what the cluster costs is not known at all",
	"pods":                   "what runs is not known: no floor, and every node looks empty, so nothing is said about them",
	"nodepools":              "all nodes are reckoned as if no NodePool governed them",
	"ec2nodeclasses":         "nodes of NodePools are reckoned as AL2023 with the usual disk",
	"nodeclaims":             "when nodes expire, and which instances have no node, is not known",
	"nodeoverlays":           "the prices that they give are left out",
	"namespaces":             "pods that choose others by the labels of namespaces may be placed wrongly",
	"poddisruptionbudgets":   "what they keep from being evicted is not known, and the moves leave them out",
	"deployments":            "whether Cluster Autoscaler runs is not known",
	"replicasets":            "Deployments are told by the names of their ReplicaSets",
	"statefulsets":           "",
	"daemonsets":             "new nodes are reckoned without room for daemons: the floor is too low",
	"jobs":                   "",
	"cronjobs":               "",
	"persistentvolumeclaims": "volumes are left out: pods may be tied to zones, and the floor is too low",
	"persistentvolumes":      "where volumes are is not known: the floor may be too low",
	"storageclasses":         "where volumes may be is not known",
	"csinodes":               "how many volumes nodes attach is not known",
	"priorityclasses":        "",
	"pods.metrics.k8s.io":    "what pods use is not known (metrics-server tells it)",
}

// unknown says what could not be known.
func (a *audit) unknown() {
	u := &a.report.Unknown
	for _, g := range a.st.from.Gaps {
		what := follows[g.Kind]
		optional := []string{"nodepools", "ec2nodeclasses", "nodeclaims", "nodeoverlays"}
		if what == "" || g.Absent && slices.Contains(optional, g.Kind) {
			continue
		}
		*u = append(*u, fmt.Sprintf("%s: %s; %s", g.Kind, g.Why, what))
	}
	if list := a.report.Prices.Unmatched; len(list) > 0 {
		*u = append(*u, fmt.Sprintf("Rules of the price file that match no instance of %s: %s. They change nothing.", a.m.region, strings.Join(list, ", ")))
	}
	if n := a.o.Prices.Len() - len(a.m.overlays); n > 0 {
		*u = append(*u, plural(n, "rule")+" of the price file "+cond(n == 1, "is", "are")+" for other regions than "+a.m.region+".")
	}
	c := a.report.Cluster
	if n := len(a.st.nodeless); n > 0 {
		p := a.st.nodeless[0]
		*u = append(*u, fmt.Sprintf("Nodes of %s that were not read: %s/%s runs on %s%s. No amount has these pods, and no risk says whether their workloads have one replica, or all in one place.",
			plural(n, "pod"), p.Namespace, p.Name, p.Spec.NodeName, cond(n == 1, "", fmt.Sprintf(" and %d more", n-1))))
	}
	if n := a.st.poolsUnread(); n > 0 {
		where := "the cluster has none that could be read: NodePools that were deleted, or that you may not list"
		if other := a.st.from.OtherVersions("nodepools"); other != "" {
			where = other
		} else if a.st.from.FromKubectl {
			where = "the file has none: add them with kubectl get nodepools,ec2nodeclasses,nodeclaims -o json"
		}
		*u = append(*u, fmt.Sprintf("NodePools: %s the label %s, and %s. The nodes are reckoned as if no NodePool governed them.", plural(n, "node")+cond(n == 1, " has", " have"), karpv1.NodePoolLabelKey, where))
	}
	if names := a.report.Bill.Unpriced; len(names) > 0 {
		more := ""
		if n := len(names); n > mostObjects {
			names, more = names[:mostObjects], fmt.Sprintf(" and %d more", n-mostObjects)
		}
		*u = append(*u, fmt.Sprintf("What %s cost%s: %s%s. Bill, floor and difference are without %s and their pods.", plural(len(a.report.Bill.Unpriced), "node"), cond(len(a.report.Bill.Unpriced) == 1, "s", ""), strings.Join(names, ", "), more, cond(len(a.report.Bill.Unpriced) == 1, "it", "them")))
	}
	if n := a.report.Bill.Windows; n > 0 {
		*u = append(*u, fmt.Sprintf("What Windows costs: %s count%s at the price of Linux, for no list price of Windows is known. AWS charges more for each vCPU: bill, floor and plan are too low by that. Give their price with --prices.", plural(n, "node"), cond(n == 1, "s", "")))
	}
	if len(a.st.from.Usage) > 0 {
		*u = append(*u, "What pods use is of one moment, as metrics-server told it. Peaks of the day and the week are not in it.")
	}
	if c.Nodes > 0 && a.st.from.Region == "" && a.o.Region == "" {
		*u = append(*u, "The region is not known: prices are those of "+borrowed+". Give it with --region.")
	}
	if c.Nodes > 0 {
		*u = append(*u, "Only instances are counted: no disks, traffic, load balancers, control plane, licences. Savings plans, reserved instances and private rates are in no list price: give them with --prices.")
	}
	if c.Fargate > 0 {
		*u = append(*u, fmt.Sprintf("Pods on Fargate are in no amount (%s).", plural(c.Fargate, "node")))
	}
	if c.Elsewhere > 0 {
		*u = append(*u, plural(c.Elsewhere, "node")+" of no known EC2 instance type are in no amount.")
	}
	if len(a.report.Floor.Assumed) > 0 {
		*u = append(*u, fmt.Sprintf("No NodePool says what may be launched in place of the nodes of node groups: assumed are types of generation %d and later, of the categories c, m and r and of those that run, in the zones and architectures in which they run, without bare metal and with no more than %d vCPUs unless larger ones run. Pods that run on demand stay on demand: what spot would save is told apart.", oldestGeneration, mostCPU))
	}
}
