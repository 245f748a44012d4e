package owntemplate

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
)

// Template is a version of a launch template. It is immutable.
type Template struct {
	ID, Name string
	Number   int64
	// Image is the ID of the image; empty when Parameter names it.
	Image string
	// Parameter is the SSM parameter that holds the image's ID.
	Parameter string
	// Profile is the name of the instance profile.
	Profile string
	// Groups are IDs of security groups; none stands for the default group of the VPC.
	Groups []string
	// Disks are sizes of volumes in GiB by device; volumes whose snapshot decides are left out.
	Disks map[string]int64
	// Told is what the user data says.
	Told *userdata.Found

	malformed string // what of the user data can't be read at all
	data      *types.ResponseLaunchTemplateData
}

// parse takes a version apart.
func parse(v *launchtemplate.Version) *Template {
	d := v.Data
	t := &Template{ID: v.ID, Name: v.Name, Number: v.Number, Groups: slices.Clone(d.SecurityGroupIds), Disks: map[string]int64{}, data: d}
	t.Image = aws.ToString(d.ImageId)
	if parameter, ok := strings.CutPrefix(t.Image, "resolve:ssm:"); ok {
		t.Image, t.Parameter = "", parameter
	}
	if p := d.IamInstanceProfile; p != nil {
		t.Profile = aws.ToString(p.Name)
		if arn := aws.ToString(p.Arn); t.Profile == "" && arn != "" {
			t.Profile = arn[strings.LastIndexByte(arn, '/')+1:]
		}
	}
	for i := range d.BlockDeviceMappings {
		m := &d.BlockDeviceMappings[i]
		if m.Ebs != nil && m.NoDevice == nil && aws.ToInt32(m.Ebs.VolumeSize) > 0 {
			t.Disks[aws.ToString(m.DeviceName)] = int64(*m.Ebs.VolumeSize)
		}
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(d.UserData))
	if err != nil {
		t.malformed = "its user data is not in base64"
	}
	t.Told = userdata.Read(string(text))
	return t
}

// Status is the template as the class's status shows it.
func (t *Template) Status() *awsv1.LaunchTemplate {
	s := &awsv1.LaunchTemplate{ID: t.ID, Name: t.Name, Version: t.Number, Taints: slices.Clone(t.Told.Taints)}
	for k, v := range t.Told.Labels {
		if decidedElsewhere(k) {
			continue
		}
		if s.Labels == nil {
			s.Labels = map[string]string{}
		}
		s.Labels[k] = v
	}
	return s
}

// decidedElsewhere are labels that the instance or its NodeClaim decides, whatever the kubelet was told: they are written
// over when the node registers.
func decidedElsewhere(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	for _, d := range []string{"karpenter.sh", "karpenter.k8s.aws", "topology.kubernetes.io", "topology.k8s.aws", "failure-domain.beta.kubernetes.io"} {
		if domain == d {
			return true
		}
	}
	switch key {
	case "kubernetes.io/arch", "kubernetes.io/os", "kubernetes.io/hostname", "node.kubernetes.io/instance-type",
		"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type":
		return true
	}
	return false
}

// called is the template's name and ID.
func (t *Template) called() string {
	if t.Name == "" {
		return t.ID
	}
	return t.Name + " (" + t.ID + ")"
}

// summary says what was understood of the user data.
func (t *Template) summary() string {
	if t.Told.Family == awsv1.AMIFamilyCustom {
		return "what its user data tells the kubelet is not known (" + t.Told.Why + "): say under spec.kubelet what bears on pods and resources"
	}
	return fmt.Sprintf("its user data is read as that of %s", t.Told.Family)
}

// Class is the class as if it said itself what the template says: for the arithmetic of instance types, which then knows
// of no templates. root and disks are the image's root device and the sizes of its volumes in GiB.
func (t *Template) Class(class *awsv1.EC2NodeClass, root string, disks map[string]int64) *awsv1.EC2NodeClass {
	out := class.DeepCopy()
	spec := &out.Spec
	spec.LaunchTemplate = nil
	spec.AMIFamily = new(t.Told.Family)
	spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{ID: t.Image, SSMParameter: t.Parameter}}
	spec.Kubelet = t.kubelet(class.Spec.Kubelet)
	if t.Told.InstanceStore != nil {
		spec.InstanceStorePolicy = t.Told.InstanceStore
	}
	// One plain interface: what asks for others can't be launched from such a template.
	spec.NetworkInterfaces = []awsv1.NetworkInterface{{InterfaceType: awsv1.InterfaceTypeInterface}}
	if device, size := t.ephemeral(root, disks); size > 0 {
		spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{rootVolume(device, size)}
		all := map[string]int64{}
		maps.Copy(all, disks)
		maps.Copy(all, t.Disks)
		for _, other := range sortedKeys(all) {
			if other != device {
				spec.BlockDeviceMappings = append(spec.BlockDeviceMappings, awsv1.BlockDeviceMapping{DeviceName: &other, EBS: &awsv1.BlockDevice{}})
			}
		}
	}
	return out
}

// bottlerocketData is the device of the volume that Bottlerocket keeps pods' storage on.
const bottlerocketData = "/dev/xvdb"

// ephemeral is the volume with the pods' storage, by device, and its size in GiB, 0 where it is not known.
func (t *Template) ephemeral(root string, disks map[string]int64) (device string, gib int64) {
	device = root
	if t.Told.Family == awsv1.AMIFamilyBottlerocket {
		device = bottlerocketData
	}
	if size := t.Disks[device]; size > 0 {
		return device, size
	}
	if size := disks[device]; size > 0 {
		return device, size
	}
	if len(t.Disks) == 1 && device == "" {
		for only, size := range t.Disks {
			return only, size
		}
	}
	return device, 0
}

// sortedKeys are the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
