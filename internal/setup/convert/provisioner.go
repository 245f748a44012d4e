package convert

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// provisioner converts a Provisioner of v1alpha5, with the class that it may have inside.
func (c *converter) provisioner(d *document) {
	f := &fields{c: c, doc: d, root: d.root, report: c.object(d)}
	p := newPool(f.nameOr("default"))
	p.ObjectMeta = f.metadata(p.Name)
	f.report.Becomes = []string{"NodePool " + p.Name}
	template := &p.Spec.Template
	template.Labels = f.labels("spec", "labels")
	if a := f.textMap("spec", "annotations"); len(a) > 0 {
		template.Annotations = a
		f.kept("spec.annotations", "spec.template.metadata.annotations")
	}
	f.nodeTaints(&template.Spec, inTemplate, "spec")
	template.Spec.Requirements = f.requirements("spec", "requirements")
	f.oldDefaults(p)
	draft := &poolDraft{object: p, fields: f, kubelet: f.kubelet("spec", "kubeletConfiguration"), kubeletAt: "spec.kubeletConfiguration"}
	c.oldClassOf(f, p)
	f.oldDisruption(p)
	p.Spec.Limits, draft.limits = f.limits("spec", "limits", "resources")
	p.Spec.Weight = f.weight()
	f.leftovers()
	c.addPool(draft)
}

// Where a pool and a claim have what nodes are like.
const (
	inTemplate = "spec.template.spec."
	inClaim    = "spec."
)

// nodeTaints converts the taints below path.
func (f *fields) nodeTaints(spec *karpv1.NodeClaimTemplateSpec, to string, path ...string) {
	at := func(name string) []string { return append(append([]string(nil), path...), name) }
	if f.into(&spec.Taints, at("taints")...) {
		f.kept(f.at(at("taints")...), to+"taints")
	}
	if f.into(&spec.StartupTaints, at("startupTaints")...) {
		f.kept(f.at(at("startupTaints")...), to+"startupTaints")
	}
}

// oldClassOf converts the class of a Provisioner: inside of it, or an object of its own.
func (c *converter) oldClassOf(f *fields, p *karpv1.NodePool) {
	inside, has := f.take("spec", "provider")
	if name, ok := f.text("spec", "providerRef", "name"); ok {
		f.take("spec", "providerRef", "apiVersion")
		f.take("spec", "providerRef", "kind")
		p.Spec.Template.Spec.NodeClassRef = classRef(name)
		f.translated("spec.providerRef", "spec.template.spec.nodeClassRef: EC2NodeClass "+name, "")
		if has {
			f.lost("spec.provider", "the object has a providerRef, too, and both were refused together", "see which of the two counts")
		}
		return
	}
	if !has {
		inside = map[string]any{}
		f.decide("spec.provider (not set)", "EC2NodeClass "+p.Name, "there is neither provider nor providerRef", "see that the class is what its nodes need")
	}
	provider, ok := f.below(inside, "spec.provider")
	if !ok {
		return
	}
	class := newClass(c.freeName(p.Name))
	f.report.Becomes = append(f.report.Becomes, "EC2NodeClass "+class.object.Name)
	p.Spec.Template.Spec.NodeClassRef = classRef(class.object.Name)
	f.translated("spec.provider", "EC2NodeClass "+class.object.Name+", spec.template.spec.nodeClassRef", "the settings of AWS are an object of their own now")
	c.oldClass(provider, class)
	c.addClass(class)
}

// seconds is a number of seconds as a duration.
func seconds(n int64) karpv1.NillableDuration {
	d := time.Duration(math.MaxInt64)
	if n <= math.MaxInt64/int64(time.Second) {
		d = time.Duration(n) * time.Second
	}
	return karpv1.NillableDuration{Duration: &d, Raw: strconv.FormatInt(n, 10) + "s"}
}

