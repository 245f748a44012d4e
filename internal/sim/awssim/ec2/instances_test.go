package ec2

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func (s *sim) describe(id string) types.Instance {
	s.t.Helper()
	out, err := s.DescribeInstances(s.t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Reservations[0].Instances[0]
}

// launch makes n instances with tags and returns their ids.
func (s *sim) launch(n int32, capacity types.DefaultTargetCapacityType, tags map[string]string) []string {
	s.t.Helper()
	if _, err := s.DescribeLaunchTemplates(s.t.Context(), &awsec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"launch"}}); err != nil {
		s.template("launch", nil)
	}
	in := fleet("launch", n, capacity, place("m5.large", s.private()[0]))
	var list []types.Tag
	for k, v := range tags {
		list = append(list, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	if len(list) > 0 {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: list}}
	}
	out, err := s.CreateFleet(s.t.Context(), in)
	if err != nil || len(launched(out)) != int(n) {
		s.t.Fatalf("launch %d: %+v, %v", n, out, err)
	}
	return launched(out)
}

func TestAnInstanceAsDescribed(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	id := s.launch(1, "spot", map[string]string{"team": "a"})[0]
	i := s.describe(id)
	type seen struct{ State, Type, Zone, ZoneID, Subnet, Lifecycle, Tenancy, DNS, IP, NIC, Tag string }
	got := seen{string(i.State.Name), string(i.InstanceType), *i.Placement.AvailabilityZone, aws.ToString(i.Placement.AvailabilityZoneId), *i.SubnetId,
		string(i.InstanceLifecycle), string(i.Placement.Tenancy), *i.PrivateDnsName, *i.PrivateIpAddress, *i.NetworkInterfaces[0].InterfaceType, ""}
	for _, tag := range i.Tags {
		if *tag.Key == "team" {
			got.Tag = *tag.Value
		}
	}
	want := seen{"pending", "m5.large", *subnet.AvailabilityZone, *subnet.AvailabilityZoneId, *subnet.SubnetId, "spot", "default",
		"ip-10-0-0-4.ec2.internal", "10.0.0.4", "interface", "a"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !i.LaunchTime.Equal(s.clock.Now()) || *i.ImageId != s.image("x86_64") || len(i.SecurityGroups) != 2 || aws.ToString(i.SpotInstanceRequestId) == "" {
		t.Errorf("launch time %v, image %s, groups %v, spot request %v", i.LaunchTime, *i.ImageId, i.SecurityGroups, i.SpotInstanceRequestId)
	}
}

func TestTheLifeOfAnInstance(t *testing.T) {
	s := start(t, nil)
	var seen []string
	s.world.AddLifecycle(notes{&seen})
	id := s.launch(1, "on-demand", nil)[0]
	state := func() string { return string(s.describe(id).State.Name) }
	got := []string{state()}
	s.clock.Advance(3 * time.Second)
	got = append(got, state())
	out, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	if c := out.TerminatingInstances[0]; c.CurrentState.Name != "shutting-down" || c.PreviousState.Name != "running" {
		t.Errorf("terminate answered %+v", c)
	}
	got = append(got, state())
	s.clock.Advance(10 * time.Second)
	got = append(got, state())
	if d := cmp.Diff([]string{"pending", "running", "shutting-down", "terminated"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"running", "terminating", "terminated"}, seen); d != "" {
		t.Errorf("life-cycle calls: %s", d)
	}
	if r := s.describe(id).StateReason; r == nil || *r.Code != "Client.UserInitiatedShutdown" {
		t.Errorf("state reason %+v", r)
	}
	active, err := s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}, Filters: []types.Filter{filterOn("instance-state-name", "pending", "running", "shutting-down")}})
	if err != nil || len(active.Reservations) != 0 {
		t.Errorf("by id among live states: %+v, %v; want an empty answer", active.Reservations, err)
	}
	s.clock.Advance(2 * time.Hour)
	_, err = s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

type notes struct{ to *[]string }

