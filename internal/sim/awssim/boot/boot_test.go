package boot_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	endpoint = "https://cluster.test:6443"
	ca       = "Q0VSVElGSUNBVEU="
	cidr     = "172.20.0.0/16"
)

// lab is a world with a clock that stands still, a pretended API server, and instances that boot into it.
type lab struct {
	t     *testing.T
	clock *world.ManualClock
	world *world.World
	kube  *fake.Clientset
	boot  *boot.Booter
}

func newLab(t *testing.T, change func(*boot.Options)) *lab {
	t.Helper()
	clock := world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	w, err := world.NewDefault(world.Options{
		Seed: 3, Clock: clock, ClusterName: "demo", OnDemandDepth: 100, SpotDepth: 100,
		Types: []string{"m5.large", "m5d.large", "m6g.large", "g5.xlarge", "c5.4xlarge", "d2.xlarge"}, PendingTime: time.Second, BootTime: 2 * time.Second, ShutdownTime: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.SetCluster(world.Cluster{Name: "demo", Endpoint: endpoint, CA: ca, Version: "1.36", ServiceIPv4CIDR: cidr})
	if _, err := w.CreateInstanceProfile("nodes", "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.AddRoleToInstanceProfile("nodes", "KarpenterNodeRole-demo"); err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, clock: clock, world: w, kube: fake.NewClientset()}
	o := boot.Options{World: w, Client: l.kube, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	l.boot = boot.New(o)
	t.Cleanup(func() { w.Close(); l.boot.Close() })
	return l
}

// launch starts an instance of a type from the newest standard image of a family.
func (l *lab) launch(family world.Family, variant, instanceType, userData string, change func(*world.RunRequest)) world.Instance {
	l.t.Helper()
	t, ok := l.world.Type(instanceType)
	if !ok {
		l.t.Fatalf("no type %s", instanceType)
	}
	var image world.Image
	for _, i := range l.world.Images() {
		if i.Family == family && i.Variant == variant && i.Arch == t.Architectures[0] && (family == world.FamilyAL2 || i.KubernetesVersion == "1.36") && i.Created.After(image.Created) {
			image = i
		}
	}
	if image.ID == "" {
		l.t.Fatalf("no %s image for %s", family, t.Architectures[0])
	}
	var subnet string
	for _, s := range l.world.Subnets() {
		if !s.Public && l.world.Offered(instanceType, s.Zone) {
			subnet = s.ID
			break
		}
	}
	r := world.RunRequest{Min: 1, Max: 1, SubnetID: subnet, Data: world.LaunchData{
		ImageID: image.ID, InstanceType: instanceType, IamInstanceProfile: &world.ProfileRef{Name: "nodes"},
		UserData: base64.StdEncoding.EncodeToString([]byte(userData)),
	}}
	if change != nil {
		change(&r)
	}
	got, err := l.world.Run(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return got[0]
}

// settle lets enough time pass for an instance to run and boot.
func (l *lab) settle() { l.clock.Advance(10 * time.Second) }

func (l *lab) nodes() []corev1.Node {
	l.t.Helper()
	list, err := l.kube.CoreV1().Nodes().List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

func (l *lab) log(id string) string {
	r, _ := l.boot.Report(id)
	var b strings.Builder
	for _, line := range r.Log {
		fmt.Fprintln(&b, line.Text)
	}
	return b.String()
}

func mime(parts ...string) string {
	var b strings.Builder
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"//\"\r\n\r\n")
	for i := 0; i < len(parts); i += 2 {
		b.WriteString("--//\r\nContent-Type: " + parts[i] + "\r\n\r\n" + parts[i+1] + "\r\n")
	}
	b.WriteString("--//--\r\n")
	return b.String()
}

func nodeConfig(cluster, kubelet string) string {
	return "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n" + cluster + kubelet
}

const fullCluster = "    name: demo\n    apiServerEndpoint: " + endpoint + "\n    certificateAuthority: " + ca + "\n    cidr: " + cidr + "\n"

// shape is what a test looks at in a node: labels and taints beyond those that every node has, and resources.
type shape struct {
	Labels, Taints, Allocatable, Capacity string
}

func shapeOf(n corev1.Node) shape {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(n.Labels)) {
		if !strings.Contains(k, "kubernetes.io/") && !strings.HasPrefix(k, "topology.k8s.aws") {
			labels = append(labels, k+"="+n.Labels[k])
		}
	}
	var taints []string
	for _, t := range n.Spec.Taints {
		taints = append(taints, t.ToString())
	}
	list := func(r corev1.ResourceList) string {
		return fmt.Sprintf("cpu=%s memory=%s pods=%s disk=%s", r.Cpu(), r.Memory(), r.Pods(), r.StorageEphemeral())
	}
	return shape{strings.Join(labels, " "), strings.Join(taints, " "), list(n.Status.Allocatable), list(n.Status.Capacity)}
}

const bottlerocketBase = "[settings.kubernetes]\ncluster-name = \"demo\"\napi-server = \"" + endpoint + "\"\ncluster-certificate = \"" + ca + "\"\n"

func TestUserDataMakesTheNode(t *testing.T) {
	for _, tt := range []struct {
		what     string
		family   world.Family
		instance string
		userData string
		want     shape
	}{
		{
			"AL2023: generated document alone, the image's own reservations", world.FamilyAL2023, "m5.large",
			mime("application/node.eks.aws", nodeConfig(fullCluster, "  kubelet:\n    config:\n      registerWithTaints:\n      - {key: karpenter.sh/unregistered, effect: NoExecute}\n    flags:\n    - --node-labels=\"karpenter.sh/nodepool=a,team=x\"\n")),
			shape{"karpenter.sh/nodepool=a team=x", "karpenter.sh/unregistered:NoExecute",
				"cpu=1930m memory=7137Mi pods=29 disk=18181869978", "cpu=2 memory=7811Mi pods=29 disk=20893676Ki"},
		},
		{
			"AL2023: the user's document first, a script between, generated values win by key", world.FamilyAL2023, "m5.large",
			mime("application/node.eks.aws", nodeConfig("    name: wrong\n", "  kubelet:\n    config:\n      maxPods: 5\n      kubeReserved: {cpu: 500m, memory: 1Gi}\n      shutdownGracePeriod: 30s\n"),
				"text/x-shellscript", "#!/bin/bash\necho hi",
				"application/node.eks.aws", nodeConfig(fullCluster, "  kubelet:\n    config:\n      maxPods: 42\n      kubeReserved: {memory: 500Mi}\n      systemReserved: {cpu: 100m}\n      evictionHard: {memory.available: 5%}\n")),
			shape{"", "", "cpu=1400m memory=7256617780 pods=42 disk=18181869978", "cpu=2 memory=7811Mi pods=42 disk=20893676Ki"},
		},
		{
			"AL2023: a bare document without MIME, disks as ephemeral storage", world.FamilyAL2023, "m5d.large",
			nodeConfig(fullCluster, "  instance:\n    localStorage:\n      strategy: RAID0\n"),
			shape{"", "", "", "cpu=2 memory=7727Mi pods=29 disk=73242187Ki"},
		},
		{
			"AL2023: disks that are not of NVMe are left alone", world.FamilyAL2023, "d2.xlarge",
			nodeConfig(fullCluster, "  instance:\n    localStorage:\n      strategy: RAID0\n"),
			shape{"", "", "", "cpu=4 memory=30574Mi pods=58 disk=20893676Ki"},
		},
		{
			"AL2: bootstrap script with quoted kubelet arguments", world.FamilyAL2, "m5.large",
			mime("text/x-shellscript; charset=\"us-ascii\"", "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n"+
				"/etc/eks/bootstrap.sh 'demo' --apiserver-endpoint '"+endpoint+"' --b64-cluster-ca '"+ca+"' \\\n--dns-cluster-ip '172.20.0.10' \\\n--use-max-pods false \\\n"+
				"--kubelet-extra-args '--node-labels=\"a=b,karpenter.sh/nodepool=p\" --register-with-taints=\"x=y:NoSchedule,karpenter.sh/unregistered:NoExecute\" --max-pods=20'\n"),
			shape{"a=b karpenter.sh/nodepool=p", "x=y:NoSchedule karpenter.sh/unregistered:NoExecute",
				"cpu=1930m memory=7137Mi pods=20 disk=18242267956", "cpu=2 memory=7811Mi pods=20 disk=20959212Ki"},
		},
		{
			"AL2: flags replace the image's whole map, variables are known, endpoint and CA come from EKS", world.FamilyAL2, "c5.4xlarge",
			"#!/bin/bash\n# /etc/eks/bootstrap.sh commented\ncat <<'EOF' > /x\n/etc/eks/bootstrap.sh in-a-document\nEOF\nCLUSTER=demo\nexport ARGS=\"--kube-reserved=cpu=100m --eviction-hard=memory.available<1Gi\"\nsudo /etc/eks/bootstrap.sh \"$CLUSTER\" --kubelet-extra-args \"${ARGS}\"\n",
			shape{"", "", "cpu=15900m memory=30352Mi pods=234 disk=20959212Ki", "cpu=16 memory=31376Mi pods=234 disk=20959212Ki"},
		},
		{
			"AL2: without a limit by the image the kubelet's own holds", world.FamilyAL2, "c5.4xlarge",
			"#!/bin/sh\n/etc/eks/bootstrap.sh demo --use-max-pods false --kubelet-extra-args '--pods-per-core 4'",
			shape{"", "", "cpu=15890m memory=28447Mi pods=64 disk=18242267956", "cpu=16 memory=31376Mi pods=64 disk=20959212Ki"},
		},
		{
			"Bottlerocket: labels, taints and reservations from TOML", world.FamilyBottlerocket, "m5.large",
			bottlerocketBase + "cluster-dns-ip = \"172.20.0.10\"\nmax-pods = 10\n[settings.kubernetes.node-labels]\n\"team\" = \"x\"\n[settings.kubernetes.node-taints]\n\"karpenter.sh/unregistered\" = [\":NoExecute\"]\n\"a\" = [\"b:NoSchedule\"]\n" +
				"[settings.kubernetes.kube-reserved]\ncpu = \"200m\"\n[settings.motd]\n",
			shape{"team=x", "a=b:NoSchedule karpenter.sh/unregistered:NoExecute", "cpu=1800m memory=7346Mi pods=10 disk=17933882164", "cpu=2 memory=7811Mi pods=10 disk=20624592Ki"},
		},
	} {
		t.Run(tt.what, func(t *testing.T) {
			l := newLab(t, nil)
			i := l.launch(tt.family, world.VariantStandard, tt.instance, tt.userData, nil)
			l.settle()
			nodes := l.nodes()
			if len(nodes) != 1 {
				t.Fatalf("%d nodes; boot log:\n%s", len(nodes), l.log(i.ID))
			}
			n := nodes[0]
			got := shapeOf(n)
			if tt.want.Allocatable == "" {
				got.Allocatable = ""
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, l.log(i.ID))
			}
		})
	}
}

func TestEveryNodeHasItsPlaceAndName(t *testing.T) {
	l := newLab(t, nil)
	i := l.launch(world.FamilyAL2023, world.VariantStandard, "m6g.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	nodes := l.nodes()
	if len(nodes) != 1 {
		t.Fatalf("%d nodes; boot log:\n%s", len(nodes), l.log(i.ID))
	}
	n := nodes[0]
	if n.Name != i.PrivateDNSName || n.Spec.ProviderID != "aws:///"+i.Zone+"/"+i.ID || n.Annotations["kwok.x-k8s.io/node"] != "fake" {
		t.Errorf("node %s %s %v", n.Name, n.Spec.ProviderID, n.Annotations)
	}
	for k, want := range map[string]string{
		"kubernetes.io/hostname": i.PrivateDNSName, "kubernetes.io/arch": "arm64", "kubernetes.io/os": "linux",
		"node.kubernetes.io/instance-type": "m6g.large", "topology.kubernetes.io/zone": i.Zone,
		"topology.kubernetes.io/region": "us-east-1", "topology.k8s.aws/zone-id": i.ZoneID,
	} {
		if n.Labels[k] != want {
			t.Errorf("label %s is %q, want %q", k, n.Labels[k], want)
		}
	}
	if r, _ := l.boot.Report(i.ID); r.State != boot.Joined || r.Node != n.Name {
		t.Errorf("report %+v", r)
	}
}

func TestDriversOfTheImageDecideWhatDevicesANodeHas(t *testing.T) {
	for variant, want := range map[string]string{world.VariantStandard: "0", world.VariantNVIDIA: "1"} {
		l := newLab(t, nil)
		i := l.launch(world.FamilyAL2023, variant, "g5.xlarge", nodeConfig(fullCluster, ""), nil)
		l.settle()
		nodes := l.nodes()
		if len(nodes) != 1 {
			t.Fatalf("%d nodes; boot log:\n%s", len(nodes), l.log(i.ID))
		}
		if q := nodes[0].Status.Capacity["nvidia.com/gpu"]; q.String() != want {
			t.Errorf("%s image: %s GPUs, want %s", variant, q.String(), want)
		}
	}
}

func TestWrongUserDataNeverJoins(t *testing.T) {
	al2023 := func(body string) string { return mime("application/node.eks.aws", body) }
	without := func(line string) string {
		return al2023(nodeConfig(strings.Replace(fullCluster, "    "+line+"\n", "", 1), ""))
	}
	flag := func(f string) string { return al2023(nodeConfig(fullCluster, "  kubelet:\n    flags: ['"+f+"']\n")) }
	for _, tt := range []struct {
		what     string
		family   world.Family
		userData string
		want     string // part of the last line of the boot log
	}{
		{"no user data", world.FamilyAL2023, "", "no user data"},
		{"a name of another cluster", world.FamilyAL2023, al2023(nodeConfig(strings.Replace(fullCluster, "demo", "prod", 1), "")), "Unauthorized"},
		{"no cluster name", world.FamilyAL2023, without("name: demo"), "spec.cluster.name is missing"},
		{"no endpoint", world.FamilyAL2023, without("apiServerEndpoint: " + endpoint), "apiServerEndpoint is missing"},
		{"no CA", world.FamilyAL2023, without("certificateAuthority: " + ca), "certificateAuthority is missing"},
		{"no service CIDR", world.FamilyAL2023, without("cidr: " + cidr), "cidr is missing"},
		{"another endpoint", world.FamilyAL2023, al2023(nodeConfig(strings.Replace(fullCluster, "6443", "6444", 1), "")), "cannot reach"},
		{"another CA", world.FamilyAL2023, al2023(nodeConfig(strings.Replace(fullCluster, ca, "T1RIRVI=", 1), "")), "certificate authority"},
		{"another service CIDR", world.FamilyAL2023, al2023(nodeConfig(strings.Replace(fullCluster, cidr, "10.0.0.0/8", 1), "")), "service CIDR"},
		{"only a script for nodeadm", world.FamilyAL2023, mime("text/x-shellscript", "#!/bin/sh\n/etc/eks/bootstrap.sh demo"), "no NodeConfig"},
		{"a bare script for nodeadm", world.FamilyAL2023, "#!/bin/sh\necho hi", "NodeConfig"},
		{"another kind of document", world.FamilyAL2023, al2023("apiVersion: v1\nkind: ConfigMap\n"), "expected node.eks.aws/v1alpha1"},
		{"broken MIME", world.FamilyAL2023, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed\r\n\r\nx", "boundary"},
		{"a label that a kubelet may not set", world.FamilyAL2023, flag("--node-labels=node-restriction.kubernetes.io/a=b,ok=1"), "node-restriction.kubernetes.io/a"},
		{"a label of the k8s.io domain", world.FamilyAL2023, flag("--node-labels=scheduling.k8s.io/a=b"), "may not set"},
		{"a label value that is none", world.FamilyAL2023, flag("--node-labels=a=not/valid"), "invalid node labels"},
		{"a taint without effect", world.FamilyAL2023, flag("--register-with-taints=a=b"), "no effect"},
		{"a flag that kubelets do not have", world.FamilyAL2023, flag("--container-runtime=docker"), "unknown flag: --container-runtime"},
		{"a reservation that is no amount", world.FamilyAL2023, flag("--kube-reserved=cpu=much"), "no amount"},
		{"a script that calls no bootstrap script", world.FamilyAL2, "#!/bin/sh\necho /etc/eks/bootstrap.sh demo", "calls /etc/eks/bootstrap.sh"},
		{"a bootstrap call without cluster", world.FamilyAL2, "#!/bin/sh\n/etc/eks/bootstrap.sh --use-max-pods true", "cluster name is not given"},
		{"a bootstrap call for another cluster", world.FamilyAL2, "#!/bin/sh\n/etc/eks/bootstrap.sh prod", "Unauthorized"},
		{"a NodeConfig for the wrong image", world.FamilyAL2, al2023(nodeConfig(fullCluster, "")), "calls /etc/eks/bootstrap.sh"},
		{"a script for Bottlerocket", world.FamilyBottlerocket, "#!/bin/sh\n/etc/eks/bootstrap.sh demo", "not TOML"},
		{"TOML about something else", world.FamilyBottlerocket, "[settings.motd]\n", "no settings.kubernetes"},
		{"a setting that does not exist", world.FamilyBottlerocket, bottlerocketBase + "max-pod = 3\n", "settings.kubernetes.max-pod"},
		{"a setting of the wrong type", world.FamilyBottlerocket, bottlerocketBase + "max-pods = \"3\"\n", "whole number"},
		{"a reservation that Bottlerocket does not know", world.FamilyBottlerocket, bottlerocketBase + "[settings.kubernetes.system-reserved]\npid = \"500\"\n", "system-reserved.pid must be one of cpu"},
		{"a threshold of all", world.FamilyBottlerocket, bottlerocketBase + "[settings.kubernetes.eviction-hard]\n\"memory.available\" = \"100%\"\n", "must be a percentage from 0 to below 100"},
		{"no certificate", world.FamilyBottlerocket, strings.Replace(bottlerocketBase, "cluster-certificate", "server-certificate", 1), "cluster-certificate is missing"},
		{"another table", world.FamilyBottlerocket, bottlerocketBase + "[extra]\n", "only settings"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			l := newLab(t, nil)
			variant := world.VariantStandard
			for _, i := range l.world.Images() {
				if i.Family == tt.family {
					variant = i.Variant
					if i.Variant == world.VariantStandard {
						break
					}
				}
			}
			i := l.launch(tt.family, variant, "m5.large", tt.userData, nil)
			l.settle()
			if nodes := l.nodes(); len(nodes) != 0 {
				t.Errorf("it joined as %s", nodes[0].Name)
			}
			r, _ := l.boot.Report(i.ID)
			if r.State != boot.Refused {
				t.Errorf("state %s", r.State)
			}
			if last := r.Log[len(r.Log)-1].Text; !strings.Contains(last, tt.want) {
				t.Errorf("boot log says %q, want something of %q", last, tt.want)
			}
		})
	}
}

func TestInstanceWithoutIdentityNeverJoins(t *testing.T) {
	l := newLab(t, nil)
	bare := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), func(r *world.RunRequest) { r.Data.IamInstanceProfile = nil })
	orphan := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	if err := l.world.DeleteRole("KarpenterNodeRole-demo"); err != nil {
		t.Fatal(err)
	}
	l.settle()
	for id, want := range map[string]string{bare.ID: "no instance profile", orphan.ID: "holds no role"} {
		if got := l.log(id); !strings.Contains(got, want) {
			t.Errorf("boot log is\n%s\nwant something of %q", got, want)
		}
	}
	if n := l.nodes(); len(n) != 0 {
		t.Errorf("%d nodes joined", len(n))
	}
}

func TestFaultMakesAnImageNameAnotherCluster(t *testing.T) {
	l := newLab(t, nil)
	l.world.AddFault(world.Fault{Kind: world.FaultWrongCluster, Count: 1})
	broken := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	if got := l.log(broken.ID); !strings.Contains(got, "some-other-cluster") || len(l.nodes()) != 1 {
		t.Errorf("%d nodes; boot log:\n%s", len(l.nodes()), got)
	}
}

func TestAnInstanceWhoseRoleWasMadeAnewHasNoIdentity(t *testing.T) {
	l := newLab(t, nil)
	if !l.world.SwitchOn("stale-role") {
		t.Fatal("there is no such switch")
	}
	stale := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	if got := l.log(stale.ID); !strings.Contains(got, "holds no role that exists") || len(l.nodes()) != 0 {
		t.Errorf("%d nodes; boot log:\n%s", len(l.nodes()), got)
	}
	l.world.SwitchOff("stale-role")
	l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	if n := len(l.nodes()); n != 1 {
		t.Errorf("%d nodes once it is over, want 1", n)
	}
}

func TestNodeEndsWithItsInstance(t *testing.T) {
	l := newLab(t, nil)
	i := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	name := l.nodes()[0].Name
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lost", Namespace: "default"}, Spec: corev1.PodSpec{NodeName: name}}
	if _, err := l.kube.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.world.Terminate([]string{i.ID}); err != nil {
		t.Fatal(err)
	}
	l.clock.Advance(100 * time.Millisecond)
	n := l.nodes()[0]
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionFalse {
			t.Errorf("while the instance shuts down its node is Ready=%s", c.Status)
		}
	}
	l.settle()
	if left := l.nodes(); len(left) != 0 {
		t.Errorf("the node outlives its instance:\n%s", l.log(i.ID))
	}
	pods, err := l.kube.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("pods left: %v, %v; they are for Kubernetes to collect", pods.Items, err)
	}
	if r, _ := l.boot.Report(i.ID); r.State != boot.Ended {
		t.Errorf("state %s", r.State)
	}
}

