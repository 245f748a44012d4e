package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ToKerf are the steps that hand a cluster over to Kerf.
func ToKerf(f Facts) *Guide {
	w := newGuide(f, "kerf")
	w.before()
	w.definitionsStep()
	if w.Recreate {
		w.step("Delete the Deployment, whose selector can't be changed", "Nodes stay. Nothing scales them until the next step is done.",
			w.kubectl("--namespace %s delete deployment %s", w.or(w.Namespace, "NAMESPACE"), w.or(w.Deployment, "RELEASE")))
	}
	switch w.Form {
	case WithGitOps:
		w.swapWithGitOps()
	case WithKubectl:
		w.swapWithKubectl()
	default:
		w.swapWithHelm()
	}
	w.after()
	return w.guide
}

// stack are the flags of the commands that look at AWS.
func (w *writer) stack() string {
	out := "--cluster-name " + w.or(w.Cluster, "CLUSTER_NAME") + " --region " + w.or(w.Region, "REGION")
	if w.Profile != "" {
		out += " --profile " + quoted(w.Profile)
	}
	return out
}

// checkFlags are those of kerf migrate check and kerf doctor.
func (w *writer) checkFlags() string {
	out := "--cluster-name " + w.or(w.Cluster, "CLUSTER_NAME") + " --namespace " + w.or(w.Namespace, "NAMESPACE")
	if w.Region != "" {
		out += " --region " + w.Region
	}
	if w.Profile != "" {
		out += " --profile " + quoted(w.Profile)
	}
	return out
}

func (w *writer) before() {
	w.step("See that nothing blocks the swap", "", w.kerf("migrate check %s", w.checkFlags()))
	w.step("Give the controller's role what Kerf needs beyond Karpenter", "fix.sh is empty of commands when nothing is missing. Read it before you run it.",
		"kerf stack check --live "+w.stack(), "kerf stack check --live --fix "+w.stack()+" > fix.sh", "sh fix.sh")
	w.step("Note what there is", "The first file is compared after the swap, the second is a copy to keep.",
		w.kubectl("get nodeclaims -o name | sort > nodeclaims.before"), w.kubectl("get nodepools,ec2nodeclasses,nodeclaims -o yaml > karpenter-objects.yaml"))
}

// charts is the folder of a chart.
func (w *writer) chart(name string) string {
	folder := w.Charts
	if folder == "" {
		folder = "charts"
	}
	return quoted(strings.TrimSuffix(folder, "/") + "/" + name)
}

// definitionsStep brings the CRDs. A release that has them already is upgraded: were they put into a second one, removing the
// first would delete them with all objects.
func (w *writer) definitionsStep() {
	const what = "Bring Kerf's CRDs: first the definitions, then the controller that relies on them"
	switch {
	case w.CRDs.Manager == FluxHelmRelease || w.CRDs.Manager == FluxKustomization || w.CRDs.Manager == ArgoCD:
		w.step(what, "The definitions are applied by "+w.CRDs.String()+". Have it apply this file in place of Karpenter's definitions.",
			"kerf manifests --crds-only > kerf-crds.yaml", w.kubectl("diff --server-side --force-conflicts -f kerf-crds.yaml"))
	case w.CRDs.Release != "" && w.CRDs.Release != w.Release:
		w.step(what, "The release "+w.CRDs.Release+" has the definitions and keeps them. Do not uninstall it: that deletes every NodePool.",
			w.helm("upgrade %s %s --namespace %s", w.CRDs.Release, w.chart("kerf-crd"), w.CRDs.ReleaseNamespace))
	case w.Form == WithHelm:
		w.step(what, "", w.helm("upgrade kerf-crd %s --install --namespace %s --take-ownership", w.chart("kerf-crd"), w.or(w.Namespace, "NAMESPACE")))
	default:
		w.step(what, "", "kerf manifests --crds-only | "+w.kubectl("apply --server-side --force-conflicts -f -"))
	}
}

