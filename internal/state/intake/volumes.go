package intake

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// maxVolumeAlternatives bounds the product of the alternatives of a pod's volumes.
const maxVolumeAlternatives = 256

// bindCompleted is on a claim whose binding to its volume is complete.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// VolumeClaims are the names of the claims that the pod uses, its generic ephemeral volumes included.
func VolumeClaims(pod *corev1.Pod) []string {
	var out []string
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// volumeTerms resolves what the pod's volumes demand of a node: alternatives, ORed. A nil result with an empty problem
// is no demand; problem says why no node can serve the pod, with the way out.
func volumeTerms(pod *corev1.Pod, look Lookup) (alternatives [][]requirement.Term, problem string) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		var terms [][]requirement.Term
		switch {
		case v.PersistentVolumeClaim != nil:
			if problem = usedByAnother(pod, v.PersistentVolumeClaim.ClaimName, look); problem == "" {
				terms, problem = claimTerms(pod.Namespace, v.PersistentVolumeClaim.ClaimName, false, look)
			}
		case v.Ephemeral != nil:
			terms, problem = ephemeralTerms(pod, v.Name, look)
		}
		if problem != "" {
			return nil, problem
		}
		alternatives = cross(alternatives, terms)
	}
	return alternatives, ""
}

// OnePodOnly reports whether a claim may be used by one pod at a time.
func OnePodOnly(claim *corev1.PersistentVolumeClaim) bool {
	return claim != nil && slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod)
}

// usedByAnother says that a pod without a node waits for a claim that another pod uses. One that ends soon is not waited for: it is
// gone before a new node is ready.
//
// Source: kube-scheduler's volume restrictions plug-in, v1.36.
func usedByAnother(pod *corev1.Pod, name string, look Lookup) (problem string) {
	if pod.Spec.NodeName != "" || !OnePodOnly(look.PersistentVolumeClaim(pod.Namespace, name)) {
		return ""
	}
	if user := look.UserOf(pod.Namespace, name, pod.UID); user != "" {
		return fmt.Sprintf("persistentvolumeclaim %q is in use by pod %q and may be used by one pod only; delete that pod or wait until it has ended", name, user)
	}
	return ""
}

// ephemeralTerms is claimTerms for a generic ephemeral volume, whose claim Kubernetes makes for the pod. A claim of that
// name that is not the pod's is none of its own, and the scheduler never binds the pod.
func ephemeralTerms(pod *corev1.Pod, volume string, look Lookup) ([][]requirement.Term, string) {
	name := pod.Name + "-" + volume
	claim := look.PersistentVolumeClaim(pod.Namespace, name)
	switch {
	case claim == nil:
		return nil, fmt.Sprintf("persistentvolumeclaim %q of its ephemeral volume %q is not made yet; it is tried again when it is", name, volume)
	case !metav1.IsControlledBy(claim, pod):
		return nil, fmt.Sprintf("persistentvolumeclaim %q, which its ephemeral volume %q needs, belongs to something else; delete the claim or rename the pod", name, volume)
	}
	return claimTerms(pod.Namespace, name, true, look)
}

// claimTerms are the alternatives of one claim. replaced says that a pod which is moved gets another claim, as those of
// generic ephemeral volumes do.
func claimTerms(namespace, name string, replaced bool, look Lookup) ([][]requirement.Term, string) {
	claim := look.PersistentVolumeClaim(namespace, name)
	what := fmt.Sprintf("persistentvolumeclaim %q", name)
	switch {
	case claim == nil:
		return nil, what + " does not exist; create it"
	case claim.DeletionTimestamp != nil:
		return nil, what + " is being deleted; recreate it when it is gone"
	case claim.Status.Phase == corev1.ClaimLost:
		return nil, what + " has lost its volume; restore the volume or recreate the claim"
	case claim.Spec.VolumeName != "":
		return boundTerms(what, claim, replaced, look)
	default:
		return unboundTerms(what, claim, look)
	}
}

