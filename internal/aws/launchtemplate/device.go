package launchtemplate

import (
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

const gib = 1 << 30

// blockDevices are the class's block devices, or those of the family when it names none.
func blockDevices(mappings []awsv1.BlockDeviceMapping, family awsv1.AMIFamily) ([]types.LaunchTemplateBlockDeviceMappingRequest, error) {
	if len(mappings) == 0 {
		return familyDevices(family), nil
	}
	out := make([]types.LaunchTemplateBlockDeviceMappingRequest, len(mappings))
	for i, m := range mappings {
		field := fmt.Sprintf("spec.blockDeviceMappings[%d]", i)
		if m.DeviceName == nil || *m.DeviceName == "" {
			return nil, fmt.Errorf("%s.deviceName is missing: give the device, for example /dev/xvda", field)
		}
		if m.EBS == nil {
			return nil, fmt.Errorf("%s.ebs is missing: give at least ebs.volumeSize or ebs.snapshotID", field)
		}
		ebs, err := volume(m.EBS, field+".ebs")
		if err != nil {
			return nil, err
		}
		out[i] = types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: new(*m.DeviceName), Ebs: ebs}
	}
	return out, nil
}

func volume(d *awsv1.BlockDevice, field string) (*types.LaunchTemplateEbsBlockDeviceRequest, error) {
	out := &types.LaunchTemplateEbsBlockDeviceRequest{
		DeleteOnTermination:      d.DeleteOnTermination,
		Encrypted:                d.Encrypted,
		KmsKeyId:                 d.KMSKeyID,
		SnapshotId:               d.SnapshotID,
		VolumeInitializationRate: d.VolumeInitializationRate,
		VolumeType:               types.VolumeType(deref(d.VolumeType, "")),
	}
	var err error
	if out.Iops, err = int32Of(d.IOPS, field+".iops"); err != nil {
		return nil, err
	}
	if out.Throughput, err = int32Of(d.Throughput, field+".throughput"); err != nil {
		return nil, err
	}
	if d.VolumeSize == nil && d.SnapshotID == nil {
		return nil, fmt.Errorf("%s needs volumeSize or snapshotID", field)
	}
	if d.VolumeSize != nil {
		bytes := d.VolumeSize.Value()
		if bytes <= 0 || bytes/gib >= math.MaxInt32 {
			return nil, fmt.Errorf("%s.volumeSize %s is not a size that a volume can have", field, d.VolumeSize)
		}
		size := bytes / gib
		if bytes%gib != 0 {
			size++
		}
		out.VolumeSize = new(int32(size))
	}
	return out, nil
}

func int32Of(v *int64, field string) (*int32, error) {
	if v == nil {
		return nil, nil
	}
	if *v < 0 || *v > math.MaxInt32 {
		return nil, fmt.Errorf("%s %d is not an amount that EC2 takes", field, *v)
	}
	return new(int32(*v)), nil
}

// familyDevices are the block devices with which images of a family are meant to be used.
func familyDevices(family awsv1.AMIFamily) []types.LaunchTemplateBlockDeviceMappingRequest {
	disk := func(name string, size int32) types.LaunchTemplateBlockDeviceMappingRequest {
		return types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: &name, Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
			DeleteOnTermination: new(true), Encrypted: new(true), VolumeSize: &size, VolumeType: types.VolumeTypeGp3,
		}}
	}
	switch {
	case family == awsv1.AMIFamilyAL2, family == awsv1.AMIFamilyAL2023:
		return []types.LaunchTemplateBlockDeviceMappingRequest{disk("/dev/xvda", 20)}
	case family == awsv1.AMIFamilyBottlerocket:
		return []types.LaunchTemplateBlockDeviceMappingRequest{disk("/dev/xvda", 4), disk("/dev/xvdb", 20)}
	case family.IsWindows():
		return []types.LaunchTemplateBlockDeviceMappingRequest{disk("/dev/sda1", 50)}
	}
	return nil
}
