package userdata_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/userdata"
	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// families of images, and the images that stand for them.
var families = []struct {
	family  awsv1.AMIFamily
	image   world.Family
	release string // of Windows
}{
	{awsv1.AMIFamilyAL2, world.FamilyAL2, ""},
	{awsv1.AMIFamilyAL2023, world.FamilyAL2023, ""},
	{awsv1.AMIFamilyBottlerocket, world.FamilyBottlerocket, ""},
	{awsv1.AMIFamilyWindows2019, world.FamilyWindows, "2019"},
	{awsv1.AMIFamilyWindows2022, world.FamilyWindows, "2022"},
	{awsv1.AMIFamilyWindows2025, world.FamilyWindows, "2025"},
}

// texts are what users write into spec.userData. refused lists the families that can't make anything of one and say so;
// every other family has to boot all the same, whether or not it acts on the text.
var texts = map[string]struct {
	text    string
	refused func(awsv1.AMIFamily) bool
	// adds is what the text itself tells the kubelet, by family.
	adds func(awsv1.AMIFamily, *boot.Kubelet)
}{
	"none":  {"", nil, nil},
	"shell": {"#!/bin/bash\necho \"it's mine\"\n", onBottlerocket, nil},
	"MIME": {
		"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"X\"\n\n--X\nContent-Type: text/x-shellscript\n\n#!/bin/bash\necho one\n" +
			"--X\nContent-Type: text/cloud-config\n\nruncmd: []\n--X--\n", onBottlerocket, nil,
	},
	"NodeConfig": {
		"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster: {name: wrong}\n  kubelet:\n    config: {maxPods: 3, kubeReserved: {pid: \"500\"}}\n    flags: [--node-labels=own=1]\n",
		onBottlerocket, func(f awsv1.AMIFamily, k *boot.Kubelet) {
			if f == awsv1.AMIFamilyAL2023 {
				k.KubeReserved["pid"], k.Labels["own"] = "500", "1"
				if k.MaxPods == 0 {
					k.MaxPods = 3
				}
			}
		},
	},
	"TOML": {
		"[settings]\nmotd = \"hi\"\n[settings.kubernetes]\ncluster-name = \"wrong\"\nmax-pods = 3\npod-pids-limit = 900\n[settings.kubernetes.node-labels]\nown = \"1\"\n[settings.kubernetes.node-taints]\nold = [\"x:NoSchedule\"]\n",
		nil, func(f awsv1.AMIFamily, k *boot.Kubelet) {
			if f == awsv1.AMIFamilyBottlerocket {
				k.Labels["own"] = "1"
				if k.MaxPods == 0 {
					k.MaxPods = 3
				}
			}
		},
	},
	"PowerShell":        {"<powershell>\nWrite-Host \"it's mine\"\n</powershell>\n<persist>true</persist>\n", onBottlerocket, nil},
	"broken MIME":       {"MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nx", func(f awsv1.AMIFamily) bool { return !f.IsWindows() }, nil},
	"broken PowerShell": {"<powershell>\nWrite-Host hi\n", func(f awsv1.AMIFamily) bool { return onBottlerocket(f) || f.IsWindows() }, nil},
	"broken NodeConfig": {
		"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: []\n",
		func(f awsv1.AMIFamily) bool { return onBottlerocket(f) || f == awsv1.AMIFamilyAL2023 }, nil,
	},
}

func onBottlerocket(f awsv1.AMIFamily) bool { return f == awsv1.AMIFamilyBottlerocket }

