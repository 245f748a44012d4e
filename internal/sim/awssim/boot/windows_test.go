package boot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	windowsScript = `[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"` + "\n"
	windowsCall   = windowsScript + `& $EKSBootstrapScriptFile -EKSClusterName 'demo' -APIServerEndpoint '` + endpoint + `' -Base64ClusterCA '` + ca + `'`
)

func powershell(lines string) string { return "<powershell>\n" + lines + "\n</powershell>\n" }

// windowsYear launches an image of one year; releases are years for Windows.
func windowsYear(t *testing.T, l *lab, year string) func(*world.RunRequest) {
	for _, i := range l.world.Images() {
		if i.Family == world.FamilyWindows && i.Release == year && i.KubernetesVersion == "1.36" {
			return func(r *world.RunRequest) { r.Data.ImageID = i.ID }
		}
	}
	t.Fatalf("no image of Windows %s", year)
	return nil
}

func TestUserDataMakesAWindowsNode(t *testing.T) {
	for _, tt := range []struct {
		what, year, userData string
		want                 shape
		build                string
	}{
		{
			"the bootstrap call alone", "2019", powershell(windowsCall),
			shape{"", "", "cpu=1930m memory=5846Mi pods=110 disk=47243696538", "cpu=2 memory=7811Mi pods=110 disk=51199Mi"}, "10.0.17763",
		},
		{
			"arguments for the kubelet", "2022",
			powershell(windowsCall + ` -KubeletExtraArgs '--node-labels="a=b,team=x" --register-with-taints="os=windows:NoSchedule,karpenter.sh/unregistered:NoExecute" --max-pods=20 --eviction-hard="memory.available<1Gi"' -DNSClusterIP '172.20.0.10'`),
			shape{"a=b team=x", "os=windows:NoSchedule karpenter.sh/unregistered:NoExecute",
				"cpu=1930m memory=6312Mi pods=20 disk=50175Mi", "cpu=2 memory=7811Mi pods=20 disk=51199Mi"}, "10.0.20348",
		},
		{
			"lines of the user's own first, continued lines, names in short and in any case, output sent away", "2025",
			"<persist>true</persist>\n" + powershell("<# a\n comment #>\n# & nothing\nWrite-Host \"it''s } not ended\"\n$x = @'\nthrow 'no'\n'@\nif ($x -eq 1) { exit 1 }\n"+
				windowsScript+"try {\n & $eksbootstrapscriptfile -eksclustername \"demo\" `\n  -apis "+endpoint+" -base64 "+ca+" -KubeletExtraArgs \"--kube-reserved=cpu=100m,memory=1Gi\" 3>&1 4>&1 > C:\\log.txt\n} catch { throw $_ }"),
			shape{"", "", "cpu=1900m memory=6287Mi pods=110 disk=48317438362", "cpu=2 memory=7811Mi pods=110 disk=51199Mi"}, "10.0.26100",
		},
		{
			"called through another PowerShell, endpoint and CA asked of EKS", "2022",
			powershell(`powershell -File 'C:\Program Files\Amazon\EKS\Start-EKSBootstrap.ps1' -EKSClusterName demo`),
			shape{"", "", "cpu=1930m memory=5846Mi pods=110 disk=47243696538", "cpu=2 memory=7811Mi pods=110 disk=51199Mi"}, "10.0.20348",
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			l := newLab(t, nil)
			i := l.launch(world.FamilyWindows, world.VariantStandard, "m5.large", tt.userData, windowsYear(t, l, tt.year))
			l.settle()
			nodes := l.nodes()
			if len(nodes) != 1 {
				t.Fatalf("%d nodes; boot log:\n%s", len(nodes), l.log(i.ID))
			}
			n := nodes[0]
			if diff := cmp.Diff(tt.want, shapeOf(n)); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, l.log(i.ID))
			}
			addresses := n.Status.Allocatable["vpc.amazonaws.com/PrivateIPv4Address"]
			got := []string{n.Labels["kubernetes.io/os"], n.Labels["node.kubernetes.io/windows-build"], n.Status.NodeInfo.OperatingSystem, addresses.String()}
			if diff := cmp.Diff([]string{"windows", tt.build, "windows", "9"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindowsGuessesTheServiceCIDRThatItIsNotTold(t *testing.T) {
	const other = "192.168.128.0/17"
	for what, tt := range map[string]struct {
		cidr, userData string
		joins          bool
	}{
		"told":                      {other, powershell(windowsCall + " -ServiceCIDR '" + other + "'"), true},
		"told another":              {other, powershell(windowsCall + " -ServiceCIDR 10.0.0.0/16"), false},
		"not told":                  {other, powershell(windowsCall), false},
		"not told, and guesses it":  {cidr, powershell(windowsCall), true},
		"not told, and asks EKS":    {other, powershell(windowsScript + "& $EKSBootstrapScriptFile -EKSClusterName demo"), true},
		"asks EKS for lack of a CA": {other, powershell(windowsScript + "& $EKSBootstrapScriptFile -EKSClusterName demo -APIServerEndpoint " + endpoint), true},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t, nil)
			l.world.SetCluster(world.Cluster{Name: "demo", Endpoint: endpoint, CA: ca, Version: "1.36", ServiceIPv4CIDR: tt.cidr})
			i := l.launch(world.FamilyWindows, world.VariantStandard, "m5.large", tt.userData, nil)
			l.settle()
			if joined := len(l.nodes()) == 1; joined != tt.joins {
				t.Errorf("joined: %t; boot log:\n%s", joined, l.log(i.ID))
			}
		})
	}
}

