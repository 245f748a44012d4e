package convert

import (
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// aliases are the aliases of families that follow the newest image.
var aliases = map[string]string{
	"AL2": "al2@latest", "AL2023": "al2023@latest", "Bottlerocket": "bottlerocket@latest",
	"Windows2019": "windows2019@latest", "Windows2022": "windows2022@latest",
}

// goneAL2 is what there is to know of the family that was the default.
const goneAL2 = "there are no images of AL2 for Kubernetes 1.33 and newer: move to al2023@latest before that"

// oldImages converts the image family and the image selector of v1alpha1.
func (c *converter) oldImages(f *fields, spec *awsv1.EC2NodeClassSpec) {
	family, set := f.text("amiFamily")
	at := f.at("amiFamily")
	if !set || family == "" {
		family, at = "AL2", at+" (not set)"
	}
	selector := f.textMap("amiSelector")
	if len(selector) > 0 {
		spec.AMISelectorTerms = f.imageTerms(selector)
		if hasTags(selector) {
			f.lost(f.at("amiSelector")+", tags of the images", "requirements, such as the architecture, can't be written as tags on images any more; the image's own architecture counts",
				"if images carry such tags, put the requirements into the NodePools that use them")
		}
	}
	f.family(at, family, !set, spec)
}

func hasTags(selector map[string]string) bool {
	for k := range selector {
		if _, special := specialKeys[k]; !special {
			return true
		}
	}
	return false
}

// family sets what decides on the images, for classes with and without terms.
func (f *fields) family(at, family string, defaulted bool, spec *awsv1.EC2NodeClassSpec) {
	selected := len(spec.AMISelectorTerms) > 0
	alias, known := aliases[family]
	switch {
	case known && !selected:
		spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Alias: alias}}
		why := "the images of a family are selected by an alias now"
		if defaulted {
			why = "AL2 was the default; " + why
		}
		if family == "AL2" {
			why += "; " + goneAL2
		}
		f.translated(at, "spec.amiSelectorTerms: alias "+alias, why)
	case known && defaulted:
		spec.AMIFamily = new(awsv1.AMIFamily(family))
		f.translated(at, "spec.amiFamily: "+family, family+" was the default")
	case known:
		spec.AMIFamily = new(awsv1.AMIFamily(family))
		f.kept(at, "spec.amiFamily")
	case family == "Ubuntu":
		f.ubuntu(at, selected, spec)
	case family == "Custom":
		spec.AMIFamily = new(awsv1.AMIFamilyCustom)
		f.kept(at, "spec.amiFamily")
		if !selected {
			f.placeholderImage(at, "the family Custom has no images of its own", spec)
		}
	default:
		spec.AMIFamily = new(awsv1.AMIFamilyCustom)
		f.decide(at, "spec.amiFamily: Custom", "the family "+family+" is not known", "choose the family, and write user data that fits it")
		if !selected {
			f.placeholderImage(at, "the family "+family+" is not known", spec)
		}
	}
}

// placeholderName selects no image, for names with such letters in them are nobody's.
const placeholderName = "NAME_OF_THE_IMAGE"

func (f *fields) placeholderImage(at, why string, spec *awsv1.EC2NodeClassSpec) {
	spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{Name: placeholderName, Owner: "self"}}
	f.decide(at, "spec.amiSelectorTerms: name "+placeholderName, why+", and nothing selects one", "put the image in its place, by id, name, tags or ssmParameter")
}

// ubuntu is the family that ended with v1beta1. Its images boot with the bootstrap script of AL2, and had a disk of their own.
func (f *fields) ubuntu(at string, selected bool, spec *awsv1.EC2NodeClassSpec) {
	spec.AMIFamily = new(awsv1.AMIFamilyAL2)
	const why = "the family Ubuntu is gone; its images boot with the same script as AL2's"
	if selected {
		f.translated(at, "spec.amiFamily: AL2", why)
	} else {
		const path = "/aws/service/canonical/ubuntu/eks/20.04/KUBERNETES_VERSION/stable/current/"
		for _, arch := range []string{"amd64", "arm64"} {
			spec.AMISelectorTerms = append(spec.AMISelectorTerms, awsv1.AMISelectorTerm{SSMParameter: path + arch + "/hvm/ebs-gp2/ami-id"})
		}
		f.decide(at, "spec.amiFamily: AL2, spec.amiSelectorTerms: ssmParameter "+path+"…", why+", and no alias follows its images",
			"put the cluster's version in place of KUBERNETES_VERSION (it no longer follows the cluster by itself), choose a newer release than 20.04, and drop the architecture that the pools do not use")
	}
	if !f.has("blockDeviceMappings") {
		spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{
			DeviceName: new("/dev/sda1"),
			EBS:        &awsv1.BlockDevice{VolumeSize: new(resource.MustParse("20Gi")), VolumeType: new("gp3"), Encrypted: new(true), DeleteOnTermination: new(true)},
		}}
		f.translated(f.at("blockDeviceMappings")+" (not set)", "spec.blockDeviceMappings: /dev/sda1, 20Gi, gp3, encrypted", "it was the default of the family Ubuntu; AL2's is another device")
	}
}

// customJoins warns of user data that is used as it is and does not announce a new node.
func customJoins(f *fields, spec *awsv1.EC2NodeClassSpec) {
	if spec.AMIFamily == nil || *spec.AMIFamily != awsv1.AMIFamilyCustom {
		return
	}
	if spec.UserData != nil && announces(*spec.UserData) {
		return
	}
	f.decide(f.at("userData"), "spec.userData, as it is", "user data of the family Custom is used as it is, and a node counts as new only if it registers with the taint karpenter.sh/unregistered:NoExecute",
		"have the kubelet register with it: --register-with-taints=karpenter.sh/unregistered=:NoExecute")
}
