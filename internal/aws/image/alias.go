package image

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// variant is one image of a family: the parameter that names it, and the types that boot it.
type variant struct {
	path         string
	requirements []corev1.NodeSelectorRequirement
	// moves says that the parameter follows the newest image.
	moves bool
}

const (
	amd64 = "amd64"
	arm64 = "arm64"
)

// Kinds of variants, by the devices of the types that they are for.
const (
	standard = "standard"
	nvidia   = "nvidia"
	neuron   = "neuron"
)

// variantsOf lists the variants of an alias.
//
// Errors: families that no image was ever published of for the version.
func variantsOf(alias awsv1.Alias, version string) ([]variant, error) {
	minor, err := minorOf(version)
	if err != nil {
		return nil, err
	}
	var out []variant
	add := func(kind, arch, path string) {
		out = append(out, variant{path: path, requirements: requirementsOf(kind, arch), moves: alias.IsLatest()})
	}
	switch alias.Family {
	case awsv1.AMIFamilyAL2:
		if minor >= 33 {
			return nil, fmt.Errorf("there are no al2 images for Kubernetes 1.33 and later (the cluster has %s); use al2023", version)
		}
		path := func(folder, image string) string {
			return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/%s/%s/image_id", version, folder, leaf(alias, image+"-"+version))
		}
		add(standard, amd64, path("amazon-linux-2", "amazon-eks-node"))
		add(standard, arm64, path("amazon-linux-2-arm64", "amazon-eks-arm64-node"))
		add(nvidia, amd64, path("amazon-linux-2-gpu", "amazon-eks-gpu-node"))
		add(neuron, amd64, path("amazon-linux-2-gpu", "amazon-eks-gpu-node"))
	case awsv1.AMIFamilyAL2023:
		path := func(arch, kind string) string {
			return fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/image_id", version, arch, kind,
				leaf(alias, fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s", arch, kind, version)))
		}
		add(standard, amd64, path("x86_64", "standard"))
		add(standard, arm64, path("arm64", "standard"))
		add(nvidia, amd64, path("x86_64", "nvidia"))
		add(nvidia, arm64, path("arm64", "nvidia"))
		add(neuron, amd64, path("x86_64", "neuron"))
	case awsv1.AMIFamilyBottlerocket:
		release := awsv1.AliasVersionLatest
		if !alias.IsLatest() {
			release = strings.TrimPrefix(alias.Version, "v")
		}
		path := func(flavour, arch string) string {
			return fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", version, flavour, arch, release)
		}
		add(standard, amd64, path("", "x86_64"))
		add(standard, arm64, path("", "arm64"))
		add(neuron, amd64, path("", "x86_64"))
		add(nvidia, amd64, path("-nvidia", "x86_64"))
		add(nvidia, arm64, path("-nvidia", "arm64"))
	case awsv1.AMIFamilyWindows2019, awsv1.AMIFamilyWindows2022, awsv1.AMIFamilyWindows2025:
		if alias.Family == awsv1.AMIFamilyWindows2025 && minor < 35 {
			return nil, fmt.Errorf("there are no windows2025 images before Kubernetes 1.35 (the cluster has %s); use windows2022", version)
		}
		year := strings.TrimPrefix(string(alias.Family), "Windows")
		out = append(out, variant{
			path:         fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", year, version),
			requirements: windowsRequirements(alias.Family),
			moves:        true,
		})
	default:
		return nil, fmt.Errorf("family %q has no published images", alias.Family)
	}
	return out, nil
}

// PublicParameters are the names of AWS's parameters by which an alias is resolved for a Kubernetes version, such as 1.33.
//
// Errors: families that no image was ever published of for the version.
func PublicParameters(alias awsv1.Alias, version string) ([]string, error) {
	variants, err := variantsOf(alias, version)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, v := range variants {
		out = append(out, v.path)
	}
	return out, nil
}

// leaf is the last but one part of an EKS parameter: the image's full name, or the word for the newest.
func leaf(alias awsv1.Alias, image string) string {
	if alias.IsLatest() {
		return "recommended"
	}
	return image + "-" + alias.Version
}

func minorOf(version string) (int, error) {
	major, rest, ok := strings.Cut(version, ".")
	minor, err := strconv.Atoi(rest)
	if !ok || major != "1" || err != nil {
		return 0, fmt.Errorf("the Kubernetes version %q is not of the form 1.N", version)
	}
	return minor, nil
}

func requirementsOf(kind, arch string) []corev1.NodeSelectorRequirement {
	absent := func(key string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpDoesNotExist}
	}
	present := func(key string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpExists}
	}
	out := archRequirement(arch)
	switch kind {
	case standard:
		out = append(out, absent(awsv1.LabelInstanceAcceleratorCount), absent(awsv1.LabelInstanceGPUCount))
	case nvidia:
		out = append(out, present(awsv1.LabelInstanceGPUCount))
	case neuron:
		out = append(out, present(awsv1.LabelInstanceAcceleratorCount))
	}
	return sorted(out)
}

func archRequirement(arch string) []corev1.NodeSelectorRequirement {
	return []corev1.NodeSelectorRequirement{{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{arch}}}
}

func windowsRequirements(family awsv1.AMIFamily) []corev1.NodeSelectorRequirement {
	build := map[awsv1.AMIFamily]string{
		awsv1.AMIFamilyWindows2019: "10.0.17763",
		awsv1.AMIFamilyWindows2022: "10.0.20348",
		awsv1.AMIFamilyWindows2025: "10.0.26100",
	}[family]
	return sorted(append(archRequirement(amd64),
		corev1.NodeSelectorRequirement{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{string(corev1.Windows)}},
		corev1.NodeSelectorRequirement{Key: corev1.LabelWindowsBuild, Operator: corev1.NodeSelectorOpIn, Values: []string{build}},
	))
}
