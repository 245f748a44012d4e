package ec2

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// TestVolumesOutliveTheirInstanceOnlyIfTheyWereAskedTo: attached ones are in use; what is not deleted with the instance is
// available afterwards, with its tags.
func TestVolumesOutliveTheirInstanceOnlyIfTheyWereAskedTo(t *testing.T) {
	s := start(t, nil)
	s.template("launch", func(d *types.RequestLaunchTemplateData) {
		d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(50), VolumeType: "gp3", Encrypted: aws.Bool(true)}},
			{DeviceName: aws.String("/dev/xvdk"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(200), DeleteOnTermination: aws.Bool(false)}},
		}
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: "volume", Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}}
	})
	id := s.launch(1, "on-demand", nil)[0]
	find := func(filters ...types.Filter) []types.Volume {
		out, err := s.DescribeVolumes(t.Context(), &awsec2.DescribeVolumesInput{Filters: filters})
		if err != nil {
			t.Fatal(err)
		}
		return out.Volumes
	}
	root := find(filterOn("attachment.instance-id", id), filterOn("attachment.device", "/dev/xvda"))
	if len(root) != 1 || root[0].State != "in-use" || *root[0].Size != 50 || root[0].VolumeType != "gp3" || *root[0].Iops != 3000 || *root[0].Throughput != 125 ||
		!*root[0].Encrypted || !*root[0].Attachments[0].DeleteOnTermination || *root[0].Attachments[0].InstanceId != id {
		t.Errorf("the root volume: %+v", root)
	}
	data := find(filterOn("size", "200"))
	if len(data) != 1 || data[0].VolumeType != "gp2" || *data[0].Iops != 600 || *data[0].AvailabilityZone != *s.describe(id).Placement.AvailabilityZone {
		t.Fatalf("the data volume: %+v", data)
	}
	one, err := s.DescribeVolumes(t.Context(), &awsec2.DescribeVolumesInput{VolumeIds: []string{*data[0].VolumeId}})
	if err != nil || len(one.Volumes) != 1 {
		t.Errorf("by its id: %v, %v", one, err)
	}
	if _, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	left := find()
	if len(left) != 1 || *left[0].VolumeId != *data[0].VolumeId || left[0].State != "available" || len(left[0].Attachments) != 0 || len(left[0].Tags) != 1 {
		t.Errorf("left are %+v", left)
	}
	tags, err := s.DescribeTags(t.Context(), &awsec2.DescribeTagsInput{Filters: []types.Filter{filterOn("resource-id", *data[0].VolumeId)}})
	if err != nil || len(tags.Tags) != 1 {
		t.Errorf("its tags: %+v, %v", tags, err)
	}
	_, err = s.DescribeVolumes(t.Context(), &awsec2.DescribeVolumesInput{VolumeIds: []string{*root[0].VolumeId}})
	wantCode(t, err, "InvalidVolume.NotFound")
	_, err = s.DescribeVolumes(t.Context(), &awsec2.DescribeVolumesInput{VolumeIds: []string{*data[0].VolumeId}, MaxResults: aws.Int32(5)})
	wantCode(t, err, "InvalidParameterCombination")
	_, err = s.DescribeVolumes(t.Context(), &awsec2.DescribeVolumesInput{Filters: []types.Filter{filterOn("colour", "blue")}})
	wantCode(t, err, "InvalidParameterValue")
}

