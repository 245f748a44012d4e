package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// startTimeout bounds the first call, so that a network without a way to AWS is reported and not waited for.
	startTimeout = 30 * time.Second
	// warmTimeout bounds one attempt to read types and prices: some twenty calls of a second each. A connection that hangs
	// must not outlast the outage that it is from.
	warmTimeout = time.Minute
	// forever is an age that nothing reaches.
	forever = 1<<63 - 1
	// versionAge is how long the cluster's version and the address of its DNS service are believed, clusterAge how long EKS's record. clusterPause is how long
	// who knows them is left alone after a failure, while there is an older answer, clusterSoon while there is none.
	versionAge   = 5 * time.Minute
	clusterAge   = 10 * time.Minute
	clusterPause = time.Minute
	clusterSoon  = 10 * time.Second
)

// clusterFacts is what EKS says of the cluster.
type clusterFacts struct {
	arn         string
	endpoint    string
	serviceCIDR string
	ipv6        bool
	version     string
}

// Check asks EC2 whether it can be reached and accepts the credentials, and finds the cluster's endpoint.
//
// Errors say what to set; nothing is launched before they are fixed. Of class Unavailable or Throttled are those that may go
// away by themselves.
func (p *Provider) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	_, err := p.session.EC2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{DryRun: new(true)})
	if err != nil && !awserr.IsDryRunOK(err) {
		err = awserr.Wrap(fmt.Sprintf("asking EC2 in region %s (ec2:DescribeInstanceTypes)", p.session.Region), err)
		if cloud.ClassOf(err) == cloud.Unavailable && !errors.Is(err, awserr.ErrNoCredentials) {
			return fmt.Errorf("EC2 can't be reached: check the network, AWS_REGION and AWS_ENDPOINT_URL: %w", err)
		}
		return err
	}
	p.account.Store(new(p.session.Account(ctx)))
	if p.opts.ClusterEndpoint != "" {
		return nil
	}
	c, err := p.clusterFacts(ctx)
	if err != nil {
		return err
	}
	if c.endpoint == "" {
		return fmt.Errorf("EKS cluster %q in region %s has no endpoint yet: wait until it is active, or set CLUSTER_ENDPOINT", p.opts.ClusterName, p.session.Region)
	}
	return nil
}

// clusterFacts are the cluster's facts, asked for when they are missing or old. Old ones are better than none.
func (p *Provider) clusterFacts(ctx context.Context) (*clusterFacts, error) {
	return p.cluster.get(ctx, p.now, patience{clusterAge, clusterPause, clusterSoon}, p.describeCluster)
}

// orEndpoint is the other way out where the cluster can't be described: to whom it is not open, it is not offered.
func (p *Provider) orEndpoint() string {
	if p.opts.ClusterEndpoint != "" {
		return ""
	}
	return ", or set CLUSTER_ENDPOINT"
}

func (p *Provider) describeCluster(ctx context.Context) (*clusterFacts, error) {
	out, err := p.session.EKS.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &p.opts.ClusterName})
	err = awserr.Wrap(fmt.Sprintf("describing EKS cluster %q in region %s", p.opts.ClusterName, p.session.Region), err)
	switch {
	case cloud.IsNotFound(err):
		return nil, awserr.Wrap("there is no such cluster: check CLUSTER_NAME and AWS_REGION"+p.orEndpoint(), err)
	case awserr.LacksPermission(err):
		// Policies for one cluster refuse questions about others, whether they exist or not.
		return nil, awserr.Wrap("check CLUSTER_NAME and AWS_REGION first, then the permission"+p.orEndpoint(), err)
	case err != nil:
		return nil, err
	case out.Cluster == nil:
		return nil, &cloud.Error{Op: fmt.Sprintf("describing EKS cluster %q", p.opts.ClusterName), Class: cloud.Unavailable, Err: errors.New("the answer is empty")}
	}
	c := &clusterFacts{arn: aws.ToString(out.Cluster.Arn), endpoint: aws.ToString(out.Cluster.Endpoint), version: aws.ToString(out.Cluster.Version)}
	if n := out.Cluster.KubernetesNetworkConfig; n != nil {
		c.serviceCIDR = aws.ToString(n.ServiceIpv4Cidr)
		if v6 := aws.ToString(n.ServiceIpv6Cidr); v6 != "" {
			c.serviceCIDR, c.ipv6 = v6, true
		}
	}
	return c, nil
}

// kubernetesVersion is the cluster's minor version.
func (p *Provider) kubernetesVersion(ctx context.Context) (string, error) {
	ask := p.opts.KubernetesVersion
	if ask == nil {
		ask = p.versionFromEKS
	}
	return p.version.get(ctx, p.now, patience{versionAge, clusterPause, clusterSoon}, func(ctx context.Context) (string, error) {
		v, err := ask(ctx)
		return minorVersion(v), err
	})
}

// dnsIP is the address of the cluster's DNS service, empty where it is not known.
func (p *Provider) dnsIP(ctx context.Context) string {
	ip, err := p.dns.get(ctx, p.now, patience{versionAge, clusterPause, clusterSoon}, p.opts.ClusterDNSIP)
	if err != nil {
		p.log.Warn("the address of the cluster's DNS service can't be read; instances use their image's default until it can", "error", err)
	}
	return ip
}

func (p *Provider) versionFromEKS(ctx context.Context) (string, error) {
	c, err := p.clusterFacts(ctx)
	if err != nil {
		return "", err
	}
	return c.version, nil
}

// minorVersion makes 1.36 of v1.36.3-eks-… and of 1.36+.
func minorVersion(v string) string {
	parts := strings.SplitN(strings.TrimPrefix(v, "v"), ".", 3)
	if len(parts) < 2 {
		return v
	}
	digits := strings.IndexFunc(parts[1], func(r rune) bool { return r < '0' || r > '9' })
	if digits >= 0 {
		parts[1] = parts[1][:digits]
	}
	return parts[0] + "." + parts[1]
}

// Warm fetches instance types, offerings and prices, without which nothing can be planned, unless it has done so. Prices are
// optional: those of the embedded facts serve until the price list answers. Many may call it: all wait for one attempt, and
// the next one is made a while after it has failed.
func (p *Provider) Warm(ctx context.Context) error {
	_, err := p.warm.get(ctx, p.now, patience{age: forever, soon: clusterSoon}, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.readRegion(ctx) })
	return err
}

func (p *Provider) readRegion(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	var g guard.Group
	g.Go("aws.types", func() error { return p.discovery.Refresh(ctx) })
	g.Go("aws.prices", func() error {
		err := guard.Run("aws.prices", func() error { return p.prices.Refresh(ctx) })
		if err != nil {
			p.log.Warn("prices could not be refreshed, older ones are used", "error", err)
		}
		return nil
	})
	return g.Wait()
}

// Begin is called when this process has become the one that acts, with the UIDs of the NodeClaims that exist and are not
// launched: a predecessor may have launched them, so they are looked for before anything is launched.
func (p *Provider) Begin(ctx context.Context, unlaunched []string) {
	p.launcher.Begin(unlaunched)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := p.templates.Hydrate(ctx); err != nil {
		p.log.Warn("launch templates could not be listed, they are found one by one", "error", err)
	}
}
