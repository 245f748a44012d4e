package world

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Owners of public images.
const (
	ownerEKS          = "602401143452"
	ownerBottlerocket = "651937483462"
	ownerWindows      = "801119661308"
)

// release is one publication of a family's images.
type release struct {
	age time.Duration // at the start of the world
}

// releases of each family: two, of which the newer one is what "recommended" and "latest" mean.
var releases = []release{{age: 45 * 24 * time.Hour}, {age: 10 * 24 * time.Hour}}

// lastAL2 is the last minor version of Kubernetes for which EKS published images of Amazon Linux 2. Those are still there;
// newer clusters find no parameter that names one.
//
// Source: Amazon EKS User Guide, Amazon Linux 2 AMI deprecation, checked 2026-11.
const lastAL2 = 32

// furnishImages publishes, for the cluster's Kubernetes version and its neighbours, the images that EKS, Bottlerocket and
// Windows have, with their parameters.
func (w *World) furnishImages() {
	w.mu.Lock()
	defer w.mu.Unlock()
	versions := neighbours(w.opts.KubernetesVersion)
	for _, version := range versions {
		for n, r := range releases {
			newest := n == len(releases)-1
			at := w.started.Add(-r.age).Truncate(24 * time.Hour)
			w.publishAL2023Locked(version, at, newest)
			if minorOf(version) < lastAL2 {
				w.publishAL2Locked(version, at, newest)
			}
			w.publishBottlerocketLocked(version, at, newest, n)
			w.publishWindowsLocked(version, at, newest)
		}
	}
	for n, r := range releases {
		w.publishAL2Locked(fmt.Sprintf("1.%d", lastAL2), w.started.Add(-r.age).Truncate(24*time.Hour), n == len(releases)-1)
	}
}

// minorOf is 36 for 1.36.
func minorOf(version string) int {
	_, minor, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(minor) // 0 for what is no version
	return n
}

// neighbours are a minor version and the ones before and after it.
func neighbours(version string) []string {
	major, minor, ok := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	if !ok || err != nil {
		return []string{version}
	}
	out := make([]string, 0, 3)
	for m := max(n-1, 0); m <= n+1; m++ {
		out = append(out, major+"."+strconv.Itoa(m))
	}
	return out
}

// publishLocked registers an image under its dated path and, if it is the newest, its standing one. Both paths have %s for
// the leaf.
func (w *World) publishLocked(i Image, path, dated, standing string, newest bool) {
	i.Public, i.State = true, "available"
	i.SSMPaths = []string{fmt.Sprintf(path, dated)}
	if newest {
		i.SSMPaths = append(i.SSMPaths, fmt.Sprintf(path, standing))
	}
	i.Deprecated = i.Created.AddDate(2, 0, 0)
	w.addImageLocked(i)
}

func (w *World) publishAL2023Locked(version string, at time.Time, newest bool) {
	for _, v := range []struct{ arch, variant string }{
		{"x86_64", VariantStandard}, {"arm64", VariantStandard}, {"x86_64", VariantNVIDIA}, {"arm64", VariantNVIDIA}, {"x86_64", VariantNeuron},
	} {
		date := "v" + at.Format("20060102")
		name := fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", v.arch, v.variant, version, date)
		path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%%s/image_id", version, v.arch, v.variant)
		w.publishLocked(Image{
			Name: name, Description: "EKS-optimized Kubernetes node based on Amazon Linux 2023", Arch: v.arch,
			OwnerID: ownerEKS, OwnerAlias: "amazon", Created: at, RootSizeGiB: 20,
			Family: FamilyAL2023, Variant: v.variant, KubernetesVersion: version, Release: date,
		}, path, name, "recommended", newest)
	}
}

func (w *World) publishAL2Locked(version string, at time.Time, newest bool) {
	for _, v := range []struct{ arch, variant, folder, name string }{
		{"x86_64", VariantStandard, "amazon-linux-2", "amazon-eks-node"},
		{"arm64", VariantStandard, "amazon-linux-2-arm64", "amazon-eks-arm64-node"},
		{"x86_64", VariantNVIDIA, "amazon-linux-2-gpu", "amazon-eks-gpu-node"},
	} {
		date := "v" + at.Format("20060102")
		name := fmt.Sprintf("%s-%s-%s", v.name, version, date)
		path := fmt.Sprintf("/aws/service/eks/optimized-ami/%s/%s/%%s/image_id", version, v.folder)
		w.publishLocked(Image{
			Name: name, Description: "EKS Kubernetes Worker AMI with AmazonLinux2 image", Arch: v.arch,
			OwnerID: ownerEKS, OwnerAlias: "amazon", Created: at, RootSizeGiB: 20,
			Family: FamilyAL2, Variant: v.variant, KubernetesVersion: version, Release: date,
		}, path, name, "recommended", newest)
	}
}

func (w *World) publishBottlerocketLocked(version string, at time.Time, newest bool, n int) {
	for _, v := range []struct{ arch, variant, suffix string }{
		{"x86_64", VariantStandard, ""}, {"arm64", VariantStandard, ""}, {"x86_64", VariantNVIDIA, "-nvidia"}, {"arm64", VariantNVIDIA, "-nvidia"},
	} {
		ver := fmt.Sprintf("1.%d.0", 50+n)
		name := fmt.Sprintf("bottlerocket-aws-k8s-%s%s-%s-v%s-%08x", version, v.suffix, v.arch, ver, uint32(at.Unix()))
		path := fmt.Sprintf("/aws/service/bottlerocket/aws-k8s-%s%s/%s/%%s/image_id", version, v.suffix, v.arch)
		w.publishLocked(Image{
			Name: name, Description: name, Arch: v.arch, OwnerID: ownerBottlerocket, OwnerAlias: "amazon", Created: at, RootSizeGiB: 2,
			DataDevice: "/dev/xvdb", DataSizeGiB: 20,
			Family: FamilyBottlerocket, Variant: v.variant, KubernetesVersion: version, Release: ver,
		}, path, ver, "latest", newest)
	}
}

func (w *World) publishWindowsLocked(version string, at time.Time, newest bool) {
	if !newest {
		return // only the newest image has a parameter
	}
	for _, year := range []string{"2019", "2022", "2025"} {
		base := "Windows_Server-" + year + "-English-Core-EKS_Optimized-" + version
		w.addImageLocked(Image{
			Name: base + "-" + at.Format("2006.01.02"), Description: "Windows Server " + year + " EKS optimized", Arch: "x86_64", Platform: "windows",
			OwnerID: ownerWindows, OwnerAlias: "amazon", Public: true, Created: at, RootDevice: "/dev/sda1", RootSizeGiB: 50,
			Deprecated: at.AddDate(2, 0, 0),
			Family:     FamilyWindows, Variant: VariantStandard, KubernetesVersion: version, Release: year,
			SSMPaths: []string{"/aws/service/ami-windows-latest/" + base + "/image_id"},
		})
	}
}
