package awssim_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/boot"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/sim/awssim/event"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestSpotInstanceFromFleetToReclaim is the life of one instance, all of it over the wire.
func TestSpotInstanceFromFleetToReclaim(t *testing.T) {
	ctx := t.Context()
	clock := world.NewManualClock(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	kube := fake.NewClientset()
	s, cfg := start(t, awssim.Options{
		World:      world.Options{Clock: clock, Types: []string{"m5.large"}, SpotDepth: 10, OnDemandDepth: 10},
		Kubernetes: kube,
	})
	page := client.New(s.URL())

	described, err := eks.NewFromConfig(cfg).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("kerf")})
	if err != nil {
		t.Fatal(err)
	}
	c := described.Cluster
	profiles := iam.NewFromConfig(cfg)
	if _, err := profiles.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	if _, err := profiles.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("nodes"), RoleName: aws.String("KarpenterNodeRole-kerf")}); err != nil {
		t.Fatal(err)
	}
	image, _ := s.World.ImageParameter("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id")
	userData := fmt.Sprintf("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: %s\n    apiServerEndpoint: %s\n    certificateAuthority: %s\n    cidr: %s\n",
		*c.Name, *c.Endpoint, *c.CertificateAuthority.Data, *c.KubernetesNetworkConfig.ServiceIpv4Cidr)
	instances := ec2.NewFromConfig(cfg)
	if _, err := instances.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: &image, UserData: aws.String(base64.StdEncoding.EncodeToString([]byte(userData))),
			IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
		},
	}); err != nil {
		t.Fatal(err)
	}
	fleet, err := instances.CreateFleet(ctx, &ec2.CreateFleetInput{
		Type:                        ec2types.FleetTypeInstant,
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: ec2types.DefaultTargetCapacityTypeSpot},
		LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest")},
			Overrides:                   []ec2types.FleetLaunchTemplateOverridesRequest{{InstanceType: "m5.large", SubnetId: aws.String(s.World.Subnets()[0].ID)}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(fleet.Instances) != 1 {
		t.Fatalf("fleet: %+v", fleet.Errors)
	}
	id := fleet.Instances[0].InstanceIds[0]
	clock.Advance(time.Minute)

	i, err := page.Instance(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if i.State != "running" || i.Boot.State != boot.Joined || i.UserData != userData || i.CapacityType != "spot" {
		t.Fatalf("after a minute: %+v", i)
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 || nodes.Items[0].Spec.ProviderID != "aws:///"+i.Zone+"/"+id {
		t.Fatalf("nodes: %v, %v", nodes.Items, err)
	}

	if err := page.Interrupt(ctx, id, -1); err != nil {
		t.Fatal(err)
	}
	kinds, warning := drain(t, sqs.NewFromConfig(cfg), s.World.QueueURL("kerf"))
	if diff := cmp.Diff([]string{"EC2 Instance State-change Notification pending", "EC2 Instance State-change Notification running", "EC2 Spot Instance Interruption Warning terminate"}, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := event.Envelope{
		Version: "0", DetailType: "EC2 Spot Instance Interruption Warning", Source: "aws.ec2", Account: "123456789012", Time: "2026-11-01T12:01:00Z",
		Region: "us-east-1", Resources: []string{"arn:aws:ec2:" + i.Zone + ":instance/" + id}, Detail: map[string]any{"instance-id": id, "instance-action": "terminate"},
	}
	warning.ID = ""
	if diff := cmp.Diff(want, warning); diff != "" {
		t.Errorf("warning (-want +got):\n%s", diff)
	}
	clock.Advance(119 * time.Second)
	if i, _ := page.Instance(ctx, id); i.State != "running" {
		t.Errorf("before the notice has run out it is %s", i.State)
	}
	clock.Advance(20 * time.Second)
	if i, _ := page.Instance(ctx, id); i.State != "terminated" || !strings.Contains(i.Reason, "Spot") {
		t.Errorf("afterwards it is %s (%s)", i.State, i.Reason)
	}
	if nodes, _ := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); len(nodes.Items) != 0 {
		t.Errorf("its node is left: %v", nodes.Items[0].Name)
	}
	state, err := page.State(ctx)
	if err != nil || state.Live != 0 || state.MicroUSD != 0 || state.Calls["CreateFleet"] != 1 {
		t.Errorf("state: %+v, %v", state, err)
	}
}

// drain receives and deletes all events.
func drain(t *testing.T, c *sqs.Client, url string) (kinds []string, last event.Envelope) {
	t.Helper()
	out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		last = event.Envelope{}
		if err := json.Unmarshal([]byte(*m.Body), &last); err != nil {
			t.Fatal(err)
		}
		detail, _ := last.Detail.(map[string]any)
		what := detail["state"]
		if what == nil {
			what = detail["instance-action"]
		}
		kinds = append(kinds, fmt.Sprint(last.DetailType, " ", what))
		if _, err := c.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle}); err != nil {
			t.Fatal(err)
		}
	}
	return kinds, last
}

