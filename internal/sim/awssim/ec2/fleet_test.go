package ec2

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestFleetLaunchesTheCheapestTypeAndTagsWhatItMakes(t *testing.T) {
	s := start(t, nil)
	subnets := s.private()
	s.template("fleet-template", func(d *types.RequestLaunchTemplateData) {
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{{Key: aws.String("on"), Value: aws.String("nic")}}},
		}
	})
	in := fleet("fleet-template", 1, types.DefaultTargetCapacityTypeOnDemand, place("m5.xlarge", subnets[0]), place("m5.large", subnets[1]), place("m5.large", subnets[2]))
	in.TagSpecifications = []types.TagSpecification{
		{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("karpenter.sh/nodepool"), Value: aws.String("default")}}},
		{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{{Key: aws.String("on"), Value: aws.String("disk")}}},
		{ResourceType: types.ResourceTypeFleet, Tags: []types.Tag{{Key: aws.String("on"), Value: aws.String("fleet")}}},
	}
	out, err := s.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 1 || out.Instances[0].InstanceType != "m5.large" || len(out.Errors) != 0 {
		t.Fatalf("got %+v, errors %+v", out.Instances, out.Errors)
	}
	got := out.Instances[0]
	o := got.LaunchTemplateAndOverrides.Overrides
	if got.Lifecycle != types.InstanceLifecycleOnDemand || *o.ImageId != s.image("x86_64") || *o.SubnetId == "" || *o.AvailabilityZone == "" {
		t.Errorf("overrides in the answer: %+v", o)
	}
	tags := map[string]string{}
	for _, r := range s.world.AllTags() {
		switch r.ResourceType {
		case "instance", "volume", "network-interface", "fleet":
			tags[r.ResourceType+" "+r.Key] = r.Value
		}
	}
	templates := s.world.Templates()
	want := map[string]string{
		"instance karpenter.sh/nodepool": "default", "volume on": "disk", "fleet on": "fleet", "network-interface on": "nic",
		"instance aws:ec2:fleet-id": *out.FleetId, "instance aws:ec2launchtemplate:id": templates[0].ID, "instance aws:ec2launchtemplate:version": "1",
	}
	if d := cmp.Diff(want, tags); d != "" {
		t.Errorf("tags (-want +got):\n%s", d)
	}
}

func TestFleetOfSeveralGivesOneItemPerPlaceAndSpillsWhenAPoolIsEmpty(t *testing.T) {
	s := start(t, nil)
	subnets := s.private()
	s.template("fleet-template", nil)
	s.world.SetDepth(world.OnDemand, "m5.large", *subnets[0].AvailabilityZone, 3)
	out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 8, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnets[0]), place("m5.xlarge", subnets[0])))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, i := range out.Instances {
		got[string(i.InstanceType)] += len(i.InstanceIds)
	}
	if d := cmp.Diff(map[string]int{"m5.large": 3, "m5.xlarge": 5}, got); d != "" {
		t.Error(d)
	}
	if len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" || out.Errors[0].LaunchTemplateAndOverrides.Overrides.InstanceType != "m5.large" ||
		*out.Errors[0].LaunchTemplateAndOverrides.Overrides.AvailabilityZone != *subnets[0].AvailabilityZone {
		t.Errorf("errors: %+v", out.Errors)
	}
}

func TestFleetWithoutAnyCapacityIsAnAnswerWithErrorsOnly(t *testing.T) {
	s := start(t, nil)
	subnets := s.private()
	s.template("fleet-template", nil)
	id := s.world.AddFault(world.Fault{Kind: world.FaultNoCapacity, CapacityType: world.Spot, InstanceType: "m5.*"})
	in := fleet("fleet-template", 2, types.DefaultTargetCapacityTypeSpot, place("m5.large", subnets[0]), place("m5.xlarge", subnets[0]))
	out, err := s.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Instances) != 0 || len(out.Errors) != 2 {
		t.Fatalf("instances %v, errors %v", out.Instances, out.Errors)
	}
	if f, _ := s.world.Fault(id); f.Hits != 2 {
		t.Errorf("the fault struck %d times, want 2", f.Hits)
	}
	s.world.RemoveFault(id)
	in.ClientToken = nil // the client writes the token it made up into its input
	if out, err = s.CreateFleet(t.Context(), in); err != nil || len(launched(out)) != 2 {
		t.Errorf("after the fault: %v, %v", launched(out), err)
	}
}