func (n notes) OnRunning(world.Instance)     { *n.to = append(*n.to, "running") }
func (n notes) OnTerminating(world.Instance) { *n.to = append(*n.to, "terminating") }
func (n notes) OnTerminated(world.Instance)  { *n.to = append(*n.to, "terminated") }

func TestTerminateRefusesABatchWithAnUnknownInstance(t *testing.T) {
	s := start(t, nil)
	id := s.launch(1, "on-demand", nil)[0]
	_, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id, "i-0123456789abcdef0"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	if i := s.describe(id); i.State.Name == "shutting-down" {
		t.Error("the known instance was terminated all the same")
	}
	_, err = s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{"nonsense"}})
	wantCode(t, err, "InvalidInstanceID.Malformed")
}

func TestListingInstancesByTwoTagKeysAndATag(t *testing.T) {
	s := start(t, nil)
	full := map[string]string{"karpenter.sh/nodepool": "p", "karpenter.k8s.aws/ec2nodeclass": "c", "eks:eks-cluster-name": "demo"}
	mine := s.launch(2, "on-demand", full)
	s.launch(1, "on-demand", map[string]string{"karpenter.sh/nodepool": "p", "eks:eks-cluster-name": "demo"})
	s.launch(1, "on-demand", map[string]string{"karpenter.sh/nodepool": "p", "karpenter.k8s.aws/ec2nodeclass": "c", "eks:eks-cluster-name": "other"})
	out, err := s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{Filters: []types.Filter{
		filterOn("tag-key", "karpenter.sh/nodepool"), filterOn("tag-key", "karpenter.k8s.aws/ec2nodeclass"), filterOn("tag:eks:eks-cluster-name", "demo"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			got = append(got, *i.InstanceId)
		}
	}
	if d := cmp.Diff(mine, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	_, err = s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{Filters: []types.Filter{filterOn("no-such-filter", "x")}})
	wantCode(t, err, "InvalidParameterValue")
}

func TestPagesOfInstancesHoldEachOnce(t *testing.T) {
	s := start(t, nil)
	want := s.launch(23, "on-demand", nil)
	seen := map[string]int{}
	pages := 0
	p := awsec2.NewDescribeInstancesPaginator(s.Client, &awsec2.DescribeInstancesInput{MaxResults: aws.Int32(5)})
	for p.HasMorePages() {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, r := range out.Reservations {
			for _, i := range r.Instances {
				seen[*i.InstanceId]++
			}
		}
	}
	if pages != 5 || len(seen) != len(want) {
		t.Errorf("%d pages with %d instances, want 5 with %d", pages, len(seen), len(want))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
	_, err := s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: want[:1], MaxResults: aws.Int32(5)})
	wantCode(t, err, "InvalidParameterCombination")
	_, err = s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{NextToken: aws.String("junk")})
	wantCode(t, err, "InvalidNextToken")
}

func TestInstancesAndTagsThatShowLate(t *testing.T) {
	s := start(t, nil)
	s.world.AddFault(world.Fault{Kind: world.FaultLateInstances, Delay: 2 * time.Second})
	s.world.AddFault(world.Fault{Kind: world.FaultLateTags, Delay: 5 * time.Second})
	id := s.launch(1, "on-demand", map[string]string{"a": "1"})[0]
	_, err := s.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	s.clock.Advance(2 * time.Second)
	if tags := s.describe(id).Tags; len(tags) != 0 {
		t.Errorf("tags are visible too early: %v", tags)
	}
	if _, err := s.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("b"), Value: aws.String("2")}}}); err != nil {
		t.Fatal(err)
	}
	values := func() map[string]string {
		out := map[string]string{}
		for _, x := range s.describe(id).Tags {
			if !strings.HasPrefix(*x.Key, "aws:") {
				out[*x.Key] = *x.Value
			}
		}
		return out
	}
	s.clock.Advance(3 * time.Second)
	if d := cmp.Diff(map[string]string{"a": "1"}, values()); d != "" {
		t.Error(d)
	}
	s.clock.Advance(2 * time.Second)
	if d := cmp.Diff(map[string]string{"a": "1", "b": "2"}, values()); d != "" {
		t.Error(d)
	}
}

