// Package session makes the clients of the AWS services that Kerf calls. Region, credentials, endpoints, proxies and retry
// mode come from the SDK's own settings (AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL and its kin, the credentials chain);
// Kerf adds a user agent, time limits and error messages that say what to set.
package session

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
	smithymiddleware "github.com/aws/smithy-go/middleware"
)

const (
	// dialTimeout bounds the making of one connection, callTimeout one attempt of one call. A CreateFleet for many
	// instances takes many seconds.
	dialTimeout = 5 * time.Second
	callTimeout = 2 * time.Minute
	// imdsTimeout bounds the question for the region where there may be no metadata service at all.
	imdsTimeout = 5 * time.Second
	// keepConns is how many idle connections are kept to one endpoint, so that a burst of calls does not dial for each.
	keepConns = 64
)

// Options change what New makes.
type Options struct {
	// Version goes into the user agent.
	Version string
	// Middleware is added to the stack of every call, for metrics.
	Middleware []func(*smithymiddleware.Stack) error
	// Region beats the one of the settings, if set.
	Region string
	// Profile beats the one of the settings, if set.
	Profile string
	// Explicit takes the place of the environment and of the SDK's files, if set.
	Explicit *Explicit
	// Dial makes connections instead of the operating system, if set.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Explicit leads to one endpoint as one identity.
type Explicit struct {
	Region, Endpoint                           string
	AccessKeyID, SecretAccessKey, SessionToken string
	// CA is the authority that the endpoint's certificate is from, in PEM; empty means the instance's own.
	CA []byte
}

func (e *Explicit) load() []func(*config.LoadOptions) error {
	if e == nil {
		return nil
	}
	out := []func(*config.LoadOptions) error{
		config.WithSharedConfigFiles(nil), config.WithSharedCredentialsFiles(nil),
		config.WithRegion(e.Region), config.WithBaseEndpoint(e.Endpoint),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(e.AccessKeyID, e.SecretAccessKey, e.SessionToken)),
	}
	if len(e.CA) > 0 {
		out = append(out, config.WithCustomCABundle(bytes.NewReader(e.CA)))
	}
	return out
}

// Session holds a client for each service that the controller calls, all made from one configuration.
type Session struct {
	Config aws.Config
	Region string

	EC2     *ec2.Client
	IAM     *iam.Client
	SSM     *ssm.Client
	SQS     *sqs.Client
	EKS     *eks.Client
	STS     *sts.Client
	Pricing *pricing.Client
}

// New reads the SDK's settings and makes the clients. It calls no service except, when no region is set, the metadata
// service of the instance it runs on.
func New(ctx context.Context, o Options) (*Session, error) {
	agent := o.Version
	if agent == "" {
		agent = "dev"
	}
	load := o.Explicit.load()
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		load = append(load, config.WithSharedConfigProfile(o.Profile))
	}
	cfg, err := config.LoadDefaultConfig(ctx, append(load,
		config.WithHTTPClient(httpClient(o)),
		config.WithLogger(logging.LoggerFunc(quietly)),
		config.WithAPIOptions(append([]func(*smithymiddleware.Stack) error{
			middleware.AddUserAgentKeyValue("kerf", agent),
			middleware.AddUserAgentKey("karpenter.sh-" + agent),
		}, o.Middleware...)),
	)...)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS settings (AWS_PROFILE, AWS_CONFIG_FILE, AWS_REGION and others): %w", err)
	}
	if cfg.Region == "" {
		if cfg.Region, err = regionOfInstance(ctx, cfg); err != nil {
			return nil, err
		}
	}
	cfg.HTTPClient = wholeBody{cfg.HTTPClient}
	return &Session{
		Config:  cfg,
		Region:  cfg.Region,
		EC2:     ec2.NewFromConfig(cfg),
		IAM:     iam.NewFromConfig(cfg),
		SSM:     ssm.NewFromConfig(cfg),
		SQS:     sqs.NewFromConfig(cfg),
		EKS:     eks.NewFromConfig(cfg),
		STS:     sts.NewFromConfig(cfg),
		Pricing: pricing.NewFromConfig(cfg, func(p *pricing.Options) { p.Region = PricingRegion(cfg.Region) }),
	}, nil
}

// Account is the account that the session's credentials are of, as far as they say it: those of EKS Pod Identity, of IAM roles for
// service accounts and of most profiles do; those of an instance's metadata may not. Empty where it is not known. AWS is asked
// for nothing that a call would not have asked for.
func (s *Session) Account(ctx context.Context) string {
	if s.Config.Credentials == nil {
		return ""
	}
	c, err := s.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return "" // calls fail of it, and say so
	}
	return c.AccountID
}

// quietly is the SDK's own log. It warns of what it tries on its way to credentials, which is nothing that a user can do
// about, and the error in the end says what they can; so its lines are for those who look for them.
func quietly(_ logging.Classification, format string, args ...any) {
	slog.Debug("the AWS SDK says", "line", fmt.Sprintf(format, args...))
}

// PricingRegion is the region whose price list service answers for a region: one of its own partition, where that has the service.
//
// Source: AWS Price List Query API endpoints.
func PricingRegion(region string) string {
	switch {
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	case strings.HasPrefix(region, "cn-"):
		return "cn-northwest-1"
	case strings.HasPrefix(region, "eusc-"):
		return "eusc-de-east-1"
	case strings.HasPrefix(region, "eu-"):
		return "eu-central-1"
	}
	return "us-east-1"
}

func httpClient(o Options) *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithTimeout(callTimeout).
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = dialTimeout }).
		WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = keepConns
			if o.Dial != nil {
				t.DialContext = o.Dial
			}
		})
}

func regionOfInstance(ctx context.Context, cfg aws.Config) (string, error) {
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		return "", fmt.Errorf("no AWS region: set AWS_REGION (the metadata service is not asked because AWS_EC2_METADATA_DISABLED is true)")
	}
	ctx, cancel := context.WithTimeout(ctx, imdsTimeout)
	defer cancel()
	out, err := imds.NewFromConfig(cfg).GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", fmt.Errorf("no AWS region: set AWS_REGION (the metadata service of this machine did not tell one either): %w", err)
	}
	return out.Region, nil
}