func boundTerms(what string, claim *corev1.PersistentVolumeClaim, replaced bool, look Lookup) ([][]requirement.Term, string) {
	volume := look.PersistentVolume(claim.Spec.VolumeName)
	switch {
	case volume == nil:
		return nil, fmt.Sprintf("%s names persistentvolume %q, which does not exist; create it", what, claim.Spec.VolumeName)
	case volume.DeletionTimestamp != nil:
		return nil, fmt.Sprintf("%s is bound to persistentvolume %q, which is being deleted", what, volume.Name)
	case claim.Annotations[bindCompleted] == "" && claim.Status.Phase != corev1.ClaimBound:
		return nil, fmt.Sprintf("%s is not bound yet to persistentvolume %q; it is tried again when it is", what, volume.Name)
	}
	terms, free := persistentVolumeTerms(volume, replaced)
	if free {
		return nil, ""
	}
	if gone := goneHost(volume, terms, look); gone != "" {
		return nil, fmt.Sprintf("%s is bound to a local volume on host %q, which is gone; delete the claim", what, gone)
	}
	if len(terms) == 0 {
		return nil, fmt.Sprintf("%s is bound to persistentvolume %q, whose node affinity matches no node", what, volume.Name)
	}
	return terms, ""
}

// persistentVolumeTerms are the alternatives of a volume's node affinity together with its zone labels; free means that
// any node will do. The host name of a local volume is left out where replaced: a pod that is moved gets another generic ephemeral volume.
func persistentVolumeTerms(volume *corev1.PersistentVolume, replaced bool) (terms [][]requirement.Term, free bool) {
	labels := zoneLabelTerms(volume.Labels)
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		if len(labels) == 0 {
			return nil, true
		}
		return [][]requirement.Term{labels}, false
	}
	for _, t := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if len(t.MatchExpressions) == 0 {
			continue // matches nothing, or a node by name
		}
		alternative, err := nodeTerms(t.MatchExpressions)
		if err != nil {
			continue
		}
		if replaced && isLocal(volume) {
			alternative = slices.DeleteFunc(alternative, func(t requirement.Term) bool { return t.Key == corev1.LabelHostname })
		}
		alternative = sortTerms(append(alternative, labels...))
		if len(alternative) == 0 {
			return nil, true
		}
		terms = append(terms, alternative)
	}
	return terms, false
}

// isLocal reports whether the volume is a disk or a folder of one host.
func isLocal(volume *corev1.PersistentVolume) bool {
	return volume.Spec.Local != nil || volume.Spec.HostPath != nil
}

// LocalHosts are the host names that the node affinity of a local volume names; nil for other volumes.
func LocalHosts(volume *corev1.PersistentVolume) (hosts []string) {
	if !isLocal(volume) {
		return nil
	}
	terms, _ := persistentVolumeTerms(volume, false)
	for _, alternative := range terms {
		hosts = append(hosts, namedHosts(alternative)...)
	}
	return hosts
}

// namedHosts are the host names that an alternative allows, nil where it allows any.
func namedHosts(alternative []requirement.Term) []string {
	for _, t := range alternative {
		if t.Key == corev1.LabelHostname && t.Operator == requirement.In {
			return t.Values
		}
	}
	return nil
}

// goneHost is the host of a local volume where no node has one of the host names that its alternatives ask for; empty
// otherwise.
func goneHost(volume *corev1.PersistentVolume, terms [][]requirement.Term, look Lookup) (gone string) {
	if !isLocal(volume) {
		return ""
	}
	for _, alternative := range terms {
		hosts := namedHosts(alternative)
		if len(hosts) == 0 || slices.ContainsFunc(hosts, look.HasHost) {
			return ""
		}
		gone = hosts[0]
	}
	return gone
}

