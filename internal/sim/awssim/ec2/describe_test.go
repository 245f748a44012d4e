package ec2

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestInstanceTypesAsTheAPIShowsThem(t *testing.T) {
	s := start(t, nil)
	out, err := s.DescribeInstanceTypes(t.Context(), &awsec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large", "g5.xlarge", "m5.metal"}})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]types.InstanceTypeInfo{}
	for _, i := range out.InstanceTypes {
		byName[string(i.InstanceType)] = i
	}
	m := byName["m5.large"]
	if *m.VCpuInfo.DefaultVCpus != 2 || *m.MemoryInfo.SizeInMiB != 8192 || m.Hypervisor != "nitro" || *m.BareMetal ||
		*m.NetworkInfo.DefaultNetworkCardIndex != 0 || *m.NetworkInfo.NetworkCards[0].MaximumNetworkInterfaces != 3 || *m.NetworkInfo.Ipv4AddressesPerInterface != 10 ||
		*m.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps != 4750 || *m.ProcessorInfo.SustainedClockSpeedInGhz != 3.1 || *m.ProcessorInfo.Manufacturer != "Intel" ||
		!slices.Contains(m.SupportedUsageClasses, "spot") || !slices.Contains(m.PlacementGroupInfo.SupportedStrategies, "partition") ||
		m.NetworkInfo.EnaSupport != "required" || *m.NetworkInfo.EfaSupported || m.InstanceStorageInfo != nil {
		t.Errorf("m5.large: %+v", m)
	}
	g := byName["g5.xlarge"]
	if len(g.GpuInfo.Gpus) != 1 || *g.GpuInfo.Gpus[0].Name != "A10G" || *g.GpuInfo.Gpus[0].Count != 1 || *g.GpuInfo.Gpus[0].MemoryInfo.SizeInMiB == 0 ||
		*g.InstanceStorageInfo.TotalSizeInGB != 250 || g.InstanceStorageInfo.NvmeSupport != "required" {
		t.Errorf("g5.xlarge: %+v %+v", g.GpuInfo, g.InstanceStorageInfo)
	}
	if metal := byName["m5.metal"]; !*metal.BareMetal || metal.Hypervisor != "" {
		t.Errorf("m5.metal: bare metal %v, hypervisor %q", *metal.BareMetal, metal.Hypervisor)
	}
	_, err = s.DescribeInstanceTypes(t.Context(), &awsec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large", "m99.huge"}})
	wantCode(t, err, "InvalidInstanceType")
	_, err = s.DescribeInstanceTypes(t.Context(), &awsec2.DescribeInstanceTypesInput{DryRun: aws.Bool(true)})
	wantCode(t, err, "DryRunOperation")
}

func TestAllInstanceTypesComeInPagesAndFilterByArchitecture(t *testing.T) {
	s := start(t, func(o *world.Options) { o.Types = nil })
	count := func(filters ...types.Filter) (n, pages int) {
		p := awsec2.NewDescribeInstanceTypesPaginator(s.Client, &awsec2.DescribeInstanceTypesInput{Filters: filters})
		for p.HasMorePages() {
			out, err := p.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(out.InstanceTypes) > 100 {
				t.Errorf("a page of %d", len(out.InstanceTypes))
			}
			for _, i := range out.InstanceTypes {
				facts, _ := s.world.Type(string(i.InstanceType))
				if d := cmp.Diff(wanted(facts), shown(i)); d != "" {
					t.Errorf("%s (-facts +API):\n%s", i.InstanceType, d)
				}
			}
			n += len(out.InstanceTypes)
			pages++
		}
		return n, pages
	}
	all, pages := count()
	if all != len(s.world.Types()) || all < 700 || pages != (all+99)/100 {
		t.Errorf("%d types in %d pages, the world has %d", all, pages, len(s.world.Types()))
	}
	hvm, _ := count(filterOn("supported-virtualization-type", "hvm"), filterOn("processor-info.supported-architecture", "arm64", "x86_64"))
	arm, _ := count(filterOn("supported-virtualization-type", "hvm"), filterOn("processor-info.supported-architecture", "arm64"))
	if hvm > all || arm == 0 || arm >= hvm {
		t.Errorf("all %d, hvm %d, arm %d", all, hvm, arm)
	}
}

// typeView is the part of an instance type that is worth comparing.
type typeView struct {
	VCPUs, MemoryMiB, Cards, ENIs, IPv4, EFA, DiskGB, EBSMbps                  int
	GPUs, GPUMiB, Neuron, NeuronCores, Inference, FPGA, Media                  int
	Metal, EncryptionInTransit, Enclaves, TPM, Burstable                       bool
	Hypervisor, Maker, GPUName, NeuronName, InferenceName, FPGAName, MediaName string
	Architectures, Usage, Strategies, Virtualization, BootModes, Features      []string
}

func wanted(f *ec2facts.Type) typeView {
	return typeView{
		VCPUs: f.VCPUs, MemoryMiB: f.MemoryMiB, Cards: len(f.Network.ENIsPerCard), ENIs: f.Network.MaxENIs(), IPv4: f.Network.IPv4PerENI,
		EFA: f.Network.MaxEFA, DiskGB: f.Disks.TotalGB, EBSMbps: f.EBS.MaxMbps, GPUs: f.GPU.Count, GPUMiB: f.GPU.MemoryMiB,
		Neuron: f.Neuron.Devices, NeuronCores: f.Neuron.CoresPerDevice, Inference: f.Inference.Count, FPGA: f.FPGA.Count, Media: f.Media.Count,
		Metal: f.BareMetal, EncryptionInTransit: f.Network.EncryptionInTransit, Enclaves: f.NitroEnclaves == "supported", TPM: len(f.TPMVersions) > 0,
		Burstable: f.Burstable, Hypervisor: f.Hypervisor, Maker: f.CPUMaker, GPUName: f.GPU.Name, NeuronName: f.Neuron.Name,
		InferenceName: f.Inference.Name, FPGAName: f.FPGA.Name, MediaName: f.Media.Name, Architectures: f.Architectures, Usage: f.UsageClasses,
		Strategies: f.PlacementStrategies, Virtualization: f.Virtualization, BootModes: f.BootModes, Features: f.CPUFeatures,
	}
}

func shown(i types.InstanceTypeInfo) typeView {
	n := func(p *int32) int { return int(aws.ToInt32(p)) }
	v := typeView{
		VCPUs: n(i.VCpuInfo.DefaultVCpus), MemoryMiB: int(*i.MemoryInfo.SizeInMiB), Cards: len(i.NetworkInfo.NetworkCards),
		ENIs: n(i.NetworkInfo.MaximumNetworkInterfaces), IPv4: n(i.NetworkInfo.Ipv4AddressesPerInterface), Metal: *i.BareMetal,
		EncryptionInTransit: *i.NetworkInfo.EncryptionInTransitSupported, Enclaves: i.NitroEnclavesSupport == "supported",
		TPM: i.NitroTpmInfo != nil && len(i.NitroTpmInfo.SupportedVersions) > 0, Burstable: *i.BurstablePerformanceSupported,
		Hypervisor: string(i.Hypervisor), Maker: aws.ToString(i.ProcessorInfo.Manufacturer), Architectures: texts(i.ProcessorInfo.SupportedArchitectures),
		Usage: texts(i.SupportedUsageClasses), Strategies: texts(i.PlacementGroupInfo.SupportedStrategies), Virtualization: texts(i.SupportedVirtualizationTypes),
		BootModes: texts(i.SupportedBootModes), Features: texts(i.ProcessorInfo.SupportedFeatures),
	}
	if i.NetworkInfo.EfaInfo != nil {
		v.EFA = n(i.NetworkInfo.EfaInfo.MaximumEfaInterfaces)
	}
	if i.InstanceStorageInfo != nil {
		v.DiskGB = int(*i.InstanceStorageInfo.TotalSizeInGB)
	}
	if i.EbsInfo.EbsOptimizedInfo != nil {
		v.EBSMbps = n(i.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps)
	}
	if g := i.GpuInfo; g != nil {
		v.GPUs, v.GPUMiB, v.GPUName = n(g.Gpus[0].Count), n(g.Gpus[0].MemoryInfo.SizeInMiB), *g.Gpus[0].Name
	}
	if x := i.NeuronInfo; x != nil {
		v.Neuron, v.NeuronCores, v.NeuronName = n(x.NeuronDevices[0].Count), n(x.NeuronDevices[0].CoreInfo.Count), *x.NeuronDevices[0].Name
	}
	if x := i.InferenceAcceleratorInfo; x != nil {
		v.Inference, v.InferenceName = n(x.Accelerators[0].Count), *x.Accelerators[0].Name
	}
	if x := i.FpgaInfo; x != nil {
		v.FPGA, v.FPGAName = n(x.Fpgas[0].Count), *x.Fpgas[0].Name
	}
	if x := i.MediaAcceleratorInfo; x != nil {
		v.Media, v.MediaName = n(x.Accelerators[0].Count), *x.Accelerators[0].Name
	}
	return v
}

func texts[S ~string](in []S) []string {
	var out []string
	for _, s := range in {
		out = append(out, string(s))
	}
	return out
}

func TestOfferingsByZone(t *testing.T) {
	s := start(t, func(o *world.Options) { o.Types = nil })
	n := 0
	zones := map[string]bool{}
	p := awsec2.NewDescribeInstanceTypeOfferingsPaginator(s.Client, &awsec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone})
	for p.HasMorePages() {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.InstanceTypeOfferings {
			if !s.world.Offered(string(o.InstanceType), *o.Location) {
				t.Errorf("%s is not offered in %s", o.InstanceType, *o.Location)
			}
			zones[*o.Location] = true
			n++
		}
	}
	if len(zones) != 6 || n < 2000 {
		t.Errorf("%d offerings in %v", n, zones)
	}
}

func TestSpotPricesInForceNow(t *testing.T) {
	s := start(t, func(o *world.Options) { o.Types = nil })
	s.world.SetSpotPrice("m5.large", "us-east-1a", 41_000)
	s.clock.Advance(time.Hour)
	s.world.SetSpotPrice("m5.large", "us-east-1a", 42_000)
	got := map[string]string{}
	p := awsec2.NewDescribeSpotPriceHistoryPaginator(s.Client, &awsec2.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(s.clock.Now()), ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
	})
	for p.HasMorePages() {
		out, err := p.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range out.SpotPriceHistory {
			key := string(x.InstanceType) + " " + *x.AvailabilityZone
			if _, twice := got[key]; twice {
				t.Errorf("%s came twice", key)
			}
			if x.Timestamp.After(s.clock.Now()) {
				t.Errorf("%s: %v lies in the future", key, x.Timestamp)
			}
			got[key] = *x.SpotPrice
		}
	}
	if len(got) < 2000 || got["m5.large us-east-1a"] != "0.042000" {
		t.Errorf("%d prices; m5.large in a: %q", len(got), got["m5.large us-east-1a"])
	}
	history, err := s.DescribeSpotPriceHistory(t.Context(), &awsec2.DescribeSpotPriceHistoryInput{InstanceTypes: []types.InstanceType{"m5.large"}, AvailabilityZone: aws.String("us-east-1a")})
	if err != nil || len(history.SpotPriceHistory) != 3 {
		t.Errorf("history %+v, %v", history, err)
	}
}

