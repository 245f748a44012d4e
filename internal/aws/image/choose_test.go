package image

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

func day(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }

func TestStatusPicksAndOrders(t *testing.T) {
	x86, arm := archRequirement(amd64), archRequirement(arm64)
	for name, c := range map[string]struct {
		in   []candidate
		want []awsv1.AMI
	}{
		"the newest of two for the same types": {
			[]candidate{{"ami-1", "n1", day(1), false, x86}, {"ami-2", "n2", day(2), false, x86}},
			[]awsv1.AMI{{ID: "ami-2", Name: "n2", Requirements: x86}},
		},
		"an older one before a deprecated one": {
			[]candidate{{"ami-1", "n1", day(1), false, x86}, {"ami-2", "n2", day(2), true, x86}},
			[]awsv1.AMI{{ID: "ami-1", Name: "n1", Requirements: x86}},
		},
		"a deprecated one if there is no other": {
			[]candidate{{"ami-2", "n2", day(2), true, x86}},
			[]awsv1.AMI{{ID: "ami-2", Name: "n2", Deprecated: true, Requirements: x86}},
		},
		"the greater name on the same day": {
			[]candidate{{"ami-2", "b", day(1), false, x86}, {"ami-1", "c", day(1), false, x86}},
			[]awsv1.AMI{{ID: "ami-1", Name: "c", Requirements: x86}},
		},
		"newest first, then by id": {
			[]candidate{{"ami-3", "", day(1), false, x86}, {"ami-2", "", day(1), false, arm}, {"ami-1", "", day(2), false, requirementsOf(nvidia, amd64)}},
			[]awsv1.AMI{{ID: "ami-1", Requirements: requirementsOf(nvidia, amd64)}, {ID: "ami-2", Requirements: arm}, {ID: "ami-3", Requirements: x86}},
		},
		"one image for two sets of types stays twice": {
			[]candidate{{"ami-1", "", day(1), false, requirementsOf(nvidia, amd64)}, {"ami-1", "", day(1), false, requirementsOf(neuron, amd64)}},
			[]awsv1.AMI{{ID: "ami-1", Requirements: requirementsOf(neuron, amd64)}, {ID: "ami-1", Requirements: requirementsOf(nvidia, amd64)}},
		},
	} {
		if diff := cmp.Diff(c.want, status(c.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestFor(t *testing.T) {
	in := func(key, value string) requirement.Term {
		return requirement.Term{Key: key, Operator: requirement.In, Values: []string{value}}
	}
	none := func(key string) requirement.Term {
		return requirement.Term{Key: key, Operator: requirement.DoesNotExist}
	}
	amis := []awsv1.AMI{
		{ID: "nvidia", Requirements: requirementsOf(nvidia, amd64)},
		{ID: "neuron", Requirements: requirementsOf(neuron, amd64)},
		{ID: "arm", Requirements: requirementsOf(standard, arm64)},
		{ID: "standard", Requirements: requirementsOf(standard, amd64)},
		{ID: "windows", Requirements: windowsRequirements(awsv1.AMIFamilyWindows2022)},
		{ID: "strange", Requirements: []corev1.NodeSelectorRequirement{{Key: "x", Operator: corev1.NodeSelectorOpGt, Values: []string{"1"}}}},
		{ID: "not", Requirements: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"amd64", "arm64"}}}},
	}
	x86, gpu := in("kubernetes.io/arch", "amd64"), awsv1.LabelInstanceGPUCount
	for name, c := range map[string]struct {
		terms []requirement.Term
		want  string
	}{
		"plain x86":                     {[]requirement.Term{x86, none(gpu), none(awsv1.LabelInstanceAcceleratorCount)}, "standard"},
		"plain x86, nothing said":       {[]requirement.Term{x86}, "standard"},
		"plain arm":                     {[]requirement.Term{in("kubernetes.io/arch", "arm64")}, "arm"},
		"a GPU":                         {[]requirement.Term{x86, in(gpu, "1")}, "nvidia"},
		"an accelerator":                {[]requirement.Term{x86, in(awsv1.LabelInstanceAcceleratorCount, "1")}, "neuron"},
		"an arm GPU without an image":   {[]requirement.Term{in("kubernetes.io/arch", "arm64"), in(gpu, "1")}, ""},
		"an architecture of no image's": {[]requirement.Term{in("kubernetes.io/arch", "riscv64")}, "not"},
	} {
		got, ok := For(amis, c.terms)
		if got.ID != c.want || ok != (c.want != "") {
			t.Errorf("%s boots %q, want %q", name, got.ID, c.want)
		}
	}
}

func paths(t *testing.T, alias, version string) []string {
	t.Helper()
	a, err := awsv1.ParseAlias(alias)
	if err != nil {
		t.Fatal(err)
	}
	variants, err := variantsOf(a, version)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, v := range variants {
		out = append(out, v.path)
	}
	return out
}

func TestParametersOfAliases(t *testing.T) {
	for _, c := range []struct {
		alias, version string
		want           []string
	}{
		{"al2@latest", "1.32", []string{
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-arm64/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
		}},
		{"al2@v20240807", "1.30", []string{
			"/aws/service/eks/optimized-ami/1.30/amazon-linux-2/amazon-eks-node-1.30-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.30/amazon-linux-2-arm64/amazon-eks-arm64-node-1.30-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.30/amazon-linux-2-gpu/amazon-eks-gpu-node-1.30-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.30/amazon-linux-2-gpu/amazon-eks-gpu-node-1.30-v20240807/image_id",
		}},
		{"al2023@latest", "1.36", []string{
			"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/nvidia/recommended/image_id",
			"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id",
		}},
		{"al2023@v20240807", "1.35", []string{
			"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.35-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.35-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/nvidia/amazon-eks-node-al2023-x86_64-nvidia-1.35-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/arm64/nvidia/amazon-eks-node-al2023-arm64-nvidia-1.35-v20240807/image_id",
			"/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/neuron/amazon-eks-node-al2023-x86_64-neuron-1.35-v20240807/image_id",
		}},
		{"bottlerocket@v1.20.3", "1.35", []string{
			"/aws/service/bottlerocket/aws-k8s-1.35/x86_64/1.20.3/image_id",
			"/aws/service/bottlerocket/aws-k8s-1.35/arm64/1.20.3/image_id",
			"/aws/service/bottlerocket/aws-k8s-1.35/x86_64/1.20.3/image_id",
			"/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/1.20.3/image_id",
			"/aws/service/bottlerocket/aws-k8s-1.35-nvidia/arm64/1.20.3/image_id",
		}},
		{"windows2022@latest", "1.35", []string{"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.35/image_id"}},
		{"windows2025@latest", "1.35", []string{"/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.35/image_id"}},
		{"windows2025@latest", "1.34", []string{"there are no windows2025 images before Kubernetes 1.35 (the cluster has 1.34); use windows2022"}},
		{"al2@latest", "1.33", []string{"there are no al2 images for Kubernetes 1.33 and later (the cluster has 1.33); use al2023"}},
		{"al2023@latest", "v1.33", []string{`the Kubernetes version "v1.33" is not of the form 1.N`}},
	} {
		if diff := cmp.Diff(c.want, paths(t, c.alias, c.version)); diff != "" {
			t.Errorf("%s on %s (-want +got):\n%s", c.alias, c.version, diff)
		}
	}
}

func TestQueryOfTerm(t *testing.T) {
	for name, c := range map[string]struct {
		term    awsv1.AMISelectorTerm
		owners  string
		filters string
	}{
		"a name is looked for among one's own and Amazon's": {awsv1.AMISelectorTerm{Name: "my-*"}, "amazon,self", "state=available name=my-*"},
		"an owner is taken as it is":                        {awsv1.AMISelectorTerm{Name: "x", Owner: "123456789012"}, "123456789012", "state=available name=x"},
		"tags have no default owner":                        {awsv1.AMISelectorTerm{Tags: map[string]string{"b": "*", "a": "v"}}, "", "state=available tag:a=v tag-key=b"},
	} {
		q := queryOf(c.term)
		var filters []string
		for _, f := range q.filters() {
			filters = append(filters, *f.Name+"="+strings.Join(f.Values, "|"))
		}
		if strings.Join(q.owners, ",") != c.owners || strings.Join(filters, " ") != c.filters {
			t.Errorf("%s: owners %v, filters %v", name, q.owners, filters)
		}
	}
}
