package calls_test

import (
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/calls"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// seen is a meter that remembers.
type seen struct {
	mu       sync.Mutex
	requests map[string]int
	attempts map[string]int
}

func (s *seen) Request(service, action, code string, _ time.Duration, retries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[fmt.Sprintf("%s %s %s retried %d", service, action, code, retries)]++
}

func (s *seen) Attempt(service, action, code string, _ time.Duration, throttled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[fmt.Sprintf("%s %s %s throttled %v", service, action, code, throttled)]++
}

// What is told is what went over the wire: an answer, a throttle that is retried, a refusal, and silence.
func TestRequestsAndAttemptsAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		fault              *world.Fault
		requests, attempts map[string]int
	}{
		"an answer": {nil, map[string]int{"EC2 DescribeSubnets 200 retried 0": 1}, map[string]int{"EC2 DescribeSubnets 200 throttled false": 1}},
		"a throttle": {
			&world.Fault{Kind: world.FaultThrottle, Service: "ec2", Count: 1},
			map[string]int{"EC2 DescribeSubnets 200 retried 1": 1}, map[string]int{"EC2 DescribeSubnets 503 throttled true": 1, "EC2 DescribeSubnets 200 throttled false": 1},
		},
		"a refusal": {
			&world.Fault{Kind: world.FaultError, Service: "ec2", Code: "UnauthorizedOperation", Status: 403, Count: 1},
			map[string]int{"EC2 DescribeSubnets 403 retried 0": 1}, map[string]int{"EC2 DescribeSubnets 403 throttled false": 1},
		},
		"silence": {
			&world.Fault{Kind: world.FaultLostReply, Service: "ec2", Count: 1},
			map[string]int{"EC2 DescribeSubnets 200 retried 1": 1}, map[string]int{"EC2 DescribeSubnets 0 throttled false": 1, "EC2 DescribeSubnets 200 throttled false": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := awssim.New(awssim.Options{Logger: slog.New(slog.DiscardHandler), World: world.Options{Types: []string{"m5.large"}}})
			if err != nil {
				t.Fatal(err)
			}
			server.Start()
			t.Cleanup(func() { _ = server.Close() })
			if tc.fault != nil {
				server.World.AddFault(*tc.fault)
			}
			id, secret := server.Credentials()
			told := &seen{requests: map[string]int{}, attempts: map[string]int{}}
			s, err := session.New(t.Context(), session.Options{Version: "test", Middleware: calls.Middleware(told), Explicit: &session.Explicit{
				Region: server.World.Region(), Endpoint: server.URL(), AccessKeyID: id, SecretAccessKey: secret,
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
			if !maps.Equal(told.requests, tc.requests) {
				t.Errorf("requests are %v, want %v", told.requests, tc.requests)
			}
			if !maps.Equal(told.attempts, tc.attempts) {
				t.Errorf("attempts are %v, want %v", told.attempts, tc.attempts)
			}
		})
	}
}
