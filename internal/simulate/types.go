package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// launchable are those of the types that exist which the requirements of some NodePool allow, by name: all of them where none does.
// The others can't be on any node, and are left out of the simulated account: to have them described, with their prices, is the larger
// part of what a small cluster takes.
func (s *Spec) launchable() ([]string, error) {
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, err
	}
	vocab := requirement.NewVocabulary()
	var pools []requirement.Requirements
	for _, m := range s.Manifests {
		var p karpv1.NodePool
		if err := json.Unmarshal([]byte(m.JSON), &p); err != nil {
			return nil, fmt.Errorf("%s: %w", m.From, err)
		}
		if p.Kind != "NodePool" {
			continue
		}
		wanted, err := vocab.Parse(intake.Terms(p.Spec.Template.Spec.Requirements))
		if err != nil {
			return s.Types, nil //nolint:nilerr // the API refuses the object, and says why
		}
		pools = append(pools, wanted)
	}
	offered, _ := facts.Offerings(s.Region)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		t, ok := facts.Type(name)
		if !ok || len(s.Types) > 0 && !slices.Contains(s.Types, name) {
			continue
		}
		is, err := vocab.Parse(ofTheType(t))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(pools, is.Intersects) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return s.Types, nil
	}
	return out, nil
}

// ofTheType are the labels of a type's nodes that no EC2NodeClass and no offering decides.
func ofTheType(t *ec2facts.Type) []requirement.Term {
	shape := instancetype.NewShape(t, nil, instancetype.Config{})
	return slices.DeleteFunc(shape.Type.Requirements, func(r requirement.Term) bool {
		switch r.Key {
		case corev1.LabelInstanceTypeStable, corev1.LabelArchStable:
			return false
		case awsv1.LabelInstanceTenancy:
			return true
		}
		return !strings.HasPrefix(r.Key, awsv1.Group+"/instance-")
	})
}
