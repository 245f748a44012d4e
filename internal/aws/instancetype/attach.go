package instancetype

import (
	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// ebsDriver is the CSI driver of EBS volumes.
const ebsDriver = "ebs.csi.aws.com"

// attachLimits is how many EBS volumes pods may bring to a node: what the type attaches, less the instance's own volumes,
// and less one network interface beyond the first where interfaces and volumes count together. The node's driver reports
// the true number once it runs; this is for the time before, and errs on the side of less. Types of which EC2 does not
// say what they attach have no limit here.
//
// Source: EC2 API, EbsInfo.MaximumEbsAttachments and AttachmentLimitType; the limits that the EBS CSI driver reports.
func (c *Config) attachLimits(t *ec2facts.Type) res.List {
	if t.EBS.MaxAttachments <= 0 {
		return nil
	}
	own := c.Volumes
	if t.EBS.AttachmentKind != "dedicated" {
		own++
	}
	return res.List{ebsDriver: int64(max(1, t.EBS.MaxAttachments-own))}
}

// volumesOf is how many volumes an instance is launched with: those that the class lists, and those of the family's images that
// it does not list. A custom image has one at least.
func volumesOf(mappings []awsv1.BlockDeviceMapping, family awsv1.AMIFamily) int {
	devices := map[string]bool{}
	switch {
	case family == awsv1.AMIFamilyBottlerocket:
		devices["/dev/xvda"], devices["/dev/xvdb"] = true, true // the system's and that of containers
	case family != awsv1.AMIFamilyCustom:
		devices[ephemeralDevice(family)] = true
	}
	for i := range mappings {
		if m := &mappings[i]; m.DeviceName != nil && m.EBS != nil {
			devices[*m.DeviceName] = true
		}
	}
	return max(1, len(devices))
}