func TestSubnetsAndSecurityGroupsForDiscovery(t *testing.T) {
	s := start(t, nil)
	zones := map[string]string{}
	for _, x := range s.private() {
		zones[*x.AvailabilityZone] = *x.AvailabilityZoneId
		if *x.AvailableIpAddressCount != 8192-5 || *x.MapPublicIpOnLaunch {
			t.Errorf("%s: %d free, public %v", *x.SubnetId, *x.AvailableIpAddressCount, *x.MapPublicIpOnLaunch)
		}
	}
	if len(zones) != 3 {
		t.Errorf("zones of private subnets: %v", zones)
	}
	all, err := s.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{Filters: []types.Filter{filterOn("tag-key", "kubernetes.io/role/elb")}})
	if err != nil || len(all.Subnets) != 3 {
		t.Errorf("public subnets: %d, %v", len(all.Subnets), err)
	}
	_, err = s.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-1"}})
	wantCode(t, err, "InvalidSubnetID.NotFound")
	groups, err := s.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filterOn("group-name", "*-node")}})
	if err != nil || len(groups.SecurityGroups) != 1 || *groups.SecurityGroups[0].GroupName != "demo-node" {
		t.Errorf("groups: %+v, %v", groups, err)
	}
}

func TestImagesByIdNameOwnerAndTag(t *testing.T) {
	s := start(t, nil)
	own := s.world.AddImage(world.Image{Name: "mine", Arch: "arm64", Tags: map[string]string{"team": "a"}, Family: world.FamilyOther})
	hidden := s.world.AddImage(world.Image{Name: "theirs", Arch: "arm64", OwnerID: "999999999999", Public: true, Tags: map[string]string{"team": "a"}})
	s.world.AddImage(world.Image{Name: "private", Arch: "arm64", OwnerID: "999999999999"})
	old := s.world.AddImage(world.Image{Name: "old", Arch: "arm64", OwnerID: "999999999999", Public: true, Deprecated: s.clock.Now().Add(-time.Hour)})
	names := func(in *awsec2.DescribeImagesInput) []string {
		t.Helper()
		out, err := s.DescribeImages(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range out.Images {
			got = append(got, *i.Name)
		}
		slices.Sort(got)
		return got
	}
	for _, c := range []struct {
		says string
		in   awsec2.DescribeImagesInput
		want []string
	}{
		{"tags are seen by the owner only", awsec2.DescribeImagesInput{Filters: []types.Filter{filterOn("tag:team", "a")}}, []string{"mine"}},
		{"by owner", awsec2.DescribeImagesInput{Owners: []string{"self"}}, []string{"mine"}},
		{"others' private images are not there", awsec2.DescribeImagesInput{Owners: []string{"999999999999"}}, []string{"theirs"}},
		{"deprecated ones when asked for", awsec2.DescribeImagesInput{Owners: []string{"999999999999"}, IncludeDeprecated: aws.Bool(true)}, []string{"old", "theirs"}},
		{"by ids in a filter", awsec2.DescribeImagesInput{Filters: []types.Filter{filterOn("image-id", own.ID, hidden.ID, "ami-none")}}, []string{"mine", "theirs"}},
		{"by name with wildcards", awsec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{filterOn("name", "amazon-eks-node-al2023-x86_64-standard-1.36-*")}},
			[]string{"amazon-eks-node-al2023-x86_64-standard-1.36-v20260917", "amazon-eks-node-al2023-x86_64-standard-1.36-v20261022"}},
	} {
		t.Run(c.says, func(t *testing.T) {
			if d := cmp.Diff(c.want, names(&c.in)); d != "" {
				t.Error(d)
			}
		})
	}
	out, err := s.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{old.ID}})
	if err != nil {
		t.Fatal(err)
	}
	i := out.Images[0]
	if _, err := time.Parse(time.RFC3339, *i.CreationDate); err != nil || i.Architecture != "arm64" || i.State != "available" || *i.DeprecationTime == "" {
		t.Errorf("%+v, %v", i, err)
	}
	if err := s.world.DeregisterImage(own.ID); err != nil {
		t.Fatal(err)
	}
	_, err = s.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{own.ID}})
	wantCode(t, err, "InvalidAMIID.NotFound")
}

