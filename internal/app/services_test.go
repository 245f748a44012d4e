package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/kerf-sh/kerf/internal/aws/dependency"
	"github.com/kerf-sh/kerf/internal/aws/session"
)

func TestReadyzNamesAServiceThatIsGoneToWhoAsksAndStaysOK(t *testing.T) {
	d := &deps{surroundings: surroundings{services: dependency.New(nil)}}
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close() // its address is of nobody now
	s, err := session.New(t.Context(), session.Options{Middleware: d.services.Middleware(), Explicit: &session.Explicit{
		Region: "us-east-1", Endpoint: nobody.URL, AccessKeyID: "id", SecretAccessKey: "secret",
	}})
	if err != nil {
		t.Fatal(err)
	}
	readyz := http.StripPrefix("/readyz", &healthz.Handler{Checks: map[string]healthz.Checker{awsCheck: d.awsAnswers}})
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		readyz.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	if code, text := ask("/readyz/aws"); code != http.StatusOK {
		t.Errorf("before the first call: %d %s", code, text)
	}
	if _, err := s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err == nil {
		t.Fatal("somebody answered")
	}
	if code, text := ask("/readyz/aws"); code != http.StatusInternalServerError || !strings.Contains(text, "ec2 does not answer") || !strings.Contains(text, "DescribeSubnets") {
		t.Errorf("after it: %d %s", code, text)
	}
	for _, path := range []string{"/readyz", "/readyz/", "/readyz?verbose"} {
		if code, text := ask(path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
}
