package awssim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// start makes a simulator that is closed at the test's end, and SDK settings that lead to it.
func start(t *testing.T, o awssim.Options) (*awssim.Server, aws.Config) {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := awssim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	id, secret := s.Credentials()
	return s, config(s, id, secret, "")
}

func config(s *awssim.Server, id, secret, token string) aws.Config {
	return aws.Config{
		Region: s.World.Region(), BaseEndpoint: aws.String(s.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(id, secret, token), RetryMaxAttempts: 1, HTTPClient: copying{},
	}
}

// copying sends a copy of each request's body, which outlives its closing by the SDK. On an instance that is busy enough, a
// client may otherwise be held up for longer than the simulator waits before it answers.
type copying struct{}

func (copying) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return http.DefaultClient.Do(r)
}

// code is the error code that an SDK client shows, or "" for no error.
func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return "no API error: " + err.Error()
}

func TestAssumedRoleSignsForItself(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s, cfg := start(t, awssim.Options{World: world.Options{Clock: clock}})
	out, err := sts.NewFromConfig(cfg).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::123456789012:role/KarpenterController-kerf"), RoleSessionName: aws.String("test"), DurationSeconds: aws.Int32(900),
	})
	if err != nil {
		t.Fatal(err)
	}
	cr := out.Credentials
	session := sts.NewFromConfig(config(s, *cr.AccessKeyId, *cr.SecretAccessKey, *cr.SessionToken))
	who, err := session.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *who.Arn, "arn:aws:sts::123456789012:assumed-role/KarpenterController-kerf/test"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	without := sts.NewFromConfig(config(s, *cr.AccessKeyId, *cr.SecretAccessKey, ""))
	if _, err := without.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}); code(err) != "InvalidClientTokenId" {
		t.Errorf("without the session token: %v", err)
	}
	clock.Advance(16 * time.Minute)
	if _, err := session.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}); code(err) != "ExpiredToken" {
		t.Errorf("after its end the session gets %v", err)
	}
	if _, err := sts.NewFromConfig(cfg).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::123456789012:role/nobody"), RoleSessionName: aws.String("test"),
	}); code(err) != "AccessDenied" {
		t.Errorf("a role that does not exist: %v", err)
	}
}

func TestTheAdministratorIsAUser(t *testing.T) {
	_, cfg := start(t, awssim.Options{})
	c := sts.NewFromConfig(cfg, func(o *sts.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, "")
	})
	who, err := c.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || *who.Arn != "arn:aws:iam::123456789012:user/admin" || !strings.HasPrefix(*who.UserId, "AIDA") {
		t.Errorf("%+v, %v", who, err)
	}
	out, err := c.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::123456789012:role/Administrator"), RoleSessionName: aws.String("session")})
	if err != nil || !strings.HasPrefix(*out.Credentials.AccessKeyId, "ASIA") || *out.Credentials.SessionToken == "" {
		t.Errorf("a session of the role: %+v, %v", out, err)
	}
}

func TestDescribeClusterHasWhatNodesNeed(t *testing.T) {
	_, cfg := start(t, awssim.Options{Cluster: world.Cluster{Endpoint: "https://cluster.test", CA: "Q0E=", ServiceIPv4CIDR: "172.20.0.0/16"}})
	c := eks.NewFromConfig(cfg)
	out, err := c.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("kerf")})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{*out.Cluster.Endpoint, *out.Cluster.Version, *out.Cluster.CertificateAuthority.Data, *out.Cluster.KubernetesNetworkConfig.ServiceIpv4Cidr, *out.Cluster.Arn, string(out.Cluster.Status)}
	want := []string{"https://cluster.test", "1.36", "Q0E=", "172.20.0.0/16", "arn:aws:eks:us-east-1:123456789012:cluster/kerf", "ACTIVE"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := c.DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("an other/one")}); code(err) != "ResourceNotFoundException" {
		t.Errorf("a cluster that does not exist: %v", err)
	}
}

func TestPriceListHasBothKindsOfInstance(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := pricing.NewFromConfig(cfg)
	prices := map[string]string{}
	for _, kind := range [][2]string{{"Shared", "Compute Instance"}, {"Dedicated", "Compute Instance (bare metal)"}} {
		filters := []pricingtypes.Filter{}
		for k, v := range map[string]string{
			"regionCode": "us-east-1", "serviceCode": "AmazonEC2", "preInstalledSw": "NA", "operatingSystem": "Linux",
			"capacitystatus": "Used", "marketoption": "OnDemand", "tenancy": kind[0], "productFamily": kind[1],
		} {
			filters = append(filters, pricingtypes.Filter{Field: aws.String(k), Value: aws.String(v), Type: pricingtypes.FilterTypeTermMatch})
		}
		before := len(prices)
		p := pricing.NewGetProductsPaginator(c, &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters, MaxResults: aws.Int32(100)})
		for p.HasMorePages() {
			page, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range page.PriceList {
				name, price := onDemand(t, text)
				prices[name] = price
			}
		}
		if len(prices) == before {
			t.Errorf("no prices for %v", kind)
		}
	}
	for _, name := range []string{"m5.large", "m5.metal"} {
		micro, _ := s.World.OnDemandPrice(name)
		if want := fmt.Sprintf("%d.%06d0000", micro/1e6, micro%1e6); prices[name] != want {
			t.Errorf("%s costs %q, want %q", name, prices[name], want)
		}
	}
}

