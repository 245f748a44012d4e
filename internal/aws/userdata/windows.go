package userdata

import "strings"

// windows makes the PowerShell block that EC2Launch runs: the user's lines, then the EKS bootstrap script.
func windows(in Input) (string, error) {
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
	lines := []string{"<powershell>"}
	if text := strings.TrimSpace(stripPowershellTags(in.UserData)); text != "" {
		lines = append(lines, text)
	}
	lines = append(lines,
		`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`,
		strings.Join(call, " "),
		"</powershell>", "")
	return strings.Join(lines, "\n"), nil
}

// stripPowershellTags takes the tags away that a user may have put around the lines; the block has its own.
func stripPowershellTags(s string) string {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "<powershell>"); ok {
		s = strings.TrimSuffix(strings.TrimSpace(rest), "</powershell>")
	}
	return s
}

func powershellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
