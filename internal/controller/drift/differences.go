package drift

import (
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Difference is one way in which an instance is not what is asked for.
type Difference struct {
	Reason  string `json:"reason"` // as the condition Drifted has it
	Message string `json:"message"`
}

// Asked is what a claim is compared with.
type Asked struct {
	Pool  *karpv1.NodePool // nil where there is none
	Class *awsv1.EC2NodeClass
	// Types are those that the class could run, by name; nil while they are not known.
	Types map[string]*catalog.Type
	Now   time.Time
}

// Differences are all that are known between a claim and what is asked for, in the order in which the condition Drifted tells
// of them. The instance is nil while EC2 has not described it. That the claim's type is not sold any more is told at once: the
// condition waits until it has been so for a while.
func Differences(claim *karpv1.NodeClaim, instance *cloud.Instance, asked Asked) []Difference {
	typ := asked.Types[claim.Labels[requirement.InstanceType]]
	s := subject{claim: claim, class: asked.Class, instance: instance, pool: asked.Pool, typ: typ, now: asked.Now}
	var out []Difference
	for _, m := range marks {
		if text, v := m.compare(s); v == Differs {
			out = append(out, Difference{Reason: m.reason, Message: text})
		}
	}
	old := asked.Now.Sub(claim.CreationTimestamp.Time) >= oldEnough
	if len(asked.Types) > 0 && old && claim.Labels[requirement.InstanceType] != "" && claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) && !sold(claim, typ) {
		out = append(out, Difference{Reason: karpv1.ReasonInstanceTypeNotFound, Message: notSold(claim, typ)})
	}
	return out
}
