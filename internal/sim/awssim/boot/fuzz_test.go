package boot_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// FuzzRead feeds any bytes to the readers of all families: they may refuse, they must not panic.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "#!", "\x1f\x8b", "\x1f\x8b\x08\x00", "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=a\n\n--a\n\n--a--",
		"Content-Type: multipart/mixed; boundary=a\n\n--a\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Transfer-Encoding: base64\n\n!!\n--b--\n--a--",
		mime("application/node.eks.aws", nodeConfig(fullCluster, "  kubelet:\n    config: {maxPods: -1, registerWithTaints: 3}\n    flags: ['--', '-', '--max-pods', '\"']\n")),
		nodeConfig(fullCluster, "  kubelet:\n    config: {kubeReserved: null, evictionHard: {memory.available: '%'}}\n"),
		"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: 3",
		"#!/bin/sh\n/etc/eks/bootstrap.sh", "#!/bin/sh\n/etc/eks/bootstrap.sh demo --kubelet-extra-args", "#!/bin/sh\n'\"\\",
		"#!/bin/sh\na=$a\n/etc/eks/bootstrap.sh $a ${a} ${ \"$\" <<", "#!/bin/sh\ncat <<-X <<\"Y\"\n\tX\nY\n/etc/eks/bootstrap.sh d --kubelet-extra-args '--node-labels=a --register-with-taints=: --kube-reserved=,'",
		bottlerocketBase + "node-taints = 3\n", bottlerocketBase + "[settings.kubernetes.node-taints]\na = [3, \":\"]\n",
		"settings = 3", "[settings]\nkubernetes = []\nbootstrap-commands = [1]",
		bottlerocketBase + "[settings.bootstrap-commands.x]\ncommands = [[], [\"apiclient\", \"ephemeral-storage\", \"init\"]]\n",
		"<powershell>", "<powershell></powershell>", "<powershell>\n" + windowsCall + "\n</powershell>", "<powershell>@'\n'@ <# #> `\n $ ${ $a= ' \" } {</powershell>",
		"<powershell>& x\\Amazon\\EKS\\Start-EKSBootstrap.ps1 - -: -EKSClusterName > ></powershell>", "<powershell>powershell -file</powershell>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, userData []byte) {
		for _, family := range []world.Family{world.FamilyAL2, world.FamilyAL2023, world.FamilyBottlerocket, world.FamilyWindows, world.FamilyOther} {
			k, err := boot.Read(world.Image{Family: family}, userData)
			if err == nil && k == nil {
				t.Errorf("%s: neither a kubelet nor an error", family)
			}
		}
	})
}
