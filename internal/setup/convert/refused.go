package convert

import (
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

const inNewVersion = " in a new version of the template"

// refused says for which of its fields a class that launches from a template would be refused; see package owntemplate, which
// refuses them.
func (f *fields) refused(t *Template) {
	const refused = "the class is refused while the template has it: "
	for _, must := range []struct{ field, why string }{
		{"ImageId", "there is no image, and the template decides on it"},
		{"IamInstanceProfile", "there is no instance profile, and without one instances can't join the cluster"},
	} {
		if t.Data[must.field] == nil {
			f.lost(must.field+" (not set)", must.why, "set it"+inNewVersion)
		}
	}
	for _, field := range []string{"InstanceType", "InstanceRequirements", "NetworkInterfaces", "InstanceMarketOptions"} {
		if t.Data[field] != nil {
			f.lost(field, refused+"it is decided when an instance is launched", "remove it"+inNewVersion)
		}
	}
	if t.Data["SecurityGroups"] != nil && t.Data["SecurityGroupIds"] == nil {
		f.lost("SecurityGroups", refused+"EC2 knows groups by their names in a default VPC only", "name them by SecurityGroupIds"+inNewVersion)
	}
	if textOf(t.Data["DisableApiTermination"]) == "true" {
		f.lost("DisableApiTermination", refused+"such instances could not be given back", "remove it"+inNewVersion)
	}
	for _, field := range []string{"AvailabilityZone", "AvailabilityZoneId"} {
		if v := look(t.Data, "Placement", field); !blank(v) {
			f.lost("Placement."+field, refused+"the zone is decided when an instance is launched", "remove it"+inNewVersion+", and select zones by the subnets of the class or the requirements of the pool")
		}
	}
	for _, field := range []string{"HostId", "HostResourceGroupArn"} {
		if v := look(t.Data, "Placement", field); !blank(v) {
			f.lost("Placement."+field, refused+"dedicated hosts are not supported", "leave these instances to what launches them now, or remove it"+inNewVersion)
		}
	}
	if tenancy := textOf(look(t.Data, "Placement", "Tenancy")); tenancy == awsv1.TenancyDedicated || tenancy == "host" {
		f.lost("Placement.Tenancy", refused+tenancy+" tenancy is not supported in templates", "remove it"+inNewVersion+", or translate the template in place of keeping it")
	}
	reservation := look(t.Data, "CapacityReservationSpecification")
	if look(reservation, "CapacityReservationTarget") != nil || textOf(look(reservation, "CapacityReservationPreference")) == "capacity-reservations-only" {
		f.lost("CapacityReservationSpecification", refused+"reservations are not supported in templates", "remove it"+inNewVersion+", or translate the template in place of keeping it")
	}
	f.refusedTags(t)
}

func (f *fields) refusedTags(t *Template) {
	specs, _ := t.Data["TagSpecifications"].([]any)
	for _, s := range specs {
		tags, _ := look(s, "Tags").([]any)
		for _, tag := range tags {
			key := textOf(look(tag, "Key"))
			own := []string{awsv1.TagNodePool, awsv1.TagNodeClaim, awsv1.TagNodeClass, awsv1.TagEKSCluster, awsv1.TagClusterUID}
			if textOf(look(s, "ResourceType")) == "instance" && slices.Contains(own, key) {
				f.lost(member("TagSpecifications[instance]", key), "the class is refused while the template has it: the controller sets it itself", "remove it"+inNewVersion)
			}
		}
	}
}
