package image_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/image"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const version = "1.36"

type fixture struct {
	sim      *awssim.Server
	now      time.Time
	resolver *image.Resolver
	restart  func()
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{now: time.Now().UTC()}
	sim, aws := start(t, awssim.Options{World: world.Options{Types: []string{"m5.large"}, KubernetesVersion: version}})
	f.sim = sim
	f.restart = func() {
		f.resolver = image.NewResolver(aws.EC2, aws.SSM, time.Minute, func() time.Time { return f.now })
	}
	f.restart()
	return f
}

func classOf(terms ...awsv1.AMISelectorTerm) *awsv1.EC2NodeClass {
	c := &awsv1.EC2NodeClass{Spec: awsv1.EC2NodeClassSpec{AMISelectorTerms: terms}}
	c.Name = "default"
	return c
}

func alias(a string) *awsv1.EC2NodeClass { return classOf(awsv1.AMISelectorTerm{Alias: a}) }

// show writes images as "name: requirements", in order.
func show(amis []awsv1.AMI) []string {
	var out []string
	for _, a := range amis {
		var r []string
		for _, q := range a.Requirements {
			key := q.Key[strings.LastIndex(q.Key, "/")+1:]
			r = append(r, strings.TrimSpace(fmt.Sprintf("%s %s %s", key, q.Operator, strings.Join(q.Values, ","))))
		}
		out = append(out, a.Name+": "+strings.Join(r, "; "))
	}
	return out
}

func (f *fixture) resolve(t *testing.T, class *awsv1.EC2NodeClass) ([]awsv1.AMI, cloud.Finding) {
	t.Helper()
	return f.resolver.Resolve(t.Context(), class, version)
}

// mustResolve resolves and keeps the outcome in the status, as the controller does.
func (f *fixture) mustResolve(t *testing.T, class *awsv1.EC2NodeClass) []awsv1.AMI {
	t.Helper()
	amis, finding := f.resolve(t, class)
	if !finding.OK || finding.Unknown {
		t.Fatalf("finding %+v", finding)
	}
	class.Status.AMIs = amis
	return amis
}

