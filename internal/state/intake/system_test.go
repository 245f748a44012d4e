package intake

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

func TestPodsOfAnOperatingSystemWantItsNodes(t *testing.T) {
	in := func(value string) requirement.Term {
		return requirement.Term{Key: "kubernetes.io/os", Operator: requirement.In, Values: []string{value}}
	}
	windows, linux := &corev1.PodOS{Name: corev1.Windows}, &corev1.PodOS{Name: corev1.Linux}
	for name, tt := range map[string]struct {
		os       *corev1.PodOS
		selector map[string]string
		want     []requirement.Term
	}{
		"nothing said":                   {nil, nil, nil},
		"an empty name":                  {&corev1.PodOS{}, nil, nil},
		"windows by spec.os alone":       {windows, nil, []requirement.Term{in("windows")}},
		"linux by spec.os alone":         {linux, nil, []requirement.Term{in("linux")}},
		"said twice, demanded once":      {windows, map[string]string{"kubernetes.io/os": "windows"}, []requirement.Term{in("windows")}},
		"by the selector alone":          {nil, map[string]string{"kubernetes.io/os": "windows"}, []requirement.Term{in("windows")}},
		"a contradiction no node can be": {windows, map[string]string{"kubernetes.io/os": "linux"}, []requirement.Term{in("linux"), in("windows")}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{OS: tt.os, NodeSelector: tt.selector}}
		if diff := cmp.Diff(tt.want, nodeSelector(&pod.Spec)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		c, plain := NewCompiler(), &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: tt.selector}}
		same := c.Class(pod, nil) == c.Class(plain, nil)
		if want := len(tt.want) == len(nodeSelector(&plain.Spec)); same != want {
			t.Errorf("%s: one class with the pod without spec.os: %t, want %t", name, same, want)
		}
	}
}
