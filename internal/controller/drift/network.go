package drift

import (
	"fmt"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// SecurityGroups compares the groups that an instance is in with those of its class. Nothing is said while either is not
// known, nor of classes whose launch template decides the groups. A group that somebody else has added, as AWS Firewall Manager does, is no
// difference where it is known what the instance was launched with: it would be added to the next one, too.
func SecurityGroups(claim *karpv1.NodeClaim, instance *cloud.Instance, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	if !lives(instance) || len(instance.SecurityGroups) == 0 || len(class.Status.SecurityGroups) == 0 ||
		class.Spec.LaunchTemplate != nil || !holds(class, awsv1.ConditionTypeSecurityGroupsReady) {
		return "", Unknown
	}
	has, now := instance.SecurityGroups, class.SecurityGroupIDs()
	if launched := claim.Annotations[awsv1.AnnotationSecurityGroups]; launched != "" {
		own := append(strings.Split(launched, ","), now...)
		has = slices.DeleteFunc(slices.Clone(has), func(id string) bool { return !slices.Contains(own, id) })
	}
	if slices.Equal(has, now) {
		return "", Same
	}
	return fmt.Sprintf("in security groups %s, and EC2NodeClass %s has %s now", strings.Join(instance.SecurityGroups, ", "), class.Name, strings.Join(now, ", ")), Differs
}

// Subnet looks whether an instance's subnet is still one of its class's. Nothing is said while either is not known.
func Subnet(instance *cloud.Instance, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	if !lives(instance) || instance.SubnetID == "" || len(class.Status.Subnets) == 0 || !holds(class, awsv1.ConditionTypeSubnetsReady) {
		return "", Unknown
	}
	now := subnetsOf(class)
	if slices.Contains(now, instance.SubnetID) {
		return "", Same
	}
	return fmt.Sprintf("in subnet %s, and EC2NodeClass %s has %s now", instance.SubnetID, class.Name, strings.Join(now, ", ")), Differs
}

// lives tells whether an instance can still be spoken of: one that ends loses its interfaces.
func lives(m *cloud.Instance) bool { return m != nil && (m.State == "running" || m.State == "pending") }

// subnetsOf are the ids of a class's subnets, sorted; the status has them by free addresses, which change all the time.
func subnetsOf(class *awsv1.EC2NodeClass) []string {
	return ids(class.Status.Subnets, func(s awsv1.Subnet) string { return s.ID })
}

// ids are sorted, each once.
func ids[T any](list []T, id func(T) string) []string {
	var out []string
	for _, x := range list {
		out = append(out, id(x))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
