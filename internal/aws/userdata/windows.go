package userdata

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// windows makes the PowerShell block that the launch agent of Windows runs: the user's lines, then the EKS bootstrap
// script. Source: Amazon EKS User Guide, optimized Windows AMIs, bootstrap script configuration parameters.
func windows(in Input) (string, error) {
	if in.Cluster.IPv6 {
		return "", fmt.Errorf("spec.amiFamily %s: the cluster gives pods IPv6 addresses, which EKS does not do for Windows", in.Family)
	}
	own, others, err := powershellLines(in.UserData)
	if err != nil {
		return "", err
	}
	call := []string{
		"& $EKSBootstrapScriptFile",
		"-EKSClusterName " + powershellQuote(in.Cluster.Name),
		"-APIServerEndpoint " + powershellQuote(in.Cluster.Endpoint),
	}
	if in.Cluster.CABundle != "" {
		call = append(call, "-Base64ClusterCA "+powershellQuote(in.Cluster.CABundle))
	}
	if flags := kubeletFlags(in); flags != "" {
		call = append(call, "-KubeletExtraArgs "+powershellQuote(flags))
	}
	if ip := dnsIP(in); ip != "" {
		call = append(call, "-DNSClusterIP "+powershellQuote(ip))
	}
	if in.Cluster.ServiceCIDR != "" { // else the script guesses it from the instance's address
		call = append(call, "-ServiceCIDR "+powershellQuote(in.Cluster.ServiceCIDR))
	}
	lines := []string{"<powershell>"}
	if own != "" {
		lines = append(lines, own)
	}
	lines = append(lines,
		`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`,
		strings.Join(call, " "),
		"</powershell>")
	if others != "" {
		lines = append(lines, others)
	}
	return strings.Join(append(lines, ""), "\n"), nil
}

var (
	powershellBegin = regexp.MustCompile(`(?i)<powershell>`)
	powershellEnd   = regexp.MustCompile(`(?i)</powershell>`)
	// agentTag begins a part of user data that is something else than PowerShell to the launch agent.
	agentTag = regexp.MustCompile(`(?i)^<(script|persist|detach|powershellArguments|runAsLocalSystem)>`)
	// agentTasks begins the document of tasks that the launch agent takes in place of scripts.
	agentTasks = regexp.MustCompile(`(?m)^version:[ \t]*["']?1\.[01]["']?[ \t]*$`)
)

// powershellLines parts the user's text into the lines of its PowerShell block and what stands about the block: a batch
// script, which runs before, and the agent's settings. A text without any tag is all PowerShell.
func powershellLines(text string) (lines, others string, err error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r", ""))
	begin := powershellBegin.FindAllStringIndex(text, 2)
	switch {
	case len(begin) > 1:
		return "", "", errors.New("spec.userData has more than one <powershell> block, of which Windows runs the first only: put all lines into one")
	case len(begin) == 1:
		end := powershellEnd.FindStringIndex(text)
		if end == nil || end[0] < begin[0][1] {
			return "", "", errors.New("spec.userData has a <powershell> block that is not closed by </powershell>")
		}
		lines, others = text[begin[0][1]:end[0]], strings.TrimSpace(text[:begin[0][0]])+"\n"+strings.TrimSpace(text[end[1]:])
	case powershellEnd.MatchString(text):
		return "", "", errors.New("spec.userData has </powershell> without <powershell>")
	case agentTag.MatchString(text):
		others = text
	case agentTasks.MatchString(text):
		return "", "", errors.New("spec.userData is a document of tasks for EC2Launch, which can't be merged with what the node needs: write its scripts as PowerShell")
	default:
		lines = text
	}
	return strings.Trim(lines, "\n"), strings.TrimSpace(others), nil
}

func powershellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
