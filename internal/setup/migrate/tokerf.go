package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/kerf-sh/kerf/internal/settings"
)

// ToKerf are the steps that hand a cluster over to Kerf.
func ToKerf(f Facts) *Guide {
	w := newGuide(f, "kerf")
	if w.Kerf && !w.Trial {
		w.guide.First = append(w.guide.First, "The Deployment runs Kerf already ("+w.Running+"): these steps upgrade it.")
	}
	w.bypassed()
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

// bypassed names whoever applies the Deployment and would undo what another form changes.
func (w *writer) bypassed() {
	const undone = "The Deployment is applied by %s, which undoes what %s changes: %s first, or take the steps without --form."
	with := map[Form]string{WithHelm: "helm", WithKubectl: "kubectl"}[w.Form]
	switch {
	case w.Offline || with == "":
	case w.Owner.Manager == FluxHelmRelease:
		w.guide.First = append(w.guide.First, fmt.Sprintf(undone, w.Owner, with, "flux suspend helmrelease "+w.Owner.Name+" --namespace "+w.Owner.Namespace))
	case w.Owner.Manager == FluxKustomization:
		w.guide.First = append(w.guide.First, fmt.Sprintf(undone, w.Owner, with, "flux suspend kustomization "+w.Owner.Name+" --namespace "+w.Owner.Namespace))
	case w.Owner.Manager == ArgoCD:
		w.guide.First = append(w.guide.First, fmt.Sprintf(undone, w.Owner, with, "argocd app set "+w.Owner.Name+" --sync-policy none"))
	case w.Owner.Manager == Helm && w.Form == WithKubectl:
		w.guide.First = append(w.guide.First, fmt.Sprintf("The Deployment is of %s, which does not learn of what kubectl changes: the next helm upgrade undoes it, or fails at a conflict. "+
			"Without --form the steps change the release.", w.Owner))
	}
}

// stack are the flags of the commands that look at AWS.
func (w *writer) stack() string {
	out := "--cluster-name " + w.or(w.Cluster, "CLUSTER_NAME") + " --region " + w.or(w.Region, "REGION")
	if w.Profile != "" {
		out += " --profile " + shellescape.Quote(w.Profile)
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
		out += " --profile " + shellescape.Quote(w.Profile)
	}
	return out
}

func (w *writer) before() {
	check, note := w.kerf("migrate check %s", w.checkFlags()), "It also says what the role of the controller lacks in AWS, and prints the commands for it."
	var carried []string
	for _, r := range w.Refused {
		carried = append(carried, "the value "+r.Path)
	}
	if w.Recreate {
		carried = append(carried, "the selector of the Deployment")
	}
	if len(carried) > 0 { // what these steps take care of still blocks here
		note += "\nSteps below take care of: " + strings.Join(carried, ", ") + "."
		check += " || { " + pause("See that nothing else blocks the swap") + "; }"
	}
	w.step("See that nothing blocks the swap", note, check)
	namespace, release := w.or(w.Namespace, "NAMESPACE"), w.or(w.Release, "RELEASE")
	commands := []string{w.claims() + " > nodeclaims.before", sortClaims,
		w.kubectl("get nodepools,ec2nodeclasses,nodeclaims -o yaml > karpenter-objects.yaml"),
		w.kubectl("--namespace %s get deployment %s -o yaml > karpenter-deployment.yaml", namespace, cmp.Or(w.Deployment, release))}
	note = "The first file is compared after the swap, the others are copies to keep."
	if w.Owner.Release != "" && w.Owner.Manager != ArgoCD || w.Offline && w.Form == WithHelm {
		commands = append(commands, w.helm("get values %s --namespace %s -o yaml > karpenter-values.yaml", release, namespace),
			w.helm("list --namespace %s --filter %s > karpenter-release.txt", namespace, shellescape.Quote("^"+release+"$")))
		note += " Helm forgets the values and the version of the chart after ten more revisions."
	}
	w.step("Note what there is", note, commands...)
}

// sortClaims sorts the file of NodeClaims in its place: a pipe would hide that they could not be listed.
const sortClaims = "sort -o nodeclaims.before " + "nodeclaims.before"

// claims lists the NodeClaims.
func (w *writer) claims() string { return w.kubectl("get nodeclaims -o name") }

// charts is the folder of a chart.
func (w *writer) chart(name string) string {
	folder := w.Charts
	if folder == "" {
		folder = "charts"
	}
	return shellescape.Quote(strings.TrimSuffix(folder, "/") + "/" + name)
}

// definitionsStep brings the CRDs. A release that has them already is upgraded: were they put into a second one, removing the
// first would delete them with all objects.
func (w *writer) definitionsStep() {
	const what = "Bring Kerf's CRDs: first the definitions, then the controller that relies on them"
	switch {
	case w.CRDs.Manager == FluxHelmRelease || w.CRDs.Manager == FluxKustomization || w.CRDs.Manager == ArgoCD:
		w.step(what, "The definitions are applied by "+w.CRDs.String()+". Have it apply this file in place of Karpenter's definitions.",
			"kerf manifests --crds-only > kerf-crds.yaml", w.diff("kerf-crds.yaml"), pause("Commit kerf-crds.yaml in place of Karpenter's definitions, push it, and see that it is applied"))
	case w.CRDs.Release != "" && w.CRDs.Release != w.Release:
		w.step(what, "The release "+w.CRDs.Release+" has the definitions and keeps them, also for upgrades of Kerf: make no second one. Do not uninstall it while\n"+
			"Karpenter's chart is in it, before this step or after a way back: that deletes every NodePool. With Kerf's chart in it, Helm keeps the CRDs.",
			w.helm("upgrade %s %s --namespace %s", w.CRDs.Release, w.chart("kerf-crd"), w.CRDs.ReleaseNamespace))
	case w.Form == WithHelm:
		w.step(what, "", w.helm("upgrade kerf-crd %s --install --namespace %s --take-ownership", w.chart("kerf-crd"), w.or(w.Namespace, "NAMESPACE")))
	default:
		w.step(what, "", "kerf manifests --crds-only > kerf-crds.yaml", w.kubectl("apply --server-side --force-conflicts -f kerf-crds.yaml"))
	}
}

// diff shows what a file would change. kubectl ends with 1 where it changes something.
func (w *writer) diff(name string) string {
	return w.kubectl("diff --server-side --force-conflicts -f %s || [ $? = 1 ]", name)
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
	if w.Image == "" && w.Kerf {
		return out // it has its image
	}
	repository, tag := reference(w.Image)
	_, digest, _ := strings.Cut(w.Image, "@")
	out["controller.image.repository"] = w.or(repository, "IMAGE_REPOSITORY")
	if tag == "" && digest == "" {
		tag = w.or("", "IMAGE_TAG")
	}
	out["controller.image.tag"], out["controller.image.digest"] = tag, digest
	return out
}

// setLines are the flags of Helm that set the values of the swap.
func (w *writer) setLines() (out []string) {
	set := w.set()
	for _, path := range sortedKeys(set) {
		out = append(out, "  --set "+shellescape.Quote(path+"="+set[path]))
	}
	return out
}

func (w *writer) swapWithHelm() {
	release, namespace := w.or(w.Release, "RELEASE"), w.or(w.Namespace, "NAMESPACE")
	const failing = "When it fails, Karpenter runs on. docs/migrate.md, \"When a step fails\", says how to go on."
	if w.Owner.Release == "" && !w.Offline {
		w.installWithHelm(release, namespace, failing)
		return
	}
	keep := "--reset-then-reuse-values"
	var commands []string
	if len(w.Refused) > 0 {
		commands, keep = append(commands, file("kerf-values.yaml", w.acceptedValues())), "--reset-values --values kerf-values.yaml"
	}
	lines := []string{w.helm("upgrade %s %s --namespace %s %s", release, w.chart("kerf"), namespace, keep)}
	note := "The values of the release are kept. Pods are exchanged one after the other; the first of Kerf waits for the Lease until Karpenter gives it up.\n" + failing
	if w.TakeOwnership {
		lines[0] += " --take-ownership"
		note += "\n--take-ownership takes objects into the release that are not of it. helm rollback removes them: keep copies of roles that are yours."
	}
	if current, _ := w.Owner.current(); w.Trial && current.ServerSide {
		lines[0] += " " + overKubectl
		note += "\n" + overKubectlNote
	}
	if len(w.Refused) > 0 {
		note += "\nkerf-values.yaml has the values of the release without those that Kerf's chart refuses, or with them corrected."
	}
	lines = append(append(lines, w.setLines()...), "  --wait --timeout 10m")
	w.step("Swap", note, append(commands, strings.Join(lines, " \\\n"))...)
}

// overKubectl is the flag by which version 4 of Helm takes over fields that kubectl has set. Version 3 has no such flag, and takes
// them over without. Version 4 refuses it where it applies on the client's side, as it does for a release that version 3 made.
const overKubectl = "$(helm version --short | grep -q '^v3' || echo --force-conflicts)"

const overKubectlNote = "Version 4 of Helm needs --force-conflicts, as kubectl has set fields; version 3 does not know the flag. The command asks which it is."

// acceptedValues are the values of the release without those that Kerf's chart refuses. They are written out, as version 4 of Helm
// takes --set NAME=null only once: it keeps the null with the old revision, and refuses it the next time.
func (w *writer) acceptedValues() map[string]any {
	out := over(nil, w.Given.Values)
	for _, r := range w.Refused {
		if r.Correct != "" {
			put(out, r.Path, plainValue(r.Correct))
		} else {
			take(out, r.Path)
		}
	}
	return out
}

// installWithHelm makes a release of objects that belong to none.
func (w *writer) installWithHelm(release, namespace, note string) {
	command := w.helm("upgrade %s %s --install --namespace %s --take-ownership --skip-crds", release, w.chart("kerf"), namespace) + " " + overKubectl
	var commands []string
	if len(w.DeploymentValues) > 0 {
		commands, command = append(commands, w.valuesFile()), command+" --values kerf-values.yaml"
	}
	lines := append([]string{command}, w.setLines()...)
	lines = append(lines, "  --set "+shellescape.Quote("settings.clusterName="+w.or(w.Cluster, "CLUSTER_NAME")))
	if w.Queue != "" {
		lines = append(lines, "  --set "+shellescape.Quote("settings.interruptionQueue="+w.Queue))
	}
	lines = append(lines, "  --wait --timeout 10m")
	w.step("Swap", "No release has the Deployment: this makes one, with the values of the Deployment.\n"+overKubectlNote+"\n"+note,
		append(commands, strings.Join(lines, " \\\n"))...)
}

// valuesFile writes the values that make the Deployment which is there.
func (w *writer) valuesFile() string { return file("kerf-values.yaml", w.DeploymentValues) }

// manifests are the commands that write kerf.yaml, and show what it changes.
func (w *writer) manifests() []string {
	var out []string
	lines := []string{fmt.Sprintf("kerf manifests --name %s --namespace %s --cluster-name %s", w.or(w.Release, "RELEASE"), w.or(w.Namespace, "NAMESPACE"), w.or(w.Cluster, "CLUSTER_NAME"))}
	if w.Queue != "" || w.Offline {
		lines[0] += " --interruption-queue " + shellescape.Quote(w.or(w.Queue, "QUEUE"))
	}
	if w.RoleARN != "" {
		lines[0] += " --role-arn " + w.RoleARN
	}
	if len(w.DeploymentValues) > 0 {
		out = append(out, w.valuesFile())
		lines[0] += " --values kerf-values.yaml"
	}
	set := w.set()
	delete(set, `serviceAccount.annotations.eks\.amazonaws\.com/role-arn`)
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if set[path] != "" {
			lines = append(lines, "  --set "+shellescape.Quote(path+"="+set[path]))
		}
	}
	return append(out, strings.Join(lines, " \\\n")+" > kerf.yaml", w.diff("kerf.yaml"))
}

