package session

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

type doFunc func(*http.Request) (*http.Response, error)

func (f doFunc) Do(r *http.Request) (*http.Response, error) { return f(r) }

type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Read(p []byte) (int, error) {
	if c.closed {
		return 0, io.EOF
	}
	return c.Reader.Read(p)
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

func TestABodyOutlivesItsClosingByTheSDK(t *testing.T) {
	body := &closable{Reader: strings.NewReader("Action=DescribeSubnets")}
	client := wholeBody{doFunc(func(r *http.Request) (*http.Response, error) {
		body.Close()
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != "Action=DescribeSubnets" {
			t.Errorf("after closing, the body reads %q, %v", got, err)
		}
		return &http.Response{StatusCode: http.StatusOK}, nil
	})}
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = int64(len("Action=DescribeSubnets"))
	if _, err := client.Do(r); err != nil {
		t.Fatal(err)
	}
}

// An endpoint in the same process answers faster than the SDK expects; no answer may be lost by that.
func TestManyFastAnswersOnFewConnections(t *testing.T) {
	conns := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conns[r.RemoteAddr] = true // one request at a time
		io.WriteString(w, "<DescribeSubnetsResponse>"+strings.Repeat(" ", 100_000)+"</DescribeSubnetsResponse>")
	}))
	defer srv.Close()
	isolate(t)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "a")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "b")
	t.Setenv("AWS_ENDPOINT_URL", srv.URL)
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	s, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := s.EC2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(conns) != 1 {
		t.Errorf("%d connections were used for calls one after the other", len(conns))
	}
}
