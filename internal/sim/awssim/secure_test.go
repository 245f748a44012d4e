package awssim_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
)

func TestOnePortSpeaksTLSToTheSDKAndPlainHTTPToPeople(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	s, _ := start(t, awssim.Options{CAFile: file})
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	env := s.Env()
	if !slices.Contains(env, "AWS_CA_BUNDLE="+file) || !slices.Contains(env, "AWS_ENDPOINT_URL="+s.SecureURL()) {
		t.Fatalf("the environment does not lead to the secure address: %v", env)
	}
	for _, pair := range env {
		k, v, _ := strings.Cut(pair, "=")
		t.Setenv(k, v)
	}
	cfg, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{}); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(s.URL() + "/_kerf/clock")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("the plain address answers %s", resp.Status)
	}
}

func TestASilentConnectionHoldsNobodyUp(t *testing.T) {
	s, _ := start(t, awssim.Options{})
	silent, err := net.Dial("tcp", s.URL()[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // only whether it answers
	c, err := dialer.DialContext(t.Context(), "tcp", s.URL()[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
