package aws_test

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/aws/podnetwork"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

// The kubelet is told what was planned with, when the plug-in's settings change as well, and each class keeps its own.
func TestTheKubeletIsToldHowManyPodsTheNetworkCarries(t *testing.T) {
	s := startSim(t, awssim.Options{})
	var network podnetwork.Settings
	p := newProvider(t, s, func(o *aws.Options) { o.PodNetwork = func() podnetwork.Settings { return network } })
	ready(t, p)
	class, fixed := newClass(s), newClass(s)
	fixed.Name, fixed.UID = "fixed", "fixed-uid"
	fixed.Spec.Kubelet = &awsv1.KubeletConfiguration{MaxPods: new(int32(42))}
	resolve(t, p, class)
	resolve(t, p, fixed)
	pods := func(class *awsv1.EC2NodeClass) int64 {
		t.Helper()
		types, err := p.Types(t.Context(), class)
		if err != nil {
			t.Fatal(err)
		}
		for _, ty := range types {
			if ty.Name == "m5.large" {
				return ty.Capacity[res.Pods]
			}
		}
		t.Fatal("no m5.large")
		return 0
	}
	seen := map[string]bool{}
	for n, step := range []struct {
		network podnetwork.Settings
		want    int64
		told    string
	}{
		{podnetwork.Settings{}, 29, "maxPods: 29"},
		{podnetwork.Settings{PrefixDelegation: true}, 110, "maxPods: 110"},
		{podnetwork.Settings{CustomNetworking: true}, 20, "maxPods: 20"},
		{podnetwork.Settings{}, 29, "maxPods: 29"},
	} {
		network = step.network
		if got := pods(class); got != step.want {
			t.Errorf("%+v: m5.large takes %d pods, want %d", step.network, got, step.want)
		}
		if got := pods(fixed); got != 42 {
			t.Errorf("%+v: the class with maxPods 42 takes %d", step.network, got)
		}
		claim := newClaim(n, need(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m5.large"))
		claim.Spec.Resources.Requests[corev1.ResourcePods] = resource.MustParse("15")
		m, err := p.Launch(t.Context(), claim, class)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range alive(s) {
			if strings.HasSuffix(m.ProviderID, i.ID) {
				text, err := base64.StdEncoding.DecodeString(i.Launch.UserData)
				if err != nil || !strings.Contains(string(text), step.told) {
					t.Errorf("%+v: the user data does not say %q (%v):\n%s", step.network, step.told, err, text)
				}
				seen[i.LaunchTemplateName] = true
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d launch templates for three numbers of pods", len(seen))
	}
}
