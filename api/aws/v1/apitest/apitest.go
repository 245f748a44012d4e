// Package apitest makes valid objects of the karpenter.k8s.aws group for tests.
package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// EC2NodeClass returns an EC2NodeClass as the API server would store it, with its defaults: newest
// AL2023, the role "node-role", and network found by the discovery tag of the cluster "demo".
// Changes are applied in order.
func EC2NodeClass(name string, changes ...func(*v1.EC2NodeClass)) *v1.EC2NodeClass {
	discovery := func() map[string]string { return map[string]string{"karpenter.sh/discovery": "demo"} }
	c := &v1.EC2NodeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "EC2NodeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "00000000-0000-4000-8000-000000000001", Generation: 1},
		Spec: v1.EC2NodeClassSpec{
			Role:                       "node-role",
			AMISelectorTerms:           []v1.AMISelectorTerm{{Alias: "al2023@latest"}},
			SubnetSelectorTerms:        []v1.SubnetSelectorTerm{{Tags: discovery()}},
			SecurityGroupSelectorTerms: []v1.SecurityGroupSelectorTerm{{Tags: discovery()}},
			MetadataOptions: &v1.MetadataOptions{
				HTTPEndpoint:            new("enabled"),
				HTTPProtocolIPv6:        new("disabled"),
				HTTPPutResponseHopLimit: new(int64(1)),
				HTTPTokens:              new("required"),
			},
		},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}
