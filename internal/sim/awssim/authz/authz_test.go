package authz_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/sim/awssim/authz"
	"github.com/kerf-sh/kerf/internal/sim/awssim/control/client"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func everything() map[string]any { return policy(allow("All", "*", "*")) }

func deny(sid string, resource any, actions ...string) map[string]any {
	s := allow(sid, resource, actions...)
	s["Effect"] = "Deny"
	return s
}

func when(s map[string]any, operator, key string, values ...string) map[string]any {
	s["Condition"] = map[string]any{operator: map[string]any{key: values}}
	return s
}

func TestEveryOperationIsInTheTable(t *testing.T) {
	s := start(t, everything())
	actions := s.Actions()
	if len(actions) < 40 {
		t.Errorf("the simulator answers only %d operations: %v", len(actions), actions)
	}
	for _, action := range actions {
		if !authz.Knows(action) {
			t.Errorf("the table does not say what %s touches", action)
		}
	}
}

func TestWhatTheTableDoesNotKnowIsDenied(t *testing.T) {
	s := start(t, everything())
	r := &wire.Request{Service: wire.EC2, Operation: "ReportInstanceStatus", Principal: wire.Identity{PrincipalARN: session, Account: account}}
	err := s.Permissions.Authorize(r.Principal, r.Action(), r)
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Code != "UnauthorizedOperation" || !strings.Contains(e.Message, "does not know which resources ec2:ReportInstanceStatus touches") {
		t.Errorf("got %v", err)
	}
}

func TestWhoHasNoPolicyMayOnlyAskWhoTheyAre(t *testing.T) {
	s := start(t)
	out, err := s.sts.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil || *out.Arn != session {
		t.Errorf("who am I: %v, %v", out, err)
	}
	for _, step := range s.life() {
		switch step.what {
		case "TerminateInstances", "CreateTags", "DeleteLaunchTemplate", "RunInstances, dry", "CreateFleet, dry",
			"DeleteMessage", "CreateFleet, on-demand", "CreateFleet, spot": // need what the steps before them have made
			continue
		}
		if err := step.do(t.Context()); !strings.Contains(message(err), "is not authorized to perform") {
			t.Errorf("%s: %v", step.what, err)
		}
	}
}

func TestDenialsSayWhoseFaultItIs(t *testing.T) {
	s := start(t)
	describe := func() error {
		_, err := s.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
		return err
	}
	user := "User: " + session + " is not authorized to perform: ec2:DescribeInstances"
	s.attach(everything(), policy(deny("NoLooking", "*", "ec2:Describe*")))
	if got, want := message(describe()), "You are not authorized to perform this operation. "+user+" with an explicit deny in an identity-based policy"; got != want {
		t.Errorf("explicit deny:\ngot  %s\nwant %s", got, want)
	}
	if d := s.Permissions.Denied().Denials[0]; d.Outcome != iampolicy.ExplicitDeny || d.Sid != "NoLooking" {
		t.Errorf("explicit deny: %+v", d)
	}
	s.attach(policy(allow("Elsewhere", "*", "ec2:DescribeSubnets"), when(allow("West", "*", "ec2:DescribeInstances"), "StringEquals", "aws:RequestedRegion", "us-west-2")))
	if got, want := message(describe()), "You are not authorized to perform this operation. "+user+" because no identity-based policy allows the ec2:DescribeInstances action"; got != want {
		t.Errorf("implicit deny:\ngot  %s\nwant %s", got, want)
	}
	d := s.Permissions.Denied().Denials[0]
	if len(d.Near) != 1 || !strings.Contains(d.Near[0], "West") || !strings.Contains(d.Near[0], "us-west-2") {
		t.Errorf("what was near: %q", d.Near)
	}
	calls := s.World.Calls("DescribeInstances")
	if last := calls[len(calls)-1]; !strings.Contains(last.Detail, "West") || last.Outcome != "UnauthorizedOperation" {
		t.Errorf("call log: %+v", last)
	}
}

