package userdata

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// userParts turns the user's text into the parts that come before the generated one.
func userParts(in Input, nodeConfig bool) ([]part, error) {
	text := withoutBlankStart(strings.ReplaceAll(in.UserData, "\r", ""))
	switch {
	case text == "":
		return nil, nil
	case isMIME(text):
		return parseMIME(text)
	case nodeConfig && isNodeConfig(text):
		return []part{newPart(typeNodeConfig, text)}, nil
	}
	return []part{newPart(cloudInitType(text), text)}, nil
}

// withoutBlankStart is a text from its first line on that is not blank: what a text is stands there, and has to stand at the very
// beginning.
func withoutBlankStart(text string) string {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if strings.TrimSpace(line) != "" {
			break
		}
		text = rest
	}
	return text
}

// cloudInitTypes are the types of texts that are no scripts, by the word that they begin with. Source: cloud-init, user data formats.
var cloudInitTypes = map[string]string{
	"#cloud-config":         "text/cloud-config",
	"#cloud-config-archive": "text/cloud-config-archive",
	"#cloud-boothook":       "text/cloud-boothook",
	"#include":              "text/x-include-url",
	"#include-once":         "text/x-include-once-url",
	"#part-handler":         "text/part-handler",
}

// cloudInitType is the type of the part that a text becomes: what cloud-init takes it for, else a script.
func cloudInitType(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	word, _, _ := strings.Cut(line, " ")
	return cmp.Or(cloudInitTypes[word], typeShell)
}

// Ignored says that the user's text has no effect, and why; empty where it has. It is not refused, for Karpenter takes it too.
func Ignored(in Input) string {
	if in.Family != awsv1.AMIFamilyAL2 && in.Family != awsv1.AMIFamilyAL2023 {
		return ""
	}
	text := withoutBlankStart(strings.ReplaceAll(in.UserData, "\r", ""))
	parts, err := userParts(in, in.Family == awsv1.AMIFamilyAL2023)
	if err != nil || len(parts) == 0 || isMIME(text) || parts[0].header.Get("Content-Type") != typeShell || strings.HasPrefix(text, "#!") {
		return ""
	}
	return "spec.userData: cloud-init runs it as a script and can't, for it does not begin with #!; begin a script with #!/bin/bash and cloud-init's own text with a line such as #cloud-config"
}

// isNodeConfig reports whether a text is nodeadm's YAML.
func isNodeConfig(text string) bool {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		return false
	}
	return head.Kind == "NodeConfig" && strings.HasPrefix(head.APIVersion, "node.eks.aws/")
}

// al2023 makes the document that nodeadm reads: it merges the NodeConfig parts in order, so the generated one, which is
// the last, wins. Source: awslabs/amazon-eks-ami, nodeadm API v1alpha1.
func al2023(in Input) (string, error) {
	if in.Cluster.ServiceCIDR == "" {
		return "", errors.New("the range of service addresses of the cluster is not known, AL2023 can't boot without it")
	}
	parts, err := userParts(in, true)
	if err != nil {
		return "", err
	}
	if err := checkNodeConfigs(parts); err != nil {
		return "", err
	}
	config, err := nodeConfig(in)
	if err != nil {
		return "", err
	}
	return formatMIME(append(parts, newPart(typeNodeConfig, config))), nil
}

func nodeConfig(in Input) (string, error) {
	cluster := map[string]any{
		"name":              in.Cluster.Name,
		"apiServerEndpoint": in.Cluster.Endpoint,
		"cidr":              in.Cluster.ServiceCIDR,
	}
	if in.Cluster.CABundle != "" {
		cluster["certificateAuthority"] = in.Cluster.CABundle
	}
	kubelet := map[string]any{"config": kubeletConfig(in)}
	if len(in.Labels) > 0 {
		kubelet["flags"] = []string{"--node-labels=" + joinLabels(in.Labels)}
	}
	spec := map[string]any{"cluster": cluster, "kubelet": kubelet}
	if raid0(in) {
		spec["instance"] = map[string]any{"localStorage": map[string]any{"strategy": "RAID0"}}
	}
	out, err := yaml.Marshal(map[string]any{
		"apiVersion": "node.eks.aws/v1alpha1",
		"kind":       "NodeConfig",
		"metadata":   map[string]any{},
		"spec":       spec,
	})
	if err != nil {
		return "", fmt.Errorf("writing the NodeConfig: %w", err)
	}
	return string(out), nil
}

// al2 makes the document whose last part calls the EKS bootstrap script. Source: awslabs/amazon-eks-ami, bootstrap.sh.
func al2(in Input) (string, error) {
	parts, err := userParts(in, false)
	if err != nil {
		return "", err
	}
	return formatMIME(append(parts, newPart(typeShell, al2Bootstrap(in)))), nil
}

func al2Bootstrap(in Input) string {
	args := []string{"/etc/eks/bootstrap.sh " + shellQuote(in.Cluster.Name), "--apiserver-endpoint " + shellQuote(in.Cluster.Endpoint)}
	if in.Cluster.CABundle != "" {
		args = append(args, "--b64-cluster-ca "+shellQuote(in.Cluster.CABundle))
	}
	if in.Cluster.IPv6 {
		args = append(args, "--ip-family ipv6")
	}
	if ip := dnsIP(in); ip != "" {
		args = append(args, "--dns-cluster-ip "+shellQuote(ip))
	}
	if in.MaxPods > 0 {
		args = append(args, "--use-max-pods false")
	}
	if flags := kubeletFlags(in); flags != "" {
		args = append(args, "--kubelet-extra-args "+shellQuote(flags))
	}
	if raid0(in) {
		args = append(args, "--local-disks raid0")
	}
	return "#!/bin/bash -xe\n" +
		"exec > >(tee /var/log/user-data.log | logger -t user-data -s 2>/dev/console) 2>&1\n" +
		strings.Join(args, " \\\n") + "\n"
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
