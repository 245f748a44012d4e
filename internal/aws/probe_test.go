package aws_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/aws"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// TestAClassIsTriedWithATypeThatBootsTheImage: what a class asks for may be had in one architecture only, or in the other as well, and
// its images are for both.
func TestAClassIsTriedWithATypeThatBootsTheImage(t *testing.T) {
	for name, edit := range map[string]func(*awsv1.EC2NodeClass){
		"anything": func(*awsv1.EC2NodeClass) {},
		"enclaves": func(c *awsv1.EC2NodeClass) { c.Spec.EnclaveOptions = &awsv1.EnclaveOptions{Enabled: true} },
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			p := newProvider(t, s, nil)
			ready(t, p)
			class := newClass(s)
			edit(class)
			resolve(t, p, class)
		})
	}
}

// poolOf is a NodePool of a class that allows some values of a label.
func poolOf(class, key string, values ...string) karpv1.NodePool {
	p := karpv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	p.Spec.Template.Spec.NodeClassRef = &karpv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: class}
	p.Spec.Template.Spec.Requirements = []karpv1.NodeSelectorRequirementWithMinValues{need(key, corev1.NodeSelectorOpIn, values...)}
	return p
}

// withPools has a provider see NodePools, which may be others later.
func withPools(pools *[]karpv1.NodePool) func(*aws.Options) {
	return func(o *aws.Options) {
		o.NodePools = func(context.Context) ([]karpv1.NodePool, error) { return *pools, nil }
	}
}

// forbid refuses all launches of these types, on trial or not, as a policy of the organization does.
func forbid(s *awssim.Server, instanceTypes ...string) {
	for _, operation := range []string{"CreateFleet", "RunInstances"} {
		for _, name := range instanceTypes {
			s.World.AddFault(world.Fault{
				Kind: world.FaultError, Service: "ec2", Operation: operation, Resource: name, Code: "UnauthorizedOperation", Status: 403,
				Message: "You are not authorized to perform this operation. User: arn:aws:sts::1:assumed-role/x/y is not authorized to perform: ec2:" + operation +
					" on resource: arn:aws:ec2:us-east-1:1:instance/* with an explicit deny in a service control policy",
			})
		}
	}
}

// manyTypes are of more families than are tried. Without x2gd, which comes last, they are those of manyFamilies.
var manyTypes = []string{"m5.large", "m5.xlarge", "m6g.large", "m6i.large", "c5.large", "c5.xlarge", "c6i.large", "c6g.large", "r5.large", "x2gd.large"}

// manyFamilies are more families than are tried, and patterns of all their types.
func manyFamilies() (families, patterns []string) {
	return []string{"m5", "m6g", "c5", "c6g", "c6i", "m6i", "r5"}, []string{"m5.*", "m6g.*", "c5.*", "c6g.*", "c6i.*", "m6i.*", "r5.*"}
}

