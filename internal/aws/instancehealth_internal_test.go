package aws

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/offering"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// A class that was fixed is not closed for the instances that were launched before.
func TestInstancesFromBeforeAChangeDoNotCloseTheClass(t *testing.T) {
	const hash, version, template = awsv1.AnnotationEC2NodeClassHash, awsv1.AnnotationEC2NodeClassHashVersion, awsv1.AnnotationLaunchTemplate
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: map[string]string{hash: "2", version: "v1"}}}
	for name, c := range map[string]struct {
		launched map[string]string
		closed   bool
	}{
		"from the class as it is":        {map[string]string{hash: "2", version: "v1"}, true},
		"it is not known from which":     {nil, true},
		"another way of hashing":         {map[string]string{hash: "1", version: "v0"}, true},
		"from the class before a change": {map[string]string{hash: "1", version: "v1"}, false},
		"from another launch template":   {map[string]string{hash: "2", version: "v1", template: "lt-1:1"}, false},
	} {
		p := &Provider{unavailable: offering.NewUnavailable(nil)}
		p.InstanceFailed(&karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: c.launched}}, class, &cloud.Ended{Blame: cloud.BlameClass})
		if closed := p.unavailable.Snapshot().ClassClosed(classState(class)) != ""; closed != c.closed {
			t.Errorf("%s: the class is closed: %v", name, closed)
		}
	}
}

// A price that is set by hand must not open a class that is closed because its instances die.
func TestAClosedClassStaysClosedForWhatGetsAPriceLater(t *testing.T) {
	types := []*catalog.Type{{Name: "m5.large", Offerings: []catalog.Offering{
		{Zone: "a", CapacityType: catalog.OnDemand, Price: 1, Available: true},
		{Zone: "a", CapacityType: catalog.Spot, Unavailable: offering.NoPrice},
	}}}
	var h heldBack
	hand := h.back(types, offering.Dying)[0].Overlay([]catalog.Overlay{{Name: "by-hand", Price: &catalog.PriceRule{Price: 7}}}, nil)
	for _, o := range hand.Offerings {
		if o.Available || o.Unavailable != offering.Dying {
			t.Errorf("%s is available: %v, closed for %q", o.CapacityType, o.Available, o.Unavailable)
		}
	}
}
