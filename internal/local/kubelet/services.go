package kubelet

import (
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// serviceLinks are the variables by which a container finds services: NAME_SERVICE_HOST, NAME_SERVICE_PORT and those that
// Docker's links had. A service without a cluster IP or a port has none.
func serviceLinks(services []corev1.Service) []string {
	var out []string
	for _, s := range services {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || len(s.Spec.Ports) == 0 {
			continue
		}
		ip, name := s.Spec.ClusterIP, variable(s.Name)
		link := func(p corev1.ServicePort) string {
			return protocol(p) + "://" + net.JoinHostPort(ip, strconv.Itoa(int(p.Port)))
		}
		port := func(p corev1.ServicePort) string { return strconv.Itoa(int(p.Port)) }
		first := s.Spec.Ports[0]
		out = append(out, name+"_SERVICE_HOST="+ip, name+"_SERVICE_PORT="+port(first))
		for _, p := range s.Spec.Ports {
			if p.Name != "" {
				out = append(out, name+"_SERVICE_PORT_"+variable(p.Name)+"="+port(p))
			}
		}
		out = append(out, name+"_PORT="+link(first))
		for _, p := range s.Spec.Ports {
			prefix := name + "_PORT_" + port(p) + "_" + strings.ToUpper(protocol(p))
			out = append(out, prefix+"="+link(p), prefix+"_PROTO="+protocol(p), prefix+"_PORT="+port(p), prefix+"_ADDR="+ip)
		}
	}
	return out
}

func variable(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

func protocol(p corev1.ServicePort) string {
	if p.Protocol == "" {
		return "tcp"
	}
	return strings.ToLower(string(p.Protocol))
}