func TestAliasesFindTheImagesOfAllVariants(t *testing.T) {
	f := newFixture(t)
	for name, want := range map[string]map[string]int{ // fragments of names, and how often
		"al2023@latest":       {"al2023-x86_64-standard": 1, "al2023-arm64-standard": 1, "al2023-x86_64-nvidia": 1, "al2023-arm64-nvidia": 1, "al2023-x86_64-neuron": 1},
		"bottlerocket@latest": {"bottlerocket": 5, "nvidia": 2},
		"bottlerocket@1.50.0": {"bottlerocket": 5, "v1.50.0": 5},
		"windows2022@latest":  {"Windows_Server-2022": 1},
	} {
		amis, finding := f.resolve(t, alias(name))
		if !finding.OK || finding.Message != "" {
			t.Errorf("%s: %+v", name, finding)
		}
		text := strings.Join(show(amis), "\n")
		for fragment, n := range want {
			if got := strings.Count(text, fragment); got != n {
				t.Errorf("%s: %q is there %d times, want %d, in\n%s", name, fragment, got, n, text)
			}
		}
		for _, a := range amis {
			if !strings.HasPrefix(a.ID, "ami-") || a.Deprecated {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}

func TestAliasesThatCannotBe(t *testing.T) {
	f := newFixture(t)
	for name, want := range map[string]string{
		"al2@latest":        awsv1.ReasonUnsupportedAlias,
		"al2023@v20000101":  awsv1.ReasonAMINotFound,
		"al2023":            awsv1.ReasonSpecInvalid,
		"debian@latest":     awsv1.ReasonSpecInvalid,
		"windows2022@v2022": awsv1.ReasonSpecInvalid,
	} {
		amis, finding := f.resolve(t, alias(name))
		if finding.OK || finding.Unknown || finding.Reason != want || len(amis) > 0 || !strings.Contains(finding.Message, "EC2NodeClass default") {
			t.Errorf("%s: %d images, %+v; want the reason %s", name, len(amis), finding, want)
		}
	}
}

func TestAThrottledParameterIsNeverAChange(t *testing.T) {
	f := newFixture(t)
	class := alias("al2023@latest")
	before := f.mustResolve(t, class)
	const arm = "*amazon-linux-2023/arm64/standard*"
	f.sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ssm", Resource: arm})

	t.Run("while the process remembers", func(t *testing.T) {
		f.now = f.now.Add(48 * time.Hour)
		if diff := cmp.Diff(before, f.mustResolve(t, class)); diff != "" {
			t.Errorf("images changed:\n%s", diff)
		}
	})
	t.Run("after a restart, from the status", func(t *testing.T) {
		f.restart()
		if diff := cmp.Diff(before, f.mustResolve(t, class)); diff != "" {
			t.Errorf("images changed:\n%s", diff)
		}
	})
	t.Run("for a class that never had it, that variant alone is not known", func(t *testing.T) {
		f.restart()
		amis, finding := f.resolve(t, alias("al2023@latest"))
		if finding.Unknown || !finding.OK || finding.Reason != awsv1.ReasonAMIsPartlyKnown || !strings.Contains(finding.Message, "amazon-linux-2023/arm64/standard") {
			t.Errorf("%+v", finding)
		}
		if len(amis) != len(before)-1 {
			t.Errorf("%d images are known", len(amis))
		}
	})
	t.Run("images of another family do not stand in", func(t *testing.T) {
		f.restart()
		other := alias("al2023@latest")
		other.Status.AMIs = f.mustResolve(t, alias("bottlerocket@latest"))
		amis, finding := f.resolve(t, other)
		if len(amis) != len(before)-1 || finding.Reason != awsv1.ReasonAMIsPartlyKnown {
			t.Errorf("%d images, %+v", len(amis), finding)
		}
	})
	t.Run("and it recovers by itself", func(t *testing.T) {
		f.sim.World.ClearFaults()
		if diff := cmp.Diff(before, f.mustResolve(t, alias("al2023@latest"))); diff != "" {
			t.Errorf("images changed:\n%s", diff)
		}
	})
}

func TestImagesThatStayAreToldOfOnce(t *testing.T) {
	f := newFixture(t)
	class := alias("al2023@latest")
	f.mustResolve(t, class)
	var told []string
	note := func(parameter string, err error) {
		if !strings.Contains(err.Error(), "missing permission ssm:GetParameter") {
			t.Errorf("%s: %v", parameter, err)
		}
		told = append(told, parameter)
	}
	f.resolver.Kept(note)
	const arm = "*amazon-linux-2023/arm64/standard*"
	refuse := func() {
		f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ssm", Resource: arm, Code: "AccessDeniedException", Status: 400})
	}
	later := func() {
		f.now = f.now.Add(time.Hour)
		f.mustResolve(t, class)
	}
	refuse()
	later()
	later()
	if len(told) != 1 || !strings.Contains(told[0], "arm64/standard") {
		t.Fatalf("told of %v", told)
	}
	f.sim.World.ClearFaults()
	later()
	refuse()
	later()
	if len(told) != 2 {
		t.Errorf("refused again, told of %v", told)
	}
	f.restart()
	f.resolver.Kept(note)
	later()
	if len(told) != 3 {
		t.Errorf("after a restart, told of %v", told)
	}
}

func TestWhenNoParameterCanBeReadTheImagesBeforeStayOrNothingIsKnown(t *testing.T) {
	f := newFixture(t)
	class := alias("bottlerocket@latest")
	before := f.mustResolve(t, class)
	f.sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ssm"})
	f.restart()
	if diff := cmp.Diff(before, f.mustResolve(t, class)); diff != "" {
		t.Errorf("images changed:\n%s", diff)
	}
	amis, finding := f.resolve(t, alias("bottlerocket@latest"))
	if len(amis) != 0 || !finding.Unknown || finding.OK {
		t.Errorf("a class that never had any: %d images, %+v", len(amis), finding)
	}
}

func TestAFailedDescribeKeepsWhatIsKnown(t *testing.T) {
	f := newFixture(t)
	class := alias("al2023@latest")
	before := f.mustResolve(t, class)
	f.now = f.now.Add(time.Minute)
	f.sim.World.AddFault(world.Fault{Kind: world.FaultError, Service: "ec2", Operation: "DescribeImages", Code: "InternalError", Status: 500})
	amis, finding := f.resolve(t, class)
	if diff := cmp.Diff(before, amis); diff != "" || !finding.OK || finding.Reason != awsv1.ReasonAMIsPartlyKnown {
		t.Errorf("%+v\n%s", finding, diff)
	}
	f.restart()
	amis, finding = f.resolve(t, class)
	if diff := cmp.Diff(before, amis); diff != "" || !finding.Unknown {
		t.Errorf("after a restart: %+v\n%s", finding, diff)
	}
}

func TestAnImageThatIsGoneLeavesTheOneBefore(t *testing.T) {
	f := newFixture(t)
	class := alias("al2023@latest")
	before := f.mustResolve(t, class)
	const path = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
	f.sim.World.PutParameter(path, "String", "ami-0123456789abcdef0") // published before the image can be seen
	f.now = f.now.Add(time.Hour)
	amis, finding := f.resolve(t, class)
	if diff := cmp.Diff(before, amis); diff != "" || !finding.OK || !strings.Contains(finding.Message, "ami-0123456789abcdef0, which can't be seen, image "+before[0].ID[:4]) {
		t.Errorf("%+v, images changed:\n%s", finding, diff)
	}
	f.sim.World.DeleteParameter(path) // it names what it named before
	f.now = f.now.Add(time.Minute)
	if _, finding := f.resolve(t, class); finding.Message != "" {
		t.Errorf("a minute after it was put right: %+v", finding)
	}
}

func TestAParameterThatVanishesLeavesTheImageBefore(t *testing.T) {
	f := newFixture(t)
	class := alias("al2023@latest")
	before := f.mustResolve(t, class)
	f.restart()
	amis, finding := f.resolver.Resolve(t.Context(), class, "1.20") // nothing is published for that version
	if diff := cmp.Diff(before, amis); diff != "" || !finding.OK || finding.Reason != awsv1.ReasonAMIsPartlyKnown || strings.Count(finding.Message, "does not exist, image ami-") != 5 {
		t.Errorf("%+v\n%s", finding, diff)
	}
	if err := f.sim.World.DeregisterImage(before[0].ID); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Minute)
	if amis, _ := f.resolver.Resolve(t.Context(), class, "1.20"); len(amis) != len(before)-1 {
		t.Errorf("a deregistered image stays: %v", show(amis))
	}
}

func TestADeprecatedImageHasItsParameterReadAgainSoon(t *testing.T) {
	f := newFixture(t)
	class := alias("windows2022@latest")
	old := f.mustResolve(t, class)[0]
	if err := f.sim.World.DeprecateImage(old.ID, f.now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Minute)
	if now := f.mustResolve(t, class); now[0].ID != old.ID || !now[0].Deprecated {
		t.Errorf("got %+v", now)
	}
	next := f.sim.World.AddImage(world.Image{
		Name: "Windows_Server-2022-English-Core-EKS_Optimized-1.36-2026.12.01", Arch: "x86_64", Platform: "windows", OwnerAlias: "amazon", Public: true, Created: f.now,
		SSMPaths: []string{"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id"},
	})
	f.now = f.now.Add(time.Minute) // not half an hour, as for others
	if now := f.mustResolve(t, class); now[0].ID != next.ID {
		t.Errorf("got %+v, want %s", now, next.ID)
	}
}

func TestAPinnedVersionStaysWhenItsImageIsDeprecatedOrItsParameterGoes(t *testing.T) {
	f := newFixture(t)
	class := alias("bottlerocket@1.50.0")
	before := f.mustResolve(t, class)
	for _, a := range before {
		if err := f.sim.World.DeprecateImage(a.ID, f.now.Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	f.restart()
	f.sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ssm", Resource: "*nvidia*"})
	for i, a := range f.mustResolve(t, class) {
		if a.ID != before[i].ID || !a.Deprecated {
			t.Errorf("got %+v, want %s", a, before[i].ID)
		}
	}
	other := alias("bottlerocket@1.51.0")
	other.Status.AMIs = before
	f.restart()
	for _, a := range f.mustResolve(t, other) {
		if !strings.Contains(a.Name, "v1.51.0") {
			t.Errorf("an image of the version before stands in: %+v", a)
		}
	}
}

// AWS may take the parameter of an old release back; its images run on.
func TestAPinnedVersionWhoseParameterIsGoneKeepsItsImage(t *testing.T) {
	f := newFixture(t)
	const path = "/aws/service/bottlerocket/aws-k8s-1.36/x86_64/0.9.9/image_id"
	image := f.sim.World.AddImage(world.Image{Name: "bottlerocket-aws-k8s-1.36-x86_64-v0.9.9-abcdef", Arch: "x86_64", OwnerAlias: "amazon", Public: true, Created: f.now})
	f.sim.World.PutParameter(path, "String", image.ID)
	class := alias("bottlerocket@0.9.9")
	before := f.mustResolve(t, class)
	if len(before) == 0 || before[0].ID != image.ID {
		t.Fatalf("got %+v", before)
	}
	f.sim.World.DeleteParameter(path)
	f.restart()
	amis, finding := f.resolve(t, class)
	if diff := cmp.Diff(before, amis); diff != "" || !finding.OK || finding.Reason != awsv1.ReasonAMIsPartlyKnown || !strings.Contains(finding.Message, path+" does not exist, image "+image.ID+" stays") {
		t.Errorf("%+v\n%s", finding, diff)
	}
	// After the cluster was upgraded it is another image that is missing, and the pin has to be changed.
	f.restart()
	if amis, finding := f.resolver.Resolve(t.Context(), class, "1.35"); len(amis) != 0 || finding.OK || finding.Unknown || finding.Reason != awsv1.ReasonAMINotFound {
		t.Errorf("on another version: %v, %+v", amis, finding)
	}
}

func TestAVariantThatIsNotPublishedIsNotMissed(t *testing.T) {
	f := newFixture(t)
	f.sim.World.PutParameter("/my/image", "String", "ami-x") // makes no difference
	amis, finding := f.resolver.Resolve(t.Context(), alias("windows2025@latest"), "1.36")
	if len(amis) != 1 || !finding.OK {
		t.Errorf("%d images, %+v", len(amis), finding)
	}
	amis, finding = f.resolver.Resolve(t.Context(), alias("al2023@latest"), "1.20")
	if len(amis) != 0 || finding.Reason != awsv1.ReasonAMINotFound || !strings.Contains(finding.Message, "Kubernetes 1.20") {
		t.Errorf("%d images, %+v", len(amis), finding)
	}
}

func TestTermsOtherThanAliases(t *testing.T) {
	f := newFixture(t)
	add := func(name, arch string, age time.Duration, tags map[string]string) world.Image {
		return f.sim.World.AddImage(world.Image{Name: name, Arch: arch, OwnerID: f.sim.World.Account(), Created: f.now.Add(-age).Truncate(time.Second), Tags: tags, State: "available", RootSizeGiB: 8})
	}
	old := add("mine-1", "x86_64", 48*time.Hour, map[string]string{"team": "a"})
	young := add("mine-2", "x86_64", time.Hour, map[string]string{"team": "a"})
	arm := add("mine-arm", "arm64", 24*time.Hour, map[string]string{"team": "b"})
	stranger := f.sim.World.AddImage(world.Image{Name: "mine-9", Arch: "x86_64", OwnerID: "999999999999", Public: true, Created: f.now, State: "available", RootSizeGiB: 8})
	f.sim.World.PutParameter("/my/image", "String", old.ID)
	f.sim.World.PutParameter("/my/nonsense", "String", "hello")
	x86, arm64 := ": arch In amd64", ": arch In arm64"
	for name, c := range map[string]struct {
		terms []awsv1.AMISelectorTerm
		want  []string
	}{
		"by id":                                   {[]awsv1.AMISelectorTerm{{ID: old.ID}}, []string{"mine-1" + x86}},
		"by name, strangers' images left out":     {[]awsv1.AMISelectorTerm{{Name: "mine-*"}}, []string{"mine-2" + x86, "mine-arm" + arm64}},
		"by name and owner":                       {[]awsv1.AMISelectorTerm{{Name: "mine-*", Owner: "999999999999"}}, []string{"mine-9" + x86}},
		"by tags, the newest of equals":           {[]awsv1.AMISelectorTerm{{Tags: map[string]string{"team": "a"}}}, []string{"mine-2" + x86}},
		"by tag key":                              {[]awsv1.AMISelectorTerm{{Tags: map[string]string{"team": "*"}}}, []string{"mine-2" + x86, "mine-arm" + arm64}},
		"by parameter":                            {[]awsv1.AMISelectorTerm{{SSMParameter: "/my/image"}}, []string{"mine-1" + x86}},
		"by several terms":                        {[]awsv1.AMISelectorTerm{{SSMParameter: "/my/image"}, {ID: arm.ID}}, []string{"mine-arm" + arm64, "mine-1" + x86}},
		"the id before the parameter":             {[]awsv1.AMISelectorTerm{{ID: young.ID, SSMParameter: "/my/image"}}, []string{"mine-2" + x86}},
		"an id of somebody else's public image":   {[]awsv1.AMISelectorTerm{{ID: stranger.ID}}, []string{"mine-9" + x86}},
		"a parameter that does not exist":         {[]awsv1.AMISelectorTerm{{SSMParameter: "/no/such"}}, nil},
		"an id that does not exist, and one that": {[]awsv1.AMISelectorTerm{{ID: "ami-00000000000000000"}, {ID: old.ID}}, []string{"mine-1" + x86}},
	} {
		amis, finding := f.resolve(t, classOf(c.terms...))
		if diff := cmp.Diff(c.want, show(amis)); diff != "" || finding.OK != (c.want != nil) || finding.Unknown {
			t.Errorf("%s: %+v\n%s", name, finding, diff)
		}
	}
	named := f.sim.World.PutParameter("/my/image", "String", old.ID)
	if amis, finding := f.resolve(t, classOf(awsv1.AMISelectorTerm{SSMParameter: named.ARN})); len(amis) != 1 || amis[0].ID != old.ID || finding.Message != "" {
		t.Errorf("a parameter by ARN: %v, %+v", show(amis), finding)
	}
	_, finding := f.resolve(t, classOf(awsv1.AMISelectorTerm{ID: young.ID, SSMParameter: "/my/image"}, awsv1.AMISelectorTerm{SSMParameter: "/my/image", Tags: map[string]string{"team": "a"}}))
	if !finding.OK || !strings.Contains(finding.Message, "spec.amiSelectorTerms[0] has an id, so its other fields are ignored") || !strings.Contains(finding.Message, "spec.amiSelectorTerms[1] has an ssmParameter") {
		t.Errorf("mixed terms: %+v", finding)
	}
	// The newest of two is the parameter's; while that can't be read, the other must not take its place.
	two := classOf(awsv1.AMISelectorTerm{SSMParameter: "/my/newest"}, awsv1.AMISelectorTerm{ID: old.ID})
	f.sim.World.PutParameter("/my/newest", "String", young.ID)
	before := f.mustResolve(t, two)
	f.sim.World.AddFault(world.Fault{Kind: world.FaultThrottle, Service: "ssm", Resource: "*newest*"})
	f.restart()
	if diff := cmp.Diff(before, f.mustResolve(t, two)); diff != "" || before[0].ID != young.ID {
		t.Errorf("images changed:\n%s", diff)
	}
	if _, finding := f.resolve(t, classOf(two.Spec.AMISelectorTerms...)); !finding.Unknown {
		t.Errorf("a class that never had any: %+v", finding)
	}
	f.sim.World.ClearFaults()
	if _, finding := f.resolve(t, classOf(awsv1.AMISelectorTerm{SSMParameter: "/my/nonsense"})); !finding.Unknown || !strings.Contains(finding.Message, `"hello", which is no image ID`) {
		t.Errorf("a parameter that holds no image: %+v", finding)
	}

	if err := f.sim.World.DeprecateImage(young.ID, f.now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(time.Minute)
	if amis, _ := f.resolve(t, classOf(awsv1.AMISelectorTerm{Tags: map[string]string{"team": "a"}})); len(amis) != 1 || amis[0].ID != old.ID {
		t.Errorf("beside a deprecated image the older one counts, got %v", show(amis))
	}
	if amis, _ := f.resolve(t, classOf(awsv1.AMISelectorTerm{ID: young.ID})); len(amis) != 1 || !amis[0].Deprecated {
		t.Errorf("a pinned image stays when it is deprecated, got %+v", amis)
	}
}

func TestAnswersAreBelievedForAMinute(t *testing.T) {
	f := newFixture(t)
	class := alias("al2023@latest")
	f.mustResolve(t, class)
	f.sim.World.AddFault(world.Fault{Kind: world.FaultThrottle})
	f.now = f.now.Add(59 * time.Second)
	f.mustResolve(t, class)
	for _, fault := range f.sim.World.Faults() {
		if fault.Seen > 0 {
			t.Errorf("%d calls were made within the minute", fault.Seen)
		}
	}
}