func TestControlInterfaceChangesTheWorld(t *testing.T) {
	s, _ := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}}})
	c := client.New(s.URL())
	ctx := t.Context()
	id, err := c.AddFault(ctx, world.Fault{Kind: world.FaultThrottle, Operation: "CreateFleet", Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := c.Faults(ctx)
	if err != nil || len(faults) != 1 || faults[0].ID != id || faults[0].Count != 3 {
		t.Errorf("faults: %+v, %v", faults, err)
	}
	if err := c.RemoveFault(ctx, id); err != nil {
		t.Error(err)
	}
	if err := c.RemoveFault(ctx, id); err == nil || !strings.Contains(err.Error(), id) {
		t.Errorf("removing it twice: %v", err)
	}
	zone := s.World.Zones()[0].Name
	if err := c.SetSpotPrice(ctx, control.SpotPrice{InstanceType: "m5.large", Zone: zone, MicroUSD: 12345}); err != nil {
		t.Error(err)
	}
	now := s.World.Now()
	prices := s.World.SpotPrices([]string{"m5.large"}, []string{zone}, now, now)
	if len(prices) == 0 || prices[0].MicroUSD != 12345 {
		t.Errorf("spot prices: %+v", prices)
	}
	for what, err := range map[string]error{
		"a price in a zone that does not exist": c.SetSpotPrice(ctx, control.SpotPrice{InstanceType: "m5.large", Zone: "nowhere", MicroUSD: 1}),
		"a depth of no capacity type":           c.SetDepth(ctx, control.Depth{CapacityType: "free", InstanceType: "m5.large", Zone: zone, Instances: 1}),
		"a fault without a kind":                errOf(c.AddFault(ctx, world.Fault{})),
		"an instance that does not exist":       c.Interrupt(ctx, "i-none", 0),
		"an event of no kind":                   errOf(c.SendEvent(ctx, control.EventRequest{Kind: "flood", Instance: "i-1"})),
		"a queue that does not exist":           c.SendMessage(ctx, "none", "x"),
	} {
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	if err := c.SendMessage(ctx, "kerf", "not <json>"); err != nil {
		t.Error(err)
	}
	for _, kind := range []string{event.Rebalance, event.StateChange, event.ScheduledChange, event.ReservationInterrupted} {
		if _, err := c.SendEvent(ctx, control.EventRequest{Kind: kind, Instance: "i-foreign", State: "stopping"}); err != nil {
			t.Error(err)
		}
	}
	q, err := c.Queue(ctx, "kerf")
	if err != nil || len(q.Messages) != 5 || q.Messages[0].Body != "not <json>" {
		t.Errorf("queue: %+v, %v", q, err)
	}
	if clock, err := c.Clock(ctx); err != nil || clock.Ahead > 5 || clock.Ahead < -5 {
		t.Errorf("clock: %+v, %v", clock, err)
	}
	if body := fetch(t, s.URL()+control.Prefix); !strings.Contains(body, "not &lt;json&gt;") || !strings.Contains(body, "cluster kerf") {
		t.Errorf("page:\n%s", body)
	}
}

func errOf[T any](_ T, err error) error { return err }

func fetch(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(body)
}