// whatManifestsKeep says where the values are from.
func (w *writer) whatManifestsKeep() string {
	if w.Offline {
		return "Without --offline, kerf migrate reads what the Deployment has of its own: tolerations, resources, variables. Here it has to be added, with --values."
	}
	return "kerf-values.yaml holds what the Deployment has of its own: tolerations, resources, variables and the like. kubectl diff shows what changes all the same:\n" +
		"read it, for labels, annotations and objects of yours that nothing here knows."
}

func (w *writer) swapWithKubectl() {
	w.step("Write Kerf's objects under the names of Karpenter's", w.whatManifestsKeep(), append(w.manifests(), pause("Read what changes"))...)
	w.step("Swap", "Delete nothing before: the Deployment is changed in place.", w.kubectl("apply --server-side --force-conflicts -f kerf.yaml"))
}

// deployment is the namespace and the name of the Deployment.
func (w *writer) deployment() (namespace, name string) {
	return w.or(w.Namespace, "NAMESPACE"), cmp.Or(w.Deployment, w.or(w.Release, "RELEASE"))
}

// seen are the commands that prove which controller runs: they fail where it is another than wanted. filter is what grep is
// given.
func (w *writer) seen(whose, filter string) []string {
	namespace, name := w.deployment()
	image := w.kubectl(`--namespace %s get deployment %s -o jsonpath='{.spec.template.spec.containers[?(@.name=="%s")].image}{"\n"}'`, namespace, name, cmp.Or(w.Container, "controller"))
	if filter != "" {
		image += " | grep " + filter + " || { echo " + shellescape.Quote("deployment/"+name+" does not name the image of "+whose+": the swap did not take place") + " >&2; false; }"
	}
	return []string{
		image,
		w.kubectl("--namespace %s rollout status deployment/%s --timeout 5m", namespace, name),
		w.kubectl("--namespace %s get deployment %s -o wide --label-columns app.kubernetes.io/version", namespace, name),
		w.kubectl("--namespace %s get lease %s -o jsonpath='{.spec.holderIdentity}{\"\\n\"}'", namespace, settings.LeaseName),
		w.claims() + " | sort | diff nodeclaims.before - || :",
	}
}

