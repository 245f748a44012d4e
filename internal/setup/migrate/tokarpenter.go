package migrate

import (
	"fmt"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// karpenterChart is the name of upstream's chart.
const karpenterChart = "karpenter"

// ToKarpenter are the steps that give a cluster back.
func ToKarpenter(f Facts) *Guide {
	w := newGuide(f, "karpenter")
	w.guide.First = f.Unknown
	if !w.Kerf && !w.Offline {
		w.guide.First = append([]string{"The Deployment names no image of Kerf (" + w.Running + "): there may be nothing to give back."}, w.guide.First...)
	}
	if !w.Trial {
		w.bypassed()
	}
	w.step("Note what there is", "", w.claims()+" > nodeclaims.before", sortClaims)
	switch w.Form {
	case WithGitOps:
		w.backWithGitOps()
	case WithKubectl:
		w.step("Swap", "Apply what was applied before. Roles that only Kerf has may stay.", w.kubectl("apply --server-side --force-conflicts -f %s", w.or("", "KARPENTER_MANIFEST")))
	default:
		w.backWithHelm()
	}
	w.step("Take off Kerf's taints", "They ask pods to prefer other nodes: those of nodes that are due to go, and of new ones whose turn has not come. Karpenter takes such a taint for a hard one.\n"+
		"kubectl calls it an error where a node does not bear the taint.",
		w.kubectl("taint nodes --selector karpenter.sh/nodepool kerf.sh/disruption-candidate- || true"),
		w.kubectl("taint nodes --selector karpenter.sh/nodepool kerf.sh/turn- || true"))
	w.step("Keep Kerf's CRDs", "They are those of the v1 API, and Karpenter works with them. Leave the release that has them: once Karpenter's chart is in it, uninstalling it deletes\n"+
		"every NodePool. With Kerf's chart in it, Helm keeps the CRDs.\n"+
		"What kerf stack added in AWS may stay as well.")
	filter := ""
	if w.Kerf {
		filter = "-v -F " + shellescape.Quote(w.Running)
	}
	w.step("See that Karpenter has taken over", "The first command prints the image, and fails where it is still Kerf's.\n"+
		"diff prints nothing but NodeClaims that were launched or removed for your pods meanwhile.", w.seen("Karpenter", filter)...)
	w.step("Watch for an hour", "Karpenter stamps its hashes anew; no node is replaced for that.",
		w.drifted(), w.kubectl("get pods --all-namespaces --field-selector status.phase=Pending"))
	return w.guide
}

func (w *writer) backWithHelm() {
	release, namespace := w.or(w.Release, "RELEASE"), w.or(w.Namespace, "NAMESPACE")
	last, ok := w.Owner.lastOf(karpenterChart)
	if !ok && !w.Offline && (len(w.Owner.Revisions) > 0 || w.Owner.Release == "") {
		w.backWithValues(release, namespace)
		return
	}
	revision, note := "", "Values that were changed since are as they were in that revision."
	if ok {
		revision = strconv.Itoa(last.Number)
		note = "Revision " + revision + " is chart " + last.Chart + " " + last.Version + ". " + note
	} else {
		w.step("Find the revision to go back to", "Take the last revision whose chart is karpenter-…: without a number, helm goes back by one, which may be Kerf's.",
			w.helm("history %s --namespace %s --max 20", release, namespace))
	}
	command := w.helm("rollback %s %s --namespace %s --wait --timeout 10m", release, w.or(revision, "REVISION"), namespace)
	if !w.Trial {
		w.step("Swap", note, command)
		return
	}
	if last.ServerSide {
		command += " " + overKubectl
		note += "\n" + overKubectlNote
	}
	commands := []string{command}
	if w.Applied {
		note += "\nThe rollback leaves what kubectl apply has set and Karpenter's chart does not: variables, the seccomp profile. The next command gives up those\n" +
			"fields, which removes them."
		commands = append(commands, w.giveUp(namespace))
	}
	if len(w.TrialVariables) > 0 {
		note += "\nThe rollback leaves variables that kubectl set env has set; the last command removes them."
		commands = append(commands, w.kubectl("--namespace %s set env deployment/%s %s-", namespace, w.Deployment, strings.Join(w.TrialVariables, "- ")))
	}
	w.step("Swap", note, commands...)
}

// giveUp applies a Deployment of no fields as kubectl: those that kubectl alone has set are removed, those that Helm has set as
// well are kept.
//
// Source: Kubernetes, "Server-Side Apply", "Transferring ownership" and "Field management".
func (w *writer) giveUp(namespace string) string {
	empty := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"%s","name":"%s"}}`, namespace, w.Deployment)
	return "echo " + shellescape.Quote(empty) + " | " + w.kubectl("apply --server-side -f -")
}

// backWithValues installs Karpenter's chart over the release: there is no revision of it to go back to.
func (w *writer) backWithValues(release, namespace string) {
	note := "No revision of the release has Karpenter's chart any more: Helm keeps ten."
	switch {
	case len(w.Owner.Revisions) == 0:
		note = "No Helm release has the Deployment, so that there is no revision to go back to."
	case w.Owner.Revisions[0].Number == 1:
		note = "The release never had Karpenter's chart, so that there is no revision to go back to."
	}
	flags := ""
	if w.Owner.Release == "" {
		flags = "--install --take-ownership " + overKubectl + " "
	}
	w.step("Swap", note+" This installs that chart in the place of Kerf's, with values of yours.",
		w.helm("upgrade %s oci://public.ecr.aws/karpenter/karpenter --version %s %s--namespace %s --skip-crds --reset-values --values %s --wait --timeout 10m",
			release, w.or("", "VERSION"), flags, namespace, w.or("", "VALUES_FILE")))
}

func (w *writer) backWithGitOps() {
	w.step("Swap", "In the clone of the repository: the tool that applied the commit takes it back.", "git revert --no-edit "+w.or("", "COMMIT"), "git push")
	switch w.Owner.Manager {
	case FluxHelmRelease:
		w.reconcileHelmRelease()
	case FluxKustomization:
		w.reconcileKustomization()
	case ArgoCD:
		w.syncApplication()
	}
}
