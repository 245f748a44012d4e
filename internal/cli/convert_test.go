package cli

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// A Provisioner that names a launch template of the account is converted with what that template holds.
func TestConvertReadsTheAccountsLaunchTemplates(t *testing.T) {
	a := newLiveAccount(t)
	_, err := a.session.EC2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: new("my-nodes"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId:            new("ami-0123"),
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: new("profile")},
			SecurityGroupIds:   []string{"sg-1"},
			KeyName:            new("key"),
			UserData:           new(base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args --max-pods=17\n"))),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "provisioner.yaml")
	text := "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: default}\nspec: {provider: {launchTemplate: my-nodes, subnetSelector: {a: b}}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	region := a.sim.World.Region()
	var out, errs bytes.Buffer
	if code := Main([]string{"convert", "-f", file, "--launch-template", "my-nodes:$Latest", "--region", region}, &out, &errs); code != foundWrong {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	for _, want := range []string{"- id: ami-0123", "instanceProfile: profile", "maxPods: 17", "kind: NodePool"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, want := range []string{region + ", version 1: launch template my-nodes", "KeyName: no field"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("no %q in\n%s", want, errs.String())
		}
	}
	out.Reset()
	errs.Reset()
	if code := Main([]string{"convert", "--launch-template", "nobodys", "--region", region}, &out, &errs); code != wrongUsage || out.Len() > 0 || !strings.Contains(errs.String(), "nobodys") {
		t.Errorf("a template that is not there: exit code %d, %s%s", code, out.String(), errs.String())
	}
}

// Where no version is named, the latest is read, as older releases did, and a default that is another one is told.
func TestConvertReadsTheVersionThatOlderReleasesLaunched(t *testing.T) {
	a := newLiveAccount(t)
	data := func(image string) *types.RequestLaunchTemplateData {
		return &types.RequestLaunchTemplateData{ImageId: &image, IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: new("profile")}}
	}
	if _, err := a.session.EC2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: new("my-nodes"), LaunchTemplateData: data("ami-1")}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.session.EC2.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateName: new("my-nodes"), LaunchTemplateData: data("ami-2")}); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		Image   string // in the class
		Version string // that the class names, with --keep-launch-template
		Differs bool   // the report names both versions
	}
	line := func(text, key string) string {
		for l := range strings.Lines(text) {
			if _, value, ok := strings.Cut(l, key); ok {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	region := a.sim.World.Region()
	for name, want := range map[string]outcome{
		"my-nodes":          {"ami-2", "$Latest", true},
		"my-nodes:$Latest":  {"ami-2", "$Latest", false},
		"my-nodes:$Default": {"ami-1", "$Default", false},
		"my-nodes:1":        {"ami-1", "1", false},
	} {
		var out, kept, errs, keptErrs bytes.Buffer
		Main([]string{"convert", "--launch-template", name, "--region", region}, &out, &errs)
		Main([]string{"convert", "--launch-template", name, "--region", region, "--keep-launch-template"}, &kept, &keptErrs)
		const both = "version 2, the latest: older releases launched from the latest version; version 1 is the default of EC2"
		got := outcome{line(out.String(), "- id: "), line(kept.String(), "version: "), strings.Contains(errs.String(), both) && strings.Contains(keptErrs.String(), both)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s%s%s", name, diff, errs.String(), keptErrs.String())
		}
	}
	for _, name := range []string{"my-nodes:abc", "my-nodes:", ":1", "my-nodes:0"} {
		var out, errs bytes.Buffer
		if code := Main([]string{"convert", "--launch-template", name, "--region", region}, &out, &errs); code != wrongUsage || !strings.Contains(errs.String(), "a version being a number") {
			t.Errorf("%s: exit code %d: %s", name, code, errs.String())
		}
	}
}
