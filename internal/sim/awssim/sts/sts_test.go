package sts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type keys struct{ w *world.World }

func (k keys) Identity(id string) (wire.Identity, bool) {
	a, ok := k.w.AccessKey(id)
	return wire.Identity{AccessKeyID: a.ID, Secret: a.Secret, SessionToken: a.SessionToken, Account: k.w.Account(),
		PrincipalARN: a.PrincipalARN, PrincipalID: a.PrincipalID}, ok
}

func refusal(err error) *wire.Error {
	if e, ok := errors.AsType[*world.Error](err); ok {
		return &wire.Error{Code: e.Code, Message: e.Message, Status: e.Status}
	}
	return nil
}

type sim struct {
	world *world.World
	url   string
}

func start(t *testing.T) *sim {
	t.Helper()
	w, err := world.NewDefault(world.Options{Types: []string{"m5.large"}})
	if err != nil {
		t.Fatal(err)
	}
	server := wire.New(wire.Options{Keys: keys{w}, Errors: refusal, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	Register(server, w)
	hs := httptest.NewServer(server)
	t.Cleanup(func() { hs.Close(); w.Close() })
	return &sim{w, hs.URL}
}

func (s *sim) client(id, secret, token string) *awssts.Client {
	return awssts.New(awssts.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.url), RetryMaxAttempts: 1,
		Credentials: awscredentials.NewStaticCredentialsProvider(id, secret, token)})
}

func (s *sim) admin() *awssts.Client {
	return s.client(world.DefaultAdminAccessKey, world.DefaultAdminSecretKey, "")
}

const account = "arn:aws:iam::123456789012:"

// role makes a role that is trusted by a statement, given without its effect.
func (s *sim) role(t *testing.T, name, statement string) string {
	t.Helper()
	r, err := s.world.CreateRole(name, "/kerf/", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow",`+statement+`}]}`, map[string]string{"team": "blue"})
	if err != nil {
		t.Fatal(err)
	}
	return r.ARN
}

func wantCode(t *testing.T, what string, err error, code, words string) {
	t.Helper()
	if code == "" {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), words) {
		t.Errorf("%s: got %v, want %s with %q", what, err, code, words)
	}
}

