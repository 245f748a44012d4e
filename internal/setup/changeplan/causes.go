package changeplan

import (
	"context"
	"fmt"
	"maps"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/drift"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// causes are all differences between a claim and what its pool and class ask for.
func (l *look) causes(claim *karpv1.NodeClaim, v *view) []drift.Difference {
	name := claim.Labels[karpv1.NodePoolLabelKey]
	pool := v.pools[name]
	// The class that the claim was made by, as the controller compares it: that the pool names another one now shows as another
	// template.
	class := v.classes[claim.Spec.NodeClassRef.Name]
	if pool == nil || class == nil {
		return nil
	}
	claim = stamped(claim, l.seen.pools[name], l.seen.classes[class.Name])
	return drift.Differences(claim, l.instances[claim.Status.ProviderID], drift.Asked{Pool: pool, Class: class, Types: v.types[class.Name], Now: l.Now})
}

// stamped is the claim as the controller has it once it has adopted it: hashes of another controller or of another way of
// hashing are replaced by those of pool and class as they are stored.
func stamped(claim *karpv1.NodeClaim, pool *karpv1.NodePool, class *awsv1.EC2NodeClass) *karpv1.NodeClaim {
	set := map[string]string{}
	if pool != nil && claim.Annotations[karpv1.NodePoolHashVersionAnnotationKey] != karpv1.NodePoolHashVersion {
		set[karpv1.NodePoolHashAnnotationKey], set[karpv1.NodePoolHashVersionAnnotationKey] = pool.Hash(), karpv1.NodePoolHashVersion
	}
	if class != nil {
		hash, version := class.Annotations[awsv1.AnnotationEC2NodeClassHash], class.Annotations[awsv1.AnnotationEC2NodeClassHashVersion]
		if hash != "" && version != "" && claim.Annotations[awsv1.AnnotationEC2NodeClassHashVersion] != version {
			set[awsv1.AnnotationEC2NodeClassHash], set[awsv1.AnnotationEC2NodeClassHashVersion] = hash, version
		}
	}
	if len(set) == 0 {
		return claim
	}
	out := claim.DeepCopy()
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	maps.Copy(out.Annotations, set)
	return out
}

// list finds what the classes of a view could run.
func (l *look) list(ctx context.Context, v *view) {
	v.types = map[string]map[string]*catalog.Type{}
	for _, name := range slices.Sorted(maps.Keys(v.classes)) {
		types, err := l.Cloud.Types(ctx, v.classes[name])
		if err != nil {
			gap := fmt.Sprintf("EC2NodeClass %s: which instance types it could run is not known: %v", name, err)
			if !slices.Contains(l.gaps, gap) {
				l.gaps = append(l.gaps, gap)
			}
			continue
		}
		byName := make(map[string]*catalog.Type, len(types))
		for _, t := range types {
			byName[t.Name] = t
		}
		v.types[name] = byName
	}
}
