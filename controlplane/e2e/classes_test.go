package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const aliasTerm = "amiSelectorTerms: [{alias: al2023@latest}]"

// boots runs a pod on an instance of a class and returns the instance: its user data was read as its image would read it,
// and a node came of it.
func (s *stage) boots() control.Instance {
	s.Helper()
	s.pool(s.name, "- {key: kubernetes.io/arch, operator: In, values: [amd64]}", "")
	s.deploy("web", 1, "1", "")
	s.run(60*time.Second, 1)
	instance, err := s.aws.Instance(s.Context(), s.instances(false)[0].ID)
	if err != nil {
		s.Fatal(err)
	}
	return instance
}

// refuses waits until a class says why it can't be used.
func (s *stage) refuses(condition, reason string, words ...string) {
	s.Helper()
	s.eventually(30*time.Second, "the class says what is wrong", func() (bool, string) {
		c := &awsv1.EC2NodeClass{}
		if err := s.client.Get(s.Context(), client.ObjectKey{Name: s.name}, c); err != nil {
			return false, err.Error()
		}
		return says(c.Status.Conditions, condition, reason, words...), fmt.Sprint(c.Status.Conditions)
	})
}

func bootsBottlerocket(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(class(s.name, "al2023@latest", "bottlerocket@latest"))
	if got, want := s.boots().Image, s.image("x86_64", world.FamilyBottlerocket).ID; got != want {
		t.Errorf("booted %s, want %s", got, want)
	}
}

func refusesAL2Alias(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(class(s.name, "al2023@latest", "al2@latest"))
	s.refuses(awsv1.ConditionTypeAMIsReady, awsv1.ReasonUnsupportedAlias, "al2", "1.33", "al2023")
}

func bootsAL2ByName(t *testing.T, e *env) {
	s := e.stage(t)
	image := s.image("x86_64", world.FamilyAL2)
	s.apply(class(s.name, aliasTerm, "amiFamily: AL2\n  amiSelectorTerms: [{name: "+image.Name+"}]"))
	if got := s.boots().Image; got != image.ID {
		t.Errorf("booted %s, want %s", got, image.ID)
	}
}

func bootsImageByID(t *testing.T, e *env) {
	s := e.stage(t)
	image := s.image("x86_64", world.FamilyAL2023)
	s.apply(class(s.name, aliasTerm, "amiFamily: AL2023\n  amiSelectorTerms: [{id: "+image.ID+"}]"))
	if got := s.boots().Image; got != image.ID {
		t.Errorf("booted %s, want %s", got, image.ID)
	}
}

func bootsImageByTag(t *testing.T, e *env) {
	s := e.stage(t)
	// Tags are seen on one's own images only.
	image := s.image("x86_64", world.FamilyBottlerocket)
	image.ID, image.OwnerID, image.OwnerAlias, image.SSMPaths, image.Tags = "", "", "", nil, map[string]string{"golden": "yes"}
	image = s.cluster.Simulator.World.AddImage(image)
	s.apply(class(s.name, aliasTerm, "amiFamily: Bottlerocket\n  amiSelectorTerms: [{tags: {golden: \"yes\"}}]"))
	if got := s.boots().Image; got != image.ID {
		t.Errorf("booted %s, want %s", got, image.ID)
	}
}

func refusesMissingImage(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(class(s.name, aliasTerm, "amiFamily: AL2023\n  amiSelectorTerms: [{id: ami-0123456789abcdef0}]"))
	s.refuses(awsv1.ConditionTypeAMIsReady, awsv1.ReasonAMINotFound, "spec.amiSelectorTerms")
}

func bootsWithInstanceProfile(t *testing.T, e *env) {
	s := e.stage(t)
	w := s.cluster.Simulator.World
	if _, err := w.CreateInstanceProfile("mine", "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.AddRoleToInstanceProfile("mine", "KarpenterNodeRole-"+s.cluster.Name); err != nil {
		t.Fatal(err)
	}
	s.apply(class(s.name, "role: KarpenterNodeRole-${CLUSTER_NAME}", "instanceProfile: mine"))
	s.boots()
	i, ok := w.Instance(s.instances(false)[0].ID)
	if !ok || !strings.HasSuffix(i.ProfileARN, "/mine") {
		t.Errorf("the instance has profile %q", i.ProfileARN)
	}
	s.remove(&awsv1.EC2NodeClass{ObjectMeta: objectMeta(s.name)})
	s.scaleIn(s.name, "web", 0)
	s.gone(60*time.Second, &awsv1.EC2NodeClass{ObjectMeta: objectMeta(s.name)})
	if _, err := w.InstanceProfile("mine"); err != nil {
		t.Errorf("the user's own profile was deleted with the class: %v", err)
	}
}

func bootsWithUserData(t *testing.T, e *env) {
	s := e.stage(t)
	s.apply(class(s.name, "", `  kubelet: {maxPods: 17, systemReserved: {cpu: 150m}}
  userData: |
    #!/bin/bash
    echo from-the-user
`))
	instance := s.boots()
	text := instance.UserData
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
		text = string(raw)
	}
	for _, want := range []string{"from-the-user", "maxPods: 17", s.cluster.Kube.Server} {
		if !strings.Contains(text, want) {
			t.Errorf("the user data lacks %q:\n%s", want, text)
		}
	}
	for _, n := range s.nodesOf() {
		if got := n.Status.Allocatable.Pods().Value(); got != 17 {
			t.Errorf("the node takes %d pods, want 17", got)
		}
	}
}