// A policy may allow only the types that NodePools are made for.
func TestAClassIsTriedWithTheTypesOfItsNodePools(t *testing.T) {
	const family, zone = awsv1.LabelInstanceFamily, corev1.LabelTopologyZone
	leaving := poolOf("default", family, "m6i")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	many, forbidMany := manyFamilies()
	for name, c := range map[string]struct {
		pools     []karpv1.NodePool
		forbidden []string
		own       bool     // whether the class names a launch template
		refused   []string // what the message says; empty if the class is ready
		says      string   // what the message of a class that is ready says
	}{
		"a pool of what is allowed":                             {pools: []karpv1.NodePool{poolOf("default", family, "m6i")}, forbidden: []string{"m5.large"}},
		"a pool of what is allowed, one of what is not":         {pools: []karpv1.NodePool{poolOf("default", family, "m5"), poolOf("default", family, "m6i")}, forbidden: []string{"m5.large", "m5.xlarge"}},
		"a pool of both":                                        {pools: []karpv1.NodePool{poolOf("default", family, "m5", "m6i")}, forbidden: []string{"m5.large", "m5.xlarge"}},
		"the other architecture alone":                          {pools: []karpv1.NodePool{poolOf("default", family, "m5", "m6g")}, forbidden: []string{"m5.large"}},
		"nothing that the pool allows":                          {pools: []karpv1.NodePool{poolOf("default", family, "m6i", "c5")}, forbidden: []string{"m6i.*", "c5.*"}, refused: []string{"a trial of ec2:CreateFleet", "c5.large, m6i.large", "service control policy"}},
		"the last of five families":                             {pools: []karpv1.NodePool{poolOf("default", family, "m5", "m6i", "m6g", "c5", "r5")}, forbidden: []string{"m5.*", "m6*", "c5.*"}},
		"small sizes of all families":                           {pools: []karpv1.NodePool{poolOf("default", family, "m5", "c5")}, forbidden: []string{"m5.large", "c5.large"}},
		"small sizes of all families that there is room to try": {pools: []karpv1.NodePool{poolOf("default", family, "m5", "m6g", "m6i", "c5", "c6i", "r5")}, forbidden: []string{"*.large"}, says: "none of the instance types m5.large, m6g.large, "},
		"each of five families":                                 {pools: []karpv1.NodePool{poolOf("default", family, "m5", "m6i", "m6g", "c5", "r5")}, forbidden: []string{"m5.*", "m6*", "c5.*", "r5.*"}, refused: []string{"m5.large, m6g.large, c5.large, m6i.large, r5.large"}},
		"only what the last of three pools allows":              {pools: []karpv1.NodePool{poolOf("default", family, many...), poolOf("default", family, "m5", "c5"), poolOf("default", family, "x2gd")}, forbidden: forbidMany},
		"only what the last of many families is":                {pools: []karpv1.NodePool{poolOf("default", family, append(many, "x2gd")...)}, forbidden: forbidMany, says: "none of the instance types m5.large, m6g.large, "},
		"no pool":                                               {forbidden: []string{"m5.large"}, refused: []string{"a trial of ec2:CreateFleet", "dry run of CreateFleet for m5.large"}},
		"a pool of another class":                               {pools: []karpv1.NodePool{poolOf("other", family, "m6i")}, forbidden: []string{"m5.large"}, refused: []string{"m5.large"}},
		"a pool that is being deleted":                          {pools: []karpv1.NodePool{leaving}, forbidden: []string{"m5.large"}, refused: []string{"m5.large"}},
		"a pool that allows nothing that there is":              {pools: []karpv1.NodePool{poolOf("default", family, "x9")}, forbidden: []string{"m6i.large"}},
		"a pool of a zone without a subnet of the class":        {pools: []karpv1.NodePool{poolOf("default", zone, "eu-west-1a")}, forbidden: []string{"c5.large"}},
		"a launch template of the user's":                       {pools: []karpv1.NodePool{poolOf("default", family, "m5", "m6i")}, forbidden: []string{"m5.large", "m5.xlarge"}, own: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{World: world.Options{Types: manyTypes}})
			forbid(s, c.forbidden...)
			p := newProvider(t, s, withPools(&c.pools))
			ready(t, p)
			class := newClass(s)
			if c.own {
				ownTemplate(t, s, "own", ownData(t, s, nil))
				class = ownClass(s, "own")
			}
			_, found := findings(t, p, class)
			f := found[awsv1.ConditionTypeValidationSucceeded]
			if f.OK != (c.refused == nil) || f.Unknown {
				t.Fatalf("got %+v", f)
			}
			if f.OK && ((f.Message == "") != (c.says == "") || !strings.Contains(f.Message, c.says)) {
				t.Errorf("got %+v, want %q", f, c.says)
			}
			for _, words := range c.refused {
				if !strings.Contains(f.Message, words) {
					t.Errorf("%q is not in %s", words, f.Message)
				}
			}
		})
	}
}

