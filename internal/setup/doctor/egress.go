package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/account"
)

// nodeEgress judges what the security groups of nodes let out. Security groups of an instance add up: what one lets out is
// out. Where to is not judged, for endpoints in the VPC serve as well as the internet.
//
// Source: EKS user guide, "Security group requirements" (443 to the API server and to AWS, 53 by TCP and UDP for DNS); VPC
// user guide, "Security groups": the resolver of the VPC itself is not filtered, so DNS is missed where it is answered by
// pods of other nodes, as CoreDNS does.
func nodeEgress(in *Input) Result {
	groups := map[string]account.SecurityGroup{}
	for _, g := range in.SecurityGroups {
		groups[g.ID] = g
	}
	var shut, deaf, open []string
	for i := range in.Kube.Classes {
		c := &in.Kube.Classes[i]
		if len(c.Status.SecurityGroups) == 0 {
			continue
		}
		if in.NoGroups != "" {
			return unknown("security groups could not be read: %s", in.NoGroups)
		}
		var rules []account.Egress
		var names []string
		for _, ref := range c.Status.SecurityGroups {
			names = append(names, ref.ID)
			rules = append(rules, groups[ref.ID].Egress...)
		}
		lets := func(protocol string, port int32) bool {
			return slices.ContainsFunc(rules, func(e account.Egress) bool { return e.Lets(protocol, port) })
		}
		text := fmt.Sprintf("EC2NodeClass %s (%s)", c.Name, strings.Join(names, ", "))
		switch {
		case !lets("tcp", 443):
			shut = append(shut, text+": nothing goes out to TCP 443")
		case !lets("udp", 53) || !lets("tcp", 53):
			deaf = append(deaf, text+": nothing goes out to port 53 by "+missingDNS(lets))
		default:
			open = append(open, text)
		}
	}
	const fix = "add an outbound rule to a security group of the class: TCP 443 to the API server, AWS and the registries, and 53 by TCP and UDP to what answers DNS"
	switch {
	case len(shut) > 0:
		return failed(fix, "nodes can't reach the API server, AWS or registries, and don't join").with(append(shut, deaf...)...)
	case len(deaf) > 0:
		return warning(fix, "pods can't ask a DNS server on another node").with(deaf...)
	case len(open) == 0:
		return skipped("no EC2NodeClass has found security groups yet")
	}
	return ok("TCP 443 and DNS go out").with(open...)
}

func missingDNS(lets func(string, int32) bool) string {
	switch {
	case lets("udp", 53):
		return "TCP"
	case lets("tcp", 53):
		return "UDP"
	}
	return "TCP or UDP"
}
