package session

import (
	"context"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

func isolate(t *testing.T) {
	for _, k := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"} {
		t.Setenv(k, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestAMissingRegionIsAnErrorThatSaysWhatToSet(t *testing.T) {
	isolate(t)
	_, err := New(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Fatalf("got %v", err)
	}
}

func TestAProfileThatIsNamedBeatsTheSettings(t *testing.T) {
	isolate(t)
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("[profile night]\nregion = eu-north-1\n[profile day]\nregion = us-west-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_PROFILE", "day")
	if s, err := New(t.Context(), Options{Profile: "night"}); err != nil || s.Region != "eu-north-1" {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := New(t.Context(), Options{Profile: "noon"}); err == nil || !strings.Contains(err.Error(), "noon") {
		t.Errorf("a profile that is not there: %v", err)
	}
}

func TestTheRegionComesFromTheMetadataServiceOnlyWhenItIsNotSet(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Method == http.MethodPut {
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			io.WriteString(w, "token")
			return
		}
		io.WriteString(w, `{"region":"eu-north-1"}`)
	}))
	defer srv.Close()
	isolate(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", srv.URL)
	s, err := New(t.Context(), Options{})
	if err != nil || s.Region != "eu-north-1" {
		t.Fatalf("got %+v, %v", s, err)
	}
	asked = 0
	t.Setenv("AWS_REGION", "us-west-2")
	if s, err = New(t.Context(), Options{}); err != nil || s.Region != "us-west-2" || asked != 0 {
		t.Fatalf("got %+v, %v after %d questions", s, err, asked)
	}
}

func TestCallsGoToTheEndpointOfTheSettingsAndNameKerf(t *testing.T) {
	var agent string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		io.WriteString(w, `<DescribeSubnetsResponse/>`)
	}))
	defer srv.Close()
	isolate(t)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	s, err := New(context.Background(), Options{Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kerf/1.2.3", "karpenter.sh-1.2.3"} {
		if !strings.Contains(agent, want) {
			t.Errorf("user agent %q lacks %q", agent, want)
		}
	}
}

func TestPricingRegion(t *testing.T) {
	for region, want := range map[string]string{"us-west-2": "us-east-1", "ap-east-1": "ap-south-1", "cn-north-1": "cn-northwest-1", "eu-west-1": "eu-central-1", "sa-east-1": "us-east-1", "eusc-de-east-1": "eusc-de-east-1"} {
		if got := PricingRegion(region); got != want {
			t.Errorf("PricingRegion(%s) = %s, want %s", region, got, want)
		}
	}
}

// The credentials of a partition are worth nothing in another one.
func TestPricesAreAskedForInTheRegionsOwnPartition(t *testing.T) {
	for _, p := range partition.All {
		if at := PricingRegion(p.Longest); pricing.HasPriceList(p.Longest) && partition.Of(at).Name != p.Name {
			t.Errorf("prices of %s, which is in %s, are asked for in %s, which is in %s", p.Longest, p.Name, at, partition.Of(at).Name)
		}
	}
}

// A reply that comes before the client has done with its request must be read in full all the same.
func TestFastRepliesAreReadToTheEnd(t *testing.T) {
	long := "<DescribeSubnetsResponse><!--" + strings.Repeat("x", 1<<20) + "--></DescribeSubnetsResponse>"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, long)
	}))
	defer srv.Close()
	isolate(t)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	s, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}, func(o *ec2.Options) { o.RetryMaxAttempts = 1 }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExplicitSettingsAreAboveTheEnvironment(t *testing.T) {
	var authorization string
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization = r.Header.Get("Authorization")
		io.WriteString(w, `<DescribeSubnetsResponse/>`)
	}))
	defer srv.Close()
	isolate(t)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	s, err := New(t.Context(), Options{Explicit: &Explicit{Region: "eu-west-1", Endpoint: srv.URL, AccessKeyID: "explicit", SecretAccessKey: "c", CA: ca}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
		t.Fatal(err)
	}
	if s.Region != "eu-west-1" || !strings.Contains(authorization, "Credential=explicit/") || !strings.Contains(authorization, "/eu-west-1/") {
		t.Errorf("region %s, signed %q", s.Region, authorization)
	}
}

// What the SDK tries on its way to credentials is not for whoever runs a command; the error says what to do.
func TestTheSDKWritesNothingOfItsOwn(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer srv.Close()
	isolate(t)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "false")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", srv.URL)
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	stderr := os.Stderr
	os.Stderr = said
	defer func() { os.Stderr = stderr }()
	s, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Config.Credentials.Retrieve(t.Context()); err == nil {
		t.Error("there are credentials where the metadata service gives none")
	}
	if text, err := os.ReadFile(said.Name()); err != nil || len(text) > 0 {
		t.Errorf("on standard error: %s%v", text, err)
	}
}
