package wire_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

type oneKey struct{}

func (oneKey) Identity(id string) (wire.Identity, bool) {
	return wire.Identity{AccessKeyID: "AKIA", Secret: "secret", Account: "123456789012", PrincipalARN: "arn:someone"}, id == "AKIA"
}

type log struct {
	mu    sync.Mutex
	calls []wire.Call
}

func (l *log) Record(c wire.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, c)
}

type result struct {
	Name  string   `xml:"name" json:"name"`
	Items []string `xml:"itemSet>item" json:"items"`
}

// serve makes a server with one operation of each protocol that answers what h says.
func serve(t *testing.T, h wire.Handler) (*httptest.Server, *log) {
	t.Helper()
	l := &log{}
	s := wire.New(wire.Options{
		Region: "us-east-1", Seed: 1, Keys: oneKey{}, Recorder: l, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler),
	})
	s.Handle(wire.EC2, "DescribeThings", h)
	s.Handle(wire.IAM, "ListThings", h)
	s.Handle(wire.SSM, "GetThings", h)
	s.Handle(wire.SQS, "GetThings", h)
	s.HandleREST(wire.EKS, "DescribeThing", "GET /things/{name}/parts/{part}", h)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server, l
}

type call struct {
	service, region, method, path, target, body string
	at                                          time.Time
	change                                      func(*http.Request)
}

func send(t *testing.T, server *httptest.Server, c call) (*http.Response, string) {
	t.Helper()
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.at.IsZero() {
		c.at = now
	}
	if c.region == "" {
		c.region = "us-east-1"
	}
	req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.target != "" {
		req.Header.Set("X-Amz-Target", c.target)
	}
	sum := sha256.Sum256([]byte(c.body))
	creds := aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "secret"}
	if err := v4.NewSigner().SignHTTP(t.Context(), creds, req, hex.EncodeToString(sum[:]), c.service, c.region, c.at); err != nil {
		t.Fatal(err)
	}
	if c.change != nil {
		c.change(req)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

const (
	ec2Body = "Action=DescribeThings&Version=2016-11-15"
	iamBody = "Action=ListThings&Version=2010-05-08"
)

func TestEveryServiceHasItsOwnEnvelopes(t *testing.T) {
	var answer any
	var problem error
	server, _ := serve(t, func(context.Context, *wire.Request) (any, error) { return answer, problem })
	calls := map[string]call{
		"ec2": {service: "ec2", path: "/", body: ec2Body},
		"iam": {service: "iam", path: "/", body: iamBody},
		"ssm": {service: "ssm", path: "/", target: "AmazonSSM.GetThings", body: "{}"},
		"sqs": {service: "sqs", path: "/", target: "AmazonSQS.GetThings", body: "{}"},
		"eks": {service: "eks", path: "/things/a%2Fb/parts/c%20d", method: http.MethodGet},
	}
	id := func(resp *http.Response) string { return resp.Header.Get("X-Amzn-Requestid") }
	answer = result{"n<", []string{"x", "y"}}
	for service, want := range map[string]string{
		"ec2": `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<DescribeThingsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>ID</requestId><name>n&lt;</name><itemSet><item>x</item><item>y</item></itemSet></DescribeThingsResponse>`,
		"iam": `<ListThingsResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><ListThingsResult><name>n&lt;</name><itemSet><item>x</item><item>y</item></itemSet></ListThingsResult><ResponseMetadata><RequestId>ID</RequestId></ResponseMetadata></ListThingsResponse>`,
		"ssm": `{"name":"n\u003c","items":["x","y"]}`,
		"sqs": `{"name":"n\u003c","items":["x","y"]}`,
		"eks": `{"name":"n\u003c","items":["x","y"]}`,
	} {
		resp, body := send(t, server, calls[service])
		if diff := cmp.Diff(want, strings.ReplaceAll(body, id(resp), "ID")); diff != "" || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s (-want +got):\n%s", service, resp.Status, diff)
		}
	}
	problem = &wire.Error{Code: "NoSuchThing", Message: "not <here>", Status: http.StatusNotFound, QueryCode: "Old.NoSuchThing"}
	for service, want := range map[string]string{
		"ec2": `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<Response><Errors><Error><Code>NoSuchThing</Code><Message>not &lt;here&gt;</Message></Error></Errors><RequestID>ID</RequestID></Response>`,
		"iam": `<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type><Code>NoSuchThing</Code><Message>not &lt;here&gt;</Message></Error><RequestId>ID</RequestId></ErrorResponse>`,
		"ssm": `{"__type":"NoSuchThing","message":"not \u003chere\u003e"}`,
		"sqs": `{"__type":"com.amazonaws.sqs#NoSuchThing","message":"not \u003chere\u003e"}`,
		"eks": `{"message":"not \u003chere\u003e"}`,
	} {
		resp, body := send(t, server, calls[service])
		if diff := cmp.Diff(want, strings.ReplaceAll(body, id(resp), "ID")); diff != "" || resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s (-want +got):\n%s", service, resp.Status, diff)
		}
		if service == "sqs" && resp.Header.Get("X-Amzn-Query-Error") != "Old.NoSuchThing;Sender" {
			t.Errorf("sqs sends the query code %q", resp.Header.Get("X-Amzn-Query-Error"))
		}
		if service == "eks" && resp.Header.Get("X-Amzn-Errortype") != "NoSuchThing" {
			t.Errorf("eks sends the error type %q", resp.Header.Get("X-Amzn-Errortype"))
		}
	}
}

