package foresee

import (
	"fmt"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/drift"
	"github.com/kerf-sh/kerf/internal/intake"
	"github.com/kerf-sh/kerf/internal/requirement"
)

// causes are all differences between a claim and what its pool and class ask for.
func (l *look) causes(claim *karpv1.NodeClaim, v *view) []drift.Difference {
	name := claim.Labels[karpv1.NodePoolLabelKey]
	pool := v.pools[name]
	if pool == nil || !claim.StatusConditions().IsTrue(karpv1.ConditionTypeLaunched) {
		return nil
	}
	var out []drift.Difference
	if d, differs := template(claim, l.seen.pools[name], pool); differs {
		out = append(out, d)
	}
	if d, differs := requirements(claim, pool); differs {
		out = append(out, d)
	}
	// The class that the claim was made by, as the controller compares it: one that the pool names instead shows as another
	// template.
	if class := v.classes[claim.Spec.NodeClassRef.Name]; class != nil {
		out = append(out, drift.Differences(stamped(claim, l.seen.classes[class.Name]), class, l.machines[claim.Status.ProviderID])...)
	}
	return out
}

// template compares the template that a claim was made from with the pool's. A claim whose hash is of another way of hashing
// is stamped with the stored pool's first, as the controller does.
func template(claim *karpv1.NodeClaim, stored, pool *karpv1.NodePool) (drift.Difference, bool) {
	was := claim.Annotations[karpv1.NodePoolHashAnnotationKey]
	if claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey] != karpv1.NodePoolHashVersion {
		if stored == nil {
			return drift.Difference{}, false
		}
		was = stored.Hash()
	}
	if was == "" || was == pool.Hash() {
		return drift.Difference{}, false
	}
	return drift.Difference{Reason: karpv1.ReasonNodePoolDrifted, Message: fmt.Sprintf("made from another template than NodePool %s has", pool.Name)}, true
}

// requirements looks whether a claim's labels still meet its pool's requirements.
func requirements(claim *karpv1.NodeClaim, pool *karpv1.NodePool) (drift.Difference, bool) {
	v := requirement.NewVocabulary()
	asked, err := v.Parse(intake.Terms(pool.Spec.Template.Spec.Requirements))
	if err != nil {
		return drift.Difference{}, false
	}
	key, conflict := v.Labels(claim.Labels).Conflict(asked, func(requirement.Key) bool { return false })
	if !conflict {
		return drift.Difference{}, false
	}
	name := v.Name(key)
	has, ok := claim.Labels[name]
	text := "has no such label"
	if ok {
		text = "is " + has
	}
	set, _ := asked.Get(key)
	want := ""
	for _, t := range set.Terms() {
		want = t.String()
	}
	return drift.Difference{Reason: karpv1.ReasonRequirementsDrifted, Message: fmt.Sprintf("%s %s, and NodePool %s asks for %s", name, text, pool.Name, want)}, true
}

// stamped is the claim as the controller has it once it has adopted it: a hash of another controller or of another way of
// hashing is replaced by that of the class as it is stored.
func stamped(claim *karpv1.NodeClaim, stored *awsv1.EC2NodeClass) *karpv1.NodeClaim {
	if stored == nil {
		return claim
	}
	hash, version := stored.Annotations[awsv1.AnnotationEC2NodeClassHash], stored.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]
	if hash == "" || version == "" || claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] == version {
		return claim
	}
	out := claim.DeepCopy()
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[awsv1.AnnotationEC2NodeClassHash], out.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] = hash, version
	return out
}
