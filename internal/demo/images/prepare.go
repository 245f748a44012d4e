package images

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// al2Image finds the image of AL2 by ID: there is no alias of it for releases of Kubernetes from 1.33 on.
func al2Image(_ context.Context, r *run) ([]string, error) {
	image, err := r.image(world.FamilyAL2)
	return []string{"$IMAGE", image.ID}, err
}

// image is the newest standard x86_64 image of a family for the cluster's version.
func (r *run) image(family world.Family) (world.Image, error) {
	var newest world.Image
	for _, i := range r.world.Images() {
		if i.Arch == "x86_64" && i.Family == family && i.Variant == world.VariantStandard && (i.Family == world.FamilyAL2 || strings.HasPrefix(r.cluster.Kube.Version, "v"+i.KubernetesVersion+".")) && i.Created.After(newest.Created) {
			newest = i
		}
	}
	if newest.ID == "" {
		return newest, fmt.Errorf("the simulated account has no image of %s for Kubernetes %s", family, r.cluster.Kube.Version)
	}
	return newest, nil
}

// custom is a class with an image of the user's own, found by its tag, whose user data is the user's from end to end.
const custom = `  amiFamily: Custom
  amiSelectorTerms: [{tags: {demo: custom}}]
  blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 40Gi, volumeType: gp3, encrypted: true}}]
  userData: |
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      cluster:
        name: ${CLUSTER_NAME}
        apiServerEndpoint: $ENDPOINT
        certificateAuthority: $CA
        cidr: $CIDR
      kubelet:
        flags: [--register-with-taints=karpenter.sh/unregistered=:NoExecute]`

// customImage makes an image as users do: from that of a family, registered in their account.
func customImage(_ context.Context, r *run) ([]string, error) {
	image, err := r.image(world.FamilyAL2023)
	if err != nil {
		return nil, err
	}
	image.ID, image.OwnerID, image.OwnerAlias, image.SSMPaths, image.Public = "", "", "", nil, false
	image.Name, image.Tags = "golden-"+image.Release, map[string]string{"demo": "custom"}
	r.world.AddImage(image)
	cluster, ok := r.world.Cluster(r.cluster.Name)
	if !ok {
		return nil, errors.New("the simulated EKS does not know the cluster")
	}
	return []string{"$ENDPOINT", cluster.Endpoint, "$CA", cluster.CA, "$CIDR", cluster.ServiceIPv4CIDR}, nil
}

func customProof(b *booted, i *world.Instance) string {
	for _, v := range i.Volumes {
		if v.Device == "/dev/xvda" && v.SizeGiB == 40 {
			return ""
		}
	}
	return fmt.Sprintf("the root volume is not the 40 GiB of the class: %v", i.Volumes)
}

func templateProof(_ *booted, i *world.Instance) string {
	if i.LaunchTemplateName != guideTemplateName || !strings.HasSuffix(i.ProfileARN, "/KarpenterNodeInstanceProfile") {
		return fmt.Sprintf("it is of launch template %q with profile %s", i.LaunchTemplateName, i.ProfileARN)
	}
	return ""
}

func efaProof(_ *booted, i *world.Instance) string {
	for _, n := range i.Interfaces {
		if n.Type == "efa" {
			return ""
		}
	}
	return "it has no EFA interface"
}
