package cloudformation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// account is an empty account with the cluster demo, and the real client of CloudFormation in front of it.
type account struct {
	*cloudformation.Client
	t     *testing.T
	world *world.World
	cfg   aws.Config
}

func open(t *testing.T) *account {
	t.Helper()
	s, err := awssim.New(awssim.Options{
		World:   world.Options{Types: []string{"m5.large"}, ClusterName: "demo", NoIdentities: true},
		NoQueue: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	cfg := aws.Config{
		Region: s.World.Region(), BaseEndpoint: aws.String(s.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, ""),
	}
	return &account{Client: cloudformation.NewFromConfig(cfg), t: t, world: s.World, cfg: cfg}
}

func template(t *testing.T, edition string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/getting-started-" + edition + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var named = []types.Capability{types.CapabilityCapabilityNamedIam}

func parameter(key, value string) types.Parameter {
	return types.Parameter{ParameterKey: &key, ParameterValue: &value}
}

func (a *account) create(name, body string, params ...types.Parameter) *types.Stack {
	a.t.Helper()
	out, err := a.CreateStack(a.t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: &body, Parameters: params, Capabilities: named})
	if err != nil {
		a.t.Fatalf("create %s: %v", name, err)
	}
	return a.settled(*out.StackId)
}

func (a *account) update(name, body string, params ...types.Parameter) *types.Stack {
	a.t.Helper()
	out, err := a.UpdateStack(a.t.Context(), &cloudformation.UpdateStackInput{StackName: &name, TemplateBody: &body, Parameters: params, Capabilities: named})
	if err != nil {
		a.t.Fatalf("update %s: %v", name, err)
	}
	return a.settled(*out.StackId)
}

func (a *account) remove(name string) *types.Stack {
	a.t.Helper()
	s := a.settled(name)
	if _, err := a.DeleteStack(a.t.Context(), &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		a.t.Fatalf("delete %s: %v", name, err)
	}
	return a.settled(*s.StackId)
}

// settled waits until nothing is under way in a stack.
func (a *account) settled(nameOrID string) *types.Stack {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	defer cancel()
	for {
		out, err := a.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &nameOrID})
		if err != nil {
			a.t.Fatalf("describe %s: %v", nameOrID, err)
		}
		s := &out.Stacks[0]
		if s.StackStatus == types.StackStatusReviewInProgress || !strings.HasSuffix(string(s.StackStatus), "_IN_PROGRESS") {
			return s
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			a.t.Fatalf("stack %s stays %s\n%s", nameOrID, s.StackStatus, a.story(nameOrID))
		}
	}
}

func (a *account) wantStatus(s *types.Stack, want types.StackStatus) {
	a.t.Helper()
	if s.StackStatus != want {
		a.t.Fatalf("stack is %s (%s), want %s; its events:\n%s", s.StackStatus, aws.ToString(s.StackStatusReason), want, a.story(*s.StackId))
	}
}

// story is all events of a stack, oldest first, one a line.
func (a *account) story(nameOrID string) string {
	a.t.Helper()
	var lines []string
	pages := cloudformation.NewDescribeStackEventsPaginator(a.Client, &cloudformation.DescribeStackEventsInput{StackName: &nameOrID})
	for pages.HasMorePages() {
		out, err := pages.NextPage(context.WithoutCancel(a.t.Context()))
		if err != nil {
			a.t.Fatalf("events of %s: %v", nameOrID, err)
		}
		for _, e := range out.StackEvents {
			line := fmt.Sprintf("%s %s %s", *e.LogicalResourceId, e.ResourceStatus, aws.ToString(e.ResourceStatusReason))
			lines = append([]string{strings.TrimSpace(line)}, lines...)
		}
	}
	return strings.Join(lines, "\n")
}

// code is the error code of a refusal.
func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

func (a *account) refused(err error, wantCode, wantText string) {
	a.t.Helper()
	if err == nil || code(err) != wantCode || !strings.Contains(err.Error(), wantText) {
		a.t.Errorf("got %v, want %s with %q", err, wantCode, wantText)
	}
}

// contents is all that stacks may make, for a comparison before and after.
func (a *account) contents() []string {
	var out []string
	add := func(kind, name string) { out = append(out, kind+" "+name) }
	for _, r := range a.world.Roles() {
		add("role", r.Name)
	}
	for _, p := range a.world.ManagedPolicies() {
		if !strings.Contains(p.ARN, "::aws:") {
			add("policy", p.Name)
		}
	}
	for _, p := range a.world.InstanceProfiles("") {
		add("profile", p.Name)
	}
	for _, q := range a.world.QueueNames() {
		add("queue", q)
	}
	for _, r := range a.world.Rules("") {
		add("rule", r.Name)
	}
	for _, al := range a.world.Aliases() {
		add("alias", al.Name)
	}
	for _, al := range a.world.Alarms(nil, "") {
		add("alarm", al.Name)
	}
	for _, lt := range a.world.Templates() {
		add("launch template", lt.Name)
	}
	for _, g := range a.world.SecurityGroups() {
		add("security group", g.Name)
	}
	entries, _ := a.world.AccessEntries("demo")
	for _, e := range entries {
		add("access entry", e.PrincipalARN)
	}
	associations, _ := a.world.PodIdentities("demo")
	for _, p := range associations {
		add("pod identity", p.ServiceAccount)
	}
	return out
}
