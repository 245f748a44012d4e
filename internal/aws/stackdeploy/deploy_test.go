package stackdeploy

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"
)

// script is a CloudFormation whose stack goes through the given states, one for each time that it is looked at.
type script struct {
	states    []string // "" is no stack
	nothing   bool     // UpdateStack finds nothing to do
	oldEvents string
	newEvents string

	began    bool
	requests []url.Values
}

const stackID = "arn:aws:cloudformation:us-east-1:111122223333:stack/kerf/1"

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	s.requests = append(s.requests, form)
	answer := func(op, result string) {
		fmt.Fprintf(w, "<%sResponse><%sResult>%s</%sResult></%sResponse>", op, op, result, op, op)
	}
	refuse := func(message string) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>")
		_ = xml.EscapeText(w, []byte(message))
		fmt.Fprint(w, "</Message></Error></ErrorResponse>")
	}
	switch op := form.Get("Action"); op {
	case "DescribeStacks":
		state := s.states[0]
		if len(s.states) > 1 {
			s.states = s.states[1:]
		}
		if state == "" {
			refuse("Stack with id kerf does not exist")
			return
		}
		answer(op, `<Stacks><member><StackName>kerf</StackName><StackId>`+stackID+`</StackId><StackStatus>`+state+`</StackStatus>
			<Parameters><member><ParameterKey>ClusterName</ParameterKey><ParameterValue>old</ParameterValue></member>
			<member><ParameterKey>Gone</ParameterKey><ParameterValue>x</ParameterValue></member></Parameters>
			<Outputs><member><OutputKey>QueueName</OutputKey><OutputValue>kerf</OutputValue></member></Outputs></member></Stacks>`)
	case "UpdateStack":
		if s.nothing {
			refuse("No updates are to be performed.")
			return
		}
		s.began = true
		answer(op, "<StackId>"+stackID+"</StackId>")
	case "CreateStack":
		s.began = true
		answer(op, "<StackId>"+stackID+"</StackId>")
	case "DeleteStack":
		s.began = true
		answer(op, "")
	case "DescribeStackEvents":
		events := s.oldEvents
		if s.began {
			events = s.newEvents + s.oldEvents
		}
		answer(op, "<StackEvents>"+events+"</StackEvents>")
	default:
		refuse("no " + op)
	}
}

func (s *script) client(t *testing.T) API {
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return cloudformation.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: &srv.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1,
	})
}

func (s *script) called(op string) url.Values {
	for _, r := range s.requests {
		if r.Get("Action") == op {
			return r
		}
	}
	return nil
}

func event(id, resource, kind, status, reason string) string {
	physical := resource
	if kind == "AWS::CloudFormation::Stack" {
		physical = stackID
	}
	return fmt.Sprintf("<member><EventId>%s</EventId><LogicalResourceId>%s</LogicalResourceId><PhysicalResourceId>%s</PhysicalResourceId><ResourceType>%s</ResourceType><ResourceStatus>%s</ResourceStatus><ResourceStatusReason>%s</ResourceStatusReason></member>",
		id, resource, physical, kind, status, reason)
}

func TestDeploy(t *testing.T) {
	want := map[string]string{"QueueName": "kerf"}
	failing := event("5", "kerf", "AWS::CloudFormation::Stack", "UPDATE_ROLLBACK_COMPLETE", "") +
		event("4", "Rule", "AWS::Events::Rule", "CREATE_FAILED", "Resource creation cancelled") +
		event("3", "Queue", "AWS::SQS::Queue", "UPDATE_FAILED", "Value 1 is invalid") +
		event("2", "kerf", "AWS::CloudFormation::Stack", "UPDATE_FAILED", "The following resource(s) failed: [Queue]")
	earlier := event("1", "Queue", "AWS::SQS::Queue", "CREATE_FAILED", "an older story")
	for name, test := range map[string]struct {
		script script
		call   string // that must have been made
		err    string // that must be part of the error
	}{
		"a new stack is created and waited for":              {script{states: []string{"", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"}}, "CreateStack", ""},
		"a stack of which only a change set is there, too":   {script{states: []string{"REVIEW_IN_PROGRESS", "CREATE_COMPLETE"}}, "CreateStack", ""},
		"an old stack is updated":                            {script{states: []string{"CREATE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE"}}, "UpdateStack", ""},
		"nothing to change is well":                          {script{states: []string{"UPDATE_ROLLBACK_COMPLETE"}, nothing: true}, "UpdateStack", ""},
		"somebody else's change is waited for":               {script{states: []string{"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE", "UPDATE_COMPLETE"}}, "UpdateStack", ""},
		"the resource that failed is named, older tales not": {script{states: []string{"CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"}, newEvents: failing, oldEvents: earlier}, "UpdateStack", `deploying stack "kerf" ended as UPDATE_ROLLBACK_COMPLETE: Queue (AWS::SQS::Queue) UPDATE_FAILED: Value 1 is invalid`},
		"a stack that was never made whole is told of":       {script{states: []string{"ROLLBACK_COMPLETE"}}, "DescribeStacks", "delete-stack --stack-name kerf"},
		"a stack that could not go back is not to be lost":   {script{states: []string{"UPDATE_ROLLBACK_FAILED"}}, "DescribeStacks", "continue-update-rollback"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := deploy(t.Context(), test.script.client(t), "kerf", "Parameters: {ClusterName: {Type: String}}", nil, map[string]string{"a": "b"})
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "older story") {
					t.Fatalf("got %v, want an error with %q", err, test.err)
				}
			} else if err != nil || !cmp.Equal(got, want) {
				t.Fatalf("got %v, %v", got, err)
			}
			r := test.script.called(test.call)
			if r == nil {
				t.Fatalf("%s was not called", test.call)
			}
			if test.call == "DescribeStacks" {
				return
			}
			if r.Get("Capabilities.member.2") != "CAPABILITY_NAMED_IAM" || r.Get("Tags.member.1.Key") != "a" {
				t.Errorf("%s was called with %v", test.call, r)
			}
			if test.call == "UpdateStack" && (r.Get("Parameters.member.1.UsePreviousValue") != "true" || r.Get("Parameters.member.2.ParameterKey") != "") {
				t.Errorf("parameters that the template has must keep their values: %v", r)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	s := script{states: []string{"CREATE_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_COMPLETE"}}
	if err := remove(t.Context(), s.client(t), "kerf"); err != nil {
		t.Error(err)
	}
	s = script{states: []string{""}}
	if err := remove(t.Context(), s.client(t), "kerf"); err != nil || s.called("DeleteStack") != nil {
		t.Errorf("a stack that is not there: %v", err)
	}
	s = script{states: []string{"CREATE_COMPLETE", "DELETE_FAILED"}, newEvents: event("9", "Role", "AWS::IAM::Role", "DELETE_FAILED", "must detach all policies first")}
	err := remove(t.Context(), s.client(t), "kerf")
	if f, ok := errors.AsType[*FailedError](err); !ok || len(f.Resources) != 1 || f.Resources[0].LogicalID != "Role" {
		t.Errorf("got %v", err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	s := script{states: []string{"CREATE_IN_PROGRESS"}}
	api := s.client(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("not done in time"))
	defer cancel()
	if _, err := deploy(ctx, api, "kerf", "{}", nil, nil); err == nil {
		t.Error("no error")
	}
}

func TestATemplateThatIsTooLongIsNotSent(t *testing.T) {
	if _, err := deploy(t.Context(), nil, "kerf", strings.Repeat("x", maxTemplate+1), nil, nil); err == nil || !strings.Contains(err.Error(), "S3") {
		t.Errorf("got %v", err)
	}
}
