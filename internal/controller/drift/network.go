package drift

import (
	"fmt"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// SecurityGroups compares the groups that an instance is in with those of its class. Nothing is said while either is not
// known, nor of classes whose launch template decides the groups.
func SecurityGroups(instance *cloud.Instance, class *awsv1.EC2NodeClass) (message string, v Verdict) {
	if !lives(instance) || len(instance.SecurityGroups) == 0 || len(class.Status.SecurityGroups) == 0 ||
		class.Spec.LaunchTemplate != nil || !holds(class, awsv1.ConditionTypeSecurityGroupsReady) {
		return "", Unknown
	}
	now := groupsOf(class)
	if slices.Equal(instance.SecurityGroups, now) {
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

// groupsOf are the ids of a class's security groups, sorted.
func groupsOf(class *awsv1.EC2NodeClass) []string {
	return ids(class.Status.SecurityGroups, func(g awsv1.SecurityGroup) string { return g.ID })
}

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