func TestLaunchTemplatesAreMadeReadAndDeleted(t *testing.T) {
	s := start(t, nil)
	data := everyLaunchSetting(s.image("x86_64"))
	in := &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("karpenter.k8s.aws/123"), LaunchTemplateData: data,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{{Key: aws.String("eks:eks-cluster-name"), Value: aws.String("demo")}}}},
	}
	made, err := s.CreateLaunchTemplate(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	versions, err := s.DescribeLaunchTemplateVersions(t.Context(), &awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: in.LaunchTemplateName, Versions: []string{"$Latest"}})
	if err != nil || len(versions.LaunchTemplateVersions) != 1 {
		t.Fatalf("%+v, %v", versions, err)
	}
	if diff := cmp.Diff(plain(t, data), plain(t, versions.LaunchTemplateVersions[0].LaunchTemplateData)); diff != "" {
		t.Errorf("template data (-given +described):\n%s", diff)
	}
	in.ClientToken = nil // the client writes the token it made up into its input
	_, err = s.CreateLaunchTemplate(t.Context(), in)
	wantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
	listed, err := s.DescribeLaunchTemplates(t.Context(), &awsec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filterOn("tag:eks:eks-cluster-name", "demo")}, MaxResults: aws.Int32(200)})
	if err != nil || len(listed.LaunchTemplates) != 1 || *listed.LaunchTemplates[0].LaunchTemplateId != *made.LaunchTemplate.LaunchTemplateId {
		t.Errorf("by tag: %+v, %v", listed, err)
	}
	_, err = s.DescribeLaunchTemplates(t.Context(), &awsec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"karpenter.k8s.aws/123", "none"}})
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
	if _, err := s.DeleteLaunchTemplate(t.Context(), &awsec2.DeleteLaunchTemplateInput{LaunchTemplateId: made.LaunchTemplate.LaunchTemplateId}); err != nil {
		t.Fatal(err)
	}
	_, err = s.DeleteLaunchTemplate(t.Context(), &awsec2.DeleteLaunchTemplateInput{LaunchTemplateId: made.LaunchTemplate.LaunchTemplateId})
	wantCode(t, err, "InvalidLaunchTemplateId.NotFound")
}

