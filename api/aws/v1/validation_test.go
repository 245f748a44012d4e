package v1_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/api/aws/v1/apitest"
)

func TestEC2NodeClassValidation(t *testing.T) {
	kubelet := func(k v1.KubeletConfiguration) func(*v1.EC2NodeClass) {
		return func(c *v1.EC2NodeClass) { c.Spec.Kubelet = &k }
	}
	disk := func(devices ...v1.BlockDeviceMapping) func(*v1.EC2NodeClass) {
		return func(c *v1.EC2NodeClass) { c.Spec.BlockDeviceMappings = devices }
	}
	ebs := &v1.BlockDevice{VolumeSize: new(resource.MustParse("1Gi"))}
	amount := func(text string) map[string]string { return map[string]string{"memory.available": text} }
	for name, tc := range map[string]struct {
		change func(*v1.EC2NodeClass)
		// want lists parts of the one error; empty wants none.
		want []string
		// warn is part of the one warning; empty wants none.
		warn string
	}{
		"the defaults":                 {change: func(*v1.EC2NodeClass) {}},
		"nothing at all":               {change: func(c *v1.EC2NodeClass) { c.Spec = v1.EC2NodeClassSpec{} }, want: []string{"spec.role"}},
		"a disk":                       {change: disk(v1.BlockDeviceMapping{DeviceName: new("/dev/xvda"), EBS: ebs})},
		"a disk without ebs":           {change: disk(v1.BlockDeviceMapping{DeviceName: new("/dev/xvda")}), want: []string{"spec.blockDeviceMappings[0].ebs", "volumeSize"}},
		"a disk without a name":        {change: disk(v1.BlockDeviceMapping{EBS: ebs}), want: []string{"spec.blockDeviceMappings[0].deviceName"}},
		"a disk twice":                 {change: disk(v1.BlockDeviceMapping{DeviceName: new("a"), EBS: ebs}, v1.BlockDeviceMapping{DeviceName: new("a"), EBS: ebs}), want: []string{"spec.blockDeviceMappings[1].deviceName"}},
		"a tag of AWS":                 {change: func(c *v1.EC2NodeClass) { c.Spec.Tags = map[string]string{"aws:x": "y"} }, want: []string{"spec.tags[aws:x]", "another key"}},
		"a tag that marks a cluster":   {change: func(c *v1.EC2NodeClass) { c.Spec.Tags = map[string]string{"kubernetes.io/cluster/x": "y"} }, want: []string{"spec.tags[kubernetes.io/cluster/x]", "remove"}},
		"a Name tag":                   {change: func(c *v1.EC2NodeClass) { c.Spec.Tags = map[string]string{"Name": "y"} }},
		"an alias that means nothing":  {change: func(c *v1.EC2NodeClass) { c.Spec.AMISelectorTerms[0].Alias = "ubuntu@1" }, want: []string{"spec.amiSelectorTerms[0].alias", "use one of"}},
		"thresholds":                   {change: kubelet(v1.KubeletConfiguration{EvictionHard: amount("5%"), EvictionSoft: amount("1Gi"), EvictionSoftGracePeriod: amount("1m")})},
		"a negative threshold":         {change: kubelet(v1.KubeletConfiguration{EvictionHard: amount("-1Gi")}), want: []string{"spec.kubelet.evictionHard[memory.available]", "not negative"}},
		"a threshold of nonsense":      {change: kubelet(v1.KubeletConfiguration{EvictionSoft: amount("1e1.5")}), want: []string{"spec.kubelet.evictionSoft[memory.available]", "100Mi"}},
		"a threshold of enormous size": {change: kubelet(v1.KubeletConfiguration{EvictionSoft: amount("1e-99999999")}), want: []string{"spec.kubelet.evictionSoft[memory.available]", "ordinary size"}},
		"a grace period of nonsense":   {change: kubelet(v1.KubeletConfiguration{EvictionSoftGracePeriod: amount("soon")}), want: []string{"spec.kubelet.evictionSoftGracePeriod[memory.available]", "1m30s"}},
		"a reservation in percent":     {change: kubelet(v1.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "5%"}}), want: []string{"spec.kubelet.kubeReserved[cpu]"}},
		"image collection":             {change: kubelet(v1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(70)), ImageGCLowThresholdPercent: new(int32(60))})},
		"one high threshold":           {change: kubelet(v1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(81))})},
		"one that is too low":          {change: kubelet(v1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(80))}), want: []string{"spec.kubelet.imageGCHighThresholdPercent", "imageGCLowThresholdPercent is not set, so it is 80", "set imageGCLowThresholdPercent below 80"}},
		"one low threshold":            {change: kubelet(v1.KubeletConfiguration{ImageGCLowThresholdPercent: new(int32(84))})},
		"one that is too high":         {change: kubelet(v1.KubeletConfiguration{ImageGCLowThresholdPercent: new(int32(85))}), want: []string{"spec.kubelet.imageGCLowThresholdPercent", "imageGCHighThresholdPercent is not set, so it is 85", "set imageGCHighThresholdPercent above 85"}},
		"a low threshold above":        {change: kubelet(v1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(50)), ImageGCLowThresholdPercent: new(int32(60))}), want: []string{"spec.kubelet.imageGCLowThresholdPercent", "less than imageGCHighThresholdPercent, which is 50"}},
		"the other one in user data": {change: func(c *v1.EC2NodeClass) {
			c.Spec.Kubelet = &v1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(70))}
			c.Spec.UserData = new("spec: {kubelet: {config: {imageGCLowThresholdPercent: 50}}}")
		}},
		"the user's own image": {change: func(c *v1.EC2NodeClass) {
			c.Spec.Kubelet = &v1.KubeletConfiguration{ImageGCHighThresholdPercent: new(int32(70))}
			c.Spec.AMIFamily, c.Spec.AMISelectorTerms = new(v1.AMIFamilyCustom), []v1.AMISelectorTerm{{ID: "ami-1"}}
		}},
		"a mixed subnet term": {change: func(c *v1.EC2NodeClass) { c.Spec.SubnetSelectorTerms[0].ID = "subnet-1" }, warn: "spec.subnetSelectorTerms[0]: id counts"},
		"a mixed group term":  {change: func(c *v1.EC2NodeClass) { c.Spec.SecurityGroupSelectorTerms[0].Name = "a" }, warn: "spec.securityGroupSelectorTerms[0]: name counts"},
		"a mixed image term": {change: func(c *v1.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []v1.AMISelectorTerm{{SSMParameter: "/a", Tags: map[string]string{"a": "b"}}}
		}, warn: "spec.amiSelectorTerms[0]: ssmParameter counts"},
		"a mixed reservation term": {change: func(c *v1.EC2NodeClass) {
			c.Spec.CapacityReservationSelectorTerms = []v1.CapacityReservationSelectorTerm{{ID: "cr-1", OwnerID: "1"}}
		}, warn: "spec.capacityReservationSelectorTerms[0]: id counts"},
	} {
		t.Run(name, func(t *testing.T) {
			errs, warnings := apitest.EC2NodeClass("c", tc.change).Validate()
			if len(errs) != min(1, len(tc.want)) {
				t.Fatalf("errors %v, want %q", errs, tc.want)
			}
			for _, part := range tc.want {
				if !strings.Contains(errs[0].Error(), part) {
					t.Errorf("error %q lacks %q", errs[0], part)
				}
			}
			if (tc.warn == "") != (len(warnings) == 0) || tc.warn != "" && !strings.Contains(warnings[0], tc.warn) {
				t.Errorf("warnings %q, want %q", warnings, tc.warn)
			}
		})
	}
}
