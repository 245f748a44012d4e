package intake

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// AttachLimits is how many volumes a node attaches by CSI driver, as its drivers report. Drivers that report no limit are
// left out; nil when none reports one.
func AttachLimits(node *storagev1.CSINode) res.List {
	if node == nil {
		return nil
	}
	var out res.List
	for i := range node.Spec.Drivers {
		d := &node.Spec.Drivers[i]
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			continue
		}
		if out == nil {
			out = res.List{}
		}
		out[csiDriver(d.Name)] = int64(max(0, *d.Allocatable.Count))
	}
	return out
}

// attachments are the volumes that the pod brings to its node: how many of its own by driver, and those that other pods
// may use too. A volume is the pod's own when it lives and dies with the pod, or its claim was made for the pod by a
// StatefulSet, which ends the claim's name with the pod's. Claims that can't be followed to a driver don't count.
func attachments(pod *corev1.Pod, look Lookup) (own res.List, shared []cluster.SharedVolume) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		var name string
		var mine bool
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
			mine = strings.HasSuffix(name, "-"+pod.Name)
		case v.Ephemeral != nil:
			name, mine = pod.Name+"-"+v.Name, true
		default:
			continue
		}
		driver := driverOf(look.PersistentVolumeClaim(pod.Namespace, name), look)
		switch {
		case driver == "":
		case mine:
			if own == nil {
				own = res.List{}
			}
			own[driver]++
		default:
			shared = append(shared, cluster.SharedVolume{Driver: driver, Volume: pod.Namespace + "/" + name})
		}
	}
	slices.SortFunc(shared, func(a, b cluster.SharedVolume) int {
		return cmp.Or(cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Volume, b.Volume))
	})
	return own, slices.Compact(shared)
}

// driverOf is the CSI driver that attaches the claim's volume; empty when there is none or it is not known.
func driverOf(claim *corev1.PersistentVolumeClaim, look Lookup) string {
	if claim == nil {
		return ""
	}
	if pv := look.PersistentVolume(claim.Spec.VolumeName); claim.Spec.VolumeName != "" && pv != nil {
		switch {
		case pv.Spec.CSI != nil:
			return csiDriver(pv.Spec.CSI.Driver)
		case pv.Spec.AWSElasticBlockStore != nil:
			return csiDriver(inTreeEBS)
		}
		return ""
	}
	class := look.StorageClass(volume.GetPersistentVolumeClaimClass(claim))
	if class == nil || class.Provisioner == noProvisioner {
		return ""
	}
	return csiDriver(class.Provisioner)
}

// Names of volume plug-ins.
const (
	inTreeEBS     = "kubernetes.io/aws-ebs"
	csiEBS        = "ebs.csi.aws.com"
	noProvisioner = "kubernetes.io/no-provisioner"
)

// csiDriver is the CSI driver that serves what was once a part of Kubernetes.
func csiDriver(name string) string {
	if name == inTreeEBS {
		return csiEBS
	}
	return name
}