func TestNetworkInterfacesByThemselves(t *testing.T) {
	s := start(t, nil)
	ids := s.launch(2, "on-demand", nil)
	out, err := s.DescribeNetworkInterfaces(t.Context(), &awsec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filterOn("attachment.instance-id", ids[0])}})
	if err != nil || len(out.NetworkInterfaces) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	n, i := out.NetworkInterfaces[0], s.describe(ids[0])
	if *n.NetworkInterfaceId != *i.NetworkInterfaces[0].NetworkInterfaceId || *n.PrivateIpAddress != *i.PrivateIpAddress || *n.SubnetId != *i.SubnetId ||
		*n.AvailabilityZone != *i.Placement.AvailabilityZone || n.Status != "in-use" || *n.Attachment.InstanceId != ids[0] || len(n.Groups) != 2 ||
		*n.Attachment.AttachmentId != *i.NetworkInterfaces[0].Attachment.AttachmentId {
		t.Errorf("%+v\nof %+v", n, i.NetworkInterfaces[0])
	}
	byGroup, err := s.DescribeNetworkInterfaces(t.Context(), &awsec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{filterOn("group-id", *n.Groups[0].GroupId)}})
	if err != nil || len(byGroup.NetworkInterfaces) != 2 {
		t.Errorf("of a security group: %+v, %v", byGroup, err)
	}
	if _, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(time.Minute)
	_, err = s.DescribeNetworkInterfaces(t.Context(), &awsec2.DescribeNetworkInterfacesInput{NetworkInterfaceIds: []string{*n.NetworkInterfaceId}})
	wantCode(t, err, "InvalidNetworkInterfaceID.NotFound")
}

func TestSpotRequestsTellWhatBecameOfTheirInstances(t *testing.T) {
	s := start(t, nil)
	ids := s.launch(3, "spot", nil)
	s.launch(1, "on-demand", nil)
	s.clock.Advance(10 * time.Second)
	if _, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: ids[:1]}); err != nil {
		t.Fatal(err)
	}
	s.world.Reclaim(ids[1])
	out, err := s.DescribeSpotInstanceRequests(t.Context(), &awsec2.DescribeSpotInstanceRequestsInput{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range out.SpotInstanceRequests {
		got[*r.InstanceId] = string(r.State) + " " + *r.Status.Code
		if string(r.LaunchSpecification.InstanceType) != "m5.large" || *r.SpotInstanceRequestId != *s.describe(*r.InstanceId).SpotInstanceRequestId || r.Type != "one-time" {
			t.Errorf("%+v", r)
		}
	}
	want := map[string]string{ids[0]: "closed instance-terminated-by-user", ids[1]: "closed instance-terminated-no-capacity", ids[2]: "active fulfilled"}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s: %q, want %q", id, got[id], w)
		}
	}
	active, err := s.DescribeSpotInstanceRequests(t.Context(), &awsec2.DescribeSpotInstanceRequestsInput{Filters: []types.Filter{filterOn("state", "active")}})
	if err != nil || len(active.SpotInstanceRequests) != 1 {
		t.Errorf("active: %+v, %v", active, err)
	}
}

func TestASubnetIsMadePublic(t *testing.T) {
	s := start(t, nil)
	subnet := *s.private()[0].SubnetId
	yes := &types.AttributeBooleanValue{Value: aws.Bool(true)}
	_, err := s.ModifySubnetAttribute(t.Context(), &awsec2.ModifySubnetAttributeInput{SubnetId: aws.String(subnet), MapPublicIpOnLaunch: yes})
	if err != nil || !*s.private()[0].MapPublicIpOnLaunch {
		t.Fatalf("it is not: %v", err)
	}
	if i := s.describe(s.launch(1, "on-demand", nil)[0]); aws.ToString(i.PublicIpAddress) == "" {
		t.Error("an instance in it has no public address")
	}
	_, err = s.ModifySubnetAttribute(t.Context(), &awsec2.ModifySubnetAttributeInput{SubnetId: aws.String("subnet-00000000"), MapPublicIpOnLaunch: yes})
	wantCode(t, err, "InvalidSubnetID.NotFound")
	_, err = s.ModifySubnetAttribute(t.Context(), &awsec2.ModifySubnetAttributeInput{SubnetId: aws.String(subnet)})
	wantCode(t, err, "MissingParameter")
	_, err = s.ModifySubnetAttribute(t.Context(), &awsec2.ModifySubnetAttributeInput{SubnetId: aws.String(subnet), EnableDns64: yes})
	wantCode(t, err, "UnknownParameter")
}