func TestSpotFleetPrefersCheapPoolsThatAreNotNearlyEmpty(t *testing.T) {
	s := start(t, nil)
	subnets := s.private()
	s.template("fleet-template", nil)
	a, b := *subnets[0].AvailabilityZone, *subnets[1].AvailabilityZone
	s.world.SetSpotPrice("m5.large", a, 30_000)
	s.world.SetSpotPrice("m5.large", b, 33_000)
	run := func() string {
		out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 1, types.DefaultTargetCapacityTypeSpot, place("m5.large", subnets[0]), place("m5.large", subnets[1])))
		if err != nil || len(out.Instances) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
		i, _ := s.world.Instance(out.Instances[0].InstanceIds[0])
		if i.CapacityType != world.Spot || i.SpotRequestID == "" {
			t.Errorf("instance is %s, request %q", i.CapacityType, i.SpotRequestID)
		}
		return i.Zone
	}
	if got := run(); got != a {
		t.Errorf("with room in both, launched in %s, want the cheaper %s", got, a)
	}
	s.world.SetDepth(world.Spot, "m5.large", a, 4)
	if got := run(); got != b {
		t.Errorf("with the cheaper one nearly empty, launched in %s, want %s", got, b)
	}
}

func TestFleetStrategies(t *testing.T) {
	for _, c := range []struct {
		says     string
		capacity types.DefaultTargetCapacityType
		strategy string
		want     string
	}{
		{"on demand, priority wins over price", "on-demand", "prioritized", "m5.xlarge"},
		{"on demand, price wins over priority", "on-demand", "lowest-price", "m5.large"},
		{"spot by price", "spot", "lowest-price", "m5.large"},
		{"spot by room alone", "spot", "capacity-optimized", "c5.large"},
		{"spot by priority among those with room", "spot", "capacity-optimized-prioritized", "m5.xlarge"},
	} {
		t.Run(c.says, func(t *testing.T) {
			s := start(t, nil)
			subnet := s.private()[0]
			s.template("fleet-template", nil)
			zone := *subnet.AvailabilityZone
			for name, v := range map[string]struct {
				price int64
				depth int
			}{"m5.large": {20_000, 10}, "m5.xlarge": {60_000, 90}, "c5.large": {50_000, 100}} {
				s.world.SetSpotPrice(name, zone, v.price)
				s.world.SetDepth(world.Spot, name, zone, v.depth)
			}
			large, xlarge, other := place("m5.large", subnet), place("m5.xlarge", subnet), place("c5.large", subnet)
			large.Priority, xlarge.Priority, other.Priority = aws.Float64(0.5), aws.Float64(0.1), aws.Float64(0.9)
			in := fleet("fleet-template", 1, c.capacity, large, xlarge, other)
			if c.capacity == "on-demand" {
				in = fleet("fleet-template", 1, c.capacity, large, xlarge)
			}
			in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategy("lowest-price")
			if c.capacity == "spot" {
				in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategy(c.strategy)
			} else {
				in.OnDemandOptions.AllocationStrategy = types.FleetOnDemandAllocationStrategy(c.strategy)
			}
			out, err := s.CreateFleet(t.Context(), in)
			if err != nil || len(out.Instances) != 1 {
				t.Fatalf("%+v, %v", out, err)
			}
			if got := string(out.Instances[0].InstanceType); got != c.want {
				t.Errorf("launched %s, want %s", got, c.want)
			}
		})
	}
}

func TestSameClientTokenLaunchesOnce(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	tags := []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}
	in := fleet("fleet-template", 2, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnet))
	in.ClientToken = aws.String("once")
	in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tags}}
	first, err := s.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	in.TagSpecifications[0].Tags = []types.Tag{tags[1], tags[0]}
	again, err := s.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(launched(first), launched(again)); d != "" || *first.FleetId != *again.FleetId {
		t.Errorf("the second call answered otherwise: %s", d)
	}
	if n := len(s.world.Instances()); n != 2 {
		t.Errorf("%d instances, want 2", n)
	}
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(3)
	_, err = s.CreateFleet(t.Context(), in)
	wantCode(t, err, "IdempotentParameterMismatch")
}

