package ec2

import (
	"strconv"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type describeVolumesInput struct {
	paging
	Filters []filter `query:"Filter"`
	IDs     []string `query:"VolumeId"`
}

type describeVolumesOutput struct {
	Volumes   []volume `xml:"volumeSet>item"`
	NextToken string   `xml:"nextToken,omitempty"`
}

type volume struct {
	ID                 string             `xml:"volumeId"`
	Size               int32              `xml:"size"`
	SnapshotID         string             `xml:"snapshotId"`
	Zone               string             `xml:"availabilityZone"`
	ZoneID             string             `xml:"availabilityZoneId"`
	Status             string             `xml:"status"`
	CreateTime         string             `xml:"createTime"`
	Attachments        []volumeAttachment `xml:"attachmentSet>item"`
	Type               string             `xml:"volumeType"`
	Iops               int32              `xml:"iops,omitempty"`
	Throughput         int32              `xml:"throughput,omitempty"`
	Encrypted          bool               `xml:"encrypted"`
	KmsKeyID           string             `xml:"kmsKeyId,omitempty"`
	MultiAttachEnabled bool               `xml:"multiAttachEnabled"`
	Tags               []tagItem          `xml:"tagSet>item"`
}

type volumeAttachment struct {
	VolumeID            string `xml:"volumeId"`
	InstanceID          string `xml:"instanceId"`
	Device              string `xml:"device"`
	Status              string `xml:"status"`
	AttachTime          string `xml:"attachTime"`
	DeleteOnTermination bool   `xml:"deleteOnTermination"`
}

// volumeStatus is the state of a volume: attached ones are in use.
func volumeStatus(v *world.Volume) string {
	if v.InstanceID == "" {
		return "available"
	}
	return "in-use"
}

// attached gives a value of a volume that only attached ones have.
func attached(get func(*world.Volume) string) func(*world.Volume) []string {
	return func(v *world.Volume) []string {
		if v.InstanceID == "" {
			return nil
		}
		return []string{get(v)}
	}
}

var volumeFilters = filterable[world.Volume]{
	attributes: map[string]func(*world.Volume) []string{
		"attachment.delete-on-termination": attached(func(v *world.Volume) string { return strconv.FormatBool(v.DeleteOnTermination) }),
		"attachment.device":                attached(func(v *world.Volume) string { return v.Device }),
		"attachment.instance-id":           attached(func(v *world.Volume) string { return v.InstanceID }),
		"attachment.status":                attached(func(*world.Volume) string { return "attached" }),
		"availability-zone":                one(func(v *world.Volume) string { return v.Zone }),
		"availability-zone-id":             one(func(v *world.Volume) string { return v.ZoneID }),
		"create-time":                      one(func(v *world.Volume) string { return stamp(v.Created) }),
		"encrypted":                        yesNo(func(v *world.Volume) bool { return v.Encrypted }),
		"size":                             one(func(v *world.Volume) string { return strconv.Itoa(int(v.SizeGiB)) }),
		"snapshot-id":                      one(func(v *world.Volume) string { return v.SnapshotID }),
		"status":                           one(volumeStatus),
		"volume-id":                        one(func(v *world.Volume) string { return v.VolumeID }),
		"volume-type":                      one(func(v *world.Volume) string { return v.Type }),
	},
	tags: func(v *world.Volume) map[string]string { return v.Tags },
}

func (s *service) describeVolumes(_ *wire.Request, in *describeVolumesInput) (any, error) {
	all, token, err := describe(s.world.Volumes(), in.IDs, in.Filters, in.paging, describing[world.Volume]{
		id: func(v *world.Volume) string { return v.VolumeID }, filters: volumeFilters, limits: describeLimits,
		missing: "InvalidVolume.NotFound", what: "volume", exclusive: true,
	})
	if err != nil {
		return nil, err
	}
	out := describeVolumesOutput{NextToken: token}
	for i := range all {
		v := &all[i]
		x := volume{
			ID: v.VolumeID, Size: v.SizeGiB, SnapshotID: v.SnapshotID, Zone: v.Zone, ZoneID: v.ZoneID, Status: volumeStatus(v), CreateTime: stamp(v.Created),
			Type: v.Type, Iops: v.Iops, Throughput: v.Throughput, Encrypted: v.Encrypted, Tags: tagItems(v.Tags),
		}
		if k, err := s.world.Key(v.KMSKey); v.KMSKey != "" && err == nil {
			x.KmsKeyID = k.ARN
		}
		if v.InstanceID != "" {
			x.Attachments = []volumeAttachment{{v.VolumeID, v.InstanceID, v.Device, "attached", x.CreateTime, v.DeleteOnTermination}}
		}
		out.Volumes = append(out.Volumes, x)
	}
	return out, nil
}

type getEbsDefaultKmsKeyIDOutput struct {
	Key string `xml:"kmsKeyId"`
}

// getEbsDefaultKmsKeyID knows the key that AWS manages: none other can be made the default.
func (s *service) getEbsDefaultKmsKeyID(*wire.Request, *struct{}) (any, error) {
	return getEbsDefaultKmsKeyIDOutput{"alias/aws/ebs"}, nil
}

type getEbsEncryptionByDefaultOutput struct {
	On bool `xml:"ebsEncryptionByDefault"`
}

func (s *service) getEbsEncryptionByDefault(*wire.Request, *struct{}) (any, error) {
	return getEbsEncryptionByDefaultOutput{}, nil
}
