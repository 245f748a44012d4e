package awssim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

func TestInstanceProfilesLiveAsIAMHasThem(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := iam.NewFromConfig(cfg)
	ctx := t.Context()
	role := "KarpenterNodeRole-" + s.World.ClusterName()
	name := aws.String("kerf_123")
	_, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	if _, ok := errors.AsType[*iamtypes.NoSuchEntityException](err); !ok {
		t.Fatalf("a profile that was never made: got %v, want NoSuchEntity", err)
	}
	created, err := c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: name, Path: aws.String("/karpenter/us-east-1/kerf/uid/"),
		Tags: []iamtypes.Tag{{Key: aws.String("b"), Value: aws.String("2")}, {Key: aws.String("a"), Value: aws.String("1 & <x>")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *created.InstanceProfile.Arn, "arn:aws:iam::123456789012:instance-profile/karpenter/us-east-1/kerf/uid/kerf_123"; got != want {
		t.Errorf("ARN %s, want %s", got, want)
	}
	steps := []struct {
		what string
		do   func() error
		want string
	}{
		{"a second profile of that name", func() error {
			_, err := c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name})
			return err
		}, "EntityAlreadyExists"},
		{"a role that does not exist", func() error {
			_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nobody")})
			return err
		}, "NoSuchEntity"},
		{"the first role", func() error {
			_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: &role})
			return err
		}, ""},
		{"a second role", func() error {
			_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: &role})
			return err
		}, "LimitExceeded"},
		{"deleting a profile with a role", func() error {
			_, err := c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
			return err
		}, "DeleteConflict"},
		{"more tags", func() error {
			_, err := c.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("c"), Value: aws.String("3")}}})
			return err
		}, ""},
	}
	for _, step := range steps {
		if got := code(step.do()); got != step.want {
			t.Errorf("%s: got %q, want %q", step.what, got, step.want)
		}
	}
	got, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, tag := range got.InstanceProfile.Tags {
		tags = append(tags, *tag.Key+"="+*tag.Value)
	}
	if diff := cmp.Diff([]string{"a=1 & <x>", "b=2", "c=3"}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if r := got.InstanceProfile.Roles; len(r) != 1 || *r[0].RoleName != role || !strings.HasSuffix(*r[0].Arn, ":role/"+role) {
		t.Errorf("roles: %+v", r)
	}
	if _, err := c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: &role}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Error(err)
	}
}

func TestListInstanceProfilesPagesByPath(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := iam.NewFromConfig(cfg)
	for i := range 7 {
		path := "/karpenter/"
		if i%2 == 1 {
			path = "/other/"
		}
		if _, err := s.World.CreateInstanceProfile(fmt.Sprintf("p%d", i), path, nil); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	pages := 0
	p := iam.NewListInstanceProfilesPaginator(c, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/"), MaxItems: aws.Int32(3)})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, profile := range page.InstanceProfiles {
			names = append(names, *profile.InstanceProfileName)
		}
	}
	if diff := cmp.Diff([]string{"p0", "p2", "p4", "p6"}, names); diff != "" || pages != 2 {
		t.Errorf("%d pages (-want +got):\n%s", pages, diff)
	}
}
