package awssim_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestParametersArePutAndDeleted(t *testing.T) {
	_, cfg := start(t, awssim.Options{})
	c := ssm.NewFromConfig(cfg, func(o *ssm.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, "")
	})
	put := func(name, kind, value string, overwrite bool) (int64, error) {
		out, err := c.PutParameter(t.Context(), &ssm.PutParameterInput{
			Name: aws.String(name), Type: ssmtypes.ParameterType(kind), Value: aws.String(value), Overwrite: aws.Bool(overwrite),
		})
		if err != nil {
			return 0, err
		}
		return out.Version, nil
	}
	if v, err := put("/my/image", "String", "ami-1", false); err != nil || v != 1 {
		t.Fatalf("version %d, %v", v, err)
	}
	if v, err := put("/my/image", "", "ami-2", true); err != nil || v != 2 {
		t.Errorf("overwritten: version %d, %v", v, err)
	}
	got, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/my/image")})
	if err != nil || *got.Parameter.Value != "ami-2" || got.Parameter.Type != "String" {
		t.Errorf("%+v, %v", got, err)
	}
	for what, x := range map[string]struct{ name, kind, value, code string }{
		"one that is there":      {"/my/image", "String", "ami-3", "ParameterAlreadyExists"},
		"one without a type":     {"/my/other", "", "x", "ValidationException"},
		"one of AWS":             {"/aws/service/mine", "String", "x", "AccessDeniedException"},
		"a path without a slash": {"my/image", "String", "x", "ValidationException"},
		"a long value":           {"/my/other", "String", strings.Repeat("x", 4097), "ValidationException"},
		"many levels":            {strings.Repeat("/a", 16), "String", "x", "HierarchyLevelLimitExceededException"},
	} {
		if _, err := put(x.name, x.kind, x.value, false); code(err) != x.code {
			t.Errorf("%s: %v, want %s", what, err, x.code)
		}
	}
	if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/my/image")}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/my/image")}); code(err) != "ParameterNotFound" {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestImageParametersAreFoundByNameARNAndPath(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := ssm.NewFromConfig(cfg)
	ctx := t.Context()
	path := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
	want, ok := s.World.ImageParameter(path)
	if !ok {
		t.Fatalf("the world has no %s", path)
	}
	for _, name := range []string{path, "arn:aws:ssm:us-east-1::parameter" + path, path + ":1"} {
		got, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		if *got.Parameter.Value != want || got.Parameter.Type != ssmtypes.ParameterTypeString {
			t.Errorf("%s: %s %s, want %s", name, got.Parameter.Type, *got.Parameter.Value, want)
		}
	}
	_, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/aws/service/none")})
	if _, ok := errors.AsType[*ssmtypes.ParameterNotFound](err); !ok {
		t.Errorf("a parameter that does not exist: %v", err)
	}
	several, err := c.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{path, "/nothing"}})
	if err != nil || len(several.Parameters) != 1 || len(several.InvalidParameters) != 1 {
		t.Errorf("one of two: %+v, %v", several, err)
	}
	seen := map[string]bool{}
	p := ssm.NewGetParametersByPathPaginator(c, &ssm.GetParametersByPathInput{
		Path: aws.String("/aws/service/eks/optimized-ami/1.36"), Recursive: aws.Bool(true),
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, param := range page.Parameters {
			if seen[*param.Name] {
				t.Errorf("%s is on two pages", *param.Name)
			}
			seen[*param.Name] = true
		}
	}
	if !seen[path] || len(seen) <= 10 {
		t.Errorf("%d parameters by path, the wanted one among them: %v", len(seen), seen[path])
	}
	s.World.PutParameter("/mine/ami", "String", "ami-1")
	s.World.PutParameter("/mine/ami", "String", "ami-2")
	mine, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("arn:aws:ssm:us-east-1:123456789012:parameter/mine/ami")})
	if err != nil || *mine.Parameter.Value != "ami-2" || mine.Parameter.Version != 2 {
		t.Errorf("a parameter of the account's own, by ARN: %+v, %v", mine, err)
	}
}