func TestALostReplyIsRetriedWithTheSameTokenAndLaunchesOnce(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	id := s.world.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateFleet", Count: 1})
	out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 3, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnet)))
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := s.world.Fault(id); f.Hits != 1 {
		t.Fatalf("the fault struck %d times", f.Hits)
	}
	if got, all := len(launched(out)), len(s.world.Instances()); got != 3 || all != 3 {
		t.Errorf("answer names %d instances, world has %d; want 3 and 3", got, all)
	}
	if n := s.world.CallCount("CreateFleet"); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}

func TestThrottledCallsAreRetriedByTheClient(t *testing.T) {
	s := start(t, nil)
	s.world.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ec2", Operation: "DescribeSubnets", Count: 2})
	if _, err := s.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"RequestLimitExceeded": 2, "OK": 1}, s.world.CallOutcomes("DescribeSubnets")); d != "" {
		t.Error(d)
	}
	s.world.AddFault(world.Fault{Kind: world.FaultThrottle, Operation: "DescribeSubnets"})
	_, err := s.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{})
	wantCode(t, err, "RequestLimitExceeded")
}

func TestSubnetsRunOutOfAddressesAndGetThemBack(t *testing.T) {
	s := start(t, func(o *world.Options) { o.PrivateBits = 28 })
	subnets := s.private()
	s.template("fleet-template", nil)
	if got := *subnets[0].AvailableIpAddressCount; got != 11 {
		t.Fatalf("a /28 has %d free addresses, want 11", got)
	}
	out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 15, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnets[0])))
	if err != nil {
		t.Fatal(err)
	}
	if len(launched(out)) != 11 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientFreeAddressesInSubnet" {
		t.Fatalf("%d launched, errors %+v", len(launched(out)), out.Errors)
	}
	if got := *s.private()[0].AvailableIpAddressCount; got != 0 {
		t.Errorf("%d addresses free, want 0", got)
	}
	if _, err := s.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: launched(out)[:4]}); err != nil {
		t.Fatal(err)
	}
	if got := *s.private()[0].AvailableIpAddressCount; got != 0 {
		t.Errorf("while shutting down %d addresses are free, want 0", got)
	}
	s.clock.Advance(30e9)
	if got := *s.private()[0].AvailableIpAddressCount; got != 4 {
		t.Errorf("after termination %d addresses are free, want 4", got)
	}
}

func TestQuotasOfVCPUs(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	s.world.SetQuota(world.OnDemand, "Standard", 5)
	s.world.SetQuota(world.Spot, "Standard", 3)
	for _, c := range []struct {
		capacity types.DefaultTargetCapacityType
		launched int
		code     string
	}{{"on-demand", 2, "VcpuLimitExceeded"}, {"spot", 1, "MaxSpotInstanceCountExceeded"}} {
		out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 4, c.capacity, place("m5.large", subnet)))
		if err != nil {
			t.Fatal(err)
		}
		if len(launched(out)) != c.launched || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != c.code {
			t.Errorf("%s: %d launched, errors %+v", c.capacity, len(launched(out)), out.Errors)
		}
	}
}