// zoneLabelTerms reads the zone and region labels of volumes that older provisioners made; several zones are joined by
// two underscores.
//
// Source: kube-scheduler's volume zone plug-in, v1.36.
func zoneLabelTerms(labels map[string]string) []requirement.Term {
	var out []requirement.Term
	for key, value := range labels {
		if k := Key(key); value != "" && (k == corev1.LabelTopologyZone || k == corev1.LabelTopologyRegion) {
			out = append(out, requirement.Term{Key: k, Operator: requirement.In, Values: sortedSet(strings.Split(value, "__"))})
		}
	}
	return sortTerms(out)
}

// SelectedNode is the node that the scheduler has chosen for a claim and that its volume is being made for; empty where there is none, or the
// claim has a volume. As long as it stands the scheduler puts no pod of the claim on any other node.
//
// Source: kube-scheduler's volume binding plug-in, v1.36.
func SelectedNode(claim *corev1.PersistentVolumeClaim) string {
	if claim == nil || claim.Spec.VolumeName != "" {
		return ""
	}
	return claim.Annotations[volume.AnnSelectedNode]
}

func unboundTerms(what string, claim *corev1.PersistentVolumeClaim, look Lookup) ([][]requirement.Term, string) {
	name := volume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return nil, what + " is not bound and names no storage class; set storageClassName or bind it to a volume"
	}
	class := look.StorageClass(name)
	if class == nil {
		return nil, fmt.Sprintf("%s names storage class %q, which does not exist; create it or name another", what, name)
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate {
		return nil, fmt.Sprintf("%s waits for storage class %q, which binds at once, to bind it; use volumeBindingMode WaitForFirstConsumer or see why the provisioner does not answer", what, class.Name)
	}
	if node := SelectedNode(claim); node != "" && !look.HasNode(node) {
		return nil, fmt.Sprintf("%s waits for a volume on node %q, which is gone, and the scheduler puts its pod on no other; its provisioner (%s) has to take the annotation %s off the claim: see why it does not answer, or take it off", what, node, class.Provisioner, volume.AnnSelectedNode)
	}
	var out [][]requirement.Term
	for _, t := range class.AllowedTopologies {
		var alternative []requirement.Term
		for _, e := range t.MatchLabelExpressions {
			alternative = append(alternative, requirement.Term{Key: Key(e.Key), Operator: requirement.In, Values: sortedSet(e.Values)})
		}
		if len(alternative) == 0 {
			continue
		}
		out = append(out, sortTerms(alternative))
	}
	return out, ""
}

// cross combines two sets of alternatives, each nil when it demands nothing. Only combinations that can hold together
// are kept; when there is none, all are, so that the reason names the volumes' conflict.
func cross(a, b [][]requirement.Term) [][]requirement.Term {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...)
	}
	var all, good [][]requirement.Term
	for _, x := range a {
		for _, y := range b {
			both := sortTerms(append(slices.Clone(x), y...))
			if contains(all, both) {
				continue
			}
			all = append(all, both)
			if !contradictory(both) {
				good = append(good, both)
			}
			if len(all) >= maxVolumeAlternatives {
				break
			}
		}
	}
	if len(good) > 0 {
		return good
	}
	return all
}

func contains(all [][]requirement.Term, x []requirement.Term) bool {
	return slices.ContainsFunc(all, func(y []requirement.Term) bool {
		return slices.EqualFunc(x, y, func(a, b requirement.Term) bool { return compareTerms(a, b) == 0 })
	})
}

// contradictory reports whether the In terms of one key have no value in common. Volumes use no other operator in
// practice; what is missed here the engine finds.
func contradictory(terms []requirement.Term) bool {
	values := map[string][]string{}
	for _, t := range terms {
		if t.Operator != requirement.In {
			continue
		}
		have, ok := values[t.Key]
		if !ok {
			values[t.Key] = t.Values
			continue
		}
		left := slices.DeleteFunc(slices.Clone(have), func(v string) bool { return !slices.Contains(t.Values, v) })
		if len(left) == 0 {
			return true
		}
		values[t.Key] = left
	}
	return false
}
