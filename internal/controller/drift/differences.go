package drift

import (
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/cloud"
)

// Difference is one way in which a machine is not what is asked for.
type Difference struct {
	Reason  string `json:"reason"` // as the condition Drifted has it
	Message string `json:"message"`
}

// Differences are all that are known between a claim and its class, in the order in which the condition Drifted tells of
// them. The machine is nil while EC2 has not described it.
func Differences(claim *karpv1.NodeClaim, class *awsv1.EC2NodeClass, machine *cloud.Machine) []Difference {
	var out []Difference
	for _, m := range marks {
		if text, v := m.compare(subject{claim: claim, class: class, machine: machine}); v == Differs {
			out = append(out, Difference{Reason: m.reason, Message: text})
		}
	}
	return out
}
