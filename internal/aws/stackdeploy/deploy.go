// Package stackdeploy creates, updates and deletes CloudFormation stacks and waits for the end of it. When a stack fails, the
// error says which resource did and why, which CloudFormation itself tells only in the stack's events.
package stackdeploy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/session"
)

// API is what is called.
type API interface {
	CreateStack(context.Context, *cloudformation.CreateStackInput, ...func(*cloudformation.Options)) (*cloudformation.CreateStackOutput, error)
	UpdateStack(context.Context, *cloudformation.UpdateStackInput, ...func(*cloudformation.Options)) (*cloudformation.UpdateStackOutput, error)
	DeleteStack(context.Context, *cloudformation.DeleteStackInput, ...func(*cloudformation.Options)) (*cloudformation.DeleteStackOutput, error)
	DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
	DescribeStackEvents(context.Context, *cloudformation.DescribeStackEventsInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStackEventsOutput, error)
}

const (
	// maxTemplate is the longest template that CloudFormation takes in a request, in bytes; a longer one must lie in S3.
	//
	// Source: AWS CloudFormation quotas, "Template body size in a request".
	maxTemplate = 51200

	// A stack is asked for often at first, since small ones are done at once, then less and less.
	askFirst = 100 * time.Millisecond
	askMost  = 5 * time.Second
)

// Deploy makes the stack be what the template says: it creates it, updates it, or finds nothing to change. It waits until
// that is done and returns the stack's outputs. Parameters that are not given keep their values, or get their defaults.
//
// Errors: *cloud.Error when a call fails; *FailedError when the stack does.
func Deploy(ctx context.Context, s *session.Session, name, template string, params, tags map[string]string) (map[string]string, error) {
	return deploy(ctx, s.CloudFormation(), name, template, params, tags)
}

// Delete deletes a stack and waits until it is gone. A stack that does not exist is deleted already.
//
// Errors: as of Deploy.
func Delete(ctx context.Context, s *session.Session, name string) error {
	return remove(ctx, s.CloudFormation(), name)
}

func deploy(ctx context.Context, api API, name, template string, params, tags map[string]string) (map[string]string, error) {
	if len(template) > maxTemplate {
		return nil, fmt.Errorf("deploying stack %q: its template has %d bytes and CloudFormation takes %d in a request: put the file into S3 and use \"aws cloudformation deploy --s3-bucket\"", name, len(template), maxTemplate)
	}
	stack, err := settled(ctx, api, name)
	if err != nil {
		return nil, err
	}
	var before string // the newest event that is not ours
	var id string
	switch {
	case stack == nil || stack.StackStatus == types.StackStatusReviewInProgress:
		id, err = create(ctx, api, name, template, params, tags)
	case wayOut[stack.StackStatus] != "":
		return nil, fmt.Errorf("deploying stack %q: it is %s and takes no updates: %s, then deploy again", name, stack.StackStatus, fmt.Sprintf(wayOut[stack.StackStatus], name))
	default:
		if before, err = newestEvent(ctx, api, aws.ToString(stack.StackId)); err != nil {
			return nil, err
		}
		id, err = update(ctx, api, stack, template, params, tags)
		if id == "" && err == nil {
			return outputs(stack), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return finish(ctx, api, name, id, before)
}

// wayOut is what to do about a stack in a state that takes no updates.
var wayOut = map[types.StackStatus]string{
	types.StackStatusRollbackComplete:     neverMade,
	types.StackStatusRollbackFailed:       neverMade,
	types.StackStatusCreateFailed:         neverMade,
	types.StackStatusDeleteFailed:         "see in its events what could not be deleted and run \"aws cloudformation delete-stack --stack-name %s\" again",
	types.StackStatusUpdateRollbackFailed: "run \"aws cloudformation continue-update-rollback --stack-name %s\"",
	types.StackStatusImportRollbackFailed: "fix by hand what its events say of the stack %s",
}

const neverMade = "it was never made whole; delete it with \"aws cloudformation delete-stack --stack-name %s\""

// finish waits for the end of what was begun.
func finish(ctx context.Context, api API, name, id, before string) (map[string]string, error) {
	stack, err := settled(ctx, api, id)
	if err != nil {
		return nil, err
	}
	if stack == nil {
		return nil, fmt.Errorf("deploying stack %q: it was deleted meanwhile", name)
	}
	switch stack.StackStatus {
	case types.StackStatusCreateComplete, types.StackStatusUpdateComplete:
		return outputs(stack), nil
	}
	return nil, failure(ctx, api, "deploying", stack, before)
}

func create(ctx context.Context, api API, name, template string, params, tags map[string]string) (string, error) {
	out, err := api.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &name, TemplateBody: &template, Parameters: given(params), Tags: tagList(tags), Capabilities: capabilities,
	})
	if err != nil {
		return "", awserr.Wrap(fmt.Sprintf("creating stack %q", name), err)
	}
	return aws.ToString(out.StackId), nil
}

