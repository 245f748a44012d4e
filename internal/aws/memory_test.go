package aws_test

import (
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

func typesOf(t *testing.T, p *aws.Provider, class *awsv1.EC2NodeClass) map[string]*catalog.Type {
	t.Helper()
	list, err := p.Types(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*catalog.Type{}
	for _, x := range list {
		out[x.Name] = x
	}
	return out
}

// What a node of one image had counts for that image alone, at once, in the very bytes that the kubelet reported.
func TestLearnedMemoryCountsForTheNextLaunch(t *testing.T) {
	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, func(o *aws.Options) { o.MemoryOverhead = 0.2 })
	ready(t, p)
	class := newClass(s)
	class.Spec.Kubelet = &awsv1.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "10%"}}
	resolve(t, p, class)
	other := class.DeepCopy()
	other.Name, other.UID = "other", "other-uid"
	other.Status.AMIs = []awsv1.AMI{{ID: "ami-other", Name: "other"}}

	before, elsewhere := typesOf(t, p, class), typesOf(t, p, other)
	var image string
	for _, a := range class.Status.AMIs {
		for _, r := range a.Requirements {
			if r.Key == "kubernetes.io/arch" && r.Values[0] == "amd64" && image == "" {
				image = a.ID
			}
		}
	}
	const bytes = 7_990_000_001
	if p.Memory().Learn("m5.large", "ami-unknown", "n", 1) && typesOf(t, p, class)["m5.large"].Capacity[res.Memory] == 1 {
		t.Error("what nodes of another image have counts")
	}
	p.Memory().Learn("m5.large", image, "n", bytes)
	after := typesOf(t, p, class)
	if got := after["m5.large"].Capacity[res.Memory]; got != bytes {
		t.Errorf("m5.large has %d bytes, want the %d that a node reported", got, bytes)
	}
	pods := after["m5.large"].Capacity[res.Pods]
	if got, want := after["m5.large"].Overhead[res.Memory], (11*pods+255)<<20+(bytes+9)/10; got != want {
		t.Errorf("overhead is %d bytes, want %d: a tenth of the real amount, and what the kubelet keeps", got, want)
	}
	for name, x := range after {
		if name != "m5.large" && x != before[name] {
			t.Errorf("%s was made anew", name)
		}
	}
	if got, want := typesOf(t, p, other)["m5.large"].Capacity[res.Memory], elsewhere["m5.large"].Capacity[res.Memory]; got != want {
		t.Errorf("a class with another image has %d bytes, want %d", got, want)
	}

	// A restart: another process that reads what this one kept.
	text, _ := p.Memory().Text()
	heir := newProvider(t, s, nil)
	ready(t, heir)
	if err := heir.Memory().Take(text); err != nil {
		t.Fatal(err)
	}
	if got := typesOf(t, heir, class)["m5.large"].Capacity[res.Memory]; got != bytes {
		t.Errorf("after a restart m5.large has %d bytes", got)
	}
}
