package aws_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// noSpotTags refuses, as a policy without that resource does, to launch what tags its spot request.
type noSpotTags struct{}

func (noSpotTags) Authorize(_ wire.Identity, action string, r *wire.Request) error {
	if action != "ec2:RunInstances" {
		return nil
	}
	for key, values := range r.Form {
		if slices.Contains(values, "spot-instances-request") {
			return wire.Denied(r, "not authorized to perform: ec2:CreateTags on resource: spot-instances-request/* ("+key+")")
		}
	}
	return nil
}

func TestSpotRequestsStayUntaggedWhereThePolicyForbidsTheirTags(t *testing.T) {
	for name, tt := range map[string]struct {
		authorizer wire.Authorizer
		tagged     bool
	}{
		"allowed":   {nil, true},
		"forbidden": {noSpotTags{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{Authorizer: tt.authorizer})
			p := newProvider(t, s, nil)
			ready(t, p)
			class := newClass(s)
			resolve(t, p, class)
			m, err := p.Launch(t.Context(), newClaim(1, need(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot")), class)
			if err != nil {
				t.Fatal(err)
			}
			i, _ := s.World.Instance(m.InstanceID)
			var types []string
			for _, spec := range i.Launch.TagSpecifications {
				types = append(types, spec.ResourceType)
			}
			if got := slices.Contains(types, "spot-instances-request"); got != tt.tagged {
				t.Errorf("the launch tags %v", types)
			}
			if i.Tags["karpenter.sh/nodepool"] == "" {
				t.Error("the instance itself has lost its tags")
			}
		})
	}
}