// options are what the class and the pool say besides.
var options = map[string]func(*userdata.Input){
	"nothing":       func(*userdata.Input) {},
	"RAID0":         func(in *userdata.Input) { in.InstanceStore = new(awsv1.InstanceStorePolicyRAID0) },
	"DNS":           func(in *userdata.Input) { in.Kubelet = &awsv1.KubeletConfiguration{ClusterDNS: []string{"10.0.0.53"}} },
	"no DNS known":  func(in *userdata.Input) { in.Cluster.DNSIP = "" },
	"max pods":      func(in *userdata.Input) { in.MaxPods = 17 },
	"pods per core": func(in *userdata.Input) { in.Kubelet = &awsv1.KubeletConfiguration{PodsPerCore: new(int32(4))} },
	"taints": func(in *userdata.Input) {
		in.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: "NoSchedule"}, {Key: "gpu", Value: "yes", Effect: "NoExecute"}, {Key: "start/up", Effect: "NoSchedule"}}
	},
	"labels": func(in *userdata.Input) {
		in.Labels = map[string]string{"team": "a", "empty": "", "karpenter.sh/nodepool": "p", "kubernetes.io/role": "x", "node-restriction.kubernetes.io/a": "b"}
	},
	"reserved": func(in *userdata.Input) {
		in.Kubelet = &awsv1.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "200m", "memory": "1Gi"}, SystemReserved: map[string]string{"cpu": "100m", "ephemeral-storage": "2Gi"}}
	},
	"hard eviction": func(in *userdata.Input) {
		in.Kubelet = &awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "2Gi"}}
	},
	"soft eviction": func(in *userdata.Input) {
		in.Kubelet = &awsv1.KubeletConfiguration{
			EvictionSoft: map[string]string{"memory.available": "10%"}, EvictionSoftGracePeriod: map[string]string{"memory.available": "1m30s"}, EvictionMaxPodGracePeriod: new(int32(60)),
		}
	},
	"image collection": func(in *userdata.Input) {
		in.Kubelet = &awsv1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(70)), ImageGCLowThresholdPercent: new(int32(50))}
	},
	"CPU quota": func(in *userdata.Input) { in.Kubelet = &awsv1.KubeletConfiguration{CPUCFSQuota: new(false)} },
	"IPv6": func(in *userdata.Input) {
		in.Cluster.IPv6, in.Cluster.ServiceCIDR, in.Cluster.DNSIP = true, "fd00:10::/108", "fd00:10::a"
	},
}

// meant is the kubelet that an input asks for, worked out from the input alone.
func meant(in userdata.Input) *boot.Kubelet {
	k := &boot.Kubelet{
		ClusterName: in.Cluster.Name, Endpoint: in.Cluster.Endpoint, CA: in.Cluster.CABundle,
		Labels: map[string]string{"karpenter.sh/do-not-sync-taints": "true"}, MaxPods: int(in.MaxPods),
		Taints:       append(slices.Clone(in.Taints), corev1.Taint{Key: "karpenter.sh/unregistered", Effect: "NoExecute"}),
		KubeReserved: map[string]string{}, SystemReserved: map[string]string{}, EvictionHard: map[string]string{}, EvictionSoft: map[string]string{}, EvictionGrace: map[string]string{},
		RAID0: in.InstanceStore != nil && !in.Family.IsWindows(), // Windows has no such thing
	}
	for key, v := range in.Labels {
		if !strings.Contains(key, "kubernetes.io/") {
			k.Labels[key] = v
		}
	}
	if in.Cluster.DNSIP != "" {
		k.ClusterDNS = []string{in.Cluster.DNSIP}
	}
	if in.Family == awsv1.AMIFamilyAL2023 || in.Family.IsWindows() {
		k.ServiceCIDR = in.Cluster.ServiceCIDR
	}
	c := in.Kubelet
	if c == nil {
		return k
	}
	if len(c.ClusterDNS) > 0 {
		k.ClusterDNS = c.ClusterDNS[:1]
	}
	maps.Copy(k.KubeReserved, c.KubeReserved)
	maps.Copy(k.SystemReserved, c.SystemReserved)
	maps.Copy(k.EvictionHard, c.EvictionHard)
	maps.Copy(k.EvictionSoft, c.EvictionSoft)
	maps.Copy(k.EvictionGrace, c.EvictionSoftGracePeriod)
	k.EvictionMaxPodGrace, k.CPUCFSQuota = number(c.EvictionMaxPodGracePeriod), c.CPUCFSQuota
	if c.ImageGCHighThresholdPercent != nil {
		k.ImageGCHigh, k.ImageGCLow = new(number(c.ImageGCHighThresholdPercent)), new(number(c.ImageGCLowThresholdPercent))
	}
	if in.Family != awsv1.AMIFamilyBottlerocket { // it has no such setting
		k.PodsPerCore = number(c.PodsPerCore)
	}
	return k
}