// set are the values of the swap, by path.
func (w *writer) set() map[string]string {
	out := maps.Clone(w.Values)
	if out == nil {
		out = map[string]string{}
	}
	if w.Compat != "" {
		out["settings.kerf.compat"] = w.Compat
	}
	if w.RoleARN != "" {
		out[`serviceAccount.annotations.eks\.amazonaws\.com/role-arn`] = w.RoleARN
	}
	if w.PinnedImage {
		out["controller.image.tag"], out["controller.image.digest"] = "", ""
	}
	if w.Image != "" || w.Mirror != "" {
		repository, tag := reference(w.Image)
		out["controller.image.repository"], out["controller.image.tag"] = w.or(repository, "IMAGE_REPOSITORY"), w.or(tag, "IMAGE_TAG")
		out["controller.image.digest"] = ""
		if _, digest, ok := strings.Cut(w.Image, "@"); ok {
			out["controller.image.digest"] = digest
			if tag == "" {
				delete(out, "controller.image.tag")
			}
		}
	}
	return out
}

func (w *writer) swapWithHelm() {
	lines := []string{w.helm("upgrade %s %s --namespace %s --reset-then-reuse-values", w.or(w.Release, "RELEASE"), w.chart("kerf"), w.or(w.Namespace, "NAMESPACE"))}
	if w.TakeOwnership {
		lines[0] += " --take-ownership"
	}
	set := w.set()
	for _, path := range slices.Sorted(maps.Keys(set)) {
		lines = append(lines, "  --set "+quoted(path+"="+set[path]))
	}
	lines = append(lines, "  --wait --timeout 10m")
	note := "The values of the release are kept. Pods are exchanged one after the other; the first of Kerf waits for the Lease until Karpenter gives it up."
	if w.TakeOwnership {
		note += "\n--take-ownership takes objects into the release that are not of it. helm rollback removes them: keep copies of roles that are yours."
	}
	w.step("Swap", note, strings.Join(lines, " \\\n"))
}

// kubectlFlags are those of kerf manifests.
func (w *writer) manifestsCommand() string {
	lines := []string{fmt.Sprintf("kerf manifests --name %s --namespace %s --cluster-name %s", w.or(w.Release, "RELEASE"), w.or(w.Namespace, "NAMESPACE"), w.or(w.Cluster, "CLUSTER_NAME"))}
	if w.Queue != "" || w.Offline {
		lines[0] += " --interruption-queue " + quoted(w.or(w.Queue, "QUEUE"))
	}
	if w.RoleARN != "" {
		lines[0] += " --role-arn " + w.RoleARN
	}
	set := w.set()
	delete(set, `serviceAccount.annotations.eks\.amazonaws\.com/role-arn`)
	maps.Copy(set, w.Settings)
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if set[path] != "" {
			lines = append(lines, "  --set "+quoted(path+"="+set[path]))
		}
	}
	return strings.Join(lines, " \\\n") + " > kerf.yaml"
}

func (w *writer) swapWithKubectl() {
	w.step("Write Kerf's objects under the names of Karpenter's", "Compare kerf.yaml with what you have patched into Karpenter's objects yourself.", w.manifestsCommand(),
		w.kubectl("diff --server-side --force-conflicts -f kerf.yaml"))
	w.step("Swap", "Delete nothing before: the Deployment is changed in place.", w.kubectl("apply --server-side --force-conflicts -f kerf.yaml"))
}

func (w *writer) after() {
	namespace, name := w.or(w.Namespace, "NAMESPACE"), w.Deployment
	if name == "" {
		name = w.or(w.Release, "RELEASE")
	}
	w.step("See that Kerf has taken over", "diff prints nothing but NodeClaims that were launched or removed for your pods meanwhile. DRIFTED is True for none that was not before.",
		w.kubectl("--namespace %s rollout status deployment/%s", namespace, name),
		w.kubectl("--namespace %s get lease %s -o jsonpath='{.spec.holderIdentity}{\"\\n\"}'", namespace, leaseName),
		w.kubectl("get nodeclaims -o name | sort | diff nodeclaims.before -"),
		w.kubectl(`get nodeclaims -o custom-columns='NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status,DRIFTED:.status.conditions[?(@.type=="Drifted")].status'`),
		w.kerf("doctor %s", w.checkFlags()))
	w.step("Watch for an hour", "Go back when pods wait that Karpenter would have placed, when nodes are replaced without a change of yours, or when the log repeats errors.",
		w.kubectl("--namespace %s logs deployment/%s --since 1h | grep '\"level\":\"ERROR\"'", namespace, name),
		w.kubectl("get pods --all-namespaces --field-selector status.phase=Pending"),
		w.kubectl("get events --all-namespaces --field-selector type=Warning --sort-by .lastTimestamp"),
		w.kerf("migrate to-karpenter")+"   # the way back")
}