func TestAnotherVersionBecomesTheDefault(t *testing.T) {
	s := start(t, nil)
	name := aws.String("mine")
	data := everyLaunchSetting(s.image("x86_64"))
	if _, err := s.CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{LaunchTemplateName: name, LaunchTemplateData: data}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateLaunchTemplateVersion(t.Context(), &awsec2.CreateLaunchTemplateVersionInput{LaunchTemplateName: name, LaunchTemplateData: data}); err != nil {
		t.Fatal(err)
	}
	behind := func(version string) int64 {
		out, err := s.DescribeLaunchTemplateVersions(t.Context(), &awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: name, Versions: []string{version}})
		if err != nil {
			t.Fatal(err)
		}
		return *out.LaunchTemplateVersions[0].VersionNumber
	}
	if behind("$Default") != 1 || behind("$Latest") != 2 {
		t.Errorf("default %d, latest %d; want 1 and 2", behind("$Default"), behind("$Latest"))
	}
	out, err := s.ModifyLaunchTemplate(t.Context(), &awsec2.ModifyLaunchTemplateInput{LaunchTemplateName: name, DefaultVersion: aws.String("2")})
	if err != nil || *out.LaunchTemplate.DefaultVersionNumber != 2 || behind("$Default") != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = s.ModifyLaunchTemplate(t.Context(), &awsec2.ModifyLaunchTemplateInput{LaunchTemplateName: name, DefaultVersion: aws.String("7")})
	wantCode(t, err, "InvalidLaunchTemplateId.VersionNotFound")
}

