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
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	pricingtypes "github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
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

func TestInstanceProfilesLiveAsIAMHasThem(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := iam.NewFromConfig(cfg)
	ctx := t.Context()
	role := "KarpenterNodeRole-" + s.World.ClusterName()
	name := aws.String("kerf_123")
	_, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	if _, ok := errors.AsType[*iamtypes.NoSuchEntityException](err); !ok {
		t.Fatalf("a profile that was never made: got %v, want NoSuchEntity", err)
	}
	created, err := c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{
		InstanceProfileName: name, Path: aws.String("/karpenter/us-east-1/kerf/uid/"),
		Tags: []iamtypes.Tag{{Key: aws.String("b"), Value: aws.String("2")}, {Key: aws.String("a"), Value: aws.String("1 & <x>")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *created.InstanceProfile.Arn, "arn:aws:iam::123456789012:instance-profile/karpenter/us-east-1/kerf/uid/kerf_123"; got != want {
		t.Errorf("ARN %s, want %s", got, want)
	}
	steps := []struct {
		what string
		do   func() error
		want string
	}{
		{"a second profile of that name", func() error {
			_, err := c.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name})
			return err
		}, "EntityAlreadyExists"},
		{"a role that does not exist", func() error {
			_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nobody")})
			return err
		}, "NoSuchEntity"},
		{"the first role", func() error {
			_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: &role})
			return err
		}, ""},
		{"a second role", func() error {
			_, err := c.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: &role})
			return err
		}, "LimitExceeded"},
		{"deleting a profile with a role", func() error {
			_, err := c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
			return err
		}, "DeleteConflict"},
		{"more tags", func() error {
			_, err := c.TagInstanceProfile(ctx, &iam.TagInstanceProfileInput{InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("c"), Value: aws.String("3")}}})
			return err
		}, ""},
	}
	for _, step := range steps {
		if got := code(step.do()); got != step.want {
			t.Errorf("%s: got %q, want %q", step.what, got, step.want)
		}
	}
	got, err := c.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name})
	if err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, tag := range got.InstanceProfile.Tags {
		tags = append(tags, *tag.Key+"="+*tag.Value)
	}
	if diff := cmp.Diff([]string{"a=1 & <x>", "b=2", "c=3"}, tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if r := got.InstanceProfile.Roles; len(r) != 1 || *r[0].RoleName != role || !strings.HasSuffix(*r[0].Arn, ":role/"+role) {
		t.Errorf("roles: %+v", r)
	}
	if _, err := c.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: &role}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Error(err)
	}
}

