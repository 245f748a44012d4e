package authz_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

const (
	roleName = "Controller"
	cluster  = "demo"
	account  = "123456789012"
	session  = "arn:aws:sts::" + account + ":assumed-role/" + roleName + "/test"
)

// sim is a simulator that enforces permissions, with clients of a role whose policies the test chooses.
type sim struct {
	*awssim.Server
	t testing.TB

	ec2     *ec2.Client
	iam     *iam.Client
	sqs     *sqs.Client
	ssm     *ssm.Client
	eks     *eks.Client
	pricing *pricing.Client
	sts     *sts.Client
	config  aws.Config
}

func start(t testing.TB, policies ...map[string]any) *sim {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	server, err := awssim.New(awssim.Options{
		Enforce: true, CAFile: ca, Logger: slog.New(slog.DiscardHandler),
		World: world.Options{
			Seed: 7, ClusterName: cluster, Types: []string{"m5.large", "m5.xlarge", "c5.large", "m6g.large"},
			PendingTime: -1, BootTime: time.Hour, OnDemandDepth: 100, SpotDepth: 50,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := server.World.CreateRole(roleName, "/", trust, nil); err != nil {
		t.Fatal(err)
	}
	s := &sim{Server: server, t: t}
	s.attach(policies...)
	key, err := server.World.RoleSession(roleName, "test")
	if err != nil {
		t.Fatal(err)
	}
	s.config = aws.Config{
		Region: server.World.Region(), BaseEndpoint: aws.String(server.SecureURL()), RetryMaxAttempts: 1, HTTPClient: trusting(t, ca),
		Credentials: credentials.NewStaticCredentialsProvider(key.ID, key.Secret, key.SessionToken),
	}
	s.ec2, s.iam, s.sqs, s.ssm = ec2.NewFromConfig(s.config), iam.NewFromConfig(s.config), sqs.NewFromConfig(s.config), ssm.NewFromConfig(s.config)
	s.eks, s.pricing, s.sts = eks.NewFromConfig(s.config), pricing.NewFromConfig(s.config), sts.NewFromConfig(s.config)
	return s
}

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`

// trusting makes an HTTP client that takes the simulator's certificate. The queue's policy wants TLS.
func trusting(t testing.TB, file string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatal("no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// attach gives the role these policies and no others.
func (s *sim) attach(policies ...map[string]any) {
	s.t.Helper()
	for n := range 9 {
		name := "p" + string(rune('0'+n))
		if n >= len(policies) {
			_ = s.World.DeleteRolePolicy(roleName, name) // of the time before
			continue
		}
		text, err := json.Marshal(policies[n])
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.World.PutRolePolicy(roleName, name, string(text)); err != nil {
			s.t.Fatal(err)
		}
	}
	if s.Permissions != nil {
		s.Permissions.Forget()
	}
}

// read loads a policy of testdata, filled in for the simulated account.
func read(t testing.TB, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer(
		"${AWS::Partition}", "aws", "${AWS::Region}", "us-east-1", "${AWS::AccountId}", account, "${ClusterName}", cluster,
		"${KarpenterInterruptionQueue.Arn}", "arn:aws:sqs:us-east-1:"+account+":"+cluster,
		"${KarpenterNodeRole.Arn}", "arn:aws:iam::"+account+":role/KarpenterNodeRole-"+cluster,
	).Replace(string(text))
	var out map[string]any
	if err := json.Unmarshal([]byte(filled), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// without is a policy less one statement, or less some actions or resources of it.
func without(t *testing.T, policy map[string]any, sid string, parts ...string) map[string]any {
	t.Helper()
	found := false
	var kept []any
	for _, e := range policy["Statement"].([]any) {
		s := e.(map[string]any)
		if s["Sid"] != sid {
			kept = append(kept, s)
			continue
		}
		found = true
		if len(parts) == 0 {
			continue
		}
		less := map[string]any{}
		for k, v := range s {
			less[k] = drop(v, parts)
		}
		kept = append(kept, less)
	}
	if !found {
		t.Fatalf("no statement %s", sid)
	}
	return map[string]any{"Version": "2012-10-17", "Statement": kept}
}

// drop takes the strings that end in one of the parts out of lists, those of conditions as well.
func drop(v any, parts []string) any {
	if m, ok := v.(map[string]any); ok {
		less := map[string]any{}
		for k, e := range m {
			less[k] = drop(e, parts)
		}
		return less
	}
	list, ok := v.([]any)
	if !ok {
		return v
	}
	var kept []any
	for _, e := range list {
		text, _ := e.(string)
		out := false
		for _, p := range parts {
			out = out || strings.HasSuffix(text, p)
		}
		if !out {
			kept = append(kept, e)
		}
	}
	return kept
}

func policy(statements ...map[string]any) map[string]any {
	list := make([]any, len(statements))
	for n, s := range statements {
		list[n] = s
	}
	return map[string]any{"Version": "2012-10-17", "Statement": list}
}

func allow(sid string, resource any, actions ...string) map[string]any {
	return map[string]any{"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return "no API error: " + err.Error()
}

func message(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorMessage()
	}
	return ""
}

// The tags that everything of a cluster carries.
func tags(more ...string) []types.Tag {
	out := []types.Tag{
		{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")},
		{Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("default")},
		{Key: aws.String("eks:eks-cluster-name"), Value: aws.String(cluster)},
	}
	for n := 0; n+1 < len(more); n += 2 {
		out = append(out, types.Tag{Key: &more[n], Value: &more[n+1]})
	}
	return out
}

func spec(kind types.ResourceType) types.TagSpecification {
	return types.TagSpecification{ResourceType: kind, Tags: tags()}
}

// image is an image for m5 and c5 instances.
func (s *sim) image() string {
	s.t.Helper()
	id, ok := s.World.ImageParameter("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id")
	if !ok {
		s.t.Fatal("no AL2023 image")
	}
	return id
}

// subnets are the private subnets, groups the security groups of the cluster.
func (s *sim) subnets() (ids []string) {
	for _, n := range s.World.Subnets() {
		if n.Tags["karpenter.sh/discovery"] == cluster {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

func (s *sim) groups() (ids []string) {
	for _, g := range s.World.SecurityGroups() {
		if g.Tags["karpenter.sh/discovery"] == cluster {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

// profile makes an instance profile that holds the node role.
func (s *sim) profile(name string) string {
	s.t.Helper()
	_, err := s.World.CreateInstanceProfile(name, "", map[string]string{
		"kubernetes.io/cluster/" + cluster: "owned", "topology.kubernetes.io/region": "us-east-1", "karpenter.k8s.aws/ec2nodeclass": "default",
	})
	if err == nil {
		err = s.World.AddRoleToInstanceProfile(name, "KarpenterNodeRole-"+cluster)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return name
}

// template makes a launch template as the controller does, with the world's own rights.
func (s *sim) template(name, profile string, kinds ...string) string {
	s.t.Helper()
	data := world.LaunchData{
		ImageID:             s.image(),
		IamInstanceProfile:  &world.ProfileRef{Name: profile},
		NetworkInterfaces:   []world.NetworkInterfaceSpec{{DeviceIndex: new(int32(0)), SecurityGroupIDs: s.groups()}},
		BlockDeviceMappings: []world.BlockDeviceMapping{{DeviceName: "/dev/xvda", Ebs: &world.EbsDevice{VolumeSize: new(int32(20)), VolumeType: "gp3"}}},
		MetadataOptions:     &world.MetadataOptions{HTTPTokens: "required"},
	}
	var list []world.Tag
	own := map[string]string{}
	for _, t := range tags() {
		list, own[*t.Key] = append(list, world.Tag{Key: *t.Key, Value: *t.Value}), *t.Value
	}
	for _, kind := range append([]string{"network-interface"}, kinds...) {
		data.TagSpecifications = append(data.TagSpecifications, world.TagSpecification{ResourceType: kind, Tags: list})
	}
	made, err := s.World.CreateTemplate(name, "", session, "", data, own)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// fleet asks for n instances of the types in all private subnets.
func (s *sim) fleet(template string, n int32, capacityType types.DefaultTargetCapacityType, instanceTypes ...string) *ec2.CreateFleetInput {
	in := &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: &n, DefaultTargetCapacityType: capacityType,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
		}},
		TagSpecifications: []types.TagSpecification{spec(types.ResourceTypeInstance), spec(types.ResourceTypeVolume), spec(types.ResourceTypeFleet)},
	}
	for _, it := range instanceTypes {
		for _, id := range s.subnets() {
			in.LaunchTemplateConfigs[0].Overrides = append(in.LaunchTemplateConfigs[0].Overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType: types.InstanceType(it), SubnetId: &id,
			})
		}
	}
	return in
}
