package instancetype

import (
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

func TestPodsAsTheNetworkPluginGivesAddresses(t *testing.T) {
	const al2, al2023, br, custom, win = awsv1.AMIFamilyAL2, awsv1.AMIFamilyAL2023, awsv1.AMIFamilyBottlerocket, awsv1.AMIFamilyCustom, awsv1.AMIFamilyWindows2022
	under := func(s podnetwork.Settings) Options { return Options{PodNetwork: s} }
	prefixes, firstLost := under(podnetwork.Settings{PrefixDelegation: true}), under(podnetwork.Settings{CustomNetworking: true})
	own := prefixes
	own.OwnUserData = true
	both := firstLost
	both.ReservedENIs = 1
	for name, c := range map[string]struct {
		family  awsv1.AMIFamily
		options Options
		edit    func(*awsv1.EC2NodeClassSpec)
		want    int64
	}{
		"prefixes on AL2":                                {al2, prefixes, nil, 110},
		"prefixes on AL2023":                             {al2023, prefixes, nil, 110},
		"prefixes on Bottlerocket":                       {br, prefixes, nil, 110},
		"Windows has a count of its own":                 {win, prefixes, nil, 110},
		"and keeps it":                                   {win, firstLost, nil, 110},
		"maxPods wins over prefixes":                     {al2023, prefixes, kubelet(awsv1.KubeletConfiguration{MaxPods: new(int32(40))}), 40},
		"maxPods wins over a lost interface":             {al2023, firstLost, kubelet(awsv1.KubeletConfiguration{MaxPods: new(int32(40))}), 40},
		"podsPerCore lowers":                             {al2023, prefixes, kubelet(awsv1.KubeletConfiguration{PodsPerCore: new(int32(30))}), 60},
		"custom networking":                              {al2023, firstLost, nil, 20},
		"RESERVED_ENIS says the same and counts once":    {al2023, both, nil, 20},
		"a custom image is not told of prefixes":         {custom, prefixes, nil, 29},
		"but has fewer addresses with custom networking": {custom, firstLost, nil, 20},
		"nor is one with user data of the user's own":    {al2023, own, nil, 29},
	} {
		if got := shape(t, "m5.large", c.family, c.options, c.edit).Type.Capacity[res.Pods]; got != c.want {
			t.Errorf("%s: %d pods, want %d", name, got, c.want)
		}
	}
	with, without := shape(t, "m5.large", al2023, prefixes, nil), shape(t, "m5.large", al2023, standard, nil)
	if a, b := with.Type.Overhead[res.Memory], without.Type.Overhead[res.Memory]; a != b {
		t.Errorf("AL2023 reserves %d bytes with prefixes and %d without; its image does not know of them", a, b)
	}
	v6 := under(podnetwork.Settings{IPv6: true})
	if got := shape(t, "m4.large", al2023, v6, nil).Refused; got != RefusedIPv6 {
		t.Errorf("m4.large in an IPv6 cluster is refused for %q", got)
	}
	if got := shape(t, "m5.large", al2023, v6, nil); got.Refused != "" || got.Type.Capacity[res.Pods] != 110 {
		t.Errorf("m5.large in an IPv6 cluster is refused for %q, %d pods", got.Refused, got.Type.Capacity[res.Pods])
	}
}