func TestTrustPolicyDecidesWhoAssumesARole(t *testing.T) {
	s := start(t)
	s.role(t, "ByAccount", `"Principal":{"AWS":"`+account+`root"},"Action":"sts:AssumeRole"`)
	s.role(t, "ByRole", `"Principal":{"AWS":"`+account+`role/KarpenterController-kerf"},"Action":"sts:AssumeRole"`)
	s.role(t, "ByService", `"Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"`)
	s.role(t, "WithID", `"Principal":{"AWS":"`+account+`root"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"sts:ExternalId":"7"}}`)
	s.role(t, "Named", `"Principal":{"AWS":"`+account+`root"},"Action":"sts:AssumeRole","Condition":{"StringLike":{"sts:RoleSessionName":"ci-*"}}`)
	s.role(t, "Tagged", `"Principal":{"AWS":"`+account+`root"},"Action":["sts:AssumeRole","sts:TagSession"],"Condition":{"StringEqualsIfExists":{"aws:RequestTag/team":"${aws:ResourceTag/team}"}}`)
	tags := func(v string) []types.Tag { return []types.Tag{{Key: aws.String("team"), Value: &v}} }
	controller := s.client(world.DefaultAccessKey, world.DefaultSecretKey, "")
	for what, c := range map[string]struct {
		client      *awssts.Client
		role        string
		in          awssts.AssumeRoleInput
		code, words string
	}{
		"an administrator, by the account":             {s.admin(), "ByAccount", awssts.AssumeRoleInput{}, "", ""},
		"one without permission, by the account":       {controller, "ByAccount", awssts.AssumeRoleInput{}, "AccessDenied", "KarpenterController-kerf is not authorized to perform: sts:AssumeRole on resource: " + account + "role/kerf/ByAccount"},
		"one without permission, by its name":          {controller, "ByRole", awssts.AssumeRoleInput{}, "", ""},
		"an administrator whom the role does not know": {s.admin(), "ByRole", awssts.AssumeRoleInput{}, "AccessDenied", "sts:AssumeRole"},
		"an administrator in the place of a service":   {s.admin(), "ByService", awssts.AssumeRoleInput{}, "AccessDenied", "sts:AssumeRole"},
		"the right external id":                        {s.admin(), "WithID", awssts.AssumeRoleInput{ExternalId: aws.String("7")}, "", ""},
		"the wrong external id":                        {s.admin(), "WithID", awssts.AssumeRoleInput{ExternalId: aws.String("70")}, "AccessDenied", ""},
		"no external id":                               {s.admin(), "WithID", awssts.AssumeRoleInput{}, "AccessDenied", ""},
		"the wrong name of a session":                  {s.admin(), "Named", awssts.AssumeRoleInput{}, "AccessDenied", ""},
		"the right name of a session":                  {s.admin(), "Named", awssts.AssumeRoleInput{RoleSessionName: aws.String("ci-7")}, "", ""},
		"tags where the role allows none":              {s.admin(), "ByAccount", awssts.AssumeRoleInput{Tags: tags("blue")}, "AccessDenied", "sts:TagSession"},
		"the right tags":                               {s.admin(), "Tagged", awssts.AssumeRoleInput{Tags: tags("blue")}, "", ""},
		"the wrong tags":                               {s.admin(), "Tagged", awssts.AssumeRoleInput{Tags: tags("red")}, "AccessDenied", ""},
		"a role that does not exist":                   {s.admin(), "None", awssts.AssumeRoleInput{}, "AccessDenied", "role/kerf/None"},
		"two hours of a role that gives one":           {s.admin(), "ByAccount", awssts.AssumeRoleInput{DurationSeconds: aws.Int32(7200)}, "ValidationError", "MaxSessionDuration"},
		"a minute":                                     {s.admin(), "ByAccount", awssts.AssumeRoleInput{DurationSeconds: aws.Int32(60)}, "ValidationError", "900"},
		"a session policy":                             {s.admin(), "ByAccount", awssts.AssumeRoleInput{Policy: aws.String("{}")}, "ValidationError", "not simulated"},
		"a session without a proper name":              {s.admin(), "ByAccount", awssts.AssumeRoleInput{RoleSessionName: aws.String("a b")}, "ValidationError", "RoleSessionName"},
	} {
		c.in.RoleArn = aws.String(account + "role/kerf/" + c.role)
		if c.in.RoleSessionName == nil {
			c.in.RoleSessionName = aws.String("test")
		}
		out, err := c.client.AssumeRole(t.Context(), &c.in)
		wantCode(t, what, err, c.code, c.words)
		if err != nil {
			continue
		}
		session := s.client(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
		who, err := session.GetCallerIdentity(t.Context(), &awssts.GetCallerIdentityInput{})
		if err != nil || *who.Arn != "arn:aws:sts::123456789012:assumed-role/"+c.role+"/"+*c.in.RoleSessionName || *who.Arn != *out.AssumedRoleUser.Arn {
			t.Errorf("%s: the session is %+v, %v", what, who, err)
		}
	}
}

func TestSessionOfASessionIsShort(t *testing.T) {
	s := start(t)
	first, err := s.admin().AssumeRole(t.Context(), &awssts.AssumeRoleInput{RoleArn: aws.String(account + "role/Administrator"), RoleSessionName: aws.String("one"), DurationSeconds: aws.Int32(7200)})
	if err != nil {
		t.Fatal(err)
	}
	c := s.client(*first.Credentials.AccessKeyId, *first.Credentials.SecretAccessKey, *first.Credentials.SessionToken)
	in := &awssts.AssumeRoleInput{RoleArn: aws.String(account + "role/Administrator"), RoleSessionName: aws.String("two"), DurationSeconds: aws.Int32(7200)}
	_, err = c.AssumeRole(t.Context(), in)
	wantCode(t, "two hours", err, "ValidationError", "role chaining")
	in.DurationSeconds = aws.Int32(3600)
	_, err = c.AssumeRole(t.Context(), in)
	wantCode(t, "one hour", err, "", "")
}

// token makes a token as an issuer would, with a signature that nobody looks at.
func token(claims map[string]any) string {
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"RS256"}`)) + "." + encode(text) + "." + encode([]byte("signature"))
}

func TestWebIdentityComesInByItsClaims(t *testing.T) {
	s := start(t)
	const issuer = "oidc.eks.us-east-1.amazonaws.com/id/ABC"
	provider, err := s.world.CreateOIDCProvider("https://"+issuer, []string{"sts.amazonaws.com"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	arn := s.role(t, "Controller", fmt.Sprintf(`"Principal":{"Federated":"%s"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"%s:sub":"system:serviceaccount:kube-system:karpenter","%s:aud":"sts.amazonaws.com"}}`, provider.ARN, issuer, issuer))
	other := s.role(t, "Other", `"Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"`)
	claims := func(change map[string]any) string {
		c := map[string]any{"iss": "https://" + issuer, "sub": "system:serviceaccount:kube-system:karpenter", "aud": []string{"sts.amazonaws.com"}, "exp": time.Now().Add(time.Hour).Unix()}
		for k, v := range change {
			c[k] = v
		}
		return token(c)
	}
	anonymous := awssts.New(awssts.Options{Region: "us-east-1", BaseEndpoint: aws.String(s.url), RetryMaxAttempts: 1})
	for what, c := range map[string]struct{ role, token, code, words string }{
		"the service account":           {arn, claims(nil), "", ""},
		"an audience as a plain text":   {arn, claims(map[string]any{"aud": "sts.amazonaws.com"}), "", ""},
		"another service account":       {arn, claims(map[string]any{"sub": "system:serviceaccount:default:default"}), "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity"},
		"another audience":              {arn, claims(map[string]any{"aud": "kubernetes"}), "InvalidIdentityToken", "audience"},
		"an issuer that nobody trusts":  {arn, claims(map[string]any{"iss": "https://example.com"}), "InvalidIdentityToken", "No OpenIDConnect provider found in your account for https://example.com"},
		"a token of yesterday":          {arn, claims(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), "ExpiredTokenException", "expired"},
		"a role that trusts others":     {other, claims(nil), "AccessDenied", "Not authorized"},
		"what is no token":              {arn, "token-as-a-word", "InvalidIdentityToken", "1 parts"},
		"a token with a broken payload": {arn, "a.%%%.c", "InvalidIdentityToken", "payload"},
		"a token of no claims":          {arn, token(map[string]any{}), "InvalidIdentityToken", "iss or sub"},
	} {
		out, err := anonymous.AssumeRoleWithWebIdentity(t.Context(), &awssts.AssumeRoleWithWebIdentityInput{
			RoleArn: &c.role, RoleSessionName: aws.String("pod"), WebIdentityToken: &c.token,
		})
		wantCode(t, what, err, c.code, c.words)
		if err == nil && (*out.AssumedRoleUser.Arn != "arn:aws:sts::123456789012:assumed-role/Controller/pod" || *out.SubjectFromWebIdentityToken != "system:serviceaccount:kube-system:karpenter") {
			t.Errorf("%s: %+v", what, out)
		}
	}
	if _, err := anonymous.GetCallerIdentity(t.Context(), &awssts.GetCallerIdentityInput{}); err == nil {
		t.Error("an operation that must be signed is answered unsigned")
	}
}

func TestPodIdentityWantsTheRoleToTrustIt(t *testing.T) {
	s := start(t)
	if _, err := s.world.RoleSession("KarpenterController-kerf", "eks-kerf-karpenter"); err != nil {
		t.Error(err)
	}
	s.role(t, "Untagged", `"Principal":{"Service":"pods.eks.amazonaws.com"},"Action":"sts:AssumeRole"`)
	s.role(t, "Elsewhere", `"Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"],"Condition":{"StringEquals":{"aws:RequestTag/eks-cluster-name":"other"}}`)
	s.role(t, "Here", `"Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"],"Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:eks:us-east-1:123456789012:cluster/kerf"}}`)
	for role, words := range map[string]string{"Untagged": "sts:TagSession", "Elsewhere": "sts:AssumeRole", "None": "None", "KarpenterNodeRole-kerf": "pods.eks.amazonaws.com"} {
		if _, err := s.world.RoleSession(role, "pod"); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, want an error with %q", role, err, words)
		}
	}
	s.world.SetCluster(world.Cluster{Name: "kerf"})
	if _, err := s.world.CreatePodIdentity(world.PodIdentity{Cluster: "kerf", Namespace: "kube-system", ServiceAccount: "karpenter", RoleARN: account + "role/kerf/Here"}); err != nil {
		t.Fatal(err)
	}
	key, err := s.world.RoleSession("Here", "pod")
	if err != nil {
		t.Fatal(err)
	}
	if left := key.Expires.Sub(s.world.Now()); left < 7*24*time.Hour {
		t.Errorf("the session ends in %s", left)
	}
	if tags := s.world.PrincipalTags(key.ID); tags["eks-cluster-name"] != "kerf" || tags["team"] != "blue" || tags["kubernetes-service-account"] != "karpenter" {
		t.Errorf("tags of the session: %v", tags)
	}
	who, err := s.client(key.ID, key.Secret, key.SessionToken).GetCallerIdentity(t.Context(), &awssts.GetCallerIdentityInput{})
	if err != nil || *who.Arn != "arn:aws:sts::123456789012:assumed-role/Here/pod" {
		t.Errorf("%+v, %v", who, err)
	}
}