func number(v *int32) int {
	if v == nil {
		return 0
	}
	return int(*v)
}

// comparable leaves out what says how something was told, and orders what has no order.
func comparable(k *boot.Kubelet) *boot.Kubelet {
	out := *k
	out.Notes, out.ReservedReplaced, out.EvictionReplaced, out.NoMaxPodsDefault = nil, false, false, false
	slices.SortFunc(out.Taints, func(a, b corev1.Taint) int { return strings.Compare(a.ToString(), b.ToString()) })
	return &out
}

// TestEveryFamilyTextAndOptionMeansWhatWasAskedAndBoots goes through the whole matrix: what was generated is read as the
// image reads it and compared with what was asked for, and an instance is booted from it into a cluster.
func TestEveryFamilyTextAndOptionMeansWhatWasAskedAndBoots(t *testing.T) {
	l := newLab(t)
	cells, booted := 0, 0
	for _, f := range families {
		image := l.image(f.image, f.release)
		for _, text := range slices.Sorted(maps.Keys(texts)) {
			for _, option := range slices.Sorted(maps.Keys(options)) {
				cells++
				name := fmt.Sprintf("%s, %s, %s", f.family, text, option)
				in := userdata.Input{Family: f.family, UserData: texts[text].text, ImageName: image.Name, Cluster: userdata.Cluster{
					Name: "demo", Endpoint: endpoint, CABundle: ca, DNSIP: "172.20.0.10", ServiceCIDR: "172.20.0.0/16",
				}}
				options[option](&in)
				got, err := userdata.Build(in)
				refused := texts[text].refused != nil && texts[text].refused(f.family)
				if refused || f.family.IsWindows() && in.Cluster.IPv6 {
					if err == nil || !strings.Contains(err.Error(), "spec.userData") && !strings.Contains(err.Error(), "spec.amiFamily") {
						t.Errorf("%s: want it refused with the field's name, got %v", name, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				read, err := boot.Read(image, []byte(got))
				if err != nil {
					t.Errorf("%s: %v\n%s", name, err, got)
					continue
				}
				want := meant(in)
				if texts[text].adds != nil {
					texts[text].adds(f.family, want)
				}
				if diff := cmp.Diff(comparable(want), comparable(read)); diff != "" {
					t.Errorf("%s (-want +got):\n%s\n%s", name, diff, got)
				}
				l.launch(name, image, got, want)
				booted++
			}
		}
	}
	l.allJoined()
	t.Logf("%d cells, %d booted", cells, booted)
	if cells != len(families)*len(texts)*len(options) || booted < cells/2 {
		t.Errorf("%d cells, %d booted: the matrix has shrunk", cells, booted)
	}
}

const (
	endpoint = "https://cluster.test:6443"
	ca       = "Q0VSVElGSUNBVEU="
)

// lab is an account with a cluster into which instances boot, and a clock that stands still.
type lab struct {
	*testing.T
	clock *world.ManualClock
	world *world.World
	kube  *fake.Clientset
	boot  *boot.Booter
	cells map[string]launched
}

type launched struct {
	id   string
	want *boot.Kubelet
}

func newLab(t *testing.T) *lab {
	t.Helper()
	clock := world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	w, err := world.NewDefault(world.Options{
		Seed: 3, Clock: clock, ClusterName: "demo", OnDemandDepth: 10000, Types: []string{"m5d.large"}, PendingTime: time.Second, BootTime: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.SetCluster(world.Cluster{Name: "demo", Endpoint: endpoint, CA: ca, Version: "1.36", ServiceIPv4CIDR: "172.20.0.0/16", ServiceIPv6CIDR: "fd00:10::/108"})
	if _, err := w.CreateInstanceProfile("nodes", "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.AddRoleToInstanceProfile("nodes", "KarpenterNodeRole-demo"); err != nil {
		t.Fatal(err)
	}
	l := &lab{T: t, clock: clock, world: w, kube: fake.NewClientset(), cells: map[string]launched{}}
	l.boot = boot.New(boot.Options{World: w, Client: l.kube, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { w.Close(); l.boot.Close() })
	return l
}

// image is the newest standard image of a family.
func (l *lab) image(family world.Family, release string) world.Image {
	l.Helper()
	var newest world.Image
	for _, i := range l.world.Images() {
		if i.Family == family && i.Variant == world.VariantStandard && i.Arch == "x86_64" && (family == world.FamilyAL2 || i.KubernetesVersion == "1.36") && (release == "" || i.Release == release) && i.Created.After(newest.Created) {
			newest = i
		}
	}
	if newest.ID == "" {
		l.Fatalf("no image of %s %s", family, release)
	}
	return newest
}

func (l *lab) launch(cell string, image world.Image, data string, want *boot.Kubelet) {
	l.Helper()
	at := slices.IndexFunc(l.world.Subnets(), func(s world.Subnet) bool { return !s.Public && l.world.Offered("m5d.large", s.Zone) })
	got, err := l.world.Run(world.RunRequest{Min: 1, Max: 1, SubnetID: l.world.Subnets()[at].ID, Data: world.LaunchData{
		ImageID: image.ID, InstanceType: "m5d.large", IamInstanceProfile: &world.ProfileRef{Name: "nodes"}, UserData: base64.StdEncoding.EncodeToString([]byte(data)),
	}})
	if err != nil {
		l.Fatalf("%s: %v", cell, err)
	}
	l.cells[cell] = launched{got[0].ID, want}
}

// allJoined lets the instances boot and looks at the node of each.
func (l *lab) allJoined() {
	l.Helper()
	l.clock.Advance(10 * time.Second)
	nodes, err := l.kube.CoreV1().Nodes().List(l.Context(), metav1.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	byID := map[string]*corev1.Node{}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		byID[n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]] = n
	}
	for _, cell := range slices.Sorted(maps.Keys(l.cells)) {
		c := l.cells[cell]
		n := byID[c.id]
		if n == nil {
			report, _ := l.boot.Report(c.id)
			l.Errorf("%s: never joined: %s", cell, report.Log[len(report.Log)-1].Text)
			continue
		}
		for key, v := range c.want.Labels {
			if got, ok := n.Labels[key]; !ok || got != v {
				l.Errorf("%s: label %s is %q, want %q", cell, key, got, v)
			}
		}
		if len(n.Spec.Taints) != len(c.want.Taints) {
			l.Errorf("%s: taints are %v, want %v", cell, n.Spec.Taints, c.want.Taints)
		}
		if pods := n.Status.Allocatable.Pods().Value(); c.want.MaxPods > 0 && pods != int64(c.want.MaxPods) {
			l.Errorf("%s: %d pods, want %d", cell, pods, c.want.MaxPods)
		}
		if onArray := n.Status.Capacity.StorageEphemeral().Value() > 60e9; onArray != c.want.RAID0 { // 75 GB of instance store
			l.Errorf("%s: ephemeral storage is %s, on the instance store: %t, want %t", cell, n.Status.Capacity.StorageEphemeral(), onArray, c.want.RAID0)
		}
	}
}
