package fleet

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
)

// slowly is an EC2 that refuses the first requests for their rate.
type slowly struct{ refusals, asked int }

func (s *slowly) CreateFleet(context.Context, *ec2.CreateFleetInput, ...func(*ec2.Options)) (*ec2.CreateFleetOutput, error) {
	if s.asked++; s.asked <= s.refusals {
		return nil, &smithy.GenericAPIError{Code: "RequestLimitExceeded", Message: "Request limit exceeded."}
	}
	return &ec2.CreateFleetOutput{}, nil
}

func TestWhatIsRefusedForItsRateIsAskedForAgainByTheLaunchersClock(t *testing.T) {
	for name, c := range map[string]struct {
		refusals, asked int
		pauses          []time.Duration
		err             bool
	}{
		"two refusals":     {refusals: 2, asked: 3, pauses: patience[:2]},
		"more than it has": {refusals: 9, asked: 4, pauses: patience, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			var pauses []time.Duration
			api := &slowly{refusals: c.refusals}
			b := NewLauncher(api, nil, Options{After: func(d time.Duration) <-chan time.Time {
				pauses = append(pauses, d)
				over := make(chan time.Time, 1)
				over <- time.Time{}
				return over
			}})
			b.claims["uid"] = &claim{}
			_, err := b.ask(t.Context(), &call{orders: []*order{{Order: Order{UID: "uid"}}}, input: &ec2.CreateFleetInput{}})
			if (err != nil) != c.err || api.asked != c.asked || !slices.Equal(pauses, c.pauses) {
				t.Errorf("asked %d times with pauses %v: %v", api.asked, pauses, err)
			}
		})
	}
}
