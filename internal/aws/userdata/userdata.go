// Package userdata makes the user data that lets an instance join its cluster: for each image family the document that the
// image reads at boot, merged with what the user gave in spec.userData.
//
// Equal inputs give equal bytes, because launch templates are named by a hash of them.
package userdata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// MaxBytes is the most that EC2 takes, before base64. Source: EC2 User Guide, instance user data.
const MaxBytes = 16384

// Cluster is what an instance must know to find its cluster.
type Cluster struct {
	Name     string
	Endpoint string // URL
	CABundle string // base64 of PEM; empty when not known
	// DNSIP is the address of the cluster's DNS service; empty leaves it to the image.
	DNSIP string
	// ServiceCIDR is the range of service addresses. AL2023 can't boot without it.
	ServiceCIDR string
	// IPv6 is set for clusters whose services have IPv6 addresses.
	IPv6 bool
}

// Input is everything that user data depends on.
type Input struct {
	Family  awsv1.AMIFamily
	Cluster Cluster
	// Labels of the node; those that a kubelet may not set on itself are left out.
	Labels map[string]string
	// Taints, start-up taints among them. The taint that marks an unregistered node is added here.
	Taints  []corev1.Taint
	Kubelet *awsv1.KubeletConfiguration
	// MaxPods is the number of pods that the node was planned with; 0 leaves it to the image.
	MaxPods       int32
	InstanceStore *awsv1.InstanceStorePolicy
	// ImageName is the name of the image; empty when it is not known.
	ImageName string
	// UserData is the user's text, may be empty.
	UserData string
}

// Build makes the document, not yet in base64.
//
// Errors: *cloud.Error of class Invalid that names the field to change.
func Build(in Input) (string, error) {
	in.Labels, in.Taints = nodeLabels(in), nodeTaints(in.Taints)
	var out string
	var err error
	switch {
	case in.Family == awsv1.AMIFamilyCustom || in.Family == "":
		out = in.UserData
	case in.Family == awsv1.AMIFamilyAL2:
		out, err = al2(in)
	case in.Family == awsv1.AMIFamilyAL2023:
		out, err = al2023(in)
	case in.Family == awsv1.AMIFamilyBottlerocket:
		out, err = bottlerocket(in)
	case in.Family.IsWindows():
		out, err = windows(in)
	default:
		err = fmt.Errorf("spec.amiFamily %q is not known", in.Family)
	}
	if err != nil {
		return "", invalid(awsv1.ReasonSpecInvalid, err)
	}
	if len(out) > MaxBytes {
		return "", invalid(awserr.ReasonUserDataSizeLimitExceeded,
			fmt.Errorf("the user data has %d bytes with what the node needs to join, EC2 takes %d: shorten spec.userData", len(out), MaxBytes))
	}
	return out, nil
}

func invalid(reason string, err error) error {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e
	}
	return &cloud.Error{Op: "making user data", Class: cloud.Invalid, Reason: reason, Err: err}
}

func nodeLabels(in Input) map[string]string {
	out := make(map[string]string, len(in.Labels)+1)
	for k, v := range in.Labels {
		if kubeletMaySet(k) {
			out[k] = v
		}
	}
	if in.Family != awsv1.AMIFamilyCustom {
		out[karpv1.DoNotSyncTaintsLabelKey] = "true"
	}
	return out
}

// nodeTaints sorts the taints, drops doubles and adds the one that every node must boot with.
func nodeTaints(taints []corev1.Taint) []corev1.Taint {
	out := append(slices.Clone(taints), karpv1.UnregisteredNoExecuteTaint())
	slices.SortStableFunc(out, func(a, b corev1.Taint) int {
		return strings.Compare(taintText(a), taintText(b))
	})
	return slices.CompactFunc(out, func(a, b corev1.Taint) bool { return taintText(a) == taintText(b) })
}

// taintText is key=value:effect, as kubelet's flag has it.
func taintText(t corev1.Taint) string { return t.Key + "=" + t.Value + ":" + string(t.Effect) }

// kubeletLabels are those labels in the domains of Kubernetes that a kubelet may set on its own node, beside the domains
// kubelet.kubernetes.io and node.kubernetes.io. Source: NodeRestriction admission, Kubernetes v1.36.
var kubeletLabels = []string{
	corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable,
	corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

func kubeletMaySet(key string) bool {
	domain, _, ok := strings.Cut(key, "/")
	if !ok || !inDomain(domain, "kubernetes.io") && !inDomain(domain, "k8s.io") {
		return true
	}
	return slices.Contains(kubeletLabels, key) || inDomain(domain, "kubelet.kubernetes.io") || inDomain(domain, "node.kubernetes.io")
}

func inDomain(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }

// dnsIP is the address of the DNS service that pods of the node use.
func dnsIP(in Input) string {
	if in.Kubelet != nil && len(in.Kubelet.ClusterDNS) > 0 {
		return in.Kubelet.ClusterDNS[0]
	}
	return in.Cluster.DNSIP
}

func raid0(in Input) bool {
	return in.InstanceStore != nil && *in.InstanceStore == awsv1.InstanceStorePolicyRAID0
}

// joinLabels is a=b,c=d, sorted by key.
func joinLabels(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, ",")
}

// joinTaints is key=value:effect,…
func joinTaints(taints []corev1.Taint) string {
	parts := make([]string, len(taints))
	for i, t := range taints {
		parts[i] = taintText(t)
	}
	return strings.Join(parts, ",")
}
