package aws

import (
	"log/slog"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// TestInstancesGetTheAuthorityOfNow, not that of the start.
func TestInstancesGetTheAuthorityOfNow(t *testing.T) {
	ca := "before"
	p := &Provider{opts: Options{ClusterCABundle: func() string { return ca }}, now: time.Now, log: slog.New(slog.DiscardHandler)}
	class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMIFamily: new(awsv1.AMIFamilyCustom)}}
	for _, ca = range []string{"before", "after"} {
		if got, err := p.clusterInput(t.Context(), class); err != nil || got.CABundle != ca {
			t.Errorf("instances get %q, %v; want %q", got.CABundle, err, ca)
		}
	}
}
