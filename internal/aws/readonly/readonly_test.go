package readonly_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	awsreadonly "github.com/kerf-sh/kerf/internal/aws/readonly"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/state/readonly"
)

func TestACallThatChangesSomethingNeverArrives(t *testing.T) {
	var arrived atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { arrived.Add(1); w.WriteHeader(http.StatusBadRequest) }))
	defer server.Close()
	g := &readonly.Guard{}
	s, err := session.New(t.Context(), session.Options{Middleware: awsreadonly.Middleware(g), Explicit: &session.Explicit{
		Region: "us-east-1", Endpoint: server.URL, AccessKeyID: "id", SecretAccessKey: "secret",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(context.Context) error{
		"ec2:TerminateInstances": func(ctx context.Context) error {
			_, err := s.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{"i-1"}})
			return err
		},
		"ec2:RunInstances": func(ctx context.Context) error {
			_, err := s.EC2.RunInstances(ctx, &ec2.RunInstancesInput{DryRun: new(true), MinCount: new(int32(1)), MaxCount: new(int32(1))})
			return err
		},
		"ec2:DeleteLaunchTemplate": func(ctx context.Context) error {
			_, err := s.EC2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{})
			return err
		},
		"iam:CreateInstanceProfile": func(ctx context.Context) error {
			_, err := s.IAM.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: new("p")})
			return err
		},
		"sqs:ReceiveMessage": func(ctx context.Context) error {
			_, err := s.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &server.URL})
			return err
		},
	} {
		if err := call(t.Context()); !errors.Is(err, readonly.ErrRefused) || g.Refused()[name] != 1 {
			t.Errorf("%s: %v, refused %v", name, err, g.Refused())
		}
	}
	if n := arrived.Load(); n != 0 {
		t.Fatalf("%d calls arrived", n)
	}
	before := g.Total()
	if _, err := s.SSM.GetParameter(t.Context(), &ssm.GetParameterInput{Name: new("a")}); errors.Is(err, readonly.ErrRefused) || arrived.Load() == 0 {
		t.Errorf("reading was refused: %v", err)
	}
	if g.Total() != before {
		t.Errorf("refused %v", g.Refused())
	}
}

// The region may be told by the metadata service of the instance, which is asked with a token that is made by a PUT.
func TestTheInstanceMayBeAskedForItsRegion(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			_, _ = w.Write([]byte("token"))
		case "/latest/dynamic/instance-identity/document":
			_, _ = w.Write([]byte(`{"region": "eu-west-1"}`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_EC2_METADATA_DISABLED"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
	g := &readonly.Guard{}
	s, err := session.New(t.Context(), session.Options{Middleware: awsreadonly.Middleware(g)})
	if err != nil {
		t.Fatal(err)
	}
	if s.Region != "eu-west-1" || g.Total() != 0 {
		t.Errorf("region %q, refused %v", s.Region, g.Refused())
	}
}