func onDemand(t *testing.T, text string) (name, price string) {
	t.Helper()
	var item struct {
		Product struct {
			Attributes struct{ InstanceType string }
		}
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct{ PricePerUnit map[string]string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &item); err != nil {
		t.Fatal(err)
	}
	for _, term := range item.Terms.OnDemand {
		for _, d := range term.PriceDimensions {
			price = d.PricePerUnit["USD"]
		}
	}
	return item.Product.Attributes.InstanceType, price
}

// await waits for a condition that another goroutine brings about.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestSignaturesAreRefusedAsEachServiceDoes(t *testing.T) {
	s, _ := start(t, awssim.Options{})
	id, secret := s.Credentials()
	calls := map[string]func(aws.Config) error{
		"ec2": func(c aws.Config) error {
			_, err := ec2.NewFromConfig(c).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
			return err
		},
		"iam": func(c aws.Config) error {
			_, err := iam.NewFromConfig(c).ListInstanceProfiles(t.Context(), &iam.ListInstanceProfilesInput{})
			return err
		},
		"sts": func(c aws.Config) error {
			_, err := sts.NewFromConfig(c).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
			return err
		},
		"ssm": func(c aws.Config) error {
			_, err := ssm.NewFromConfig(c).GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{"/x"}})
			return err
		},
		"sqs": func(c aws.Config) error {
			_, err := sqs.NewFromConfig(c).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("kerf")})
			return err
		},
		"eks": func(c aws.Config) error {
			_, err := eks.NewFromConfig(c).DescribeCluster(t.Context(), &eks.DescribeClusterInput{Name: aws.String("kerf")})
			return err
		},
		"pricing": func(c aws.Config) error {
			_, err := pricing.NewFromConfig(c).GetProducts(t.Context(), &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(1)})
			return err
		},
	}
	for _, tt := range []struct {
		what string
		cfg  aws.Config
		want map[string]string
	}{
		{"the right key", config(s, id, secret, ""), map[string]string{}},
		{"a wrong secret", config(s, id, "wrong", ""), map[string]string{
			"ec2": "AuthFailure", "iam": "SignatureDoesNotMatch", "sts": "SignatureDoesNotMatch", "ssm": "InvalidSignatureException",
			"sqs": "InvalidSignatureException", "eks": "InvalidSignatureException", "pricing": "InvalidSignatureException",
		}},
		{"an unknown key", config(s, "AKIAUNKNOWN", secret, ""), map[string]string{
			"ec2": "AuthFailure", "iam": "InvalidClientTokenId", "sts": "InvalidClientTokenId", "ssm": "UnrecognizedClientException",
			"sqs": "InvalidClientTokenId", "eks": "UnrecognizedClientException", "pricing": "UnrecognizedClientException",
		}},
	} {
		for service, call := range calls {
			if got := code(call(tt.cfg)); got != tt.want[service] {
				t.Errorf("%s, %s: got %q, want %q", tt.what, service, got, tt.want[service])
			}
		}
	}
	other := config(s, id, secret, "")
	other.Region = "eu-west-1"
	if got := code(calls["ssm"](other)); got != "InvalidSignatureException" {
		t.Errorf("credentials scoped to another region: got %q", got)
	}
	if got := s.World.CallOutcomes("ListInstanceProfiles"); got["SignatureDoesNotMatch"] != 1 || got["OK"] != 1 {
		t.Errorf("the log counts %v", got)
	}
}

func TestFaultsStrikeOnTheWire(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := iam.NewFromConfig(cfg)
	create := func(name string) error {
		_, err := c.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name})
		return err
	}
	s.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "iam", Operation: "CreateInstanceProfile", Count: 1})
	if got := code(create("a")); got != "Throttling" {
		t.Errorf("throttled: got %q, calls %v", got, s.World.CallOutcomes("CreateInstanceProfile"))
	}
	s.World.AddFault(world.Fault{Kind: world.FaultLostReply, Resource: "b", Count: 1})
	if err := create("b"); err == nil || !strings.HasPrefix(code(err), "no API error") {
		t.Errorf("a lost reply: got %v", err)
	}
	if got := code(create("b")); got != "EntityAlreadyExists" {
		t.Errorf("what was asked for has been done although no reply came: got %q", got)
	}
	s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ssm", Code: "InternalServerError", Status: 500, Count: 1})
	if _, err := ssm.NewFromConfig(cfg).GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{"/x"}}); code(err) != "InternalServerError" {
		t.Errorf("an error of choice: %v", err)
	}
}

type denyAll struct{}

func (denyAll) Authorize(p wire.Identity, action string, _ *wire.Request) error {
	return fmt.Errorf("User: %s is not authorized to perform: %s", p.PrincipalARN, action)
}

func TestRefusedActionsHaveEachServicesCode(t *testing.T) {
	_, cfg := start(t, awssim.Options{Authorizer: denyAll{}})
	_, err := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if code(err) != "UnauthorizedOperation" {
		t.Errorf("ec2: %v", err)
	}
	_, err = ssm.NewFromConfig(cfg).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/x")})
	if code(err) != "AccessDeniedException" || !strings.Contains(err.Error(), "ssm:GetParameter") {
		t.Errorf("ssm: %v", err)
	}
}

func TestSimulatorStaysOnThisComputer(t *testing.T) {
	if _, err := awssim.New(awssim.Options{Listen: "0.0.0.0:0"}); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("listening everywhere: %v", err)
	}
	s, _ := start(t, awssim.Options{})
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL()+"/_kerf/faults", strings.NewReader(`{"kind":"error"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://example.com")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden || len(s.World.Faults()) != 0 {
		t.Errorf("a page of another site got %s", resp.Status)
	}
}
