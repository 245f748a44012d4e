package launchtemplate

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/network"
)

// Demand is what an instance takes of its subnet as it is launched from the template of an input. Of the input only the
// class, IPv6 and the EFA interfaces count.
func Demand(in Input) network.Demand {
	var d network.Demand
	for _, n := range networkInterfaces(in) {
		if aws.ToString(n.InterfaceType) == string(awsv1.InterfaceTypeEFAOnly) {
			continue
		}
		d.Addresses++
		d.Prefixes += int(aws.ToInt32(n.Ipv4PrefixCount))
	}
	return d
}
