package migrate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/drift"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
)

// typed reads stored objects leniently, as the controller does; what can't be read is left out, and said by objects.
func typed[T any](list []unstructured.Unstructured) []*T {
	var out []*T
	for i := range list {
		o := new(T)
		if convert(list[i].Object, o) == nil {
			out = append(out, o)
		}
	}
	return out
}

func (s *Seen) claims() []*karpv1.NodeClaim {
	return slices.DeleteFunc(typed[karpv1.NodeClaim](s.Objects["NodeClaim"]), func(c *karpv1.NodeClaim) bool {
		return c.Spec.NodeClassRef != nil && c.Spec.NodeClassRef.Group != awsv1.Group
	})
}

// drift says which nodes Kerf would replace though nothing is changed. There must be none but those that Karpenter is about
// to replace as well.
func (e *examination) drift() {
	e.hashes()
	if e.Drift == nil {
		if e.NoDrift != "" {
			e.unknown("NodeClaims", "which of them Kerf would see as drifted by image, subnet, security group or type is not known: %s", e.NoDrift).
				why("the hashes of NodePools and EC2NodeClasses were compared").
				fix("kerf plan   # with credentials for AWS")
		}
		return
	}
	marked := map[string]bool{}
	for _, c := range e.claims() {
		marked[c.Name] = c.StatusConditions().Get(karpv1.ConditionTypeDrifted).IsTrue()
	}
	newer := map[string]bool{} // classes that select something else since the controller looked last
	for _, c := range e.Drift.Changes {
		if c.Kind == changeplan.KindClass {
			newer[c.Name] = true
		}
		for _, p := range c.Problems {
			e.blocks(c.Kind+" "+c.Name, "Kerf could not use it: %s", p).why("Kerf launches nothing by it").fix("kerf plan")
		}
	}
	class := map[string]string{}
	for _, c := range e.claims() {
		if c.Spec.NodeClassRef != nil {
			class[c.Name] = c.Spec.NodeClassRef.Name
		}
	}
	rolls := 0
	for i := range e.Drift.Nodes {
		n := &e.Drift.Nodes[i]
		if !n.Rolls {
			continue
		}
		rolls++
		var causes []string
		for _, d := range n.Causes {
			causes = append(causes, d.Reason+": "+d.Message)
		}
		object := "NodeClaim " + n.Claim
		switch {
		case marked[n.Claim]:
			e.differs(object, "it is drifted, and Karpenter says so too").with(causes...).why("Kerf goes on with its replacement, under the same budgets")
		case newer[class[n.Claim]] && slices.ContainsFunc(n.Causes, func(d drift.Difference) bool { return d.Reason == "AMIDrift" }):
			e.differs(object, "it will drift: its class selects a newer image since Karpenter looked last").with(causes...).
				why("Karpenter is about to see that as well").fix("kerf plan")
		default:
			e.blocks(object, "Kerf would replace its node, though Karpenter does not call it drifted").with(causes...).
				why("a swap must replace no node").
				fix("kubectl describe nodeclaim "+n.Claim+"   # wait for Karpenter to mark it, or correct what differs", "kerf plan --verbose")
		}
	}
	if rolls == 0 {
		e.fine("NodeClaims", "none of %d would be replaced after the swap", len(e.Drift.Nodes))
	}
	for _, g := range e.Drift.Gaps {
		e.unknown("NodeClaims", "%s", g)
	}
}

// hashes compares the hashes that stand on the objects with Kerf's, which needs no AWS. Hashes of another version are
// stamped anew at the take-over, and a difference is forgotten with them.
func (e *examination) hashes() {
	pools := map[string]*karpv1.NodePool{}
	for _, p := range typed[karpv1.NodePool](e.Objects["NodePool"]) {
		pools[p.Name] = p
	}
	classes := map[string]*awsv1.EC2NodeClass{}
	for _, c := range typed[awsv1.EC2NodeClass](e.Objects["EC2NodeClass"]) {
		classes[c.Name] = c
	}
	compared, forgotten := 0, []string{}
	for _, c := range e.claims() {
		pool := pools[c.Labels[karpv1.NodePoolLabelKey]]
		if pool == nil || c.Spec.NodeClassRef == nil || !c.DeletionTimestamp.IsZero() {
			continue
		}
		class := classes[c.Spec.NodeClassRef.Name]
		differs, other := differences(c, pool, class)
		compared++
		drifted := c.StatusConditions().Get(karpv1.ConditionTypeDrifted)
		switch {
		case drifted.IsTrue() && (drifted.Reason == "NodePoolDrifted" || drifted.Reason == "NodeClassDrifted") && differs == "" && other != "":
			forgotten = append(forgotten, c.Name)
		case differs == "" || e.Drift != nil: // which says more of it
		case drifted.IsTrue():
			e.differs("NodeClaim "+c.Name, "it is drifted, and Karpenter says so too: %s", differs).why("Kerf goes on with its replacement, under the same budgets")
		default:
			e.blocks("NodeClaim "+c.Name, "Kerf would replace its node: %s", differs).
				why("a swap must replace no node").
				fix("kubectl describe nodeclaim "+c.Name+"   # wait for Karpenter to replace it, or correct what differs", "kerf plan --verbose")
		}
	}
	if len(forgotten) > 0 {
		e.differs("NodeClaims "+few(forgotten), "Karpenter calls them drifted by a hash that Kerf stamps anew").
			why("Kerf keeps their nodes as they are; let Karpenter replace them before the swap, or replace them yourself afterwards").
			fix("kubectl delete nodeclaim " + forgotten[0] + "   # drains the node; the NodePool launches another where one is needed")
	}
	if e.Drift == nil && compared > 0 && !slices.ContainsFunc(e.findings, func(f Finding) bool { return f.Area == "drift" && f.Severity == Blocks }) {
		e.fine("NodeClaims", "the hashes of %d lead to no replacement", compared)
	}
}

// differences says how the hashes of a claim differ from those that it is compared with, and which are of another version.
func differences(c *karpv1.NodeClaim, pool *karpv1.NodePool, class *awsv1.EC2NodeClass) (differs, other string) {
	a := c.Annotations
	if v := a[karpv1.NodePoolHashVersionAnnotationKey]; v != karpv1.NodePoolHashVersion {
		other = karpv1.NodePoolHashVersionAnnotationKey + " is " + orWord(v, "not set")
	} else if have, want := a[karpv1.NodePoolHashAnnotationKey], pool.Hash(); have != want {
		return fmt.Sprintf("its %s is %s, and NodePool %s hashes to %s", karpv1.NodePoolHashAnnotationKey, orWord(have, "not set"), pool.Name, want), other
	}
	if class == nil {
		return "", other
	}
	version := class.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]
	if version != awsv1.EC2NodeClassHashVersion || a[awsv1.AnnotationEC2NodeClassHashVersion] != version {
		return "", awsv1.AnnotationEC2NodeClassHashVersion + " is " + orWord(version, "not set")
	}
	if have, want := a[awsv1.AnnotationEC2NodeClassHash], class.Annotations[awsv1.AnnotationEC2NodeClassHash]; have != want {
		return fmt.Sprintf("its %s is %s, and that of EC2NodeClass %s is %s", awsv1.AnnotationEC2NodeClassHash, orWord(have, "not set"), class.Name, want), other
	}
	return "", other
}
