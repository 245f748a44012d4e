package launchtemplate_test

import (
	"encoding/base64"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Users' own templates are read as they are, over the wire.
func TestVersionsOfUsersTemplatesAreRead(t *testing.T) {
	_, api, _ := start(t)
	data := &types.RequestLaunchTemplateData{
		ImageId:            new("ami-1"),
		UserData:           new(base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\n"))),
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: new("p")},
		SecurityGroupIds:   []string{"sg-1"},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: new("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: new(int32(80)), VolumeType: types.VolumeTypeGp3, Encrypted: new(false)}},
		},
	}
	made, err := api.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: new("mine"), LaunchTemplateData: data})
	if err != nil {
		t.Fatal(err)
	}
	data.ImageId = new("ami-2")
	if _, err := api.CreateLaunchTemplateVersion(t.Context(), &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateName: new("mine"), LaunchTemplateData: data}); err != nil {
		t.Fatal(err)
	}
	want := func(image string) map[string]any {
		return map[string]any{
			"ImageId": image, "UserData": "#!/bin/bash\n", "IamInstanceProfile": map[string]any{"Name": "p"}, "SecurityGroupIds": []any{"sg-1"},
			"BlockDeviceMappings": []any{map[string]any{"DeviceName": "/dev/xvda", "Ebs": map[string]any{"VolumeSize": "80", "VolumeType": "gp3", "Encrypted": false}}},
		}
	}
	id := *made.LaunchTemplate.LaunchTemplateId
	for name, c := range map[string]struct {
		template, version string
		image             string
		number            int64
	}{
		"by name, the default version": {"mine", "", "ami-1", 1},
		"by ID, the latest version":    {id, "$Latest", "ami-2", 2},
		"by name and number":           {"mine", "1", "ami-1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := launchtemplate.ReadVersion(t.Context(), api, c.template, c.version)
			if err != nil {
				t.Fatal(err)
			}
			if v.ID != id || v.Name != "mine" || v.Number != c.number {
				t.Errorf("got %s %s %d", v.ID, v.Name, v.Number)
			}
			tree, err := v.Tree()
			if err != nil {
				t.Fatal(err)
			}
			devices := tree["BlockDeviceMappings"].([]any)[0].(map[string]any)["Ebs"].(map[string]any)
			if n, ok := devices["VolumeSize"].(interface{ String() string }); ok {
				devices["VolumeSize"] = n.String()
			}
			if diff := cmp.Diff(want(c.image), tree); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for name, c := range map[string][2]string{"no such template": {"theirs", ""}, "no such version": {"mine", "7"}} {
		t.Run(name, func(t *testing.T) {
			_, err := launchtemplate.ReadVersion(t.Context(), api, c[0], c[1])
			if !cloud.IsNotFound(err) {
				t.Errorf("got %v, want an error of class NotFound", err)
			}
		})
	}
}