func TestWhatAPolicyAllowsIsLaunched(t *testing.T) {
	s := startSim(t, awssim.Options{})
	forbid(s, "m5.large")
	p := newProvider(t, s, withPools(&[]karpv1.NodePool{poolOf("default", awsv1.LabelInstanceFamily, "m6i")}))
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	if _, err := p.Launch(t.Context(), newClaim(1, need(awsv1.LabelInstanceFamily, corev1.NodeSelectorOpIn, "m6i")), class); err != nil {
		t.Fatal(err)
	}
}

// Trials are made anew where the type of the last ones is not allowed any more, and not otherwise.
func TestOtherNodePoolsMakeNewTrialsOnce(t *testing.T) {
	s := startSim(t, awssim.Options{})
	forbid(s, "m5.*")
	var pools []karpv1.NodePool
	p, calls := newCountedProvider(t, s, withPools(&pools))
	ready(t, p)
	class := newClass(s)
	for _, step := range []struct {
		what     string
		families []string
		ok, anew bool
	}{
		{"the first pool", []string{"m6i"}, true, true},
		{"one family more", []string{"c5", "m6i"}, true, false},
		{"the family of the trial is gone", []string{"c5"}, true, true},
		{"only what is forbidden", []string{"m5"}, false, true},
		{"something else again", []string{"m5", "m6i"}, true, true},
	} {
		pools = []karpv1.NodePool{poolOf("default", awsv1.LabelInstanceFamily, step.families...)}
		for i, anew := range []bool{step.anew, false, false} {
			calls.Reset()
			_, found := findings(t, p, class)
			if f := found[awsv1.ConditionTypeValidationSucceeded]; f.OK != step.ok {
				t.Errorf("%s: %+v", step.what, f)
			}
			if got := calls.Of("CreateFleet") > 0; got != anew {
				t.Errorf("%s: resolved for the %d. time, trials were made: %t", step.what, i+1, got)
			}
		}
	}
}

// A NodePool of what a policy forbids takes nothing from a class that works: the type that passed comes first, also of a later version of
// the class and where it boots another image than the first type, and is tried alone.
func TestTheTypeThatPassedIsTriedFirst(t *testing.T) {
	for name, passed := range map[string]string{"the same image": "m6i", "another image": "m6g"} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			forbid(s, "m5.*", "c5.*", "r5.*")
			pools := []karpv1.NodePool{poolOf("default", awsv1.LabelInstanceFamily, "m5", passed)}
			p, calls := newCountedProvider(t, s, withPools(&pools))
			ready(t, p)
			class := newClass(s)
			resolve(t, p, class)
			pools = append(pools, poolOf("default", awsv1.LabelInstanceFamily, "c5"), poolOf("default", awsv1.LabelInstanceFamily, "r5"))
			class.Spec.Tags = map[string]string{"team": "shop"}
			for i, most := range []int{1, 0, 0} {
				calls.Reset()
				resolve(t, p, class)
				if got := calls.Of("CreateFleet"); got > most {
					t.Errorf("resolved for the %d. time: %d trials of CreateFleet, want at most %d", i+1, got, most)
				}
			}
		})
	}
}

// Where a policy forbids every type that is tried and more are allowed, launches find the type that the policy allows.
func TestLaunchesFindTheTypeThatAPolicyAllows(t *testing.T) {
	s := startSim(t, awssim.Options{World: world.Options{Types: manyTypes}})
	families, forbidden := manyFamilies()
	forbid(s, forbidden...)
	p, calls := newCountedProvider(t, s, withPools(&[]karpv1.NodePool{poolOf("default", awsv1.LabelInstanceFamily, append(families, "x2gd")...)}))
	ready(t, p)
	class := newClass(s)
	resolve(t, p, class)
	calls.Reset()
	resolve(t, p, class)
	if n := calls.Of("CreateFleet") + calls.Of("RunInstances"); n > 0 {
		t.Errorf("%d trials at once again", n)
	}
	if _, err := p.Launch(t.Context(), newClaim(1, need(awsv1.LabelInstanceFamily, corev1.NodeSelectorOpIn, "x2gd")), class); err != nil {
		t.Fatal(err)
	}
}