func TestInstanceThatEndsWhileBootingNeverJoins(t *testing.T) {
	l := newLab(t, nil)
	i := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.clock.Advance(1500 * time.Millisecond) // it runs, and has not booted
	if _, err := l.world.Terminate([]string{i.ID}); err != nil {
		t.Fatal(err)
	}
	l.settle()
	if n := l.nodes(); len(n) != 0 {
		t.Errorf("it joined as %s", n[0].Name)
	}
}

func TestJoiningOutlastsAnAPIServerThatIsDown(t *testing.T) {
	l := newLab(t, nil)
	down := true
	l.kube.PrependReactor("create", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		if down {
			return true, nil, errors.New("connection refused")
		}
		return false, nil, nil
	})
	i := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	if len(l.nodes()) != 0 || strings.Count(l.log(i.ID), "connection refused") != 1 {
		t.Errorf("boot log:\n%s", l.log(i.ID))
	}
	down = false
	l.settle()
	if len(l.nodes()) != 1 {
		t.Errorf("boot log:\n%s", l.log(i.ID))
	}
}

func TestNodeThatTheAPIServerForbidsIsNotTriedAgain(t *testing.T) {
	l := newLab(t, nil)
	tries := 0
	l.kube.PrependReactor("create", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		tries++
		return true, nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), "x", nil)
	})
	i := l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	l.settle()
	if r, _ := l.boot.Report(i.ID); r.State != boot.Refused || tries != 1 {
		t.Errorf("state %s after %d tries", r.State, tries)
	}
}

