package owntemplate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// refused lists what a template may not hold, or lacks, with the reason.
func (t *Template) refused() []string {
	d := t.data
	var out []string
	no := func(is bool, text string) {
		if is {
			out = append(out, text)
		}
	}
	no(t.Image == "" && t.Parameter == "", "it names no image (ImageId)")
	no(t.Profile == "", "it names no instance profile (IamInstanceProfile), without which instances can't join the cluster")
	no(d.InstanceType != "", fmt.Sprintf("it sets InstanceType %s; the instance type is chosen when an instance is launched: remove it", d.InstanceType))
	no(d.InstanceRequirements != nil, "it sets InstanceRequirements; the instance type is chosen when an instance is launched: remove it")
	no(len(d.NetworkInterfaces) > 0, "it sets NetworkInterfaces; the network plugin of the cluster configures them, and the subnet is chosen when an instance is launched: "+
		"remove them and name security groups under SecurityGroupIds")
	no(len(d.SecurityGroups) > 0 && len(d.SecurityGroupIds) == 0, "it names security groups by name (SecurityGroups), which EC2 knows in a default VPC only: name them under SecurityGroupIds")
	no(d.InstanceMarketOptions != nil && d.InstanceMarketOptions.MarketType != "", "it sets InstanceMarketOptions; whether spot instances are launched is the NodePool's to say (karpenter.sh/capacity-type): remove it")
	no(aws.ToBool(d.DisableApiTermination), "it sets DisableApiTermination, so instances could not be given back: remove it")
	out = append(out, placement(d.Placement)...)
	if c := d.CapacityReservationSpecification; c != nil {
		no(c.CapacityReservationTarget != nil || c.CapacityReservationPreference == types.CapacityReservationPreferenceCapacityReservationsOnly,
			"it targets a capacity reservation (CapacityReservationSpecification), which is not supported in templates: remove it")
	}
	for _, s := range d.TagSpecifications {
		for _, tag := range s.Tags {
			switch key := aws.ToString(tag.Key); key {
			case awsv1.TagNodePool, awsv1.TagNodeClaim, awsv1.TagNodeClass, awsv1.TagEKSCluster, awsv1.TagClusterUID:
				no(s.ResourceType == types.ResourceTypeInstance, fmt.Sprintf("it gives instances the tag %s, which is the controller's: remove it", key))
			}
		}
	}
	return out
}

func placement(p *types.LaunchTemplatePlacement) (out []string) {
	if p == nil {
		return nil
	}
	if aws.ToString(p.AvailabilityZone) != "" || aws.ToString(p.AvailabilityZoneId) != "" {
		out = append(out, "it sets Placement.AvailabilityZone; the zone is chosen when an instance is launched: remove it, and select subnets")
	}
	if aws.ToString(p.HostId) != "" || aws.ToString(p.HostResourceGroupArn) != "" || p.Tenancy == types.TenancyHost || p.Tenancy == types.TenancyDedicated {
		out = append(out, "it sets dedicated tenancy or a host (Placement), which is not supported in templates: remove it")
	}
	return out
}

// strays says why instances would not join this cluster.
func (t *Template) strays(cluster string) []string {
	var out []string
	if t.malformed != "" {
		out = append(out, t.malformed)
	}
	if t.Told.Folded {
		out = append(out, "all of its user data is on the line of the script's interpreter, as YAML's > folds it, so nothing of it would run: write | in place of >")
	}
	if name := t.Told.ClusterName; name != "" && name != cluster {
		out = append(out, fmt.Sprintf("its user data joins instances to cluster %q, and this is cluster %q", name, cluster))
	}
	return out
}

// kubelet is what the kubelet is told: by the user data and, where that says nothing or can't be read, by the class.
func (t *Template) kubelet(said *awsv1.KubeletConfiguration) *awsv1.KubeletConfiguration {
	told := t.Told.KubeletOrNil()
	switch {
	case said == nil:
		return told
	case told == nil:
		return said.DeepCopy()
	}
	merged := fieldsOf(said)
	for k, v := range fieldsOf(told) {
		merged[k] = v
	}
	raw, err := json.Marshal(merged)
	if err != nil {
		return told
	}
	out := &awsv1.KubeletConfiguration{}
	if err := json.Unmarshal(raw, out); err != nil {
		return told
	}
	return out
}

// contradicted lists the settings that class and user data make in different ways.
func (t *Template) contradicted(said *awsv1.KubeletConfiguration) []string {
	told := t.Told.KubeletOrNil()
	if said == nil || told == nil {
		return nil
	}
	var out []string
	is, has := fieldsOf(told), fieldsOf(said)
	for _, k := range sortedKeys(has) {
		if v, both := is[k]; both && !reflect.DeepEqual(v, has[k]) {
			out = append(out, fmt.Sprintf("spec.kubelet.%s is %s and the user data says %s, which counts: remove the field", k, text(has[k]), text(v)))
		}
	}
	return out
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(string(raw), `"`)
}

// fieldsOf are those fields that are set.
func fieldsOf(k *awsv1.KubeletConfiguration) map[string]any {
	out := map[string]any{}
	raw, err := json.Marshal(k)
	if err != nil {
		return out
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return map[string]any{}
	}
	return out
}

// rootVolume is the volume that ephemeral storage is on.
func rootVolume(device string, gib int64) awsv1.BlockDeviceMapping {
	return awsv1.BlockDeviceMapping{
		DeviceName: new(cmp.Or(device, "root")), RootVolume: true, EBS: &awsv1.BlockDevice{VolumeSize: resource.NewQuantity(gib<<30, resource.BinarySI)},
	}
}