func TestRefusedLaunchesAreErrorsOfTheFleet(t *testing.T) {
	subnets := func(s *sim) (allowed, refused string) { ids := s.subnets(); return ids[0], ids[1] }
	s := start(t, everything())
	profile := s.profile("nodes")
	s.template("lt", profile, "spot-instances-request")
	allowed, refused := subnets(s)
	create := func(in *ec2.CreateFleetInput) *ec2.CreateFleetOutput {
		t.Helper()
		out, err := s.ec2.CreateFleet(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := func(what string, out *ec2.CreateFleetOutput, want string) {
		t.Helper()
		if len(out.Instances) != 0 || len(out.Errors) == 0 {
			t.Errorf("%s: %d sets of instances, %d errors", what, len(out.Instances), len(out.Errors))
			return
		}
		for _, e := range out.Errors {
			if *e.ErrorCode != "UnauthorizedOperation" || !strings.Contains(*e.ErrorMessage, want) || e.LaunchTemplateAndOverrides.Overrides.InstanceType == "" {
				t.Errorf("%s: %s: %s %+v", what, *e.ErrorCode, *e.ErrorMessage, e.LaunchTemplateAndOverrides.Overrides)
			}
		}
	}

	s.attach(everything(), policy(deny("D", "arn:aws:iam::*:role/*", "iam:PassRole")))
	one("role may not be passed", create(s.fleet("lt", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large")),
		"is not authorized to perform: iam:PassRole on resource: arn:aws:iam::"+account+":role/KarpenterNodeRole-"+cluster+" with an explicit deny")

	s.attach(read(t, "controller-v0.32.json"))
	one("spot request may not be tagged", create(s.fleet("lt", 1, types.DefaultTargetCapacityTypeSpot, "m5.large")),
		"is not authorized to perform: ec2:CreateTags on resource: arn:aws:ec2:us-east-1:"+account+":spot-instances-request/* because no identity-based policy allows the ec2:CreateTags action")
	if out := create(s.fleet("lt", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large")); len(out.Instances) != 1 || len(out.Errors) != 0 {
		t.Errorf("the same on demand: %+v", out)
	}
	s.attach(read(t, "controller-v0.32.json"), read(t, "later.json"))
	if out := create(s.fleet("lt", 1, types.DefaultTargetCapacityTypeSpot, "m5.large")); len(out.Instances) != 1 || len(out.Errors) != 0 {
		t.Errorf("spot with the later statement: %+v", out)
	}

	s.attach(everything(), policy(deny("D", "arn:aws:ec2:*:*:subnet/"+refused, "ec2:RunInstances")))
	in := s.fleet("lt", 3, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.LaunchTemplateConfigs[0].Overrides = slices.DeleteFunc(in.LaunchTemplateConfigs[0].Overrides, func(o types.FleetLaunchTemplateOverridesRequest) bool {
		return *o.SubnetId != allowed && *o.SubnetId != refused
	})
	out := create(in)
	if len(out.Errors) != 1 || *out.Errors[0].LaunchTemplateAndOverrides.Overrides.SubnetId != refused || len(out.Instances) != 1 || len(out.Instances[0].InstanceIds) != 3 {
		t.Errorf("one subnet refused: errors %+v, instances %+v", out.Errors, out.Instances)
	}

	s.attach(everything(), policy(when(deny("D", "arn:aws:ec2:*:*:instance/*", "ec2:RunInstances"), "StringLike", "ec2:InstanceType", "m5.*")))
	out = create(s.fleet("lt", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large", "c5.large"))
	if len(out.Instances) != 1 || out.Instances[0].InstanceType != "c5.large" {
		t.Errorf("m5 refused: %+v", out.Instances)
	}
	if got := s.Permissions.Denied(); got.Total == 0 || got.Denials[0].Part == "" || got.Denials[0].Operation != "ec2:CreateFleet" || got.Denials[0].Action != "ec2:RunInstances" {
		t.Errorf("denials: %+v", got)
	}
}

func TestInstancesWhoseVolumeKeyIsForbiddenBeginAndEnd(t *testing.T) {
	s := start(t, everything())
	key, err := s.World.CreateKey(world.NewKey{Description: "volumes"})
	if err != nil {
		t.Fatal(err)
	}
	s.template("lt", s.profile("nodes"))
	launch := func() world.Instance {
		t.Helper()
		in := s.fleet("lt", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
		for n := range in.LaunchTemplateConfigs[0].Overrides {
			in.LaunchTemplateConfigs[0].Overrides[n].BlockDeviceMappings = []types.FleetBlockDeviceMappingRequest{{
				DeviceName: aws.String("/dev/xvda"), Ebs: &types.FleetEbsBlockDeviceRequest{VolumeSize: new(int32(30)), Encrypted: new(true), KmsKeyId: &key.ARN},
			}}
		}
		out, err := s.ec2.CreateFleet(t.Context(), in)
		if err != nil || len(out.Instances) != 1 {
			t.Fatalf("fleet: %+v, %v", out, err)
		}
		id := out.Instances[0].InstanceIds[0]
		for deadline := time.Now().Add(10 * time.Second); ; {
			i, _ := s.World.Instance(id)
			if i.State != world.StatePending || time.Now().After(deadline) {
				return i
			}
			runtime.Gosched()
		}
	}
	if i := launch(); i.State != world.StateRunning {
		t.Errorf("with all rights: %s %s", i.State, i.StateReasonMessage)
	}
	s.attach(everything(), policy(when(deny("D", key.ARN, "kms:CreateGrant"), "Bool", "kms:GrantIsForAWSResource", "true")))
	if i := launch(); i.State == world.StateRunning || i.StateReasonCode != "Client.InternalError" {
		t.Errorf("without the right to make grants: %s %s", i.State, i.StateReasonMessage)
	}
	if d := s.Permissions.Denied(); d.Total != 1 || d.Denials[0].Action != "kms:CreateGrant" || d.Denials[0].Operation != "ec2:CreateFleet" {
		t.Errorf("denied: %+v", d)
	}
}

func TestARefusedFleetIsTheCallsError(t *testing.T) {
	s := start(t, everything())
	s.template("lt", s.profile("nodes"))
	s.attach(policy(allow("Launch", "*", "ec2:RunInstances", "ec2:CreateTags", "iam:PassRole")))
	_, err := s.ec2.CreateFleet(t.Context(), s.fleet("lt", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large"))
	if code(err) != "UnauthorizedOperation" || !strings.Contains(message(err), "ec2:CreateFleet on resource: arn:aws:ec2:us-east-1:"+account+":fleet/*") {
		t.Errorf("got %v", err)
	}
	_, encoded, ok := strings.Cut(message(err), "Encoded authorization failure message: ")
	if !ok {
		t.Fatalf("no encoded message in %s", message(err))
	}
	f, err := authz.DecodeMessage(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if f.Allowed || f.ExplicitDeny || f.Context.Action != "ec2:CreateFleet" || f.Context.Principal.ARN != session || len(f.Context.Conditions.Items) < 10 {
		t.Errorf("decoded: %+v", f)
	}
	if n := len(s.World.Instances()); n != 0 {
		t.Errorf("%d instances were launched", n)
	}
	if got := s.Permissions.Denied(); got.Total != 1 {
		t.Errorf("denied: %+v", got)
	}
}

func TestPermissionComesBeforeTheDryRun(t *testing.T) {
	s := start(t)
	_, err := s.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{DryRun: new(true)})
	if code(err) != "UnauthorizedOperation" {
		t.Errorf("without permission: %v", err)
	}
	s.attach(policy(allow("A", "*", "ec2:DescribeInstanceTypes")))
	_, err = s.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{DryRun: new(true)})
	if code(err) != "DryRunOperation" {
		t.Errorf("with it: %v", err)
	}
}

func TestATemplateThatDoesNotExistIsJudgedByTheTagsOfTheRequest(t *testing.T) {
	s := start(t, read(t, "controller-v0.32.json"))
	full := read(t, "controller-v0.32.json")
	s.attach(without(t, full, "AllowScopedEC2InstanceActions", "launch-template/*"))
	in := s.fleet("made-up", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.DryRun = new(true)
	if _, err := s.ec2.CreateFleet(t.Context(), in); code(err) != "InvalidLaunchTemplateName.NotFoundException" {
		t.Errorf("with the cluster's tags: %v", err)
	}
	in.TagSpecifications = in.TagSpecifications[2:] // the fleet's own
	in.TagSpecifications[0].Tags = in.TagSpecifications[0].Tags[:1]
	if _, err := s.ec2.CreateFleet(t.Context(), in); code(err) != "UnauthorizedOperation" {
		t.Errorf("without: %v", err)
	}
}

// TestKeysOfTheCall has one statement in place of "everything", with one condition; the call must be allowed or not.
func TestKeysOfTheCall(t *testing.T) {
	s := start(t, everything())
	s.template("lt", s.profile("nodes"))
	dryRun := func(change func(*ec2.RunInstancesInput)) func() error {
		return func() error {
			in := s.run("lt", "m5.large")
			if change != nil {
				change(in)
			}
			_, err := s.ec2.RunInstances(t.Context(), in)
			return err
		}
	}
	describe := func() error {
		_, err := s.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{DryRun: new(true)})
		return err
	}
	vpc := s.World.VPCs()[0].ID
	templateID := s.World.Templates()[0].ID
	cases := []struct {
		sentence string
		call     func() error
		resource string // kind that the forbidding statement is for
		operator string
		key      string
		value    string
		refused  bool
	}{
		{"the region", describe, "", "StringEquals", "aws:RequestedRegion", "us-east-1", true},
		{"another region", describe, "", "StringEquals", "aws:RequestedRegion", "us-east-2", false},
		{"encrypted transport", describe, "", "Bool", "aws:SecureTransport", "true", true},
		{"plain transport", describe, "", "Bool", "aws:SecureTransport", "false", false},
		{"the caller's address", describe, "", "IpAddress", "aws:SourceIp", "127.0.0.0/8", true},
		{"the role behind the session", describe, "", "ArnEquals", "aws:PrincipalArn", "arn:aws:iam::" + account + ":role/" + roleName, true},
		{"the session itself is not the principal's ARN", describe, "", "ArnEquals", "aws:PrincipalArn", session, false},
		{"the account", describe, "", "StringEquals", "aws:PrincipalAccount", account, true},
		{"a session's kind", describe, "", "StringEquals", "aws:PrincipalType", "AssumedRole", true},
		{"the session's id", describe, "", "StringLike", "aws:userid", "AROA*:test", true},
		{"the user agent", describe, "", "StringLike", "aws:UserAgent", "aws-sdk-go-v2/*", true},
		{"the time", describe, "", "DateGreaterThan", "aws:CurrentTime", "2020-01-01T00:00:00Z", true},
		{"not by a service", describe, "", "Bool", "aws:ViaAWSService", "true", false},
		{"instance type", dryRun(nil), "instance", "StringEquals", "ec2:InstanceType", "m5.large", true},
		{"another instance type", dryRun(nil), "instance", "StringEquals", "ec2:InstanceType", "m5.xlarge", false},
		{"metadata tokens of the template", dryRun(nil), "instance", "StringEquals", "ec2:MetadataHttpTokens", "required", true},
		{"the template's ARN", dryRun(nil), "instance", "ArnLike", "ec2:LaunchTemplate", "arn:aws:ec2:us-east-1:" + account + ":launch-template/" + templateID, true},
		{"the image is the template's", dryRun(nil), "image", "Bool", "ec2:IsLaunchTemplateResource", "true", true},
		{"the image is the call's", dryRun(func(in *ec2.RunInstancesInput) { in.ImageId = aws.String(s.image()) }), "image", "Bool", "ec2:IsLaunchTemplateResource", "true", false},
		{"instance profile", dryRun(nil), "instance", "ArnLike", "ec2:InstanceProfile", "arn:aws:iam::" + account + ":instance-profile/nodes", true},
		{"on-demand", dryRun(nil), "instance", "StringEquals", "ec2:InstanceMarketType", "on-demand", true},
		{"zone", dryRun(nil), "instance", "StringLike", "ec2:AvailabilityZone", "us-east-1?", true},
		{"region of EC2", dryRun(nil), "instance", "StringEquals", "ec2:Region", "us-east-1", true},
		{"requested tag of the instance", dryRun(nil), "instance", "StringEquals", "aws:RequestTag/karpenter.sh/nodepool", "default", true},
		{"requested tag of the interface, from the template", dryRun(nil), "network-interface", "StringEquals", "aws:RequestTag/karpenter.sh/nodepool", "default", true},
		{"images are not tagged", dryRun(nil), "image", "Null", "aws:RequestTag/karpenter.sh/nodepool", "false", false},
		{"tag of the subnet", dryRun(nil), "subnet", "StringEquals", "aws:ResourceTag/karpenter.sh/discovery", cluster, true},
		{"tag of the subnet, as EC2 calls it", dryRun(nil), "subnet", "StringEquals", "ec2:ResourceTag/karpenter.sh/discovery", cluster, true},
		{"network of the subnet", dryRun(nil), "subnet", "ArnEquals", "ec2:Vpc", "arn:aws:ec2:us-east-1:" + account + ":vpc/" + vpc, true},
		{"network of the interface", dryRun(nil), "network-interface", "ArnLike", "ec2:Vpc", "arn:aws:ec2:*:*:vpc/" + vpc, true},
		{"tag of the template", dryRun(nil), "launch-template", "StringEquals", "aws:ResourceTag/kubernetes.io/cluster/" + cluster, "owned", true},
		{"owner of the image", dryRun(nil), "image", "StringEquals", "ec2:Owner", "amazon", true},
		{"size of the disk", dryRun(nil), "volume", "NumericLessThanEquals", "ec2:VolumeSize", "20", true},
		{"a smaller disk", dryRun(nil), "volume", "NumericLessThan", "ec2:VolumeSize", "20", false},
		{"type of the disk", dryRun(nil), "volume", "StringEquals", "ec2:VolumeType", "gp3", true},
		{"encryption of the disk", dryRun(nil), "volume", "Bool", "ec2:Encrypted", "false", true},
	}
	for _, c := range cases {
		t.Run(c.sentence, func(t *testing.T) {
			resource := "*"
			if c.resource != "" {
				resource = "arn:aws:ec2:*:*:" + c.resource + "/*"
			}
			s.attach(everything(), policy(when(deny("D", resource, "ec2:*"), c.operator, c.key, c.value)))
			err := c.call()
			if got := code(err); got != map[bool]string{true: "UnauthorizedOperation", false: "DryRunOperation"}[c.refused] {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestALaunchTouchesWhatItNames(t *testing.T) {
	s := start(t, everything())
	s.template("lt", s.profile("nodes"))
	zone := ""
	for _, n := range s.World.Subnets() {
		if n.ID == s.subnets()[0] {
			zone = n.Zone
		}
	}
	held, err := s.World.AddReservation(world.Reservation{Type: "m5.large", Zone: zone, Total: 1, MatchCriteria: "targeted", OwnerID: "210987654321"})
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		sentence string
		change   func(*ec2.RunInstancesInput)
		resource string
	}{
		{"a snapshot", func(in *ec2.RunInstancesInput) {
			in.BlockDeviceMappings = []types.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvdb"), Ebs: &types.EbsBlockDevice{SnapshotId: aws.String("snap-0123")}}}
		}, "arn:aws:ec2:us-east-1::snapshot/snap-0123"},
		{"a key pair", func(in *ec2.RunInstancesInput) { in.KeyName = aws.String("mine") }, "arn:aws:ec2:us-east-1:" + account + ":key-pair/mine"},
		{"a reservation of another account", func(in *ec2.RunInstancesInput) {
			in.CapacityReservationSpecification = &types.CapacityReservationSpecification{
				CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: &held.ID},
			}
		}, "arn:aws:ec2:us-east-1:210987654321:capacity-reservation/" + held.ID},
		{"a spot request", func(in *ec2.RunInstancesInput) {
			in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot}
		}, "arn:aws:ec2:us-east-1:" + account + ":spot-instances-request/*"},
	}
	for _, c := range cases {
		t.Run(c.sentence, func(t *testing.T) {
			in := s.run("lt", "m5.large")
			c.change(in)
			s.attach(everything(), policy(deny("D", c.resource, "ec2:RunInstances")))
			_, err := s.ec2.RunInstances(t.Context(), in)
			if code(err) != "UnauthorizedOperation" || !strings.Contains(message(err), "ec2:RunInstances on resource: "+c.resource+" with an explicit deny") {
				t.Errorf("with it forbidden: %v", err)
			}
			s.attach(everything(), policy(deny("D", c.resource+"x", "ec2:RunInstances")))
			if _, err := s.ec2.RunInstances(t.Context(), in); code(err) != "DryRunOperation" {
				t.Errorf("with something else forbidden: %v", err)
			}
		})
	}
}

func TestParametersAreJudgedByName(t *testing.T) {
	s := start(t, policy(allow("Public", "arn:aws:ssm:us-east-1::parameter/aws/service/*", "ssm:GetParameter*"),
		allow("Own", "arn:aws:ssm:us-east-1:"+account+":parameter/team/ami", "ssm:GetParameter*")))
	s.World.PutParameter("/team/ami", "String", "ami-1")
	s.World.PutParameter("/team/secret", "String", "s")
	get := func(name string) error {
		_, err := s.ssm.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &name})
		return err
	}
	for name, want := range map[string]string{
		"/team/ami": "", "/team/ami:1": "", "arn:aws:ssm:us-east-1:" + account + ":parameter/team/ami": "",
		"/team/secret": "AccessDeniedException", "/aws/service/nothing": "ParameterNotFound",
		"arn:aws:ssm:us-east-1:" + account + ":parameter/team/secret": "AccessDeniedException",
	} {
		if err := get(name); code(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	_, err := s.ssm.GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{"/team/ami", "/team/secret"}})
	if !strings.Contains(message(err), "ssm:GetParameters on resource: arn:aws:ssm:us-east-1:"+account+":parameter/team/secret") {
		t.Errorf("several, one of them refused: %v", err)
	}
}

func TestABoundaryHoldsBack(t *testing.T) {
	s := start(t, everything())
	boundary, err := s.World.CreatePolicy(world.PolicySpec{
		Name: "Boundary", Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"iam:*","Resource":"*"}]}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.World.SetRoleBoundary(roleName, boundary.ARN); err != nil {
		t.Fatal(err)
	}
	_, err = s.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if !strings.HasSuffix(message(err), "because no permissions boundary allows the ec2:DescribeVpcs action") {
		t.Errorf("got %v", err)
	}
	if _, err := s.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String(roleName)}); err != nil {
		t.Errorf("within the boundary: %v", err)
	}
}

func TestInstancesOfOthersAreNotTouched(t *testing.T) {
	s := start(t, everything())
	s.template("lt", s.profile("nodes"))
	in := s.fleet("lt", 1, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.TagSpecifications = nil
	out, err := s.ec2.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	foreign := out.Instances[0].InstanceIds
	s.attach(read(t, "controller-v0.32.json"))
	for what, call := range map[string]func() error{
		"TerminateInstances": func() error {
			_, err := s.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: foreign})
			return err
		},
		"CreateTags": func() error {
			_, err := s.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: foreign, Tags: []types.Tag{{Key: aws.String("Name"), Value: aws.String("mine")}}})
			return err
		},
	} {
		if err := call(); !strings.Contains(message(err), "ec2:"+what+" on resource: arn:aws:ec2:us-east-1:"+account+":instance/"+foreign[0]) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = s.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	if code(err) != "InvalidInstanceID.NotFound" {
		t.Errorf("of an instance that is not there the caller hears: %v", err)
	}
}

func TestTheControlPageTellsWhatWasRefusedAndUsed(t *testing.T) {
	s := start(t, policy(allow("Look", "*", "ec2:Describe*")))
	c := client.New(s.URL())
	for range 2 {
		if _, err := s.ec2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = s.iam.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String(roleName)}) // is refused
	uses, err := c.Permissions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]authz.Use{{Action: "ec2:DescribeVpcs", Policy: "p0", Sid: "Look", Count: 2}}, uses); diff != "" {
		t.Errorf("uses (-want +got):\n%s", diff)
	}
	denied, err := c.Denied(t.Context())
	if err != nil || denied.Total != 1 || denied.Denials[0].Action != "iam:GetRole" || denied.Denials[0].Principal != session {
		t.Errorf("denied: %+v, %v", denied, err)
	}
	if err := c.ForgetPermissions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if denied, err = c.Denied(t.Context()); err != nil || denied.Total != 0 {
		t.Errorf("after forgetting: %+v, %v", denied, err)
	}
	resp, err := http.Get(s.URL() + "/_kerf/denied")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %s", resp.Status)
	}
}

func TestChinaPassesRolesToItsOwnService(t *testing.T) {
	w, err := world.NewDefault(world.Options{Region: "cn-north-1", ClusterName: cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if _, err := w.CreateRole(roleName, "/", trust, nil); err != nil {
		t.Fatal(err)
	}
	a := authz.New(w, slog.New(slog.DiscardHandler))
	principal := "arn:aws-cn:sts::" + account + ":assumed-role/" + roleName + "/test"
	for service, want := range map[string]bool{"ec2.amazonaws.com.cn": true, "ec2.amazonaws.com": false} {
		text := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["iam:AddRoleToInstanceProfile","iam:PassRole"],"Resource":"*",` +
			`"Condition":{"StringEqualsIfExists":{"iam:PassedToService":"` + service + `"}}}]}`
		if err := w.PutRolePolicy(roleName, "p", text); err != nil {
			t.Fatal(err)
		}
		r := &wire.Request{
			Service: wire.IAM, Operation: "AddRoleToInstanceProfile", Region: "cn-north-1", Principal: wire.Identity{PrincipalARN: principal, Account: account},
			Form: url.Values{"InstanceProfileName": {"p"}, "RoleName": {"KarpenterNodeRole-" + cluster}},
		}
		if err := a.Authorize(r.Principal, r.Action(), r); err != nil {
			t.Errorf("%s: the call itself: %v", service, err)
		}
		if err := a.Authorize(r.Principal, "iam:PassRole", r); (err == nil) != want {
			t.Errorf("a role may be passed to %s: %v", service, err)
		}
	}
}