func TestWrongUserDataNeverJoinsFromWindows(t *testing.T) {
	for what, tt := range map[string]struct{ userData, want string }{
		"no user data":                            {"", "no user data"},
		"no tags around the script":               {windowsCall, "no <powershell> block"},
		"a block that is not closed":              {"<powershell>" + windowsCall, "not closed"},
		"a block that does nothing":               {powershell(""), "does not call"},
		"a batch script only":                     {"<script>echo hi</script>", "no <powershell> block"},
		"the shell script of Amazon Linux":        {"#!/bin/bash\n/etc/eks/bootstrap.sh demo", "no <powershell> block"},
		"the path of the script printed, not run": {powershell(`"C:\Program Files\Amazon\EKS\Start-EKSBootstrap.ps1" -EKSClusterName demo`), "does not call"},
		"a variable that was never set":           {powershell("& $EKSBootstrapScriptFile -EKSClusterName demo"), "does not call"},
		"a string that does not end":              {powershell("Write-Host 'hi\n" + windowsCall), "missing the terminator"},
		"a brace that is not closed":              {powershell("if (1) {\n" + windowsCall), "missing closing '}'"},
		"lines of the user's own that end it":     {powershell("exit 1\n" + windowsCall), `ends with "exit"`},
		"a parameter that the script has not":     {powershell(windowsCall + " -MaxPods 10"), "matches parameter name 'MaxPods'"},
		"a parameter that is cut too short":       {powershell(windowsCall + " -Kube 10"), "ambiguous"},
		"a parameter given twice":                 {powershell(windowsCall + " -EKSClusterName demo"), "more than once"},
		"a parameter without value":               {powershell(windowsCall + " -DNSClusterIP"), "missing an argument"},
		"an argument without parameter":           {powershell(windowsCall + " more"), "positional parameter"},
		"no cluster name":                         {powershell(windowsScript + "& $EKSBootstrapScriptFile -DNSClusterIP 10.0.0.10"), "-EKSClusterName is not given"},
		"another cluster's name":                  {powershell(strings.Replace(windowsCall, "demo", "prod", 1)), "Unauthorized"},
		"another endpoint":                        {powershell(strings.Replace(windowsCall, "6443", "6444", 1)), "cannot reach"},
		"another CA":                              {powershell(strings.Replace(windowsCall, ca, "T1RIRVI=", 1)), "certificate authority"},
		"a label that a kubelet may not set":      {powershell(windowsCall + " -KubeletExtraArgs '--node-labels=node-restriction.kubernetes.io/a=b'"), "may not set"},
		"a flag that kubelets do not have":        {powershell(windowsCall + " -KubeletExtraArgs '--container-runtime=docker'"), "unknown flag"},
		"a quote in the arguments left open":      {powershell(windowsCall + ` -KubeletExtraArgs '--node-labels="a=b'`), "double quote"},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t, nil)
			i := l.launch(world.FamilyWindows, world.VariantStandard, "m5.large", tt.userData, nil)
			l.settle()
			r, _ := l.boot.Report(i.ID)
			if last := r.Log[len(r.Log)-1].Text; len(l.nodes()) != 0 || r.State != boot.Refused || !strings.Contains(last, tt.want) {
				t.Errorf("%d nodes, state %s, boot log says %q, want something of %q", len(l.nodes()), r.State, last, tt.want)
			}
		})
	}
}
