// Package podnetwork knows how many pods find an address on an instance, and how many addresses of a subnet they take, under
// the settings of the cluster's network plug-in (Amazon VPC CNI).
package podnetwork

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// Namespace and Name are those of the plug-in's DaemonSet; container is the one that holds its settings.
const (
	Namespace = "kube-system"
	Name      = "aws-node"
	container = "aws-node"
)

// Settings are those of the plug-in that decide about addresses. The zero value, which also stands for a cluster without
// the plug-in, gives every pod a secondary address of an interface.
type Settings struct {
	// PrefixDelegation gives interfaces ranges of 16 addresses in place of single ones (ENABLE_PREFIX_DELEGATION).
	PrefixDelegation bool
	// CustomNetworking takes pods' addresses from other subnets and interfaces than the instance's own
	// (AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG).
	CustomNetworking bool
	// PodENI keeps one interface for those of single pods (ENABLE_POD_ENI).
	PodENI bool
	// IPv6 gives pods IPv6 addresses, of which an interface's range never runs out (ENABLE_IPv6).
	IPv6 bool
	// MaxENI bounds the interfaces that the plug-in attaches (MAX_ENI); 0 leaves it to the type.
	MaxENI int
}

// Read takes the settings out of the plug-in's DaemonSet. What is not set plainly, such as a value from a ConfigMap, counts
// as not set.
//
// Source: amazon-vpc-cni-k8s, its README: CNI configuration variables and their defaults.
func Read(d *appsv1.DaemonSet) Settings {
	var s Settings
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		if c.Name != container {
			continue
		}
		for _, e := range c.Env {
			on, _ := strconv.ParseBool(e.Value)
			switch e.Name {
			case "ENABLE_PREFIX_DELEGATION":
				s.PrefixDelegation = on
			case "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG":
				s.CustomNetworking = on
			case "ENABLE_POD_ENI":
				s.PodENI = on
			case "ENABLE_IPv6":
				s.IPv6 = on
			case "MAX_ENI":
				if n, err := strconv.Atoi(e.Value); err == nil && n > 0 {
					s.MaxENI = n
				}
			}
		}
	}
	return s
}

const (
	// prefix is how many addresses a delegated range has (/28).
	prefix = 16
	// hostPods is how many pods of every node are taken to use the instance's own address.
	hostPods = 2
	// Where addresses do not bound pods, these do, by the instance's size.
	fewPods, manyPods = 110, 250
	manyPodsAbove     = 30 // vCPUs
)

// Supported reports whether the plug-in can give pods addresses on a type at all: IPv6 needs Nitro.
//
// Source: EKS User Guide, "Learn about IPv6 addresses to clusters, Pods, and services".
func (s Settings) Supported(t *ec2facts.Type) bool { return !s.IPv6 || nitro(t) }

// Pods is how many pods a type can run when taken interfaces of its default card give pods no addresses. Interfaces that
// the plug-in itself keeps from pods are not added to those, as taken is how users have said the same up to now: the
// larger number counts.
//
// Source: awslabs/amazon-eks-ami, max-pods-calculator; EKS User Guide, "Assign more IP addresses to Amazon EKS nodes with
// prefixes", "Deploy pods in alternate subnets with custom networking", "Assign security groups to individual pods".
func (s Settings) Pods(t *ec2facts.Type, taken, reserved int) int64 {
	total := t.Network.DefaultENIs()
	if s.MaxENI > 0 {
		total = min(total, s.MaxENI)
	}
	enis := total - taken - max(reserved, s.kept(t))
	if enis <= 0 {
		return 0
	}
	perENI := int64(t.Network.IPv4PerENI - 1)
	switch {
	case s.IPv6:
		return ceiling(t)
	case s.PrefixDelegation && nitro(t):
		return min(int64(enis)*perENI*prefix+hostPods, ceiling(t))
	}
	return int64(enis)*perENI + hostPods
}

// kept is how many interfaces the plug-in keeps from pods.
func (s Settings) kept(t *ec2facts.Type) int {
	n := 0
	if s.CustomNetworking && !s.IPv6 {
		n++ // the first, which is in the instance's subnet
	}
	if s.PodENI && t.Trunking {
		n++ // the trunk of pods' own interfaces
	}
	return n
}

// SubnetAddresses is how many addresses so many pods take of the instance's own subnet, beside the instance's own first one:
// theirs, and one for each interface that has to be added for them. What the plug-in keeps warm is not counted.
func (s Settings) SubnetAddresses(t *ec2facts.Type, pods int64) int64 {
	n, perENI := pods-hostPods, int64(t.Network.IPv4PerENI-1)
	switch {
	case n <= 0 || perENI <= 0 || s.IPv6 || s.CustomNetworking:
		return 0
	case s.PrefixDelegation && nitro(t):
		prefixes := divide(n, prefix)
		return prefixes*prefix + divide(prefixes, perENI) - 1
	}
	return n + divide(n, perENI) - 1
}

// divide rounds up.
func divide(n, by int64) int64 { return (n + by - 1) / by }

func ceiling(t *ec2facts.Type) int64 {
	if t.VCPUs > manyPodsAbove {
		return manyPods
	}
	return fewPods
}

// nitro reports whether a type is of the Nitro system. Bare metal is, and has no hypervisor to say so.
func nitro(t *ec2facts.Type) bool { return t.Hypervisor != "xen" }
