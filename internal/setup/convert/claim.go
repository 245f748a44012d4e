package convert

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// machine converts a Machine of v1alpha5.
func (c *converter) machine(d *document) { c.claim(d, "machineTemplateRef", oldPoolLabel) }

// nodeClaim converts a NodeClaim of v1beta1.
func (c *converter) nodeClaim(d *document) { c.claim(d, "nodeClassRef", karpv1.NodePoolLabelKey) }

// claim converts what stands for one instance.
func (c *converter) claim(d *document, ref, poolLabel string) {
	f := &fields{c: c, doc: d, root: d.root, report: c.object(d)}
	owner, owned := look(d.root, "metadata", "labels", poolLabel).(string)
	if owned && !c.options.OwnedClaims {
		f.lost("", "NodePool "+owner+" makes its own, and applying this one would launch an instance; an instance that runs is not taken over through it",
			"let the old controller drain its nodes, or print such objects with --owned-claims")
		return
	}
	out := &karpv1.NodeClaim{TypeMeta: metav1.TypeMeta{APIVersion: karpv1.GroupVersion.String(), Kind: "NodeClaim"}}
	out.ObjectMeta = f.metadata(f.nameOr("default"))
	if v, ok := out.Labels[oldPoolLabel]; ok {
		delete(out.Labels, oldPoolLabel)
		out.Labels[karpv1.NodePoolLabelKey] = v
		f.translated(member("metadata.labels", oldPoolLabel), "label "+karpv1.NodePoolLabelKey, "it was renamed")
	}
	var spec karpv1.NodeClaimTemplateSpec
	f.nodeTaints(&spec, inClaim, "spec")
	out.Spec.Taints, out.Spec.StartupTaints = spec.Taints, spec.StartupTaints
	out.Spec.Requirements = f.claimRequirements()
	out.Spec.Resources.Requests, _ = f.quantities("spec", "resources", "requests")
	if len(out.Spec.Resources.Requests) > 0 {
		f.kept("spec.resources", "spec.resources")
	}
	out.Spec.NodeClassRef = f.nodeClassRef(inClaim, "spec", ref)
	for _, name := range []string{"kubelet", "kubeletConfiguration"} {
		if _, ok := f.take("spec", name); ok {
			f.lost("spec."+name, "it belongs to the EC2NodeClass now", "see that spec.kubelet of EC2NodeClass "+out.Spec.NodeClassRef.Name+" has it")
		}
	}
	out.Spec.ExpireAfter = karpv1.NeverDuration()
	f.translated("spec.expireAfter (not set)", "spec.expireAfter: Never", "an object of its own did not expire; the default now is 720h")
	f.leftovers()
	f.report.Becomes = []string{"NodeClaim " + out.Name}
	f.decide("", "NodeClaim "+out.Name, "applied to a cluster, it launches an instance", "apply it only if that is what you want; the old instance is not taken over through it")
	c.items = append(c.items, item{value: out, doc: d})
}

// claimRequirements keeps the name of the pool, which a claim may have.
func (f *fields) claimRequirements() []karpv1.NodeSelectorRequirementWithMinValues {
	out := []karpv1.NodeSelectorRequirementWithMinValues{}
	if !f.into(&out, "spec", "requirements") {
		return out
	}
	for i := range out {
		if out[i].Key == oldPoolLabel {
			out[i].Key = karpv1.NodePoolLabelKey
			f.translated(member("spec.requirements", oldPoolLabel), "key "+karpv1.NodePoolLabelKey, "it was renamed")
		}
	}
	f.kept("spec.requirements", "spec.requirements")
	return out
}
