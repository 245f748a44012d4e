package overview

import (
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
)

// TestErrorsAreInAWSsWords: the code and what AWS says, and nothing of the SDK that asked.
func TestErrorsAreInAWSsWords(t *testing.T) {
	for text, want := range map[string]string{
		"DescribeSubnets: operation error EC2: DescribeSubnets, https response error StatusCode: 503, api error ServiceUnavailable: The service is temporarily unavailable.":                           "DescribeSubnets: ServiceUnavailable: The service is temporarily unavailable.",
		"operation error SQS: ReceiveMessage, https response error StatusCode: 400, api error QueueDoesNotExist: gone":                                                                                 "QueueDoesNotExist: gone",
		"CreateFleet: operation error EC2: CreateFleet, exceeded maximum number of attempts, 3, https response error StatusCode: 0, request send failed, Post \"https://ec2\": dial tcp: no such host": `CreateFleet: Post "https://ec2": dial tcp: no such host`,
		"CreateFleet: operation error EC2: CreateFleet, https response error StatusCode: 500":                                                                                                          "CreateFleet: https response error StatusCode: 500",
		"creating a fleet: missing permission ec2:CreateFleet: no policy allows it: operation error EC2: CreateFleet, https response error StatusCode: 403, api error UnauthorizedOperation: blob":     "creating a fleet: missing permission ec2:CreateFleet: no policy allows it",
		"no answer after 3s": "no answer after 3s",
	} {
		now := time.Now()
		o := New(Sources{Snapshot: func() *cluster.Snapshot { return &cluster.Snapshot{} }, Services: func() []Service { return []Service{{Name: "ec2", Error: text}} }, Now: func() time.Time { return now }})
		if d := o.Document(t.Context(), ""); d.Services[0].Error != want || len(d.Problems) != 1 || d.Problems[0].Text != want {
			t.Errorf("%q: %q, and the problem %+v, want %q", text, d.Services[0].Error, d.Problems, want)
		}
	}
}