// oldDisruption converts the times and the consolidation of v1alpha5.
func (f *fields) oldDisruption(p *karpv1.NodePool) {
	d := &p.Spec.Disruption
	empty, hasEmpty := f.count("spec", "ttlSecondsAfterEmpty")
	on, hasOn := f.truth("spec", "consolidation", "enabled")
	switch {
	case on:
		d.ConsolidationPolicy, d.ConsolidateAfter = karpv1.ConsolidationPolicyWhenEmptyOrUnderutilized, seconds(0)
		f.translated("spec.consolidation.enabled", "spec.disruption: consolidationPolicy WhenEmptyOrUnderutilized, consolidateAfter 0s", "")
		if hasEmpty {
			f.lost("spec.ttlSecondsAfterEmpty", "it was refused together with consolidation", "see which of the two counts")
		}
	case hasEmpty:
		d.ConsolidationPolicy, d.ConsolidateAfter = karpv1.ConsolidationPolicyWhenEmpty, seconds(empty)
		f.translated("spec.ttlSecondsAfterEmpty", fmt.Sprintf("spec.disruption: consolidationPolicy WhenEmpty, consolidateAfter %ds", empty), "")
		if hasOn {
			f.translated("spec.consolidation.enabled", "spec.disruption.consolidationPolicy: WhenEmpty", "")
		}
	default:
		d.ConsolidationPolicy, d.ConsolidateAfter = karpv1.ConsolidationPolicyWhenEmpty, karpv1.NeverDuration()
		at := "spec.ttlSecondsAfterEmpty (not set), spec.consolidation (not set)"
		if hasOn {
			at = "spec.consolidation.enabled, spec.ttlSecondsAfterEmpty (not set)"
		}
		f.translated(at, "spec.disruption: consolidationPolicy WhenEmpty, consolidateAfter Never",
			"without either, no node was taken away for being empty or badly used; the default now is to do both")
	}
	f.translated("spec.disruption.budgets (not set)", "", "there were no budgets: empty nodes went all at once, others one after the other; none is written, and so 10% of the nodes may go at a time, which is the default now")
	expire, ok := f.count("spec", "ttlSecondsUntilExpired")
	if !ok {
		p.Spec.Template.Spec.ExpireAfter = karpv1.NeverDuration()
		f.translated("spec.ttlSecondsUntilExpired (not set)", "spec.template.spec.expireAfter: Never", "without it nodes did not expire; the default now is 720h")
		return
	}
	p.Spec.Template.Spec.ExpireAfter = seconds(expire)
	f.translated("spec.ttlSecondsUntilExpired", fmt.Sprintf("spec.template.spec.expireAfter: %ds", expire), "an expired node goes now whatever budgets say; its pods move once their new instances are ready")
}

// count hands out a number that is not negative.
func (f *fields) count(path ...string) (int64, bool) {
	n, ok := f.number(path...)
	if ok && n < 0 {
		f.fail(f.at(path...), "want a number that is not negative, not %d", n)
		return 0, false
	}
	return n, ok
}

// limits converts limits. The texts are what was written, for a quantity has a form of its own choosing.
func (f *fields) limits(path ...string) (karpv1.Limits, map[string]string) {
	list, texts := f.quantities(path...)
	if len(list) == 0 {
		return nil, nil
	}
	f.kept(f.at(path...), "spec.limits")
	return karpv1.Limits(list), texts
}

// verbatimLimits puts limits back as they were written.
func verbatimLimits(text []byte, limits map[string]string) []byte {
	root, err := parse(text)
	at, ok := look(root, "spec", "limits").(map[string]any)
	if err != nil || !ok {
		return text
	}
	for name, written := range limits {
		at[name] = written
	}
	return render(root)
}

// quantities hands out a map of quantities, and the texts that they were read from.
func (f *fields) quantities(path ...string) (corev1.ResourceList, map[string]string) {
	texts := f.textMap(path...)
	out := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		q, ok := quantity(texts[name])
		if !ok {
			f.fail(member(f.at(path...), name), "want a quantity, not %q", texts[name])
			continue
		}
		out[corev1.ResourceName(name)] = q
	}
	return out, texts
}

// weight converts the weight. Zero was allowed and is what no weight means.
func (f *fields) weight() *int32 {
	n, ok := f.number("spec", "weight")
	switch {
	case !ok:
		return nil
	case n == 0:
		f.translated("spec.weight", "no weight", "0 is what no weight means")
		return nil
	case n < 0 || n > 100:
		f.fail("spec.weight", "want a number from 0 to 100, not %d", n)
		return nil
	}
	f.kept("spec.weight", "spec.weight")
	return new(int32(n))
}

// listedKubelet has the fields of KubeletConfiguration that are listed, and refuses values of other types.
type listedKubelet awsv1.KubeletConfiguration

// kubelet converts the kubelet's settings; nil without any.
func (f *fields) kubelet(path ...string) *awsv1.KubeletConfiguration {
	v, ok := f.take(path...)
	if !ok {
		return nil
	}
	at := f.at(path...)
	k, ok := f.below(v, at)
	if !ok {
		return nil
	}
	if runtime, ok := k.text("containerRuntime"); ok {
		k.lost(member(at, "containerRuntime"), "the image decides on the runtime ("+runtime+" was asked for); containerd is the only one since Kubernetes 1.24", "")
	}
	known := map[string]any{}
	for _, key := range []string{"systemReserved", "kubeReserved", "evictionHard", "evictionSoft", "evictionSoftGracePeriod"} {
		if m := k.textMap(key); m != nil { // quantities may be written as numbers
			known[key] = m
		}
	}
	for _, key := range []string{
		"clusterDNS", "maxPods", "podsPerCore", "evictionMaxPodGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota",
	} {
		if v, ok := k.take(key); ok {
			known[key] = v
		}
	}
	k.leftovers()
	var out listedKubelet
	if !f.decode(&out, at, known) || len(known) == 0 {
		return nil
	}
	return new(awsv1.KubeletConfiguration(out))
}
