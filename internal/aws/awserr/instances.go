package awserr

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	smithy "github.com/aws/smithy-go"
)

var resourcePattern = regexp.MustCompile(` on resource: (\S+)`)

// RefusesInstance reports whether a refusal is of the instance that was to be launched, so that instances of another type may be
// allowed. A refusal of a subnet, an image, a volume, of tags or of a role concerns all types. Messages name what was refused; where one
// names nothing, as older ones and encoded ones do, it has to name a policy that forbids.
//
// Source: Amazon EC2 User Guide, "Example policies to control access the Amazon EC2 API" and "Decode an authorization failure message".
func RefusesInstance(message string) bool {
	action, resource := actionPattern.FindStringSubmatch(message), resourcePattern.FindStringSubmatch(message)
	if action == nil && resource == nil {
		return Forbids(message)
	}
	return (action == nil || action[1] == "ec2:RunInstances" || action[1] == "ec2:CreateFleet") && (resource == nil || strings.Contains(resource[1], ":instance/"))
}

// Forbids reports whether a refusal names a policy that forbids, in contrast to an Allow that the policies of the controller's role lack.
func Forbids(message string) bool {
	return strings.Contains(message, "explicit deny") || strings.Contains(message, "service control policy") || lackPattern.MatchString(message)
}

// RefusesSubnet reports whether a refusal is of a subnet, or of what an instance has in the subnet's zone, so that another may be
// allowed: policies name zones, subnets and networks also as conditions for network interfaces and volumes.
func RefusesSubnet(message string) bool {
	resource := resourcePattern.FindStringSubmatch(message)
	return resource != nil && slices.ContainsFunc([]string{":subnet/", ":network-interface/", ":volume/"}, func(of string) bool { return strings.Contains(resource[1], of) })
}

// Message is what the service said, empty when it did not answer.
func Message(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorMessage()
	}
	return ""
}
