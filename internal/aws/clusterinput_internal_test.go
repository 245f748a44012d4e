package aws

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// TestInstancesGetWhatIsKnownNow of the cluster, not what was at the start.
func TestInstancesGetWhatIsKnownNow(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var ca, dns string
	var failure error
	p := &Provider{now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler), opts: Options{
		ClusterCABundle: func() string { return ca },
		ClusterDNSIP:    func(context.Context) (string, error) { return dns, failure },
	}}
	class := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMIFamily: new(awsv1.AMIFamilyCustom)}}
	for _, step := range []struct {
		after   time.Duration
		ca, dns string
		err     error
		want    string // of the DNS
	}{
		{0, "a", "", errors.New("the API server does not answer"), ""},
		{clusterSoon - 1, "b", "10.0.0.10", nil, ""},
		{1, "b", "10.0.0.10", nil, "10.0.0.10"},
		{versionAge, "b", "", errors.New("the API server does not answer"), "10.0.0.10"},
		{clusterPause, "c", "10.0.0.11", nil, "10.0.0.11"},
	} {
		now = now.Add(step.after)
		ca, dns, failure = step.ca, step.dns, step.err
		got, err := p.clusterInput(t.Context(), class)
		if err != nil || got.CABundle != step.ca || got.DNSIP != step.want {
			t.Errorf("after %s: authority %q, DNS %q, %v; want %q, %q", step.after, got.CABundle, got.DNSIP, err, step.ca, step.want)
		}
	}
}
