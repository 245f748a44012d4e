package simulate

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/sim/simcluster"
)

// PoolsOf are the NodePools and EC2NodeClasses of a snapshot as a file; nil if it has no NodePool. NodePools launch in the zones of their
// subnets, as they do in the cluster. What a snapshot with hashed names leaves out of EC2NodeClasses is filled in: all of it is replaced
// by what the simulated account has.
//
// Errors: it has NodePools in other versions only.
func PoolsOf(name string, s *snapshot.Snapshot) (*File, error) {
	if len(s.NodePools) == 0 {
		if other := s.OtherVersions("nodepools"); other != "" {
			return nil, fmt.Errorf("%s: %s: name the NodePools to simulate with -f", name, other)
		}
		return nil, nil
	}
	zones := map[string][]string{} // by class
	var items []any
	for _, c := range s.NodeClasses {
		c = c.DeepCopy()
		c.APIVersion, c.Kind = awsv1.GroupVersion.String(), changeplan.KindClass
		for _, subnet := range c.Status.Subnets {
			zones[c.Name] = append(zones[c.Name], subnet.Zone)
		}
		slices.Sort(zones[c.Name])
		zones[c.Name] = slices.Compact(zones[c.Name])
		fillIn(&c.Spec)
		items = append(items, c)
	}
	for _, p := range s.NodePools {
		p = p.DeepCopy()
		p.APIVersion, p.Kind = karpv1.GroupVersion.String(), changeplan.KindPool
		t := &p.Spec.Template.Spec
		if t.NodeClassRef != nil && len(zones[t.NodeClassRef.Name]) > 0 {
			t.Requirements = append(t.Requirements, karpv1.NodeSelectorRequirementWithMinValues{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones[t.NodeClassRef.Name]})
		}
		items = append(items, p)
	}
	for _, o := range s.NodeOverlays { // whoever reads the file says that they are left out
		o = o.DeepCopy()
		o.APIVersion, o.Kind = v1alpha1.GroupVersion.String(), "NodeOverlay"
		items = append(items, o)
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return nil, err
	}
	return &File{Name: name, Data: text}, nil
}

// fillIn adds what an EC2NodeClass must have and a snapshot with hashed names has not.
func fillIn(s *awsv1.EC2NodeClassSpec) {
	own := map[string]string{"karpenter.sh/discovery": simcluster.ClusterName}
	if s.Role == "" && s.InstanceProfile == nil && s.LaunchTemplate == nil {
		s.Role = "KarpenterNodeRole-" + simcluster.ClusterName
	}
	if len(s.SubnetSelectorTerms) == 0 {
		s.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{Tags: own}}
	}
	if len(s.SecurityGroupSelectorTerms) == 0 {
		s.SecurityGroupSelectorTerms = []awsv1.SecurityGroupSelectorTerm{{Tags: own}}
	}
	if len(s.AMISelectorTerms) == 0 {
		s.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: "al2023@" + awsv1.AliasVersionLatest}}
	}
}
