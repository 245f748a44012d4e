package local

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/local/kubelet"
)

func TestTheProgramIsThatOfTheImage(t *testing.T) {
	c := &Cluster{options: Options{Binary: "/opt/kerf", Programs: map[string]string{"registry.example:5000/other": "/bin/other"}}}
	for image, want := range map[string]string{
		"registry.example:5000/other": "/bin/other", "registry.example:5000/other:1.2.3": "/bin/other",
		"registry.example:5000/other:1.2.3@sha256:00": "/bin/other", "registry.example:5000/other@sha256:00": "/bin/other",
		"ghcr.io/kerf-sh/kerf:1": "/opt/kerf", "registry.example:5000/another:1": "/opt/kerf",
	} {
		pod := &kubelet.Pod{}
		pod.Container.Image, pod.Container.Args = image, []string{"--x"}
		got, err := c.command(pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != want || !slices.Equal(got[len(got)-1:], []string{"--x"}) {
			t.Errorf("%s runs %q, want %s with its arguments", image, got, want)
		}
	}
	pod := &kubelet.Pod{}
	pod.Container.Command = []string{"/bin/sh"}
	if _, err := c.command(pod, nil); err == nil || !strings.Contains(err.Error(), "/bin/sh") {
		t.Errorf("a command that is not of the image: got %v, want an error that names it", err)
	}
}
