package userdata

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func input(family awsv1.AMIFamily, text string) Input {
	return Input{
		Family: family,
		Cluster: Cluster{
			Name: "blue", Endpoint: "https://api.example", CABundle: "Q0E=", DNSIP: "10.100.0.10", ServiceCIDR: "10.100.0.0/16",
		},
		Labels: map[string]string{
			"team": "a", "karpenter.sh/nodepool": "p", "node.kubernetes.io/instance-type": "m5.large",
			"kubernetes.io/os": "linux", "kubernetes.io/role": "x", "security.k8s.io/level": "9", "node-restriction.kubernetes.io/a": "b",
		},
		Taints: []corev1.Taint{
			{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
			{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute},
			{Key: "start.up/agent", Effect: corev1.TaintEffectNoSchedule},
			{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
		},
		Kubelet: &awsv1.KubeletConfiguration{
			PodsPerCore: new(int32(10)), SystemReserved: map[string]string{"cpu": "100m"}, KubeReserved: map[string]string{"memory": "1Gi"},
			EvictionHard: map[string]string{"memory.available": "5%"}, EvictionSoft: map[string]string{"nodefs.available": "10%"},
			EvictionSoftGracePeriod: map[string]string{"nodefs.available": "1m"}, EvictionMaxPodGracePeriod: new(int32(60)),
			ImageGCHighThresholdPercent: new(int32(80)), ImageGCLowThresholdPercent: new(int32(70)), CPUCFSQuota: new(true),
		},
		MaxPods:       29,
		InstanceStore: new(awsv1.InstanceStorePolicyRAID0),
		UserData:      text,
	}
}

const wantLabels = "karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=p,kubernetes.io/os=linux,node.kubernetes.io/instance-type=m5.large,team=a"

// parts reads a document as cloud-init would.
func parts(t *testing.T, doc string) (types, bodies []string) {
	t.Helper()
	msg, err := mail.ReadMessage(strings.NewReader(doc))
	if err != nil {
		t.Fatalf("not MIME: %v\n%s", err, doc)
	}
	_, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	r := multipart.NewReader(msg.Body, params["boundary"])
	for {
		p, err := r.NextPart()
		if err == io.EOF {
			return types, bodies
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type"))
		types, bodies = append(types, kind), append(bodies, string(body))
	}
}

func build(t *testing.T, in Input) string {
	t.Helper()
	out, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Build(in); again != out {
		t.Error("equal inputs gave different bytes")
	}
	return out
}

func TestAL2023TellsNodeadmEverything(t *testing.T) {
	types, bodies := parts(t, build(t, input(awsv1.AMIFamilyAL2023, "")))
	if diff := cmp.Diff([]string{"application/node.eks.aws"}, types); diff != "" {
		t.Fatal(diff)
	}
	var got map[string]any
	if err := yaml.Unmarshal([]byte(bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "metadata": map[string]any{},
		"spec": map[string]any{
			"cluster": map[string]any{"name": "blue", "apiServerEndpoint": "https://api.example", "certificateAuthority": "Q0E=", "cidr": "10.100.0.0/16"},
			"kubelet": map[string]any{
				"flags": []any{"--node-labels=" + wantLabels},
				"config": map[string]any{
					"clusterDNS": []any{"10.100.0.10"}, "maxPods": 29.0, "podsPerCore": 10.0,
					"registerWithTaints": []any{
						map[string]any{"key": "gpu", "value": "yes", "effect": "NoExecute"},
						map[string]any{"key": "gpu", "value": "yes", "effect": "NoSchedule"},
						map[string]any{"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
						map[string]any{"key": "start.up/agent", "effect": "NoSchedule"},
					},
					"systemReserved": map[string]any{"cpu": "100m"}, "kubeReserved": map[string]any{"memory": "1Gi"},
					"evictionHard": map[string]any{"memory.available": "5%"}, "evictionSoft": map[string]any{"nodefs.available": "10%"},
					"evictionSoftGracePeriod": map[string]any{"nodefs.available": "1m"}, "evictionMaxPodGracePeriod": 60.0,
					"imageGCHighThresholdPercent": 80.0, "imageGCLowThresholdPercent": 70.0, "cpuCFSQuota": true,
				},
			},
			"instance": map[string]any{"localStorage": map[string]any{"strategy": "RAID0"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const userMIME = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"B\"\r\n\r\n--B\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\r\necho one\r\n" +
	"--B\r\nContent-Type: application/node.eks.aws\r\nContent-Transfer-Encoding: base64\r\n\r\nYXBpVmVyc2lvbjogbm9kZS5la3MuYXdzL3YxYWxwaGExCmtpbmQ6IE5vZGVDb25maWcK\r\n--B--\r\n"

func TestTheUsersTextComesBeforeTheGeneratedPart(t *testing.T) {
	tests := []struct {
		name, text string
		types      []string
		first      string
	}{
		{"a shell script", "#!/bin/sh\necho hi\n", []string{"text/x-shellscript", "application/node.eks.aws"}, "echo hi"},
		{"a shell script from Windows", "#!/bin/sh\r\necho hi\r\n", []string{"text/x-shellscript", "application/node.eks.aws"}, "#!/bin/sh\necho hi"},
		{"a script after blank lines", "\n \t\r\n#!/bin/sh\necho hi\n", []string{"text/x-shellscript", "application/node.eks.aws"}, "#!/bin/sh\necho hi"},
		{"a configuration of cloud-init", "#cloud-config\nruncmd: []\n", []string{"text/cloud-config", "application/node.eks.aws"}, "#cloud-config\nruncmd: []"},
		{"one with a remark, after a blank line", "\r\n#cloud-config of ours\nruncmd: []\n", []string{"text/cloud-config", "application/node.eks.aws"}, "#cloud-config of ours"},
		{"a boothook", "#cloud-boothook\n#!/bin/sh\necho hi\n", []string{"text/cloud-boothook", "application/node.eks.aws"}, "#cloud-boothook\n#!/bin/sh"},
		{"lines that nothing runs", "echo hi\n", []string{"text/x-shellscript", "application/node.eks.aws"}, "echo hi"},
		{"a NodeConfig", "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n", []string{"application/node.eks.aws", "application/node.eks.aws"}, "kind: NodeConfig"},
		{"a MIME document", userMIME, []string{"text/x-shellscript", "application/node.eks.aws", "application/node.eks.aws"}, "echo one"},
		{"a MIME document of one part", "Content-Type: text/cloud-config\nMIME-Version: 1.0\n\nruncmd: []\n", []string{"text/cloud-config", "application/node.eks.aws"}, "runcmd"},
		{"a MIME document without parts", "Content-Type: multipart/mixed; boundary=B\n\n--B--\n", []string{"application/node.eks.aws"}, "NodeConfig"},
		{"only white space", " \n\t", []string{"application/node.eks.aws"}, "NodeConfig"},
		{"a line that looks like our boundary", "#!/bin/sh\n--//\necho hi\n", []string{"text/x-shellscript", "application/node.eks.aws"}, "--//\necho hi"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := build(t, input(awsv1.AMIFamilyAL2023, tt.text))
			types, bodies := parts(t, out)
			if diff := cmp.Diff(tt.types, types); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(bodies[0], tt.first) || strings.HasPrefix(tt.first, "#") && !strings.HasPrefix(bodies[0], tt.first) {
				t.Errorf("the first part is %q, want %q in it", bodies[0], tt.first)
			}
			if strings.Contains(out, "\r") {
				t.Error("a carriage return is left")
			}
		})
	}
}

func TestTextThatNothingRunsIsToldOf(t *testing.T) {
	const config = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n"
	for _, c := range []struct {
		family awsv1.AMIFamily
		text   string
		want   bool
	}{
		{awsv1.AMIFamilyAL2023, "echo hi\n", true},
		{awsv1.AMIFamilyAL2, "echo hi\n", true},
		{awsv1.AMIFamilyAL2, config, true}, // it has no nodeadm
		{awsv1.AMIFamilyAL2023, config, false},
		{awsv1.AMIFamilyAL2023, "\n#!/bin/sh\necho hi\n", false},
		{awsv1.AMIFamilyAL2023, "#cloud-config\n", false},
		{awsv1.AMIFamilyAL2023, " \n", false},
		{awsv1.AMIFamilyAL2023, userMIME, false},
		{awsv1.AMIFamilyAL2023, "Content-Type: text/x-shellscript\n\necho hi\n", false},
		{awsv1.AMIFamilyCustom, "echo hi\n", false},
		{awsv1.AMIFamilyWindows2022, "Write-Host hi\n", false},
	} {
		if got := Ignored(input(c.family, c.text)); (got != "") != c.want || c.want && !strings.HasPrefix(got, "spec.userData") {
			t.Errorf("of %q for %s it is said: %q", c.text, c.family, got)
		}
	}
}

func TestATransferEncodingOfTheUsersPartIsKept(t *testing.T) {
	if out := build(t, input(awsv1.AMIFamilyAL2023, userMIME)); !strings.Contains(out, "Content-Transfer-Encoding: base64") || !strings.Contains(out, "YXBpVmVyc2lvbjogbm9kZS5la3MuYXdzL3YxYWxwaGExCmtpbmQ6IE5vZGVDb25maWcK") {
		t.Errorf("got %s", out)
	}
}

func TestAL2CallsTheBootstrapScriptLast(t *testing.T) {
	in := input(awsv1.AMIFamilyAL2, "#!/bin/sh\necho hi\n")
	in.Cluster.IPv6 = true
	in.Kubelet.ClusterDNS = []string{"1.2.3.4", "5.6.7.8"}
	types, bodies := parts(t, build(t, in))
	if diff := cmp.Diff([]string{"text/x-shellscript", "text/x-shellscript"}, types); diff != "" {
		t.Fatal(diff)
	}
	for _, want := range []string{
		"/etc/eks/bootstrap.sh 'blue'", "--apiserver-endpoint 'https://api.example'", "--b64-cluster-ca 'Q0E='", "--ip-family ipv6",
		"--dns-cluster-ip '1.2.3.4'", "--use-max-pods false", "--local-disks raid0", `--node-labels="` + wantLabels + `"`,
		`--register-with-taints="gpu=yes:NoExecute,gpu=yes:NoSchedule,karpenter.sh/unregistered=:NoExecute,start.up/agent=:NoSchedule"`,
		"--max-pods=29", "--pods-per-core=10", `--system-reserved="cpu=100m"`, `--kube-reserved="memory=1Gi"`,
		`--eviction-hard="memory.available<5%"`, `--eviction-soft="nodefs.available<10%"`, `--eviction-soft-grace-period="nodefs.available=1m"`,
		"--eviction-max-pod-grace-period=60", "--image-gc-high-threshold=80", "--image-gc-low-threshold=70", "--cpu-cfs-quota=true",
	} {
		if !strings.Contains(bodies[1], want) {
			t.Errorf("%q is missing in\n%s", want, bodies[1])
		}
	}
}

func TestBottlerocketKeepsTheUsersSettingsAndWritesItsOwn(t *testing.T) {
	text := `
[settings]
motd = "hi"
[settings.kubernetes]
api-server = "https://wrong"
allowed-unsafe-sysctls = ["net.ipv4.tcp_mtu_probing"]
[settings.kubernetes.node-labels]
team = "wrong"
mine = "1"
[settings.kubernetes.node-taints]
old = ["x:NoSchedule"]
[settings.bootstrap-commands.mine]
commands = [["true"]]
mode = "always"
`
	var got struct {
		Settings struct {
			Motd       string `toml:"motd"`
			Kubernetes struct {
				APIServer   string              `toml:"api-server"`
				ClusterName string              `toml:"cluster-name"`
				CA          string              `toml:"cluster-certificate"`
				DNS         string              `toml:"cluster-dns-ip"`
				MaxPods     int                 `toml:"max-pods"`
				Sysctls     []string            `toml:"allowed-unsafe-sysctls"`
				Labels      map[string]string   `toml:"node-labels"`
				Taints      map[string][]string `toml:"node-taints"`
				Hard        map[string]string   `toml:"eviction-hard"`
				High        int                 `toml:"image-gc-high-threshold-percent"`
			} `toml:"kubernetes"`
			Commands map[string]struct {
				Commands [][]string `toml:"commands"`
			} `toml:"bootstrap-commands"`
		} `toml:"settings"`
	}
	if err := toml.Unmarshal([]byte(build(t, input(awsv1.AMIFamilyBottlerocket, text))), &got); err != nil {
		t.Fatal(err)
	}
	k := got.Settings.Kubernetes
	if got.Settings.Motd != "hi" || k.APIServer != "https://api.example" || k.ClusterName != "blue" || k.CA != "Q0E=" || k.DNS != "10.100.0.10" || k.MaxPods != 29 ||
		len(k.Sysctls) != 1 || k.Hard["memory.available"] != "5%" || k.High != 80 {
		t.Errorf("got %+v", got)
	}
	wantTaints := map[string][]string{"gpu": {"yes:NoExecute", "yes:NoSchedule"}, "karpenter.sh/unregistered": {":NoExecute"}, "start.up/agent": {":NoSchedule"}}
	if diff := cmp.Diff(wantTaints, k.Taints); diff != "" {
		t.Error(diff)
	}
	if k.Labels["mine"] != "1" || k.Labels["team"] != "a" || k.Labels["karpenter.sh/do-not-sync-taints"] != "true" || k.Labels["kubernetes.io/role"] != "" {
		t.Errorf("labels are %v", k.Labels)
	}
	if len(got.Settings.Commands) != 2 || len(got.Settings.Commands["000-mount-instance-storage"].Commands) != 2 {
		t.Errorf("commands are %v", got.Settings.Commands)
	}
}

func TestWindowsWrapsTheUsersLines(t *testing.T) {
	out := build(t, input(awsv1.AMIFamilyWindows2022, "<powershell>\nWrite-Host hi\n</powershell>"))
	if strings.Count(out, "<powershell>") != 1 || strings.Index(out, "Write-Host hi") > strings.Index(out, "-EKSClusterName 'blue'") || !strings.Contains(out, "-DNSClusterIP '10.100.0.10'") {
		t.Errorf("got %s", out)
	}
}

func TestWhatStandsAboutThePowershellBlockStays(t *testing.T) {
	for name, c := range map[string]struct{ text, before, after string }{
		"lines without tags":            {"Write-Host hi\r\nGet-Item x", "<powershell>\nWrite-Host hi\nGet-Item x\n[string]$EKS", "</powershell>\n"},
		"a setting of the agent":        {"<persist>true</persist>\n<powershell>\nWrite-Host hi\n</powershell>", "<powershell>\nWrite-Host hi\n[string]$EKS", "</powershell>\n<persist>true</persist>\n"},
		"a batch script behind it":      {"<POWERSHELL>Write-Host hi</POWERSHELL>\n<script>echo hi</script>", "<powershell>\nWrite-Host hi\n[string]$EKS", "</powershell>\n<script>echo hi</script>\n"},
		"a batch script alone":          {"<script>echo hi</script>", "<powershell>\n[string]$EKS", "</powershell>\n<script>echo hi</script>\n"},
		"white space alone":             {" \n ", "<powershell>\n[string]$EKS", "</powershell>\n"},
		"lines whose indenting matters": {"<powershell>\n  if (1) {\n    x\n  }\n</powershell>", "<powershell>\n  if (1) {\n    x\n  }\n[string]$EKS", "</powershell>\n"},
	} {
		out := build(t, input(awsv1.AMIFamilyWindows2022, c.text))
		if !strings.HasPrefix(out, c.before) || !strings.HasSuffix(out, c.after) {
			t.Errorf("%s:\n%s", name, out)
		}
	}
	in := input(awsv1.AMIFamilyWindows2022, "")
	in.Cluster.IPv6 = true
	if _, err := Build(in); err == nil || !strings.Contains(err.Error(), "spec.amiFamily") {
		t.Errorf("Windows in a cluster with IPv6: %v", err)
	}
}

func TestBottlerocketIsToldOfDirectoriesUntilItKnowsThem(t *testing.T) {
	for image, want := range map[string]bool{
		"": true, "my-image": true,
		"bottlerocket-aws-k8s-1.35-x86_64-v1.45.0-1a2b3c4d": true, "bottlerocket-aws-k8s-1.35-nvidia-aarch64-v1.9.3-1a2b3c4d": true,
		"bottlerocket-aws-k8s-1.35-x86_64-v1.46.0-1a2b3c4d": false, "bottlerocket-aws-k8s-1.35-nvidia-aarch64-v2.0.0-1a2b3c4d": false,
	} {
		in := input(awsv1.AMIFamilyBottlerocket, "")
		in.ImageName = image
		if got := strings.Contains(build(t, in), "--dirs"); got != want {
			t.Errorf("image %q: directories named: %t, want %t", image, got, want)
		}
	}
}

func TestCustomIsVerbatim(t *testing.T) {
	for _, text := range []string{"", "anything \r\n at all"} {
		if out := build(t, input(awsv1.AMIFamilyCustom, text)); out != text {
			t.Errorf("got %q, want %q", out, text)
		}
	}
}

func TestWhatCanNotBeMergedIsAnErrorThatNamesTheField(t *testing.T) {
	long := strings.Repeat("x", MaxBytes)
	tests := []struct {
		name   string
		in     Input
		reason string
		field  string
	}{
		{"text that is no TOML", input(awsv1.AMIFamilyBottlerocket, "#!/bin/sh\necho hi"), awsv1.ReasonSpecInvalid, "spec.userData"},
		{"TOML whose settings are no table", input(awsv1.AMIFamilyBottlerocket, "settings = 1"), awsv1.ReasonSpecInvalid, "spec.userData"},
		{"TOML whose labels are no table", input(awsv1.AMIFamilyBottlerocket, "[settings.kubernetes]\nnode-labels = []"), awsv1.ReasonSpecInvalid, "node-labels"},
		{"MIME without a boundary", input(awsv1.AMIFamilyAL2023, "MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nx"), awsv1.ReasonSpecInvalid, "spec.userData"},
		{"MIME that does not end", input(awsv1.AMIFamilyAL2, "Content-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/plain\n\nx"), awsv1.ReasonSpecInvalid, "spec.userData"},
		{"MIME whose parts have another boundary", input(awsv1.AMIFamilyAL2023, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"BOUNDARY\"\n\n--//\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho hi\n--//--\n"), awsv1.ReasonSpecInvalid, `"--BOUNDARY"`},
		{"MIME whose parts have a longer boundary", input(awsv1.AMIFamilyAL2, "Content-Type: multipart/mixed; boundary=B\n\n--BOUNDARY\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho hi\n--BOUNDARY--\n"), awsv1.ReasonSpecInvalid, `"--B"`},
		{"MIME with a broken header", input(awsv1.AMIFamilyAL2, "MIME-Version: 1.0\nno colon here\n\nx"), awsv1.ReasonSpecInvalid, "spec.userData"},
		{"a NodeConfig that nodeadm can't read", input(awsv1.AMIFamilyAL2023, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: 3"), awsv1.ReasonSpecInvalid, "spec.userData: part 1"},
		{"a part that says it is a NodeConfig", input(awsv1.AMIFamilyAL2023, "Content-Type: application/node.eks.aws\n\nkind: ConfigMap"), awsv1.ReasonSpecInvalid, "nodeadm takes"},
		{"a PowerShell block that does not end", input(awsv1.AMIFamilyWindows2019, "<powershell>Write-Host hi"), awsv1.ReasonSpecInvalid, "not closed"},
		{"a PowerShell block that does not begin", input(awsv1.AMIFamilyWindows2019, "Write-Host hi</powershell>"), awsv1.ReasonSpecInvalid, "spec.userData"},
		{"two PowerShell blocks", input(awsv1.AMIFamilyWindows2025, "<powershell></powershell><PowerShell></powershell>"), awsv1.ReasonSpecInvalid, "more than one"},
		{"tasks for EC2Launch", input(awsv1.AMIFamilyWindows2022, "version: 1.1\ntasks: []"), awsv1.ReasonSpecInvalid, "EC2Launch"},
		{"Windows more than EC2 takes", input(awsv1.AMIFamilyWindows2022, long), awsv1.ReasonUserDataSizeLimitExceeded, "spec.userData"},
		{"Bottlerocket more than EC2 takes", input(awsv1.AMIFamilyBottlerocket, "motd = '"+long+"'"), awsv1.ReasonUserDataSizeLimitExceeded, "spec.userData"},
		{"more than EC2 takes", input(awsv1.AMIFamilyAL2023, "#!/bin/sh\n"+long), awsv1.ReasonUserDataSizeLimitExceeded, "spec.userData"},
		{"a custom document of more than EC2 takes", input(awsv1.AMIFamilyCustom, long+"x"), awsv1.ReasonUserDataSizeLimitExceeded, "spec.userData"},
		{"a family that nobody knows", input("Debian", ""), awsv1.ReasonSpecInvalid, "spec.amiFamily"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(tt.in)
			if e, ok := err.(*cloud.Error); !ok || e.Class != cloud.Invalid || e.Reason != tt.reason || !strings.Contains(err.Error(), tt.field) {
				t.Errorf("got %v, want reason %s and %q", err, tt.reason, tt.field)
			}
		})
	}
	in := input(awsv1.AMIFamilyAL2023, "")
	in.Cluster.ServiceCIDR = ""
	if _, err := Build(in); err == nil {
		t.Error("AL2023 without the range of services must be an error")
	}
}

func FuzzBuild(f *testing.F) {
	for _, s := range []string{
		"", userMIME, "#!/bin/sh", "[settings]\na=1", "settings.kubernetes.node-labels.a='b'", "kind: NodeConfig", "MIME-Version:", "Content-Type: multipart/mixed; boundary=\"//\"\n\n--//--",
		"a: &a [*a]", "\x00\xff", "Content-Type: text/x;\n\n", "- - - -", "a = 1979-05-27T07:32:00Z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, family := range []awsv1.AMIFamily{awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyWindows2022} {
			out, err := Build(input(family, text))
			if err != nil {
				if !strings.Contains(err.Error(), "spec.userData") {
					t.Errorf("%s: the error does not name the field: %v", family, err)
				}
				continue
			}
			if family == awsv1.AMIFamilyBottlerocket {
				var v map[string]any
				if err := toml.Unmarshal([]byte(out), &v); err != nil {
					t.Errorf("%s: the document can't be read back: %v", family, err)
				}
			}
			if !strings.Contains(out, "https://api.example") {
				t.Errorf("%s: the endpoint is missing in %q", family, fmt.Sprintf("%.200s", out))
			}
		}
	})
}

// Fields that are not listed reach the nodes of the one family whose bootstrap takes a whole configuration.
func TestAL2023TellsNodeadmTheKubeletsOtherFields(t *testing.T) {
	in := input(awsv1.AMIFamilyAL2023, "")
	in.Kubelet.Others = map[string]json.RawMessage{"registryPullQPS": json.RawMessage("10"), "featureGates": json.RawMessage(`{"x":true}`), "maxPods": json.RawMessage(`"1 + 1"`)}
	doc, err := nodeConfig(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"registryPullQPS: 10\n", "featureGates:\n        x: true\n", "maxPods: 29\n"} {
		if !strings.Contains(doc, want) {
			t.Errorf("no %q in\n%s", want, doc)
		}
	}
}
