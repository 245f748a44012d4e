package intake

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestAttachLimitsAreThoseThatDriversReport(t *testing.T) {
	driver := func(name string, count *int32) storagev1.CSINodeDriver {
		d := storagev1.CSINodeDriver{Name: name}
		if count != nil {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: count}
		}
		return d
	}
	node := &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		driver("ebs.csi.aws.com", new(int32(25))), driver("efs.csi.aws.com", nil), driver("full.example", new(int32(0)))}}}
	if diff := cmp.Diff(res.List{"ebs.csi.aws.com": 25, "full.example": 0}, AttachLimits(node)); diff != "" {
		t.Error(diff)
	}
	if got := AttachLimits(nil); got != nil {
		t.Errorf("a node that has told nothing has limits %v", got)
	}
}

type claims struct {
	NoLookup
	pvcs map[string]*corev1.PersistentVolumeClaim
	pvs  map[string]*corev1.PersistentVolume
	scs  map[string]*storagev1.StorageClass
}

func (c claims) PersistentVolumeClaim(_, name string) *corev1.PersistentVolumeClaim {
	return c.pvcs[name]
}
func (c claims) PersistentVolume(name string) *corev1.PersistentVolume { return c.pvs[name] }
func (c claims) StorageClass(name string) *storagev1.StorageClass      { return c.scs[name] }

func TestPodsBringTheirVolumes(t *testing.T) {
	bound := func(volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	unbound := func(class string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}}
	}
	look := claims{
		pvcs: map[string]*corev1.PersistentVolumeClaim{"data-db-0": bound("csi"), "old-db-0": bound("in-tree"), "db-0-scratch": unbound("ebs"), "older-db-0": {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.BetaStorageClassAnnotation: "ebs"}}},
			"files": unbound("efs"), "local": unbound("local"), "nfs": bound("nfs")},
		pvs: map[string]*corev1.PersistentVolume{
			"csi": {Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com"}}}},
			"in-tree": {Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}}}},
			"nfs": {Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}}}},
		scs: map[string]*storagev1.StorageClass{"ebs": {Provisioner: "kubernetes.io/aws-ebs"}, "efs": {Provisioner: "efs.csi.aws.com"},
			"local": {Provisioner: "kubernetes.io/no-provisioner"}},
	}
	claim := func(name string) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
	}
	ephemeral := corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
	empty := corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
	for name, tc := range map[string]struct {
		volumes []corev1.Volume
		own     res.List
		shared  []cluster.SharedVolume
	}{
		"no volumes that are attached":               {volumes: []corev1.Volume{empty}},
		"a StatefulSet's claim is the pod's own":     {volumes: []corev1.Volume{claim("data-db-0")}, own: res.List{"ebs.csi.aws.com": 1}},
		"a plug-in that is a driver now":             {volumes: []corev1.Volume{claim("data-db-0"), claim("old-db-0")}, own: res.List{"ebs.csi.aws.com": 2}},
		"a claim that names its class by annotation": {volumes: []corev1.Volume{claim("older-db-0")}, own: res.List{"ebs.csi.aws.com": 1}},
		"an ephemeral volume that is not bound yet":  {volumes: []corev1.Volume{ephemeral}, own: res.List{"ebs.csi.aws.com": 1}},
		"a claim that others may use":                {volumes: []corev1.Volume{claim("files")}, shared: []cluster.SharedVolume{{Driver: "efs.csi.aws.com", Volume: "ns/files"}}},
		"the same claim twice is one volume":         {volumes: []corev1.Volume{claim("files"), claim("files")}, shared: []cluster.SharedVolume{{Driver: "efs.csi.aws.com", Volume: "ns/files"}}},
		"volumes without a driver, or not yet known": {volumes: []corev1.Volume{claim("local"), claim("nfs"), claim("missing")}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "db-0"}, Spec: corev1.PodSpec{Volumes: tc.volumes}}
			own, shared := attachments(pod, look)
			if diff := cmp.Diff(tc.own, own) + cmp.Diff(tc.shared, shared); diff != "" {
				t.Error(diff)
			}
		})
	}
}