func TestTagsAreSetReadAndRemoved(t *testing.T) {
	s := start(t, nil)
	ids := s.launch(2, "on-demand", nil)
	tag := func(k, v string) types.Tag { return types.Tag{Key: aws.String(k), Value: aws.String(v)} }
	if _, err := s.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: ids, Tags: []types.Tag{tag("Name", "n"), tag("x", "1")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteTags(t.Context(), &awsec2.DeleteTagsInput{Resources: ids[:1], Tags: []types.Tag{tag("x", "1"), tag("Name", "another")}}); err != nil {
		t.Fatal(err)
	}
	out, err := s.DescribeTags(t.Context(), &awsec2.DescribeTagsInput{Filters: []types.Filter{filterOn("resource-type", "instance"), filterOn("key", "Name", "x")}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range out.Tags {
		got[*x.ResourceId+" "+*x.Key] = *x.Value
	}
	if d := cmp.Diff(map[string]string{ids[0] + " Name": "n", ids[1] + " Name": "n", ids[1] + " x": "1"}, got); d != "" {
		t.Error(d)
	}
	_, err = s.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: []string{ids[0], "i-0123456789abcdef0"}, Tags: []types.Tag{tag("y", "")}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	_, err = s.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: ids, Tags: []types.Tag{tag("aws:mine", "")}})
	wantCode(t, err, "InvalidParameterValue")
	var many []types.Tag
	for i := range 51 {
		many = append(many, tag(strings.Repeat("k", i+1), ""))
	}
	_, err = s.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: ids, Tags: many})
	wantCode(t, err, "TagLimitExceeded")
}

func TestRunInstancesDryAndReal(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	in := func(change func(*awsec2.RunInstancesInput)) *awsec2.RunInstancesInput {
		r := &awsec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", SubnetId: subnet.SubnetId,
			LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("fleet-template"), Version: aws.String("$Latest")},
		}
		change(r)
		return r
	}
	for _, c := range []struct {
		says, code string
		change     func(*awsec2.RunInstancesInput)
	}{
		{"a dry run that would succeed", "DryRunOperation", func(r *awsec2.RunInstancesInput) { r.DryRun = aws.Bool(true) }},
		{"a dry run with an unknown profile", "InvalidParameterValue", func(r *awsec2.RunInstancesInput) {
			r.DryRun = aws.Bool(true)
			r.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("nobody")}
		}},
		{"user data that is too long", "InvalidUserData.Malformed", func(r *awsec2.RunInstancesInput) {
			r.UserData = aws.String(base64.StdEncoding.EncodeToString(make([]byte, 16385)))
		}},
		{"an unknown template", "InvalidLaunchTemplateName.NotFoundException", func(r *awsec2.RunInstancesInput) {
			r.LaunchTemplate.LaunchTemplateName = aws.String("none")
		}},
		{"more than there are", "InsufficientInstanceCapacity", func(r *awsec2.RunInstancesInput) { r.MinCount, r.MaxCount = aws.Int32(101), aws.Int32(101) }},
	} {
		t.Run(c.says, func(t *testing.T) {
			_, err := s.RunInstances(t.Context(), in(c.change))
			wantCode(t, err, c.code)
			if n := len(s.world.AllInstances()); n != 0 {
				t.Errorf("%d instances were launched", n)
			}
		})
	}
	out, err := s.RunInstances(t.Context(), in(func(r *awsec2.RunInstancesInput) {
		r.MaxCount = aws.Int32(3)
		r.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
	}))
	if err != nil || len(out.Instances) != 3 || out.Instances[0].InstanceLifecycle != "spot" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestALaunchThatFailsAfterwardsSaysWhy(t *testing.T) {
	s := start(t, nil)
	s.world.AddFault(world.Fault{Kind: world.FaultFailedLaunch, Code: "Client.InvalidKMSKey.InvalidState", Message: "Client.InvalidKMSKey.InvalidState: The KMS key is in an incorrect state"})
	id := s.launch(1, "on-demand", nil)[0]
	s.clock.Advance(5 * time.Second)
	i := s.describe(id)
	if i.State.Name != "terminated" || *i.StateReason.Code != "Client.InvalidKMSKey.InvalidState" {
		t.Errorf("%s, %+v", i.State.Name, i.StateReason)
	}
}