func TestListInstanceProfilesPagesByPath(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := iam.NewFromConfig(cfg)
	for i := range 7 {
		path := "/karpenter/"
		if i%2 == 1 {
			path = "/other/"
		}
		if _, err := s.World.CreateInstanceProfile(fmt.Sprintf("p%d", i), path, nil); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	pages := 0
	p := iam.NewListInstanceProfilesPaginator(c, &iam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/"), MaxItems: aws.Int32(3)})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, profile := range page.InstanceProfiles {
			names = append(names, *profile.InstanceProfileName)
		}
	}
	if diff := cmp.Diff([]string{"p0", "p2", "p4", "p6"}, names); diff != "" || pages != 2 {
		t.Errorf("%d pages (-want +got):\n%s", pages, diff)
	}
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

func TestParametersArePutAndDeleted(t *testing.T) {
	_, cfg := start(t, awssim.Options{})
	c := ssm.NewFromConfig(cfg, func(o *ssm.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, "")
	})
	put := func(name, kind, value string, overwrite bool) (int64, error) {
		out, err := c.PutParameter(t.Context(), &ssm.PutParameterInput{
			Name: aws.String(name), Type: ssmtypes.ParameterType(kind), Value: aws.String(value), Overwrite: aws.Bool(overwrite),
		})
		if err != nil {
			return 0, err
		}
		return out.Version, nil
	}
	if v, err := put("/my/image", "String", "ami-1", false); err != nil || v != 1 {
		t.Fatalf("version %d, %v", v, err)
	}
	if v, err := put("/my/image", "", "ami-2", true); err != nil || v != 2 {
		t.Errorf("overwritten: version %d, %v", v, err)
	}
	got, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/my/image")})
	if err != nil || *got.Parameter.Value != "ami-2" || got.Parameter.Type != "String" {
		t.Errorf("%+v, %v", got, err)
	}
	for what, x := range map[string]struct{ name, kind, value, code string }{
		"one that is there":      {"/my/image", "String", "ami-3", "ParameterAlreadyExists"},
		"one without a type":     {"/my/other", "", "x", "ValidationException"},
		"one of AWS":             {"/aws/service/mine", "String", "x", "AccessDeniedException"},
		"a path without a slash": {"my/image", "String", "x", "ValidationException"},
		"a long value":           {"/my/other", "String", strings.Repeat("x", 4097), "ValidationException"},
		"many levels":            {strings.Repeat("/a", 16), "String", "x", "HierarchyLevelLimitExceededException"},
	} {
		if _, err := put(x.name, x.kind, x.value, false); code(err) != x.code {
			t.Errorf("%s: %v, want %s", what, err, x.code)
		}
	}
	if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/my/image")}); err != nil {
		t.Error(err)
	}
	if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/my/image")}); code(err) != "ParameterNotFound" {
		t.Errorf("deleted twice: %v", err)
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

