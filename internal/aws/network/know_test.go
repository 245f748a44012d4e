package network

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// silent never tells of subnets.
type silent struct {
	API
	asked *int
}

func (s silent) DescribeSubnets(ctx context.Context, _ *ec2.DescribeSubnetsInput, _ ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error) {
	*s.asked++
	<-ctx.Done()
	return nil, errors.New("RequestLimitExceeded")
}

// Launches wait for what is known of subnets once, and not for long.
func TestLaunchesDoNotWaitForSubnetsAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r := NewResolver(silent{asked: &asked}, NewLedger(nil), time.Minute, nil)
		class := &awsv1.EC2NodeClass{}
		class.Spec.SubnetSelectorTerms = []awsv1.SubnetSelectorTerm{{ID: "subnet-1"}}
		class.Status.Subnets = []awsv1.Subnet{{ID: "subnet-1", Zone: "a"}}
		begun := time.Now()
		for range 100 {
			_ = r.Know(t.Context(), class)
		}
		if took := time.Since(begun); asked != 1 || took > askWithin {
			t.Errorf("100 launches asked %d times and took %s", asked, took)
		}
		time.Sleep(askAgain)
		if err := r.Know(t.Context(), class); asked != 2 || err == nil {
			t.Errorf("asked %d times, and was told %v; want again after a while", asked, err)
		}
	})
}