func TestInstanceHealth(t *testing.T) {
	s := start(t, nil)
	ids := s.launch(2, "on-demand", nil)
	s.clock.Advance(3 * time.Second)
	statuses := func(filters ...types.Filter) map[string]string {
		out, err := s.DescribeInstanceStatus(t.Context(), &awsec2.DescribeInstanceStatusInput{Filters: filters})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, v := range out.InstanceStatuses {
			got[*v.InstanceId] = string(v.InstanceStatus.Status) + " " + string(v.SystemStatus.Status)
			for _, e := range v.Events {
				got[*v.InstanceId] += " " + string(e.Code)
			}
		}
		return got
	}
	if d := cmp.Diff(map[string]string{ids[0]: "initializing initializing", ids[1]: "initializing initializing"}, statuses()); d != "" {
		t.Error(d)
	}
	s.clock.Advance(time.Minute)
	if err := s.world.Impair(ids[0], world.CheckSystem, true); err != nil {
		t.Fatal(err)
	}
	if err := s.world.Schedule(ids[1], world.ScheduledEvent{Code: "instance-retirement", NotBefore: s.clock.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{ids[0]: "ok impaired"}, statuses(filterOn("system-status.status", "impaired"))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{ids[1]: "ok ok instance-retirement"}, statuses(filterOn("event.code", "instance-*"))); d != "" {
		t.Error(d)
	}
}

func TestAnInstanceShowsItsPublicAddressAndMetadataOptionsAsEC2Does(t *testing.T) {
	s := start(t, nil)
	var subnet string
	for _, n := range s.world.Subnets() {
		if n.Public {
			subnet = n.ID
		}
	}
	s.template("public", func(d *types.RequestLaunchTemplateData) {
		d.MetadataOptions = &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: types.LaunchTemplateHttpTokensStateRequired}
	})
	out, err := s.CreateFleet(t.Context(), fleet("public", 1, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", types.Subnet{SubnetId: &subnet})))
	if err != nil {
		t.Fatal(err)
	}
	i := s.describe(launched(out)[0])
	if m := i.MetadataOptions; m == nil || m.State != types.InstanceMetadataOptionsStateApplied || m.HttpTokens != types.HttpTokensStateRequired {
		t.Errorf("metadata options: %+v", m)
	}
	a := i.NetworkInterfaces[0].Association
	if a == nil || aws.ToString(a.PublicIp) == "" || aws.ToString(a.PublicIp) != aws.ToString(i.PublicIpAddress) || aws.ToString(a.IpOwnerId) != "amazon" {
		t.Errorf("association: %+v; the instance has %v", a, aws.ToString(i.PublicIpAddress))
	}
}

// TestAProtectedInstanceHoldsThoseOfItsZone: the call fails, names it, and has ended those of other zones.
func TestAProtectedInstanceHoldsThoseOfItsZone(t *testing.T) {
	s := start(t, nil)
	other := s.launch(1, "on-demand", nil)[0]
	s.template("protected", func(d *types.RequestLaunchTemplateData) { d.DisableApiTermination = aws.Bool(true) })
	run := func(template string, capacity types.DefaultTargetCapacityType, subnet types.Subnet) string {
		out, err := s.CreateFleet(t.Context(), fleet(template, 1, capacity, place("m5.large", subnet)))
		if err != nil || len(launched(out)) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		return launched(out)[0]
	}
	protected, far := run("protected", "on-demand", s.private()[0]), run("launch", "on-demand", s.private()[1])
	spot := run("protected", "spot", s.private()[2]) // spot instances can't be protected
	_, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{other, protected, far, spot}})
	wantCode(t, err, "OperationNotPermitted")
	if !contains(err.Error(), protected) {
		t.Errorf("%v does not name %s", err, protected)
	}
	for id, want := range map[string]types.InstanceStateName{other: "pending", protected: "pending", far: "shutting-down", spot: "shutting-down"} {
		if got := s.describe(id).State.Name; got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
}
