package awssim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Whoever misspells a setting, or uses one that has no effect here, is told so, whatever the protocol.
func TestUnknownParametersAreRefusedInEveryProtocol(t *testing.T) {
	s, cfg := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	const form, json10, json11 = "application/x-www-form-urlencoded", "application/x-amz-json-1.0", "application/x-amz-json-1.1"
	entries := "/clusters/" + s.World.ClusterName() + "/access-entries"
	for what, tt := range map[string]struct{ service, method, path, target, kind, body string }{
		"EC2":                     {"ec2", "POST", "/", "", form, "Action=DescribeVpcs&Version=2016-11-15&Colour=red"},
		"IAM":                     {"iam", "POST", "/", "", form, "Action=GetRole&Version=2010-05-08&RoleName=x&Colour=red"},
		"IAM, within a list":      {"iam", "POST", "/", "", form, "Action=TagRole&Version=2010-05-08&RoleName=x&Tags.member.1.Key=a&Tags.member.1.Colour=red"},
		"STS":                     {"sts", "POST", "/", "", form, "Action=GetCallerIdentity&Version=2011-06-15&Colour=red"},
		"CloudFormation":          {"cloudformation", "POST", "/", "", form, "Action=DescribeStacks&Version=2010-05-15&Colour=red"},
		"SQS":                     {"sqs", "POST", "/", "AmazonSQS.GetQueueUrl", json10, `{"QueueName":"kerf","Colour":"red"}`},
		"SSM":                     {"ssm", "POST", "/", "AmazonSSM.GetParameter", json11, `{"Name":"/x","Colour":"red"}`},
		"KMS":                     {"kms", "POST", "/", "TrentService.DescribeKey", json11, `{"KeyId":"x","Colour":"red"}`},
		"EventBridge":             {"events", "POST", "/", "AWSEvents.PutRule", json11, `{"Name":"x","Colour":"red"}`},
		"Pricing":                 {"pricing", "POST", "/", "AWSPriceListService.GetProducts", json11, `{"ServiceCode":"AmazonEC2","Colour":"red"}`},
		"EKS, in the body":        {"eks", "POST", entries, "", "application/json", `{"principalArn":"x","Colour":"red"}`},
		"EKS, in the query":       {"eks", "GET", entries + "?Colour=red", "", "", ""},
		"CloudWatch":              {"monitoring", "POST", "/service/GraniteServiceVersion20100801/operation/DescribeAlarms", "", "application/cbor", "\xa1\x66Colour\x63red"},
		"EKS, a reading of tags":  {"eks", "GET", "/tags/arn%3Aaws%3Aeks%3Aus-east-1%3A123456789012%3Acluster%2Fkerf?Colour=red", "", "", ""},
		"the zonal shift service": {"arc-zonal-shift", "GET", "/managedresources/x?Colour=red", "", "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, s.URL()+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.kind != "" {
				r.Header.Set("Content-Type", tt.kind)
			}
			if tt.target != "" {
				r.Header.Set("X-Amz-Target", tt.target)
			}
			sum := sha256.Sum256([]byte(tt.body))
			who, err := cfg.Credentials.Retrieve(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := v4.NewSigner().SignHTTP(t.Context(), who, r, hex.EncodeToString(sum[:]), tt.service, "us-east-1", time.Now()); err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if text := string(body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "Colour") || !strings.Contains(text, "UnknownParameter") && !strings.Contains(resp.Header.Get("X-Amzn-Errortype"), "UnknownParameter") {
				t.Errorf("got %s %s", resp.Status, text)
			}
		})
	}
}