func TestRouteGivesItsWildcards(t *testing.T) {
	var got map[string]string
	server, _ := serve(t, func(_ context.Context, r *wire.Request) (any, error) { got = r.Path; return nil, nil })
	send(t, server, call{service: "eks", path: "/things/a%2Fb/parts/c%20d", method: http.MethodGet})
	if diff := cmp.Diff(map[string]string{"name": "a/b", "part": "c d"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSignatureHoldsForWhatWasSignedOnly(t *testing.T) {
	server, _ := serve(t, func(context.Context, *wire.Request) (any, error) { return nil, nil })
	for _, tt := range []struct {
		what string
		call call
		want string // error code in the body, empty for success
	}{
		{"as signed", call{service: "iam", path: "/", body: iamBody}, ""},
		{"a query string in another order", call{service: "iam", path: "/?b=2&a=1+1&a=0", body: iamBody}, ""},
		{"signed four minutes ago", call{service: "iam", path: "/", body: iamBody, at: now.Add(-4 * time.Minute)}, ""},
		{"signed six minutes ago", call{service: "iam", path: "/", body: iamBody, at: now.Add(-6 * time.Minute)}, "SignatureDoesNotMatch"},
		{"signed six minutes ahead", call{service: "ec2", path: "/", body: ec2Body, at: now.Add(6 * time.Minute)}, "RequestExpired"},
		{"no signature", call{service: "iam", path: "/", body: iamBody, change: func(r *http.Request) { r.Header.Del("Authorization") }}, "MissingAuthenticationToken"},
		{"no signature on a form that names no service", call{service: "ec2", path: "/", body: ec2Body, change: func(r *http.Request) { r.Header.Del("Authorization") }}, "MissingParameter"},
		{"half a signature", call{service: "iam", path: "/", body: iamBody, change: func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x") }}, "IncompleteSignature"},
		{"an older kind of signature", call{service: "iam", path: "/", body: iamBody, change: func(r *http.Request) { r.Header.Set("Authorization", "AWS AKIA:abc") }}, "IncompleteSignature"},
		{"a body that was changed", call{service: "iam", path: "/", body: iamBody, change: func(r *http.Request) { setBody(r, iamBody+"&X=1") }}, "SignatureDoesNotMatch"},
		{"a signed header that was changed", call{service: "ssm", path: "/", target: "AmazonSSM.GetThings", body: "{}", change: func(r *http.Request) { r.Header.Set("X-Amz-Target", "AmazonSSM.GetThings2") }}, "InvalidSignatureException"},
		{"scoped to another service", call{service: "sts", path: "/", body: iamBody}, "SignatureDoesNotMatch"},
		{"scoped to another region", call{service: "ssm", region: "eu-west-1", path: "/", target: "AmazonSSM.GetThings", body: "{}"}, "InvalidSignatureException"},
		{"a global service in another region", call{service: "iam", region: "eu-west-1", path: "/", body: iamBody}, ""},
		{"an operation that does not exist", call{service: "ec2", path: "/", body: "Action=Nothing&Version=2016-11-15"}, "InvalidAction"},
		{"no action", call{service: "ec2", path: "/", body: "Version=2016-11-15"}, "MissingAction"},
		{"an API version that does not exist", call{service: "ec2", path: "/", body: "Action=DescribeThings&Version=1999-01-01"}, "InvalidAction"},
		{"a target that does not exist", call{service: "ssm", path: "/", target: "AmazonSSM.Nothing", body: "{}"}, "UnknownOperationException"},
		{"a body beyond all bounds", call{service: "iam", path: "/", body: strings.Repeat("x", 2<<20)}, "RequestEntityTooLarge"},
	} {
		t.Run(tt.what, func(t *testing.T) {
			resp, body := send(t, server, tt.call)
			if tt.want == "" && resp.StatusCode != http.StatusOK || !strings.Contains(body, tt.want) {
				t.Errorf("%s %s, want %q", resp.Status, body, tt.want)
			}
		})
	}
}

func setBody(r *http.Request, body string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	r.GetBody = nil
}

func TestPresignedRequestsHoldForTheirTime(t *testing.T) {
	server, _ := serve(t, func(context.Context, *wire.Request) (any, error) { return nil, nil })
	empty := sha256.Sum256(nil)
	for age, want := range map[time.Duration]int{time.Minute: http.StatusOK, 3 * time.Minute: http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/?"+iamBody+"&X-Amz-Expires=120", nil)
		if err != nil {
			t.Fatal(err)
		}
		signed, _, err := v4.NewSigner().PresignHTTP(t.Context(), aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "secret"}, req,
			hex.EncodeToString(empty[:]), "iam", "us-east-1", now.Add(-age))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Get(signed) //nolint:noctx // a test server on this machine
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("presigned %s ago for two minutes: %s, want %d", age, resp.Status, want)
		}
	}
}

func TestFailingHandlerCostsOneRequest(t *testing.T) {
	server, l := serve(t, func(_ context.Context, r *wire.Request) (any, error) {
		if r.Form.Get("How") == "panic" {
			panic("oh")
		}
		return nil, errors.New("disk full")
	})
	for _, how := range []string{"panic", "error"} {
		resp, body := send(t, server, call{service: "ec2", path: "/", body: ec2Body + "&How=" + how})
		if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "<Code>InternalError</Code>") {
			t.Errorf("%s: %s %s", how, resp.Status, body)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.calls) != 2 || l.calls[0].ErrorCode != "InternalError" || l.calls[0].Operation != "DescribeThings" || l.calls[0].RequestBytes == 0 {
		t.Errorf("log: %+v", l.calls)
	}
}

func TestFormListsComeInTheOrderOfTheirNumbers(t *testing.T) {
	form, err := url.ParseQuery("Id.10=j&Id.2=b&Id.1=a&Id.x=no&Id.99999999999=no&Tag.2.Key=k2&Tag.1.Key=k1&Tag.1.Value=v1&Spec.Name=n&Spec.Deep.1=d")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b", "j"}, wire.List(form, "Id")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	want := []url.Values{{"Key": {"k1"}, "Value": {"v1"}}, {"Key": {"k2"}}}
	if diff := cmp.Diff(want, wire.Structs(form, "Tag")); diff != "" {
		t.Errorf("structures (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(url.Values{"Name": {"n"}, "Deep.1": {"d"}}, wire.Sub(form, "Spec")); diff != "" {
		t.Errorf("structure (-want +got):\n%s", diff)
	}
}

func TestValuesFindsNamesOfResources(t *testing.T) {
	var got []string
	server, _ := serve(t, func(_ context.Context, r *wire.Request) (any, error) { got = r.Values(); return nil, nil })
	send(t, server, call{service: "ssm", path: "/", target: "AmazonSSM.GetThings", body: `{"Name":"/a","Names":["/b","/c"],"N":1,"Deep":{"x":"no"}}`})
	if diff := cmp.Diff([]string{"/a", "/b", "/c"}, got); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	send(t, server, call{service: "ec2", path: "/", body: ec2Body + "&InstanceId.1=i-1&InstanceId.2=i-2"})
	if diff := cmp.Diff([]string{"i-1", "i-2"}, got); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
}

func FuzzServer(f *testing.F) {
	s := wire.New(wire.Options{Keys: oneKey{}, Now: func() time.Time { return now }, Logger: slog.New(slog.DiscardHandler)})
	f.Add("POST", "/", "AmazonSSM.GetParameter", "AWS4-HMAC-SHA256 Credential=AKIA/20261101/us-east-1/ssm/aws4_request, SignedHeaders=host, Signature=00", "20261101T120000Z", []byte("{}"))
	f.Add("GET", "/?X-Amz-Signature=1&X-Amz-Credential=%2f%2f%2f%2f", "", "", "", []byte(""))
	f.Add("POST", "//", ".", "AWS4-HMAC-SHA256", "x", []byte("%zz"))
	f.Fuzz(func(t *testing.T, method, target, amz, auth, date string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Skip()
		}
		r := &http.Request{Method: method, URL: u, Host: "h", Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}
		r.Header.Set("X-Amz-Target", amz)
		r.Header.Set("Authorization", auth)
		r.Header.Set("X-Amz-Date", date)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code < 400 {
			t.Errorf("an unsigned request was answered %d", w.Code)
		}
	})
}
