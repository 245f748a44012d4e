// Package launchtemplate makes the launch templates that fleets start from and keeps track of those that exist.
//
// A template is named by a hash of all that is in it, so a template never changes, two equal ones are one, and what an
// earlier process made is found again by its name. Templates live long: they are deleted when they have not been used for
// hours, or with their node class.
package launchtemplate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// namePrefix begins the name of every generated template.
const namePrefix = "karpenter.k8s.aws/"

// Input is everything that a template depends on.
type Input struct {
	Class *awsv1.EC2NodeClass
	// Region decides which options its EC2 knows.
	Region string
	// Tags of everything that is launched and of the template itself; see Tags.
	Tags map[string]string
	// UserData is the document, not in base64.
	UserData        string
	ImageID         string
	InstanceProfile string
	SecurityGroups  []string
	// Family decides the block devices of a class that names none.
	Family awsv1.AMIFamily
	// SpotTags is set for templates of spot instances whose requests are to be tagged.
	SpotTags bool
	// Tenancy is default or dedicated.
	Tenancy string
	// Group is the id of the placement group that instances are put into, empty for none, and Partition its partition, 0 to
	// leave that to EC2.
	Group     string
	Partition int32
	// IPv6 is set for clusters with IPv6 addresses.
	IPv6 bool
	// EFAs is the number of EFA interfaces that the instances need, 0 for one plain interface.
	EFAs int
	// PlainFirst is set where the first network card has no EFA: it gets a plain interface, and the others the EFAs.
	PlainFirst bool
	// NoOpenReservations keeps instances out of capacity reservations that would take them by themselves.
	NoOpenReservations bool
	// Reservation is what instances are taken out of, nil for other capacity.
	Reservation *Reservation
}

// Template is a launch template, made or not. It is immutable.
type Template struct {
	Name string
	// Class is the EC2NodeClass that it is of, UserDataBytes the size of its user data before base64.
	Class         string
	UserDataBytes int

	data *types.RequestLaunchTemplateData
	tags []types.Tag
}

// Data is what the template holds. It is shared and must not be changed.
func (t *Template) Data() *types.RequestLaunchTemplateData { return t.data }

// Build makes the template of an input, without calling anything.
//
// Errors: *cloud.Error of class Invalid that names the field of the node class.
func Build(in Input) (*Template, error) {
	devices, err := blockDevices(in.Class.Spec.BlockDeviceMappings, in.Family)
	if err != nil {
		return nil, &cloud.Error{
			Op:    fmt.Sprintf("making the launch template of EC2NodeClass %q", in.Class.Name),
			Class: cloud.Invalid, Reason: awsv1.ReasonSpecInvalid, Err: err,
		}
	}
	data := &types.RequestLaunchTemplateData{
		BlockDeviceMappings: devices,
		ImageId:             &in.ImageID,
		UserData:            new(base64.StdEncoding.EncodeToString([]byte(in.UserData))),
		MetadataOptions:     metadataOptions(in.Class.Spec.MetadataOptions, in.Region),
		NetworkInterfaces:   networkInterfaces(in),
		Monitoring:          &types.LaunchTemplatesMonitoringRequest{Enabled: new(deref(in.Class.Spec.DetailedMonitoring, false))},
		TagSpecifications:   tagSpecifications(in),
	}
	if in.InstanceProfile != "" {
		data.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &in.InstanceProfile}
	}
	data.Placement = placement(in)
	if o := in.Class.Spec.CPUOptions; o != nil && o.NestedVirtualization != nil {
		data.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{NestedVirtualization: types.NestedVirtualizationSpecification(*o.NestedVirtualization)}
	}
	if o := in.Class.Spec.EnclaveOptions; o != nil {
		data.EnclaveOptions = &types.LaunchTemplateEnclaveOptionsRequest{Enabled: new(o.Enabled)}
	}
	switch {
	case in.Reservation != nil:
		in.Reservation.put(data)
	case in.NoOpenReservations:
		data.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceNone,
		}
	}
	t := &Template{Class: in.Class.Name, UserDataBytes: len(in.UserData), data: data, tags: EC2Tags(in.Tags)}
	if t.Name, err = contentName(t); err != nil {
		return nil, fmt.Errorf("hashing the launch template of EC2NodeClass %q: %w", in.Class.Name, err)
	}
	return t, nil
}

// placement says where instances are put; nil if that is all the same.
func placement(in Input) *types.LaunchTemplatePlacementRequest {
	if in.Tenancy == "" && in.Group == "" {
		return nil
	}
	out := &types.LaunchTemplatePlacementRequest{Tenancy: types.Tenancy(in.Tenancy)}
	if in.Group != "" {
		out.GroupId = &in.Group
	}
	if in.Partition != 0 {
		out.PartitionNumber = &in.Partition
	}
	return out
}

// contentName is the name of a template: 128 bits of the hash of all of it.
func contentName(t *Template) (string, error) {
	content, err := json.Marshal(struct {
		Data *types.RequestLaunchTemplateData
		Tags []types.Tag
	}{t.data, t.tags})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return namePrefix + hex.EncodeToString(sum[:16]), nil
}

func tagSpecifications(in Input) []types.LaunchTemplateTagSpecificationRequest {
	tags := EC2Tags(in.Tags)
	out := []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: tags}}
	if in.SpotTags {
		out = append(out, types.LaunchTemplateTagSpecificationRequest{ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags})
	}
	return out
}

// EC2Tags are tags as EC2 takes them, sorted by key: what is asked for is the same each time.
func EC2Tags(tags map[string]string) []types.Tag {
	out := make([]types.Tag, 0, len(tags))
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	return out
}

func deref[T any](p *T, or T) T {
	if p == nil {
		return or
	}
	return *p
}
