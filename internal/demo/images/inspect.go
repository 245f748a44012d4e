package images

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// booted is an instance of a kind and what was found out about it.
type booted struct {
	kind  *kind
	claim *karpv1.NodeClaim // nil: none was made
	node  *corev1.Node      // nil: it was not ready in time
	after time.Duration     // from the making of the claim to the node's being ready
	image string            // its name

	checked []string
	amiss   []string
}

func (b *booted) no(format string, args ...any) {
	b.amiss = append(b.amiss, fmt.Sprintf(format, args...))
}

// inspect compares a node with its claim, its pool and its instance.
func (r *run) inspect(b *booted) {
	b.labels()
	b.taints()
	b.allocatable()
	id := b.claim.Status.ProviderID[strings.LastIndexByte(b.claim.Status.ProviderID, '/')+1:]
	i, ok := r.world.Instance(id)
	if !ok {
		b.no("EC2 has no instance %s", id)
		return
	}
	image, _ := r.world.Image(i.ImageID)
	b.image = image.Name
	if image.Family != b.kind.family || image.Variant != b.kind.variant {
		b.no("it booted %s, which is %s %s", image.Name, image.Family, image.Variant)
	}
	if got := b.node.Labels[karpv1.CapacityTypeLabelKey]; got != b.kind.capacity {
		b.no("its capacity type is %q, want %q", got, b.kind.capacity)
	}
	if b.kind.proof != nil {
		if text := b.kind.proof(b, &i); text != "" {
			b.no("%s", text)
		}
	}
}

// labels checks that the node has those of its claim, which are those of pool and instance, and those of its image.
func (b *booted) labels() {
	n := 0
	for _, want := range []map[string]string{b.claim.Labels, b.kind.labels, {"kerf.sh/demo": b.kind.name, corev1.LabelOSStable: b.kind.system}} {
		for k, v := range want {
			if got, has := b.node.Labels[k]; !has || got != v {
				b.no("label %s is %q, want %q", k, got, v)
			}
			n++
		}
	}
	b.checked = append(b.checked, fmt.Sprintf("%d labels", n))
}

// taints checks that the node has those of its pool and no others.
func (b *booted) taints() {
	want := corev1.Taint{Key: taint, Value: b.kind.name, Effect: corev1.TaintEffectNoSchedule}
	if len(b.node.Spec.Taints) != 1 || !b.node.Spec.Taints[0].MatchTaint(&want) || b.node.Spec.Taints[0].Value != want.Value {
		b.no("its taints are %v, want %s", b.node.Spec.Taints, want.ToString())
	}
	b.checked = append(b.checked, "taint")
}

// diskLost is the most that a file system takes of a volume. Planning takes volumes by their size, as all of the v1 API
// does: 17Gi of a volume of 20Gi.
const diskLost = 0.02

// allocatable checks that the node has no less of anything than was planned with, and says how much more it has.
func (b *booted) allocatable() {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage} {
		b.compare(name)
	}
	if name, quantity, asked := strings.Cut(b.kind.resource, ": "); asked {
		has := b.node.Status.Allocatable[corev1.ResourceName(name)]
		if has.Cmp(resource.MustParse(quantity)) < 0 {
			b.no("it has %s of %s, and %s was asked for", has.String(), name, quantity)
		}
		b.compare(corev1.ResourceName(name))
	}
}

var short = map[corev1.ResourceName]string{corev1.ResourceEphemeralStorage: "disk"}

func (b *booted) compare(name corev1.ResourceName) {
	planned, has := b.claim.Status.Allocatable[name], b.node.Status.Allocatable[name]
	called := string(name)
	if s := short[name]; s != "" {
		called = s
	}
	share := has.AsApproximateFloat64()/planned.AsApproximateFloat64() - 1
	switch over := planned.Cmp(has); {
	case planned.IsZero():
		b.no("nothing of %s was planned with", name)
	case over > 0 && name == corev1.ResourceEphemeralStorage && share >= -diskLost:
		b.checked = append(b.checked, fmt.Sprintf("%s %s (-%s%%)", called, amount(name, has), percent(-share*100)))
	case over > 0:
		b.no("%s: it has %s, less than the %s that were planned with", name, has.String(), planned.String())
	case over == 0:
		b.checked = append(b.checked, called+" "+amount(name, has))
	default:
		b.checked = append(b.checked, fmt.Sprintf("%s %s (+%s%%)", called, amount(name, has), percent(share*100)))
	}
}

func percent(f float64) string {
	if f < 0.1 {
		return "<0.1"
	}
	return fmt.Sprintf("%.1f", f)
}

func amount(name corev1.ResourceName, q resource.Quantity) string {
	switch name {
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return fmt.Sprintf("%.1fGi", math.Floor(q.AsApproximateFloat64()/(1<<30)*10)/10)
	}
	return q.String()
}

func failures(list []booted) (out []string) {
	for i := range list {
		if len(list[i].amiss) > 0 {
			out = append(out, list[i].kind.title)
		}
	}
	return slices.Clip(out)
}
