package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// ProviderID is how Kubernetes names an instance: aws:///zone/id.
func ProviderID(zone, instanceID string) string { return "aws:///" + zone + "/" + instanceID }

// InstanceID reads the instance's id from a provider ID.
//
// Errors: *cloud.Error of class NotFound around cloud.ErrProviderID. No instance goes by such a name, so nobody may wait for
// its end.
func InstanceID(providerID string) (string, error) {
	rest, ok := strings.CutPrefix(providerID, "aws:///")
	_, id, found := strings.Cut(rest, "/")
	if !ok || !found || !strings.HasPrefix(id, "i-") || strings.Contains(id, "/") {
		return "", &cloud.Error{
			Op: fmt.Sprintf("reading provider ID %q", providerID), Class: cloud.NotFound, Err: cloud.ErrProviderID,
		}
	}
	return id, nil
}

// ToInstance makes a Instance of what EC2 says. ok is false for an answer without id, which can't be worked with.
func ToInstance(i *types.Instance) (m *cloud.Instance, ok bool) {
	if i.InstanceId == nil || *i.InstanceId == "" {
		return nil, false
	}
	m = &cloud.Instance{
		InstanceID:     *i.InstanceId,
		InstanceType:   string(i.InstanceType),
		ImageID:        aws.ToString(i.ImageId),
		SubnetID:       aws.ToString(i.SubnetId),
		PrivateDNSName: aws.ToString(i.PrivateDnsName),
		CapacityType:   capacityType(i),
		Tags:           make(map[string]string, len(i.Tags)),
	}
	if i.Placement != nil {
		m.Zone, m.ZoneID = aws.ToString(i.Placement.AvailabilityZone), aws.ToString(i.Placement.AvailabilityZoneId)
		m.PlacementGroup, m.Partition = aws.ToString(i.Placement.GroupId), aws.ToInt32(i.Placement.PartitionNumber)
	}
	if m.CapacityType == catalog.Reserved {
		m.ReservationID = aws.ToString(i.CapacityReservationId)
	}
	if i.LaunchTime != nil {
		m.LaunchedAt = *i.LaunchTime
	}
	if i.State != nil {
		m.State = string(i.State.Name)
	}
	if i.StateReason != nil {
		m.StateReason = aws.ToString(i.StateReason.Message)
	}
	if i.State != nil {
		m.Ended = endOf(i.State.Name, i.StateReason)
	}
	for _, g := range i.SecurityGroups {
		m.SecurityGroups = append(m.SecurityGroups, aws.ToString(g.GroupId))
	}
	slices.Sort(m.SecurityGroups)
	for _, t := range i.Tags {
		m.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	m.ProviderID = ProviderID(m.Zone, m.InstanceID)
	m.Claim, m.Pool = m.Tags[awsv1.TagNodeClaim], m.Tags[awsv1.TagNodePool]
	return m, true
}

// capacityType of an instance. One that runs in a reservation without having been sent there is on-demand.
func capacityType(i *types.Instance) string {
	switch {
	case i.InstanceLifecycle == types.InstanceLifecycleTypeSpot, aws.ToString(i.SpotInstanceRequestId) != "":
		return catalog.Spot
	case aws.ToString(i.CapacityReservationId) != "" && i.CapacityReservationSpecification != nil &&
		i.CapacityReservationSpecification.CapacityReservationPreference == types.CapacityReservationPreferenceCapacityReservationsOnly:
		return catalog.Reserved
	}
	return catalog.OnDemand
}