func TestWhatIsWrongWithAPlaceIsSaidForThatPlace(t *testing.T) {
	s := start(t, nil)
	subnets := s.private()
	elsewhere, err := s.world.AddVPC("172.16.0.0/16", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := s.world.AddSubnet(elsewhere.ID, *subnets[0].AvailabilityZone, "172.16.0.0/20", false, nil)
	if err != nil {
		t.Fatal(err)
	}
	good := place("m5.large", subnets[0])
	with := func(change func(*types.FleetLaunchTemplateOverridesRequest)) types.FleetLaunchTemplateOverridesRequest {
		o := good
		change(&o)
		return o
	}
	type override = types.FleetLaunchTemplateOverridesRequest
	for n, c := range []struct {
		says, code, text string
		place            override
		data             func(*types.RequestLaunchTemplateData)
	}{
		{"a subnet that does not exist", "InvalidSubnetID.NotFound", "", with(func(o *override) { o.SubnetId = aws.String("subnet-0") }), nil},
		{"a type that does not exist", "InvalidParameterValue", "m99.large", with(func(o *override) { o.InstanceType = "m99.large" }), nil},
		{"an image of another architecture", "InvalidParameterValue", "architecture", with(func(o *override) { o.ImageId = aws.String(s.image("arm64")) }), nil},
		{"an image that does not exist", "InvalidAMIID.NotFound", "", with(func(o *override) { o.ImageId = aws.String("ami-0123456789abcdef0") }), nil},
		{"a zone that is not the subnet's", "InvalidParameterValue", "", with(func(o *override) { o.AvailabilityZone = subnets[1].AvailabilityZone }), nil},
		{"security groups of another network", "InvalidParameter", "different networks",
			with(func(o *override) { o.SubnetId = aws.String(foreign.ID) }), nil},
		{"a profile that does not exist", "InvalidParameterValue", "Invalid IAM Instance Profile name", good,
			func(d *types.RequestLaunchTemplateData) {
				d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nobody")}
			}},
		{"a root disk smaller than the image", "InvalidBlockDeviceMapping", "", good, func(d *types.RequestLaunchTemplateData) {
			d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{
				{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(1)}}}
		}},
		{"more interfaces than the type has", "AttachmentLimitExceeded", "", good, func(d *types.RequestLaunchTemplateData) {
			d.SecurityGroupIds = nil
			for i := range int32(9) {
				d.NetworkInterfaces = append(d.NetworkInterfaces, types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{DeviceIndex: aws.Int32(i)})
			}
		}},
	} {
		t.Run(c.says, func(t *testing.T) {
			s.template("fleet-template-"+strconv.Itoa(n), c.data)
			out, err := s.CreateFleet(t.Context(), fleet("fleet-template-"+strconv.Itoa(n), 1, types.DefaultTargetCapacityTypeOnDemand, c.place))
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Instances) != 0 || len(out.Errors) != 1 {
				t.Fatalf("instances %+v, errors %+v", out.Instances, out.Errors)
			}
			e := out.Errors[0]
			if *e.ErrorCode != c.code || !contains(*e.ErrorMessage, c.text) {
				t.Errorf("%s: %s; want %s with %q", *e.ErrorCode, *e.ErrorMessage, c.code, c.text)
			}
		})
	}
}

func TestWhatIsWrongWithAFleetRefusesIt(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	for _, c := range []struct {
		says, code string
		change     func(*awsec2.CreateFleetInput)
	}{
		{"no such template", "InvalidLaunchTemplateName.NotFoundException", func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("none")
		}},
		{"no such version", "InvalidLaunchTemplateId.VersionNotFound", func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version = aws.String("7")
		}},
		{"one type twice in a zone", "InvalidFleetConfig", func(in *awsec2.CreateFleetInput) {
			p := &in.LaunchTemplateConfigs[0].Overrides
			*p = append(*p, place("m5.large", subnet))
		}},
		{"another type of fleet", "InvalidParameterValue", func(in *awsec2.CreateFleetInput) { in.Type = types.FleetTypeMaintain }},
		{"nothing wanted", "InvalidParameterValue", func(in *awsec2.CreateFleetInput) {
			in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(0)
		}},
		{"a reserved tag key", "InvalidParameterValue", func(in *awsec2.CreateFleetInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "instance", Tags: []types.Tag{{Key: aws.String("aws:x"), Value: aws.String("")}}}}
		}},
		{"tags on network interfaces, which a fleet does not make", "InvalidParameterValue", func(in *awsec2.CreateFleetInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "network-interface", Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("")}}}}
		}},
		{"tags on spot requests", "InvalidParameterValue", func(in *awsec2.CreateFleetInput) {
			in.TagSpecifications = []types.TagSpecification{{ResourceType: "spot-instances-request", Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("")}}}}
		}},
		{"a setting that is not simulated", "UnknownParameter", func(in *awsec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides[0].WeightedCapacity = aws.Float64(2)
		}},
		{"only a dry run", "DryRunOperation", func(in *awsec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }},
	} {
		t.Run(c.says, func(t *testing.T) {
			in := fleet("fleet-template", 1, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnet))
			c.change(in)
			_, err := s.CreateFleet(t.Context(), in)
			wantCode(t, err, c.code)
		})
	}
	if n := len(s.world.AllInstances()); n != 0 {
		t.Errorf("%d instances were launched", n)
	}
}

func TestAFleetNeedsOnlyATotal(t *testing.T) {
	s := start(t, nil)
	s.template("fleet-template", nil)
	in := fleet("fleet-template", 2, "", place("m5.large", s.private()[0]))
	out, err := s.CreateFleet(t.Context(), in)
	if err != nil || len(launched(out)) != 2 {
		t.Fatalf("%+v %v", out, err)
	}
	for _, i := range s.world.AllInstances() {
		if i.CapacityType != world.OnDemand {
			t.Errorf("%s is %s", i.ID, i.CapacityType)
		}
	}
}

