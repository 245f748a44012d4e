package queue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/aws/queue"
)

func TestTheQueueIsNamedInThreeWays(t *testing.T) {
	url := "https://sqs.eu-west-1.amazonaws.com/123456789012/my-cluster"
	old := "https://eu-west-1.queue.amazonaws.com/123456789012/my-cluster"
	endpoint := "https://vpce-0a-1b.sqs.eu-west-1.vpce.amazonaws.com/123456789012/my-cluster"
	china := "https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q"
	local := "http://127.0.0.1:4566/123456789012/my-cluster"
	for _, tt := range []struct {
		in   string
		want queue.Reference
	}{
		{"my-cluster", queue.Reference{Name: "my-cluster"}},
		{" my_cluster ", queue.Reference{Name: "my_cluster"}},
		{"arn:aws:sqs:eu-west-1:123456789012:my-cluster", queue.Reference{Name: "my-cluster", Account: "123456789012", Region: "eu-west-1"}},
		{"arn:aws-us-gov:sqs:us-gov-west-1:123456789012:q", queue.Reference{Name: "q", Account: "123456789012", Region: "us-gov-west-1"}},
		{url, queue.Reference{Name: "my-cluster", Account: "123456789012", Region: "eu-west-1", URL: url}},
		{old, queue.Reference{Name: "my-cluster", Account: "123456789012", Region: "eu-west-1", URL: old}},
		{endpoint, queue.Reference{Name: "my-cluster", Account: "123456789012", Region: "eu-west-1", URL: endpoint}},
		{china, queue.Reference{Name: "q", Account: "123456789012", Region: "cn-north-1", URL: china}},
		{local, queue.Reference{Name: "my-cluster", Account: "123456789012", URL: local}},
	} {
		got, err := queue.ParseReference(tt.in)
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: %s", tt.in, diff)
		}
	}
}

func TestWhatNamesNoQueueIsRefusedWithTheWayOut(t *testing.T) {
	for _, in := range []string{
		"", "a b", "q.fifo", strings.Repeat("x", 81), "arn:aws:sns:eu-west-1:123456789012:topic", "arn:aws:sqs:eu-west-1:12:q", "arn:aws:sqs",
		"https://sqs.eu-west-1.amazonaws.com/q", "https:///123456789012/q", "http://[::1/123456789012/q",
	} {
		if got, err := queue.ParseReference(in); err == nil || !strings.Contains(err.Error(), "INTERRUPTION_QUEUE=") || !strings.Contains(err.Error(), "the ARN or the URL") {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
}

func TestAQueueOfAnotherRegionIsRefused(t *testing.T) {
	r := queue.Reference{Name: "q", Region: "eu-west-1"}
	if err := r.In("us-east-1"); err == nil || !strings.Contains(err.Error(), "eu-west-1") || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("got %v", err)
	}
	if err := r.In("eu-west-1"); err != nil {
		t.Error(err)
	}
	if err := (queue.Reference{Name: "q"}).In("us-east-1"); err != nil {
		t.Error(err)
	}
}
