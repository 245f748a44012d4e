package audit

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// nodeOverlays takes in the NodeOverlays that the controller of the cluster uses: those that it says are ready. While its feature
// gate NodeOverlay is off it says nothing of new ones, and those that were ready before stay so. notes name the others.
func (m *market) nodeOverlays(list []*v1alpha1.NodeOverlay) (notes []string) {
	var refused, unread []string
	for _, o := range list {
		x, err := intake.Overlay(o)
		ready := o.StatusConditions().Root()
		switch {
		case o.DeletionTimestamp != nil:
		case err != nil || ready.IsFalse():
			refused = append(refused, o.Name)
		case !ready.IsTrue():
			unread = append(unread, o.Name)
		default:
			m.cluster = append(m.cluster, x)
		}
	}
	catalog.SortOverlays(m.cluster)
	if len(refused) > 0 {
		notes = append(notes, fmt.Sprintf("NodeOverlays that are refused: %s. They change no price here, as in the cluster; kubectl describe nodeoverlay says why.", strings.Join(refused, ", ")))
	}
	if len(unread) > 0 {
		notes = append(notes, fmt.Sprintf("NodeOverlays that no controller has evaluated: %s. They change no price here. Where the feature gate NodeOverlay is on, audit again once they are ready.", strings.Join(unread, ", ")))
	}
	return notes
}
