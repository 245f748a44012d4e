package aws_test

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// The page on launch templates has an example from a CloudFormation template to a class. It is deployed, read, launched
// from, and booted, as it stands there but for the cluster's name.
func TestTheDocumentedLaunchTemplateDoesWhatThePageSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/custom-images-and-launch-templates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(page), "\n### An example, from the template to pods\n")
	example, _, _ = strings.Cut(example, "\n### ")
	var blocks []string
	for _, part := range strings.Split(example, "\n```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```\n")
		blocks = append(blocks, block)
	}
	if !ok || len(blocks) != 2 {
		t.Fatalf("the page has %d blocks in its example, want 2", len(blocks))
	}

	s := startSim(t, awssim.Options{})
	p := newProvider(t, s, nil)
	ready(t, p)
	var image world.Image
	for _, i := range s.World.Images() {
		if i.Arch == "x86_64" && i.Family == world.FamilyAL2023 && i.Variant == world.VariantStandard {
			image = i
		}
	}
	admin, err := session.New(t.Context(), session.Options{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	name := s.World.ClusterName()
	if _, err := stackdeploy.Deploy(t.Context(), admin, "golden", blocks[0], map[string]string{
		"ClusterName": name, "Endpoint": "https://kerf.example", "CertificateAuthority": "Q0E=", "ServiceCIDR": "10.100.0.0/16", "Image": image.ID,
	}, nil); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(blocks[1], "\n---\n")
	class := &awsv1.EC2NodeClass{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(first, "my-cluster", name)), class); err != nil {
		t.Fatal(err)
	}
	class.ObjectMeta = metav1.ObjectMeta{Name: class.Name, UID: "golden-uid", Generation: 1}
	resolveOwn(t, p, class)
	if got := class.Status.LaunchTemplate; got == nil || got.Version != 1 || got.Labels["image"] != "golden" || len(got.Taints) != 0 {
		t.Fatalf("status.launchTemplate is %+v", got)
	}
	m, err := p.Launch(t.Context(), newClaim(1), class)
	if err != nil {
		t.Fatal(err)
	}
	if m.Capacity["pods"] != 40 || m.Capacity["ephemeral-storage"] != 80<<30 {
		t.Errorf("planned with %v", m.Capacity)
	}
	text, err := base64.StdEncoding.DecodeString(alive(s)[0].Launch.UserData)
	if err != nil {
		t.Fatal(err)
	}
	k, err := boot.Read(image, text)
	if err != nil {
		t.Fatal(err)
	}
	if k.MaxPods != 40 || k.Labels["image"] != "golden" || k.ClusterName != name || len(k.Taints) != 1 {
		t.Errorf("the kubelet starts with %+v", k)
	}
}
