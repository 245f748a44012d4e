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