// update returns no id when there is nothing to update.
func update(ctx context.Context, api API, stack *types.Stack, template string, params, tags map[string]string) (string, error) {
	in := &cloudformation.UpdateStackInput{
		StackName: stack.StackName, TemplateBody: &template, Parameters: given(params), Tags: tagList(tags), Capabilities: capabilities,
	}
	for _, p := range stack.Parameters {
		// A template may have lost a parameter; then to keep its value would be refused.
		if _, ok := params[aws.ToString(p.ParameterKey)]; !ok && strings.Contains(template, aws.ToString(p.ParameterKey)) {
			in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: p.ParameterKey, UsePreviousValue: new(true)})
		}
	}
	out, err := api.UpdateStack(ctx, in)
	switch {
	case err != nil && awserr.Code(err) == "ValidationError" && strings.Contains(err.Error(), "No updates are to be performed"):
		return "", nil
	case err != nil:
		return "", awserr.Wrap(fmt.Sprintf("updating stack %q", aws.ToString(stack.StackName)), err)
	}
	return aws.ToString(out.StackId), nil
}

func remove(ctx context.Context, api API, name string) error {
	stack, err := describe(ctx, api, name)
	if err != nil || stack == nil {
		return err
	}
	id := aws.ToString(stack.StackId) // a deleted stack is found by its id only
	before, err := newestEvent(ctx, api, id)
	if err != nil {
		return err
	}
	if _, err := api.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &id}); err != nil {
		return awserr.Wrap(fmt.Sprintf("deleting stack %q", name), err)
	}
	switch stack, err = settled(ctx, api, id); {
	case err != nil:
		return err
	case stack == nil || stack.StackStatus == types.StackStatusDeleteComplete:
		return nil
	}
	return failure(ctx, api, "deleting", stack, before)
}

// settled waits until nothing is under way in a stack. It returns nil when there is no such stack.
func settled(ctx context.Context, api API, name string) (*types.Stack, error) {
	pause := askFirst
	for {
		stack, err := describe(ctx, api, name)
		if err != nil || stack == nil {
			return nil, err
		}
		if s := stack.StackStatus; s == types.StackStatusReviewInProgress || !strings.HasSuffix(string(s), "_IN_PROGRESS") {
			return stack, nil
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, fmt.Errorf("waiting for stack %q, which is %s: %w", name, stack.StackStatus, context.Cause(ctx))
		case <-t.C:
		}
		pause = min(pause*3/2, askMost)
	}
}

func describe(ctx context.Context, api API, name string) (*types.Stack, error) {
	out, err := api.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	switch {
	case err != nil && awserr.Code(err) == "ValidationError" && strings.Contains(err.Error(), "does not exist"):
		return nil, nil
	case err != nil:
		return nil, awserr.Wrap(fmt.Sprintf("reading stack %q", name), err)
	case len(out.Stacks) == 0:
		return nil, nil
	}
	return &out.Stacks[0], nil
}

// capabilities acknowledge that the stack makes roles and policies, and that their names are given.
var capabilities = []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam}

func given(params map[string]string) []types.Parameter {
	var out []types.Parameter
	for _, k := range slices.Sorted(maps.Keys(params)) {
		out = append(out, types.Parameter{ParameterKey: new(k), ParameterValue: new(params[k])})
	}
	return out
}

func tagList(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: new(k), Value: new(tags[k])})
	}
	return out
}

func outputs(s *types.Stack) map[string]string {
	out := make(map[string]string, len(s.Outputs))
	for _, o := range s.Outputs {
		out[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	return out
}
