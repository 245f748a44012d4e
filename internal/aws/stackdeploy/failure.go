package stackdeploy

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// FailedError is a stack that did not become what it should.
type FailedError struct {
	Doing, Stack string
	Status       string     // of the stack: ROLLBACK_COMPLETE, …
	Reason       string     // that the stack itself gives
	Resources    []Resource // that failed, the first to do so first; others were cancelled because of them
}

// Resource is one that failed.
type Resource struct {
	LogicalID, Type, Status, Reason string
}

// Error names the first resource that failed and its reason.
func (e *FailedError) Error() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "%s stack %q ended as %s", e.Doing, e.Stack, e.Status)
	for i, r := range e.Resources {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s (%s) %s: %s", sep, r.LogicalID, r.Type, r.Status, r.Reason)
	}
	if len(e.Resources) == 0 && e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	return b.String()
}

// failure reads from a stack's events what failed after the event before.
func failure(ctx context.Context, api API, doing string, stack *types.Stack, before string) error {
	out := &FailedError{Doing: doing, Stack: aws.ToString(stack.StackName), Status: string(stack.StackStatus), Reason: aws.ToString(stack.StackStatusReason)}
	pages := cloudformation.NewDescribeStackEventsPaginator(api, &cloudformation.DescribeStackEventsInput{StackName: stack.StackId})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil { // the outcome is known all the same
			out.Reason = strings.TrimSpace(fmt.Sprintf("%s (the events that would tell more can't be read: %v)", out.Reason, err))
			return out
		}
		for _, e := range page.StackEvents {
			if before != "" && aws.ToString(e.EventId) == before {
				return out
			}
			if r, ok := failed(e, aws.ToString(stack.StackId)); ok {
				out.Resources = append([]Resource{r}, out.Resources...) // events come newest first
			}
		}
	}
	return out
}

// failed picks the events of resources that failed by themselves, not because others did.
func failed(e types.StackEvent, stackID string) (Resource, bool) {
	reason := aws.ToString(e.ResourceStatusReason)
	if !strings.HasSuffix(string(e.ResourceStatus), "_FAILED") || aws.ToString(e.PhysicalResourceId) == stackID || strings.HasSuffix(reason, "cancelled") {
		return Resource{}, false
	}
	return Resource{LogicalID: aws.ToString(e.LogicalResourceId), Type: aws.ToString(e.ResourceType), Status: string(e.ResourceStatus), Reason: reason}, true
}

// newestEvent is the id of a stack's newest event.
func newestEvent(ctx context.Context, api API, stackID string) (string, error) {
	out, err := api.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stackID})
	if err != nil {
		return "", awserr.Wrap(fmt.Sprintf("reading the events of stack %q", stackID), err)
	}
	if len(out.StackEvents) == 0 {
		return "", nil
	}
	return aws.ToString(out.StackEvents[0].EventId), nil
}
