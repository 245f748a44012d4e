package awssim_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/sim/memnet"
)

// inVirtualTime runs f with a simulator and the SDK as everybody uses it, without retries, in virtual time: what one side
// waits, the other can use to the full.
func inVirtualTime(t *testing.T, o awssim.Options, f func(t *testing.T, cfg aws.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var network memnet.Network
		const address = "aws:80"
		l, err := network.Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		o.Listener, o.Logger = l, slog.New(slog.DiscardHandler)
		s, err := awssim.New(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		transport := &http.Transport{DialContext: func(ctx context.Context, kind, _ string) (net.Conn, error) { return network.Dial(ctx, kind, address) }}
		id, secret := s.Credentials()
		f(t, aws.Config{
			Region: s.World.Region(), BaseEndpoint: aws.String("http://" + address), Credentials: credentials.NewStaticCredentialsProvider(id, secret, ""),
			HTTPClient: &http.Client{Transport: transport}, RetryMaxAttempts: 1,
		})
		transport.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Long answers of a simulator without latency arrive.
func TestNoReplyIsLostToAFastClient(t *testing.T) {
	inVirtualTime(t, awssim.Options{}, func(t *testing.T, cfg aws.Config) {
		c := ec2.NewFromConfig(cfg)
		for n := range 200 {
			if _, err := c.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(30)}); err != nil {
				t.Fatalf("call %d: %v", n+1, err)
			}
		}
	})
}

func TestEveryOperationTakesTheTimeOfANetworkAtLeast(t *testing.T) {
	s, _ := start(t, awssim.Options{})
	for _, action := range s.Actions() {
		if d := awssim.AtAWS(action); d < 10*time.Millisecond || d > 2*time.Second {
			t.Errorf("%s takes %s", action, d)
		}
	}
	for action, want := range map[string]time.Duration{
		"ec2:CreateFleet": 1500 * time.Millisecond, "ec2:DescribeSubnets": 70 * time.Millisecond, "sqs:ReceiveMessage": 12 * time.Millisecond,
	} {
		if got := awssim.AtAWS(action); got != want {
			t.Errorf("%s takes %s, want %s", action, got, want)
		}
	}
}

// callTimes asks the same question again and again and returns how long each answer took, in virtual time.
func callTimes(t *testing.T, seed uint64, factor float64) []time.Duration {
	t.Helper()
	var out []time.Duration
	inVirtualTime(t, awssim.Options{Latency: factor, World: world.Options{Seed: seed, Types: []string{"m5.large"}}}, func(t *testing.T, cfg aws.Config) {
		c := sts.NewFromConfig(cfg)
		for range 200 {
			began := time.Now()
			if _, err := c.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}); err != nil {
				t.Fatal(err)
			}
			out = append(out, time.Since(began))
		}
	})
	return out
}

func TestCallsTakeAsLongAsAtAWS(t *testing.T) {
	got := callTimes(t, 1, 1)
	if again := callTimes(t, 1, 1); !slices.Equal(got, again) {
		t.Error("the same seed gave other times")
	}
	if other := callTimes(t, 2, 1); slices.Equal(got, other) {
		t.Error("another seed gave the same times")
	}
	median := func(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }
	if m, want := median(got), awssim.AtAWS("sts:GetCallerIdentity"); m < want*9/10 || m > want*11/10 {
		t.Errorf("the median is %s, want about %s", m, want)
	}
	if m, want := median(callTimes(t, 1, 10)), 10*awssim.AtAWS("sts:GetCallerIdentity"); m < want*9/10 || m > want*11/10 {
		t.Errorf("ten times as slow, the median is %s, want about %s", m, want)
	}
	if slowest := slices.Max(callTimes(t, 1, 0)); slowest > 5*time.Millisecond {
		t.Errorf("without latency a call took %s", slowest)
	}
}
