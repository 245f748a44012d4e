package launchtemplate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// A Cluster is who launches, as tags say it.
type Cluster struct {
	Name string
	UID  string // empty: not known
}

// Tags are the tags of everything that is launched for a class and a pool: those of the class, and over them those by
// which Kerf, the IAM policies and the user know whose it is. The cluster's UID is left out when the class takes all the
// room there is.
func Tags(class *awsv1.EC2NodeClass, cluster Cluster, pool string) map[string]string {
	out := maps.Clone(class.Spec.Tags)
	if out == nil {
		out = map[string]string{}
	}
	out[awsv1.TagClusterPrefix+cluster.Name] = awsv1.TagClusterOwned
	out[awsv1.TagEKSCluster] = cluster.Name
	out[awsv1.TagNodePool] = pool
	out[awsv1.TagNodeClass] = class.Name
	if cluster.UID != "" && len(class.Spec.Tags) < maxUserTags {
		out[awsv1.TagClusterUID] = cluster.UID
	}
	return out
}

// CheckTags reports the first of the class's tags that is Kerf's or EC2's own to set.
func CheckTags(class *awsv1.EC2NodeClass) error {
	own := []string{awsv1.TagEKSCluster, awsv1.TagNodePool, awsv1.TagNodeClaim, awsv1.TagNodeClass, awsv1.TagClusterUID}
	for _, k := range slices.Sorted(maps.Keys(class.Spec.Tags)) {
		switch {
		case slices.Contains(own, k), strings.HasPrefix(k, "kubernetes.io/cluster"):
			return fmt.Errorf("spec.tags: %q is set by the controller, remove it", k)
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			return fmt.Errorf("spec.tags: %q begins with \"aws:\", which EC2 keeps for itself, remove it", k)
		case k == "" || len(k) > 128:
			return fmt.Errorf("spec.tags: the key %q must have 1 to 128 characters", k)
		case len(class.Spec.Tags[k]) > 256:
			return fmt.Errorf("spec.tags: the value of %q has more than 256 characters", k)
		}
	}
	if n := len(class.Spec.Tags); n > maxUserTags {
		return fmt.Errorf("spec.tags has %d tags, an instance has room for %d beside those of the controller", n, maxUserTags)
	}
	return nil
}

// maxUserTags leaves room in EC2's 50 tags for the four of Tags, Name and the NodeClaim's.
const maxUserTags = 44