func TestALostReplyToCreateLaunchTemplateIsRetriedToSuccess(t *testing.T) {
	s := start(t, nil)
	s.world.AddFault(world.Fault{Kind: world.FaultLostReply, Operation: "CreateLaunchTemplate", Count: 1})
	s.template("fleet-template", nil)
	if n := len(s.world.Templates()); n != 1 {
		t.Errorf("%d templates, want 1", n)
	}
}

func TestZonesNetworksAndPlacementGroups(t *testing.T) {
	s := start(t, nil)
	zones, err := s.DescribeAvailabilityZones(t.Context(), &awsec2.DescribeAvailabilityZonesInput{ZoneNames: []string{"us-east-1b"}})
	if err != nil || len(zones.AvailabilityZones) != 1 || *zones.AvailabilityZones[0].ZoneId == "" {
		t.Errorf("%+v, %v", zones, err)
	}
	vpcs, err := s.DescribeVpcs(t.Context(), &awsec2.DescribeVpcsInput{})
	if err != nil || len(vpcs.Vpcs) != 1 || *vpcs.Vpcs[0].CidrBlock != "10.0.0.0/16" {
		t.Errorf("%+v, %v", vpcs, err)
	}
	g, err := s.world.AddPlacementGroup("parts", "partition", 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := s.DescribePlacementGroups(t.Context(), &awsec2.DescribePlacementGroupsInput{GroupNames: []string{"parts"}})
	if err != nil || *groups.PlacementGroups[0].GroupId != g.ID || *groups.PlacementGroups[0].PartitionCount != 7 || groups.PlacementGroups[0].State != "available" {
		t.Errorf("%+v, %v", groups, err)
	}
}

// everyLaunchSetting sets all that the simulator takes in a launch template.
func everyLaunchSetting(image string) *types.RequestLaunchTemplateData {
	return &types.RequestLaunchTemplateData{
		ImageId: aws.String(image), InstanceType: "m5.large", KeyName: aws.String("key"), UserData: aws.String("aGVsbG8="), EbsOptimized: aws.Bool(true),
		DisableApiStop: aws.Bool(false), DisableApiTermination: aws.Bool(true), InstanceInitiatedShutdownBehavior: "terminate",
		IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("p")},
		Monitoring:         &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(true)},
		SecurityGroupIds:   []string{"sg-1", "sg-2"}, SecurityGroups: []string{"default"},
		BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{
			{DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{
				VolumeSize: aws.Int32(30), VolumeType: "gp3", Iops: aws.Int32(3000), Throughput: aws.Int32(125), Encrypted: aws.Bool(true),
				DeleteOnTermination: aws.Bool(true), KmsKeyId: aws.String("key"), SnapshotId: aws.String("snap-1"), VolumeInitializationRate: aws.Int32(100),
			}},
			{DeviceName: aws.String("/dev/xvdb"), VirtualName: aws.String("ephemeral0"), NoDevice: aws.String("")},
		},
		NetworkInterfaces: []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
			{
				DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), Groups: []string{"sg-1", "sg-2"}, AssociatePublicIpAddress: aws.Bool(false),
				InterfaceType: aws.String("efa"), DeleteOnTermination: aws.Bool(true), Description: aws.String("first"), SubnetId: aws.String("subnet-1"),
				Ipv4PrefixCount: aws.Int32(1), Ipv6PrefixCount: aws.Int32(2), Ipv6AddressCount: aws.Int32(3), PrimaryIpv6: aws.Bool(true),
				SecondaryPrivateIpAddressCount: aws.Int32(4),
				ConnectionTrackingSpecification: &types.ConnectionTrackingSpecificationRequest{
					TcpEstablishedTimeout: aws.Int32(60), UdpStreamTimeout: aws.Int32(61), UdpTimeout: aws.Int32(30)},
			},
			{DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(1), Groups: []string{"sg-1"}, InterfaceType: aws.String("efa-only")},
		},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpTokens: "required", HttpPutResponseHopLimit: aws.Int32(1), HttpEndpoint: "enabled", HttpProtocolIpv6: "disabled", InstanceMetadataTags: "enabled"},
		Placement: &types.LaunchTemplatePlacementRequest{
			Tenancy: "dedicated", GroupId: aws.String("pg-1"), PartitionNumber: aws.Int32(2), AvailabilityZone: aws.String("us-east-1a"), Affinity: aws.String("default"), HostId: aws.String("h-1"), GroupName: aws.String("g")},
		CpuOptions:          &types.LaunchTemplateCpuOptionsRequest{CoreCount: aws.Int32(1), ThreadsPerCore: aws.Int32(1), AmdSevSnp: "enabled", NestedVirtualization: "enabled"},
		CreditSpecification: &types.CreditSpecificationRequest{CpuCredits: aws.String("unlimited")},
		CapacityReservationSpecification: &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: "capacity-reservations-only", CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: aws.String("cr-1")}},
		InstanceMarketOptions: &types.LaunchTemplateInstanceMarketOptionsRequest{
			MarketType: "spot", SpotOptions: &types.LaunchTemplateSpotMarketOptionsRequest{MaxPrice: aws.String("0.1"), SpotInstanceType: "one-time", InstanceInterruptionBehavior: "terminate"}},
		EnclaveOptions:            &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)},
		MaintenanceOptions:        &types.LaunchTemplateInstanceMaintenanceOptionsRequest{AutoRecovery: "default"},
		NetworkPerformanceOptions: &types.LaunchTemplateNetworkPerformanceOptionsRequest{BandwidthWeighting: "vpc-1"},
		PrivateDnsNameOptions: &types.LaunchTemplatePrivateDnsNameOptionsRequest{
			HostnameType: "ip-name", EnableResourceNameDnsARecord: aws.Bool(true), EnableResourceNameDnsAAAARecord: aws.Bool(false)},
		TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{
			{ResourceType: "network-interface", Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}, {Key: aws.String("empty"), Value: aws.String("")}}},
		},
	}
}

// plain turns a structure of the client into maps without what is not set, so that requests and answers of different Go
// types can be compared.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return prune(out)
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x = prune(x); x == nil || x == "" {
				delete(v, k)
			} else {
				v[k] = x
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	}
	return v
}

func TestTheSimulatedRegionIsTheOnlyOne(t *testing.T) {
	s := start(t, nil)
	out, err := s.DescribeRegions(t.Context(), &awsec2.DescribeRegionsInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Regions) != 1 || *out.Regions[0].RegionName != s.world.Region() || *out.Regions[0].OptInStatus != "opt-in-not-required" {
		t.Errorf("got %+v", out.Regions)
	}
	_, err = s.DescribeRegions(t.Context(), &awsec2.DescribeRegionsInput{RegionNames: []string{"mars-north-1"}})
	wantCode(t, err, "InvalidParameterValue")
}