func TestImageParametersAreFoundByNameARNAndPath(t *testing.T) {
	s, cfg := start(t, awssim.Options{})
	c := ssm.NewFromConfig(cfg)
	ctx := t.Context()
	path := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
	want, ok := s.World.ImageParameter(path)
	if !ok {
		t.Fatalf("the world has no %s", path)
	}
	for _, name := range []string{path, "arn:aws:ssm:us-east-1::parameter" + path, path + ":1"} {
		got, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
		if err != nil {
			t.Fatal(err)
		}
		if *got.Parameter.Value != want || got.Parameter.Type != ssmtypes.ParameterTypeString {
			t.Errorf("%s: %s %s, want %s", name, got.Parameter.Type, *got.Parameter.Value, want)
		}
	}
	_, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("/aws/service/none")})
	if _, ok := errors.AsType[*ssmtypes.ParameterNotFound](err); !ok {
		t.Errorf("a parameter that does not exist: %v", err)
	}
	several, err := c.GetParameters(ctx, &ssm.GetParametersInput{Names: []string{path, "/nothing"}})
	if err != nil || len(several.Parameters) != 1 || len(several.InvalidParameters) != 1 {
		t.Errorf("one of two: %+v, %v", several, err)
	}
	seen := map[string]bool{}
	p := ssm.NewGetParametersByPathPaginator(c, &ssm.GetParametersByPathInput{
		Path: aws.String("/aws/service/eks/optimized-ami/1.36"), Recursive: aws.Bool(true),
	})
	for p.HasMorePages() {
		page, err := p.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, param := range page.Parameters {
			if seen[*param.Name] {
				t.Errorf("%s is on two pages", *param.Name)
			}
			seen[*param.Name] = true
		}
	}
	if !seen[path] || len(seen) <= 10 {
		t.Errorf("%d parameters by path, the wanted one among them: %v", len(seen), seen[path])
	}
	s.World.PutParameter("/mine/ami", "String", "ami-1")
	s.World.PutParameter("/mine/ami", "String", "ami-2")
	mine, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String("arn:aws:ssm:us-east-1:123456789012:parameter/mine/ami")})
	if err != nil || *mine.Parameter.Value != "ami-2" || mine.Parameter.Version != 2 {
		t.Errorf("a parameter of the account's own, by ARN: %+v, %v", mine, err)
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

func TestQueueHidesDeletesAndRedelivers(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	_, cfg := start(t, awssim.Options{World: world.Options{Clock: clock}})
	c := sqs.NewFromConfig(cfg)
	ctx := t.Context()
	if _, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("none")}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" && code(err) != "QueueDoesNotExist" {
		t.Errorf("a queue that does not exist: %v", err)
	}
	url, err := c.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("kerf")})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one", "two", "three"} {
		if _, err := c.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: url.QueueUrl, MessageBody: &body, MessageAttributes: map[string]sqstypes.MessageAttributeValue{
			"k": {DataType: aws.String("String"), StringValue: aws.String("v")},
		}}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Second)
	}
	receive := func() []sqstypes.Message {
		t.Helper()
		out, err := c.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: url.QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 20, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameSentTimestamp, sqstypes.MessageSystemAttributeNameApproximateReceiveCount},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.Messages
	}
	first := receive()
	if len(first) != 3 || *first[0].Body != "one" || *first[0].MessageAttributes["k"].StringValue != "v" {
		t.Fatalf("received %+v", first)
	}
	if got := first[1].Attributes["SentTimestamp"]; got != "1767323046000" {
		t.Errorf("sent at %s ms", got)
	}
	if again := receive(); len(again) != 0 {
		t.Errorf("hidden messages were received: %+v", again)
	}
	if _, err := c.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: url.QueueUrl, ReceiptHandle: first[0].ReceiptHandle}); err != nil {
		t.Error(err)
	}
	clock.Advance(21 * time.Second)
	second := receive()
	if len(second) != 2 || second[0].Attributes["ApproximateReceiveCount"] != "2" {
		t.Fatalf("after the visibility timeout: %+v", second)
	}
	batch, err := c.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: url.QueueUrl, Entries: []sqstypes.DeleteMessageBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: second[0].ReceiptHandle}, {Id: aws.String("b"), ReceiptHandle: aws.String("not base64!")},
		{Id: aws.String("c"), ReceiptHandle: first[2].ReceiptHandle}, // older than the newest receipt
	}})
	if err != nil || len(batch.Successful) != 2 || len(batch.Failed) != 1 || *batch.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("batch: %+v, %v", batch, err)
	}
	attributes, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: url.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"All"}})
	if err != nil || attributes.Attributes["ApproximateNumberOfMessagesNotVisible"] != "1" || attributes.Attributes["MessageRetentionPeriod"] != "300" {
		t.Errorf("attributes: %v, %v", attributes, err)
	}
	clock.Advance(5 * time.Minute)
	if left := receive(); len(left) != 0 {
		t.Errorf("messages outlive the retention period: %+v", left)
	}
	if _, err := c.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url.QueueUrl}); err != nil {
		t.Error(err)
	}
	if _, err := c.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: url.QueueUrl}); !strings.Contains(code(err), "PurgeQueueInProgress") {
		t.Errorf("a second purge at once: %v", err)
	}
}

func TestLongPollEndsWithTheFirstMessage(t *testing.T) {
	clock := world.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s, cfg := start(t, awssim.Options{World: world.Options{Clock: clock}})
	c := sqs.NewFromConfig(cfg)
	url := s.World.QueueURL("kerf")
	poll := func() chan []sqstypes.Message {
		got := make(chan []sqstypes.Message, 1)
		go func() {
			out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 20})
			if err != nil {
				t.Error(err)
				got <- nil
				return
			}
			got <- out.Messages
		}()
		await(t, "the poll waits", func() bool { return clock.Waiting() > 0 })
		return got
	}
	got := poll()
	if _, err := s.World.SendMessage("kerf", "x", "hello", nil, 0); err != nil {
		t.Fatal(err)
	}
	if m := <-got; len(m) != 1 || *m[0].Body != "hello" {
		t.Errorf("received %+v", m)
	}
	got = poll()
	clock.Advance(20 * time.Second)
	if m := <-got; len(m) != 0 {
		t.Errorf("received %+v from an empty queue", m)
	}
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