func TestNodeIsNotReadyUntilItsDelayHasPassed(t *testing.T) {
	l := newLab(t, func(o *boot.Options) { o.ReadyDelay = 5 * time.Second })
	l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil)
	ready := func() corev1.ConditionStatus {
		for _, c := range l.nodes()[0].Status.Conditions {
			if c.Type == corev1.NodeReady {
				return c.Status
			}
		}
		return ""
	}
	l.clock.Advance(4 * time.Second)
	if got := ready(); got != corev1.ConditionFalse {
		t.Errorf("at first Ready=%s", got)
	}
	l.settle()
	if got := ready(); got != corev1.ConditionTrue {
		t.Errorf("in the end Ready=%s", got)
	}
}

func TestJitterFollowsFromTheSeed(t *testing.T) {
	joined := func() []string {
		l := newLab(t, func(o *boot.Options) { o.JoinJitter = time.Minute })
		var ids []string
		for range 5 {
			ids = append(ids, l.launch(world.FamilyAL2023, world.VariantStandard, "m5.large", nodeConfig(fullCluster, ""), nil).ID)
		}
		l.clock.Advance(2 * time.Minute)
		var out []string
		for _, id := range ids {
			r, _ := l.boot.Report(id)
			out = append(out, r.Log[len(r.Log)-1].At.Format(time.StampMilli))
		}
		return out
	}
	first, second := joined(), joined()
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("two worlds of one seed differ:\n%s", diff)
	}
	slices.Sort(first)
	if len(slices.Compact(first)) < 4 {
		t.Errorf("all instances join at once: %v", first)
	}
}