func TestAPartialFleet(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	s.world.AddFault(world.Fault{Kind: world.FaultPartialFleet, Limit: 2, Count: 1})
	out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 5, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnet)))
	if err != nil {
		t.Fatal(err)
	}
	if len(launched(out)) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" {
		t.Errorf("%d launched, errors %+v", len(launched(out)), out.Errors)
	}
}

func TestReservedCapacityIsUsedUpAndReported(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	r, err := s.world.AddReservation(world.Reservation{Type: "m5.large", Zone: *subnet.AvailabilityZone, Total: 2, MatchCriteria: "targeted"})
	if err != nil {
		t.Fatal(err)
	}
	s.template("fleet-template", func(d *types.RequestLaunchTemplateData) {
		d.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: aws.String(r.ID)},
		}
	})
	out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 3, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnet)))
	if err != nil {
		t.Fatal(err)
	}
	if len(launched(out)) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "ReservationCapacityExceeded" {
		t.Fatalf("%d launched, errors %+v", len(launched(out)), out.Errors)
	}
	shown, err := s.DescribeCapacityReservations(t.Context(), &awsec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{r.ID}})
	if err != nil {
		t.Fatal(err)
	}
	c := shown.CapacityReservations[0]
	if *c.AvailableInstanceCount != 0 || *c.TotalInstanceCount != 2 || c.InstanceMatchCriteria != "targeted" || c.State != "active" {
		t.Errorf("reservation shown as %+v", c)
	}
	_, err = s.DescribeCapacityReservations(t.Context(), &awsec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{r.ID}, MaxResults: aws.Int32(10)})
	wantCode(t, err, "InvalidParameterCombination")
	i := s.describe(launched(out)[0])
	if aws.ToString(i.CapacityReservationId) != r.ID || i.CapacityReservationSpecification.CapacityReservationPreference != "capacity-reservations-only" {
		t.Errorf("instance shows reservation %q, %+v", aws.ToString(i.CapacityReservationId), i.CapacityReservationSpecification)
	}
}

func TestManyCallsAtOnceWithOneTokenLaunchOnce(t *testing.T) {
	s := start(t, nil)
	subnet := s.private()[0]
	s.template("fleet-template", nil)
	answers := make(chan []string)
	for range 16 {
		go func() {
			in := fleet("fleet-template", 3, types.DefaultTargetCapacityTypeSpot, place("m5.large", subnet))
			in.ClientToken = aws.String("together")
			out, err := s.CreateFleet(t.Context(), in)
			if err != nil {
				t.Error(err)
				answers <- nil
				return
			}
			answers <- launched(out)
		}()
	}
	want := <-answers
	for range 15 {
		if d := cmp.Diff(want, <-answers); d != "" {
			t.Errorf("two answers differ: %s", d)
		}
	}
	if n := len(s.world.AllInstances()); n != 3 {
		t.Errorf("%d instances, want 3", n)
	}
}

func TestANewProfileIsUnknownToEC2ForAWhile(t *testing.T) {
	s := start(t, func(o *world.Options) { o.ProfileDelay = 15 * time.Second })
	subnet := s.private()[0]
	if _, err := s.world.CreateInstanceProfile("node", "/", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.world.AddRoleToInstanceProfile("node", "KarpenterNodeRole-demo"); err != nil {
		t.Fatal(err)
	}
	s.template("fleet-template", func(d *types.RequestLaunchTemplateData) {
		d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("node")}
	})
	launch := func() *awsec2.CreateFleetOutput {
		out, err := s.CreateFleet(t.Context(), fleet("fleet-template", 1, types.DefaultTargetCapacityTypeOnDemand, place("m5.large", subnet)))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := launch(); len(out.Errors) != 1 || !contains(*out.Errors[0].ErrorMessage, "Invalid IAM Instance Profile name") {
		t.Errorf("at once: %+v", out)
	}
	s.clock.Advance(15 * time.Second)
	out := launch()
	if len(launched(out)) != 1 {
		t.Fatalf("later: %+v", out.Errors)
	}
	if i := s.describe(launched(out)[0]); i.IamInstanceProfile == nil || !contains(*i.IamInstanceProfile.Arn, ":instance-profile/node") {
		t.Errorf("profile shown as %+v", i.IamInstanceProfile)
	}
}
