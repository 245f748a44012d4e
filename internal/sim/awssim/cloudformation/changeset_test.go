package cloudformation_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

func (a *account) changeSet(kind types.ChangeSetType, name, body string, params ...types.Parameter) *cloudformation.DescribeChangeSetOutput {
	a.t.Helper()
	made, err := a.CreateChangeSet(a.t.Context(), &cloudformation.CreateChangeSetInput{
		StackName: aws.String("s"), ChangeSetName: &name, ChangeSetType: kind, TemplateBody: &body, Parameters: params, Capabilities: named,
		Description: aws.String("why"), Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("x")}},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := a.DescribeChangeSet(a.t.Context(), &cloudformation.DescribeChangeSetInput{ChangeSetName: made.Id})
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

func changes(out *cloudformation.DescribeChangeSetOutput) []string {
	var lines []string
	for _, c := range out.Changes {
		r := c.ResourceChange
		line := string(r.Action) + " " + *r.LogicalResourceId + " " + string(r.Replacement)
		for _, d := range r.Details {
			line += " " + string(d.Target.Attribute) + " " + aws.ToString(d.Target.Name) + " " + string(d.Target.RequiresRecreation)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestChangeSets(t *testing.T) {
	a := open(t)
	ctx := t.Context()
	set := a.changeSet(types.ChangeSetTypeCreate, "first", small)
	if set.Status != types.ChangeSetStatusCreateComplete || set.ExecutionStatus != types.ExecutionStatusAvailable || *set.Description != "why" {
		t.Errorf("%+v", set)
	}
	if diff := cmp.Diff([]string{"Add Role ", "Add Queue ", "Add Rule "}, changes(set)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.wantStatus(a.settled("s"), types.StackStatusReviewInProgress)
	if len(a.world.QueueNames()) != 0 {
		t.Error("a change set made something before it was executed")
	}
	if _, err := a.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{StackName: aws.String("s"), ChangeSetName: aws.String("first")}); err != nil {
		t.Fatal(err)
	}
	s := a.settled("s")
	a.wantStatus(s, types.StackStatusCreateComplete)
	if len(s.Tags) != 1 || *s.Tags[0].Key != "team" {
		t.Errorf("tags: %v", s.Tags)
	}

	t.Run("one without changes cannot be executed", func(t *testing.T) {
		set := a.changeSet(types.ChangeSetTypeUpdate, "nothing", small)
		if set.Status != types.ChangeSetStatusFailed || *set.StatusReason != "The submitted information didn't contain changes. Submit different information to create a change set." {
			t.Errorf("%s %s", set.Status, aws.ToString(set.StatusReason))
		}
		_, err := a.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId})
		a.refused(err, "InvalidChangeSetStatus", "cannot be executed")
		if _, err := a.DeleteChangeSet(ctx, &cloudformation.DeleteChangeSetInput{ChangeSetName: set.ChangeSetId}); err != nil {
			t.Error(err)
		}
		_, err = a.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{ChangeSetName: set.ChangeSetId})
		a.refused(err, "ChangeSetNotFound", "does not exist")
	})
	t.Run("says what is made anew", func(t *testing.T) {
		set := a.changeSet(types.ChangeSetTypeUpdate, "rename", small, parameter("Name", "second"), parameter("Retention", "900"))
		want := []string{
			"Modify Role True Properties RoleName Always",
			"Modify Queue True Properties MessageRetentionPeriod Never Properties QueueName Always",
			"Modify Rule False Properties Targets Never",
		}
		if diff := cmp.Diff(want, changes(set)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		list, err := a.ListChangeSets(ctx, &cloudformation.ListChangeSetsInput{StackName: aws.String("s")})
		if err != nil || len(list.Summaries) != 2 || list.Summaries[0].ExecutionStatus != types.ExecutionStatusExecuteComplete {
			t.Errorf("%+v %v", list, err)
		}
		if _, err := a.ExecuteChangeSet(ctx, &cloudformation.ExecuteChangeSetInput{ChangeSetName: set.ChangeSetId}); err != nil {
			t.Fatal(err)
		}
		a.wantStatus(a.settled("s"), types.StackStatusUpdateComplete)
		if diff := cmp.Diff([]string{"second"}, a.world.QueueNames()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a stack that is there is not created by one", func(t *testing.T) {
		_, err := a.CreateChangeSet(ctx, &cloudformation.CreateChangeSetInput{
			StackName: aws.String("s"), ChangeSetName: aws.String("again"), ChangeSetType: types.ChangeSetTypeCreate, TemplateBody: aws.String(small), Capabilities: named,
		})
		a.refused(err, "ValidationError", "already exists and cannot be created again")
	})
}
