package migrate

import (
	"strconv"
)

// karpenterChart is the name of upstream's chart.
const karpenterChart = "karpenter"

// ToKarpenter are the steps that give a cluster back.
func ToKarpenter(f Facts) *Guide {
	w := newGuide(f, "karpenter")
	w.guide.First = f.Unknown
	w.step("Note what there is", "", w.kubectl("get nodeclaims -o name | sort > nodeclaims.before"))
	switch w.Form {
	case WithGitOps:
		w.backWithGitOps()
	case WithKubectl:
		w.step("Swap", "Apply what was applied before. Roles that only Kerf has may stay.", w.kubectl("apply --server-side --force-conflicts -f %s", w.or("", "KARPENTER_MANIFEST")))
	default:
		w.backWithHelm()
	}
	w.step("Keep Kerf's CRDs", "They are those of the v1 API, and Karpenter works with them. Do not uninstall the release that has them: that deletes every NodePool.")
	namespace, name := w.or(w.Namespace, "NAMESPACE"), w.Deployment
	if name == "" {
		name = w.or(w.Release, "RELEASE")
	}
	w.step("See that Karpenter has taken over", "diff prints nothing but NodeClaims that were launched or removed for your pods meanwhile.",
		w.kubectl("--namespace %s rollout status deployment/%s", namespace, name),
		w.kubectl("--namespace %s get deployment %s -o jsonpath='{.spec.template.spec.containers[0].image}{\"\\n\"}'", namespace, name),
		w.kubectl("--namespace %s get lease %s -o jsonpath='{.spec.holderIdentity}{\"\\n\"}'", namespace, leaseName),
		w.kubectl("get nodeclaims -o name | sort | diff nodeclaims.before -"))
	w.step("Watch for an hour", "Karpenter stamps its hashes anew; no node is replaced for that.",
		w.kubectl(`get nodeclaims -o custom-columns='NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status,DRIFTED:.status.conditions[?(@.type=="Drifted")].status'`),
		w.kubectl("get pods --all-namespaces --field-selector status.phase=Pending"))
	return w.guide
}

func (w *writer) backWithHelm() {
	release, namespace := w.or(w.Release, "RELEASE"), w.or(w.Namespace, "NAMESPACE")
	last, ok := w.Owner.lastOf(karpenterChart)
	if !ok {
		note := "Take the last revision whose chart is karpenter-…"
		if len(w.Owner.Revisions) > 0 {
			note = "No revision with Karpenter's chart is kept any more (helm keeps ten). Install that chart over the release, with its values:\n" +
				"helm upgrade " + release + " oci://public.ecr.aws/karpenter/karpenter --version VERSION --namespace " + namespace + " --reset-values --values VALUES_FILE --wait"
			w.step("Swap", note)
			return
		}
		w.step("Find the revision to go back to", note, w.helm("history %s --namespace %s --max 20", release, namespace))
	}
	revision := ""
	note := "Values that were changed since are as they were in that revision."
	if ok {
		revision = strconv.Itoa(last.Number)
		note = "Revision " + revision + " is chart " + last.Chart + " " + last.Version + ". " + note
	}
	w.step("Swap", note, w.helm("rollback %s %s --namespace %s --wait --timeout 10m", release, w.or(revision, "REVISION"), namespace))
}

func (w *writer) backWithGitOps() {
	w.step("Swap", "The tool that applied the commit takes it back.", "git revert --no-edit "+w.or("", "COMMIT"), "git push")
	name, namespace := w.ownerFlags()
	flux := func(kind string) {
		w.step("Have Flux carry it out", "", "flux reconcile "+kind+" "+name+" --namespace "+namespace+" --with-source",
			w.kubectl("--namespace %s wait %s/%s --for=condition=Ready --timeout=10m", namespace, kind, name))
	}
	switch w.Owner.Manager {
	case FluxHelmRelease:
		flux("helmrelease")
	case FluxKustomization:
		flux("kustomization")
	case ArgoCD:
		w.step("Have Argo CD carry it out", "", "argocd app sync "+name, "argocd app wait "+name+" --health --timeout 600")
	}
}
