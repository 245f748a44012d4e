package userdata

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

func TestUserDataIsTakenApart(t *testing.T) {
	raid0 := awsv1.InstanceStorePolicyRAID0
	for name, c := range map[string]struct {
		text string
		want Found // Settings are compared as texts, below
		said []string
	}{
		"nothing is custom": {"", Found{Family: awsv1.AMIFamilyCustom, Why: "there is no user data: the image joins the cluster by itself"}, nil},
		"a call of the bootstrap script needs no user data": {
			"#!/bin/bash\nset -ex\n# join\n/etc/eks/bootstrap.sh 'demo' \\\n  --apiserver-endpoint https://x --b64-cluster-ca LS0t --dns-cluster-ip 10.0.0.10 --local-disks raid0 \\\n" +
				"  --kubelet-extra-args '--node-labels=team=a,zone=\"b\" --register-with-taints=k=v:NoSchedule,x:NoExecute --max-pods=40 --eviction-hard=memory.available<5% --system-reserved cpu=100m,memory=1Gi --v=4'\n",
			Found{
				Family: awsv1.AMIFamilyAL2, ClusterName: "demo", InstanceStore: &raid0,
				Labels: map[string]string{"team": "a", "zone": "b"},
				Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}, {Key: "x", Effect: "NoExecute"}},
				Kubelet: awsv1.KubeletConfiguration{
					ClusterDNS: []string{"10.0.0.10"}, MaxPods: new(int32(40)), EvictionHard: map[string]string{"memory.available": "5%"},
					SystemReserved: map[string]string{"cpu": "100m", "memory": "1Gi"},
				},
			},
			[]string{"dropped --v=4", "generated --apiserver-endpoint", "moved --max-pods spec.kubelet.maxPods"},
		},
		"--use-max-pods false alone is the kubelet's 110": {
			"#!/bin/bash\n/etc/eks/bootstrap.sh demo --use-max-pods false\n",
			Found{Family: awsv1.AMIFamilyAL2, ClusterName: "demo", Kubelet: awsv1.KubeletConfiguration{MaxPods: new(int32(110))}}, nil,
		},
		"--use-max-pods false beside --max-pods": {
			"#!/bin/bash\n/etc/eks/bootstrap.sh demo --use-max-pods false --kubelet-extra-args --max-pods=17\n",
			Found{Family: awsv1.AMIFamilyAL2, ClusterName: "demo", Kubelet: awsv1.KubeletConfiguration{MaxPods: new(int32(17))}}, nil,
		},
		"other commands stay, and those that came after are told": {
			"#!/bin/bash\nyum install -y foo\n/etc/eks/bootstrap.sh demo\ntouch /done\n",
			Found{Family: awsv1.AMIFamilyAL2, ClusterName: "demo", Rest: "#!/bin/bash\nyum install -y foo\ntouch /done\n"},
			[]string{"dropped order of the script"},
		},
		"variables that the script sets are known": {
			"#!/bin/bash\nARGS=\"--max-pods=9\"\nexport NAME=demo\nsudo /etc/eks/bootstrap.sh \"${NAME}\" --kubelet-extra-args \"$ARGS\"\n",
			Found{Family: awsv1.AMIFamilyAL2, ClusterName: "demo", Kubelet: awsv1.KubeletConfiguration{MaxPods: new(int32(9))}}, nil,
		},
		"a cluster name that is computed does not matter": {
			"#!/bin/bash\n/etc/eks/bootstrap.sh $(cat /name) --b64-cluster-ca \"${CA}\"\n",
			Found{Family: awsv1.AMIFamilyAL2}, nil,
		},
		"flags that are computed make it custom": {
			"#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args \"--node-labels=az=$(curl x)\"\n",
			Found{Family: awsv1.AMIFamilyCustom, Why: "the value of --kubelet-extra-args is worked out at boot", Rest: "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args \"--node-labels=az=$(curl x)\"\n"}, nil,
		},
		"a call inside of a condition makes it custom": {
			"#!/bin/bash\nif true; then\n/etc/eks/bootstrap.sh demo\nfi\n",
			Found{Family: awsv1.AMIFamilyCustom, Why: "the script calls bootstrap.sh inside of a condition, a loop or a function", Rest: "#!/bin/bash\nif true; then\n/etc/eks/bootstrap.sh demo\nfi\n"}, nil,
		},
		"a call joined with others makes it custom": {
			"#!/bin/bash\ntrue && /etc/eks/bootstrap.sh demo\n",
			Found{Family: awsv1.AMIFamilyCustom, Why: "the script joins the call of bootstrap.sh with other commands", Rest: "#!/bin/bash\ntrue && /etc/eks/bootstrap.sh demo\n"}, nil,
		},
		"what another script says in a document inside is no call": {
			"#!/bin/bash\ncat <<'EOF' > /x\n/etc/eks/bootstrap.sh not\nEOF\n/etc/eks/bootstrap.sh demo\n",
			Found{Family: awsv1.AMIFamilyAL2, ClusterName: "demo", Rest: "#!/bin/bash\ncat <<'EOF' > /x\n/etc/eks/bootstrap.sh not\nEOF\n"}, nil,
		},
		"a script folded to one line by YAML is read as if it had its lines": {
			"#!/bin/bash /etc/eks/bootstrap.sh 'demo' \\ --kubelet-extra-args '--max-pods=40' \\ --apiserver-endpoint 'https://x'\n",
			Found{Family: awsv1.AMIFamilyAL2, Folded: true, ClusterName: "demo", Kubelet: awsv1.KubeletConfiguration{MaxPods: new(int32(40))}},
			[]string{"dropped line breaks"},
		},
		"a NodeConfig keeps what has no field": {
			"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {name: demo, apiServerEndpoint: https://x}\n  kubelet:\n    config: {maxPods: 20, kubeReserved: {cpu: 1, memory: 1Gi}, registerWithTaints: [{key: k, effect: NoSchedule}], featureGates: {X: true}}\n" +
				"    flags: [--node-labels=a=b, --v=2]\n  instance: {localStorage: {strategy: RAID0}}\n",
			Found{
				Family: awsv1.AMIFamilyAL2023, ClusterName: "demo", InstanceStore: &raid0, Labels: map[string]string{"a": "b"},
				Taints:  []corev1.Taint{{Key: "k", Effect: "NoSchedule"}},
				Kubelet: awsv1.KubeletConfiguration{MaxPods: new(int32(20)), KubeReserved: map[string]string{"cpu": "1", "memory": "1Gi"}},
				Rest:    "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      featureGates:\n        X: true\n    flags:\n    - --v=2\n",
			}, nil,
		},
		"Bottlerocket's settings": {
			"[settings.kubernetes]\ncluster-name = \"demo\"\napi-server = \"https://x\"\nmax-pods = 30\nallowed-unsafe-sysctls = [\"a\"]\n[settings.kubernetes.node-labels]\nteam = \"a\"\n" +
				"[settings.kubernetes.node-taints]\nk = [\"v:NoSchedule\"]\nold = \"true:NoExecute\"\n[settings.kubernetes.eviction-hard]\n\"memory.available\" = \"5%\"\n[settings.host-containers.admin]\nenabled = true\n",
			Found{
				Family: awsv1.AMIFamilyBottlerocket, ClusterName: "demo", Labels: map[string]string{"team": "a"},
				Taints:  []corev1.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}, {Key: "old", Value: "true", Effect: "NoExecute"}},
				Kubelet: awsv1.KubeletConfiguration{MaxPods: new(int32(30)), EvictionHard: map[string]string{"memory.available": "5%"}},
				Rest:    "[settings]\n[settings.host-containers]\n[settings.host-containers.admin]\nenabled = true\n\n[settings.kubernetes]\nallowed-unsafe-sysctls = ['a']\n",
			}, []string{"moved settings.kubernetes.max-pods spec.kubelet.maxPods"},
		},
		"parts of MIME stay, but for the one that joins": {
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/cloud-config\n\n#cloud-config\nx: y\n--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash\n/etc/eks/bootstrap.sh demo\n--//--\n",
			Found{Family: awsv1.AMIFamilyAL2, ClusterName: "demo", Rest: "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/cloud-config\n\n#cloud-config\nx: y\n--//--\n"}, nil,
		},
		"PowerShell is custom": {
			"<powershell>\nx\n</powershell>", Found{Family: awsv1.AMIFamilyCustom, Why: "it is a PowerShell script, which is not taken apart", Rest: "<powershell>\nx\n</powershell>"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(c.text)
			var said []string
			for _, s := range got.Settings {
				said = append(said, strings.TrimSpace(map[Fate]string{Moved: "moved", Generated: "generated", Dropped: "dropped"}[s.Fate]+" "+s.Name+" "+s.To))
			}
			for _, want := range c.said {
				if !strings.Contains("\n"+strings.Join(said, "\n")+"\n", "\n"+want+"\n") {
					t.Errorf("nothing says %q:\n%s", want, strings.Join(said, "\n"))
				}
			}
			got.Settings = nil
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is taken away from a text is written back by Build: nodes boot as before.
func TestWhatIsReadBuildsAnInstanceToTheSameEffect(t *testing.T) {
	text := "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--node-labels=team=a --register-with-taints=k=v:NoSchedule --max-pods=40 --system-reserved=cpu=100m'\n"
	f := Read(text)
	built, err := Build(Input{
		Family: f.Family, Cluster: Cluster{Name: f.ClusterName, Endpoint: "https://x"}, Labels: f.Labels, Taints: f.Taints,
		Kubelet: &f.Kubelet, MaxPods: *f.Kubelet.MaxPods, UserData: f.Rest,
	})
	if err != nil {
		t.Fatal(err)
	}
	again := Read(built)
	again.Settings, f.Settings = nil, nil
	again.Rest = "" // the script that writes the log stays
	if diff := cmp.Diff(f, again); diff != "" {
		t.Errorf("(-first +built):\n%s", diff)
	}
}

func FuzzReadNeverPanics(f *testing.F) {
	f.Add("#!/bin/bash\nA=b\nif x; then y; fi\n/etc/eks/bootstrap.sh \"$A\" --kubelet-extra-args '--max-pods=1' <<EOF\nEOF\ncase x in a) ;; esac\nf() { x; }\n")
	f.Add("[settings.kubernetes]\nnode-taints = 1\n")
	f.Add("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: x}, flags: [1]}}\n")
	f.Add("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\nx\n--//--\n")
	f.Fuzz(func(t *testing.T, text string) {
		found := Read(text)
		if found.Family == awsv1.AMIFamilyCustom && found.Rest != strings.ReplaceAll(text, "\r", "") {
			t.Errorf("a text that is not understood is not kept whole")
		}
	})
}
