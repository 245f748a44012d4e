package v1_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/aws/v1/apitest"
)

func TestEC2NodeClassHashChangesWithWhatDrifts(t *testing.T) {
	disks := func(c *v1.EC2NodeClass, sizes ...string) {
		for _, size := range sizes {
			c.Spec.BlockDeviceMappings = append(c.Spec.BlockDeviceMappings, v1.BlockDeviceMapping{EBS: &v1.BlockDevice{VolumeSize: new(resource.MustParse(size))}})
		}
	}
	base := func(c *v1.EC2NodeClass) {
		disks(c, "1Ti", "20Gi")
		c.Spec.UserData = new("a")
	}
	for name, tc := range map[string]struct {
		change   func(*v1.EC2NodeClass)
		wantSame bool
	}{
		"nothing":               {func(*v1.EC2NodeClass) {}, true},
		"metadata and status":   {func(c *v1.EC2NodeClass) { c.Name, c.Generation, c.Status.InstanceProfile = "other", 7, "p" }, true},
		"other subnets":         {func(c *v1.EC2NodeClass) { c.Spec.SubnetSelectorTerms[0] = v1.SubnetSelectorTerm{ID: "subnet-1"} }, true},
		"other security groups": {func(c *v1.EC2NodeClass) { c.Spec.SecurityGroupSelectorTerms[0].Name = "x" }, true},
		"a reservation": {func(c *v1.EC2NodeClass) {
			c.Spec.CapacityReservationSelectorTerms = []v1.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		}, true},
		"another version of the alias":    {func(c *v1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2023@v1" }, true},
		"the family of the alias spelled": {func(c *v1.EC2NodeClass) { c.Spec.AMIFamily = new(v1.AMIFamilyAL2023) }, true},
		"disks in another order":          {func(c *v1.EC2NodeClass) { c.Spec.BlockDeviceMappings = nil; disks(c, "20Gi", "1Ti") }, true},
		"a size in another unit":          {func(c *v1.EC2NodeClass) { c.Spec.BlockDeviceMappings = nil; disks(c, "1024Gi", "20Gi") }, true},
		"an empty list of disks more":     {func(c *v1.EC2NodeClass) { c.Spec.NetworkInterfaces = []v1.NetworkInterface{} }, true},
		"the family of another alias":     {func(c *v1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "al2@latest" }, false},
		"user data":                       {func(c *v1.EC2NodeClass) { c.Spec.UserData = new("b") }, false},
		"the role":                        {func(c *v1.EC2NodeClass) { c.Spec.Role = "other" }, false},
		"a tag":                           {func(c *v1.EC2NodeClass) { c.Spec.Tags = map[string]string{"a": "b"} }, false},
		"a disk's size":                   {func(c *v1.EC2NodeClass) { c.Spec.BlockDeviceMappings = nil; disks(c, "2Ti", "20Gi") }, false},
		"a public address refused":        {func(c *v1.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = new(false) }, false},
		"pods per node":                   {func(c *v1.EC2NodeClass) { c.Spec.Kubelet = &v1.KubeletConfiguration{MaxPods: new(int32(9))} }, false},
		"hops of the metadata service":    {func(c *v1.EC2NodeClass) { c.Spec.MetadataOptions.HTTPPutResponseHopLimit = new(int64(2)) }, false},
		"IP prefixes":                     {func(c *v1.EC2NodeClass) { c.Spec.IPPrefixCount = new(int32(1)) }, false},
		"the placement group":             {func(c *v1.EC2NodeClass) { c.Spec.PlacementGroupSelector = &v1.PlacementGroupSelector{Name: "a"} }, false},
		"monitoring":                      {func(c *v1.EC2NodeClass) { c.Spec.DetailedMonitoring = new(true) }, false},
		"the context":                     {func(c *v1.EC2NodeClass) { c.Spec.Context = new("x") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := apitest.EC2NodeClass("c", base).Hash("ca")
			after := apitest.EC2NodeClass("c", base, tc.change).Hash("ca")
			if (before == after) != tc.wantSame {
				t.Errorf("hash %s became %s, want the same: %t", before, after, tc.wantSame)
			}
		})
	}
	if class := apitest.EC2NodeClass("c"); class.Hash("ca") == class.Hash("other") {
		t.Error("another CA bundle gives the same hash")
	}
}

// The value itself is on objects in clusters. If it must change, EC2NodeClassHashVersion does too.
func TestEC2NodeClassHashStaysWhatItIs(t *testing.T) {
	if got, want := apitest.EC2NodeClass("c").Hash("ca"), "7428570501382292145"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestEC2NodeClassHashLeavesTheClassAlone(t *testing.T) {
	class := apitest.EC2NodeClass("c")
	class.Hash("ca")
	if class.Spec.AMIFamily != nil || len(class.Spec.AMISelectorTerms) != 1 {
		t.Errorf("hashing changed the spec to %+v", class.Spec)
	}
}