// drifted lists the NodeClaims with what is drifted.
func (w *writer) drifted() string {
	return w.kubectl(`get nodeclaims -o custom-columns='NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status,DRIFTED:.status.conditions[?(@.type=="Drifted")].status'`)
}

// image is what the name of the image has after the swap: the digest alone where one is given, as the chart puts a tag before it.
func (w *writer) image() string {
	_, digest, pinned := strings.Cut(w.Image, "@")
	switch {
	case pinned:
		return digest
	case w.Image != "":
		return w.Image
	case w.Kerf:
		return w.Running
	}
	return w.or("", "IMAGE_REPOSITORY") + ":" + w.or("", "IMAGE_TAG")
}

func (w *writer) after() {
	namespace, _ := w.deployment()
	w.step("See that Kerf has taken over", "The first command prints the image, and fails where it is not Kerf's. The third prints image and version, and how many pods are ready.\n"+
		"diff prints nothing but NodeClaims that were launched or removed for your pods meanwhile. DRIFTED is True for none that was not before.",
		append(w.seen("Kerf", "-F "+shellescape.Quote(w.image())), w.drifted(), w.kerf("doctor %s", w.checkFlags())+" || :")...)
	selector := w.Selector
	if selector == "" {
		selector = nameLabel + "=karpenter," + instanceLabel + "=" + w.or(w.Release, "RELEASE")
	}
	w.step("Watch for an hour", "Go back when pods wait that Karpenter would have placed, when nodes are replaced without a change of yours, or when the log repeats errors.\n"+
		"The log is that of all pods, of which one leads. Pods that do not fit are in the list of pods; the events leave them out.",
		w.kubectl("--namespace %s logs --selector %s --container %s --prefix --tail -1 | grep '\"level\":\"ERROR\"' || :", namespace, shellescape.Quote(selector), cmp.Or(w.Container, "controller")),
		w.kubectl("get pods --all-namespaces --field-selector status.phase=Pending"),
		w.kubectl("get events --all-namespaces --field-selector type=Warning,reason!=FailedScheduling --sort-by .lastTimestamp"),
		w.kerf("migrate to-karpenter")+"   # prints the way back")
	w.step("Later, if you like: what Kerf's set-up has in AWS beyond Karpenter's", "The swap does not need it, and is done: dead-letter queue, alarms, a narrower policy of the queue. Karpenter works with it as well.\n"+
		"What a CloudFormation stack or Terraform owns is changed there: docs/stack.md. Nothing is changed where fix.sh is empty.",
		pause("The swap is done. Watch for an hour; what follows is optional"),
		"kerf stack check --live "+w.stack()+" || :", "kerf stack check --live --fix "+w.stack()+" > fix.sh || :",
		"[ ! -s fix.sh ] || { less fix.sh && "+pause("sh fix.sh is run next. Read it")+" && sh fix.sh; }")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
