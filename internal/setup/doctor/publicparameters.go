package doctor

import (
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

// sampleVersions are Kubernetes versions for which every family has images in one or the other. Policies that are narrowed
// to a family leave the version open.
var sampleVersions = []string{"1.35", "1.32"}

// publicPrefix begins the names of AWS's own parameters.
const publicPrefix = "/aws/service/"

// publicParameters are the names of AWS's parameters that the classes take images from: one for each alias and variant, and
// those that are named outright.
func (in *Input) publicParameters() []string {
	if in.Kube == nil {
		return nil
	}
	var out []string
	for i := range in.Kube.Classes {
		for _, t := range in.Kube.Classes[i].Spec.AMISelectorTerms {
			if strings.HasPrefix(t.SSMParameter, publicPrefix) {
				out = append(out, t.SSMParameter)
			}
			alias, err := awsv1.ParseAlias(t.Alias)
			if err != nil { // the class says so
				continue
			}
			for _, version := range sampleVersions {
				if paths, err := image.PublicParameters(alias, version); err == nil {
					out = append(out, paths...)
					break
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readsPublic tells whether a need is that of AWS's own parameters.
func readsPublic(n *stack.Need) bool { return slices.Contains(n.Kinds, "public parameter") }

// family is the part of a parameter's name by which kerf stack --public-parameter narrows what may be read.
func family(parameter string) string {
	parts := strings.SplitN(strings.TrimPrefix(parameter, publicPrefix), "/", 3)
	if len(parts) == 3 && parts[0] == "eks" {
		return publicPrefix + parts[0] + "/" + parts[1] + "/*"
	}
	return publicPrefix + parts[0] + "/*"
}