// A verdict on a type that no pool may allow would end NodeClaims.
func TestNothingIsSaidOfAClassWhileItIsNotKnownWhatPoolsAllow(t *testing.T) {
	for name, c := range map[string]struct {
		pools func(context.Context) ([]karpv1.NodePool, error)
		fault world.Fault
	}{
		"pools": {pools: func(context.Context) ([]karpv1.NodePool, error) { return nil, errors.New("the API server is away") }},
		"types": {
			pools: func(context.Context) ([]karpv1.NodePool, error) {
				return []karpv1.NodePool{poolOf("default", awsv1.LabelInstanceFamily, "m6i")}, nil
			},
			fault: world.Fault{Kind: world.FaultError, Operation: "DescribeInstanceTypes", Code: "ExpiredToken", Status: 400},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			forbid(s, "m5.large")
			if c.fault.Kind != "" {
				s.World.AddFault(c.fault)
			}
			p, calls := newCountedProvider(t, s, func(o *aws.Options) { o.NodePools = c.pools })
			_, found := findings(t, p, newClass(s))
			if f := found[awsv1.ConditionTypeValidationSucceeded]; !f.Unknown || f.Reason == "" || !strings.Contains(f.Message, "not known") {
				t.Errorf("got %+v", f)
			}
			if calls.Of("RunInstances")+calls.Of("CreateFleet") > 0 {
				t.Error("a trial was made all the same")
			}
		})
	}
}

// A refusal is asked about again with another type only where it is of the type, and in another subnet only where it is of the subnet.
func TestARefusalOfAllTypesIsAskedForOnce(t *testing.T) {
	const mayNot = "User: arn:aws:sts::1:assumed-role/x/y is not authorized to perform: "
	const because = " because no identity-based policy allows it"
	for name, c := range map[string]struct {
		message   string
		own       bool
		runs, per int // dry runs of RunInstances, and in how many of all subnets: 0 for one
	}{
		"a role":       {message: mayNot + "iam:PassRole on resource: arn:aws:iam::1:role/node" + because, runs: 1},
		"tags":         {message: mayNot + "ec2:CreateTags on resource: arn:aws:ec2:us-east-1:1:instance/*" + because, runs: 1},
		"encoded":      {message: "You are not authorized to perform this operation. Encoded authorization failure message: x", runs: 1},
		"the subnets":  {message: mayNot + "ec2:RunInstances on resource: arn:aws:ec2:us-east-1:1:subnet/s-1" + because, runs: 1, per: 1},
		"the types":    {message: mayNot + "ec2:RunInstances on resource: arn:aws:ec2:us-east-1:1:instance/*" + because, runs: 4},
		"own template": {message: mayNot + "iam:PassRole on resource: arn:aws:iam::1:role/node" + because, own: true, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := startSim(t, awssim.Options{})
			s.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "RunInstances", Code: "UnauthorizedOperation", Status: 403, Message: c.message})
			p, calls := newCountedProvider(t, s, withPools(&[]karpv1.NodePool{poolOf("default", awsv1.LabelInstanceFamily, "m5", "m6i")}))
			ready(t, p)
			class := newClass(s)
			if c.own {
				ownTemplate(t, s, "own", ownData(t, s, nil))
				class = ownClass(s, "own")
			}
			r, found := findings(t, p, class)
			if f := found[awsv1.ConditionTypeValidationSucceeded]; f.OK || f.Unknown || f.Reason != awsv1.ReasonRunInstancesAuthCheckFailed {
				t.Errorf("got %+v", f)
			}
			if want := c.runs * max(1, c.per*len(r.Subnets)); calls.Of("RunInstances") != want || len(r.Subnets) < 2 {
				t.Errorf("%d dry runs of RunInstances for %d subnets, want %d", calls.Of("RunInstances"), len(r.Subnets), want)
			}
		})
	}
}
