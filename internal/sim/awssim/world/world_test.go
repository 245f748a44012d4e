package world

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// testWorld is a world with four types and a clock that stands still.
func testWorld(t testing.TB, change func(*Options)) (*World, *ManualClock) {
	t.Helper()
	clock := NewManualClock(noon)
	o := Options{Seed: 3, Clock: clock, ClusterName: "demo", Types: []string{"m5.large", "m5.xlarge", "c5.large", "m6g.large"}, OnDemandDepth: 40, SpotDepth: 15}
	if change != nil {
		change(&o)
	}
	w, err := NewDefault(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, clock
}

// setUp makes a launch template and returns the private subnets.
func setUp(t testing.TB, w *World) []Subnet {
	t.Helper()
	id, ok := w.ImageParameter("/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id")
	if !ok {
		t.Fatal("no AL2023 image")
	}
	if _, err := w.CreateTemplate("template", "", "", "", LaunchData{ImageID: id}, nil); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(w.Subnets(), func(s Subnet) bool { return s.Public })
}

func fleetOf(n int32, capacityType string, places ...FleetOverride) FleetRequest {
	return FleetRequest{
		Type: "instant", Target: TargetCapacity{Total: &n, DefaultType: capacityType},
		Configs: []FleetConfig{{Template: TemplateRef{Name: "template"}, Overrides: places}},
	}
}

func TestTheDefaultAccount(t *testing.T) {
	w, _ := testWorld(t, func(o *Options) { o.Types = nil })
	zones := map[string]int{}
	for _, s := range w.Subnets() {
		zones[s.Zone]++
		if s.Tags["karpenter.sh/discovery"] != "" == s.Public {
			t.Errorf("subnet %s, public %v, has discovery tag %q", s.CIDR, s.Public, s.Tags["karpenter.sh/discovery"])
		}
	}
	if d := cmp.Diff(map[string]int{"us-east-1a": 2, "us-east-1b": 2, "us-east-1c": 2}, zones); d != "" {
		t.Errorf("subnets by zone: %s", d)
	}
	if _, ok := w.AccessKey(DefaultAccessKey); !ok {
		t.Error("the controller's access key is missing")
	}
	for _, path := range []string{
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/arm64/standard/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/nvidia/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/neuron/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.32/amazon-linux-2-gpu/recommended/image_id",
		"/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id",
		"/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/1.51.0/image_id",
		"/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id",
		"/aws/service/eks/optimized-ami/1.37/amazon-linux-2023/x86_64/standard/recommended/image_id",
		"/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/amazon-eks-node-al2023-x86_64-standard-1.36-v20261022/image_id",
	} {
		id, ok := w.ImageParameter(path)
		if i, found := w.Image(id); !ok || !found || !slices.Contains(i.SSMPaths, path) {
			t.Errorf("%s leads to %q, an image: %v", path, id, found)
		}
	}
	if id, ok := w.ImageParameter("/aws/service/eks/optimized-ami/1.36/amazon-linux-2/recommended/image_id"); ok {
		t.Errorf("%s is an image of Amazon Linux 2 for a Kubernetes that has none", id)
	}
	if got := w.GuestMemoryMiB("m5.large"); got != 7811 {
		t.Errorf("a guest on m5.large sees %d MiB, want the measured 7811", got)
	}
	for _, ty := range w.Types() {
		if g := w.GuestMemoryMiB(ty.Name); g <= 0 || g > int64(ty.MemoryMiB) {
			t.Errorf("a guest on %s sees %d of %d MiB", ty.Name, g, ty.MemoryMiB)
		}
	}
}

func TestOtherRegionsHaveTheirOwnZonesNamesAndPartition(t *testing.T) {
	for _, c := range []struct{ region, partition, dns string }{
		{"eu-west-1", "aws", "ip-10-0-0-4.eu-west-1.compute.internal"}, {"cn-north-1", "aws-cn", "ip-10-0-0-4.cn-north-1.compute.internal"},
		{"us-gov-west-1", "aws-us-gov", "ip-10-0-0-4.us-gov-west-1.compute.internal"}, {"us-west-1", "aws", "ip-10-0-0-4.us-west-1.compute.internal"},
	} {
		t.Run(c.region, func(t *testing.T) {
			w, _ := testWorld(t, func(o *Options) { o.Region = c.region })
			subnets := setUp(t, w)
			f, err := w.CreateFleet(fleetOf(1, OnDemand, FleetOverride{InstanceType: "m5.large", SubnetID: subnets[0].ID}))
			if err != nil || f.Count() != 1 {
				t.Fatalf("%+v, %v", f.Errors, err)
			}
			i, _ := w.Instance(f.Instances[0].IDs[0])
			if w.Partition() != c.partition || i.PrivateDNSName != c.dns || i.PriceMicroUSD <= 0 {
				t.Errorf("partition %s, name %s, price %d", w.Partition(), i.PrivateDNSName, i.PriceMicroUSD)
			}
		})
	}
}

func TestBadOptionsAreRefusedByName(t *testing.T) {
	for says, o := range map[string]Options{
		"a subnet size that EC2 has not": {PrivateBits: 30},
		"no type of the catalogue":       {Types: []string{"none.at-all"}},
		"subnets that overlap":           {PrivateBits: 17},
	} {
		t.Run(says, func(t *testing.T) {
			if w, err := NewDefault(o); err == nil {
				w.Close()
				t.Error("no error")
			}
		})
	}
}

func TestOneSeedGivesOneHistory(t *testing.T) {
	history := func() []Instance {
		w, clock := testWorld(t, nil)
		subnets := setUp(t, w)
		for range 5 {
			if _, err := w.CreateFleet(fleetOf(3, Spot, FleetOverride{InstanceType: "m5.large", SubnetID: subnets[0].ID}, FleetOverride{InstanceType: "c5.large", SubnetID: subnets[1].ID})); err != nil {
				t.Fatal(err)
			}
			clock.Advance(700 * time.Millisecond)
		}
		return w.AllInstances()
	}
	a, b := history(), history()
	for i := range a {
		if a[i].ID != b[i].ID || a[i].State != b[i].State || a[i].PrivateIP != b[i].PrivateIP || a[i].Zone != b[i].Zone {
			t.Errorf("instance %d differs: %s %s %s and %s %s %s", i, a[i].ID, a[i].State, a[i].PrivateIP, b[i].ID, b[i].State, b[i].PrivateIP)
		}
	}
}

func TestDepthsDependOnTheSeedAndAreNeverZero(t *testing.T) {
	depths := func(seed uint64) map[string]int {
		w, _ := testWorld(t, func(o *Options) { o.Seed, o.SpotDepth, o.OnDemandDepth, o.Types = seed, 0, 0, nil })
		out := map[string]int{}
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, n := range w.ec2.facts.names {
			for _, z := range w.ec2.net.zones {
				for _, c := range []string{OnDemand, Spot} {
					out[c+n+z.Name] = w.poolLocked(poolKey{c, n, z.Name}).depth
				}
			}
		}
		return out
	}
	a, again, b := depths(1), depths(1), depths(2)
	if d := cmp.Diff(a, again); d != "" {
		t.Error("the same seed gave other depths")
	}
	differ := 0
	for k, n := range a {
		if n < 1 {
			t.Errorf("%s has depth %d", k, n)
		}
		if b[k] != n {
			differ++
		}
	}
	if differ < len(a)/2 {
		t.Errorf("only %d of %d depths differ between two seeds", differ, len(a))
	}
}

func TestQuotaClasses(t *testing.T) {
	want := map[string]string{
		"m5.large": "Standard", "t4g.nano": "Standard", "c7gd.metal": "Standard", "g5.xlarge": "G", "g4dn.xlarge": "G", "gr6.4xlarge": "G", "vt1.3xlarge": "G",
		"p4d.24xlarge": "P", "p5.48xlarge": "P", "inf2.xlarge": "Inf", "trn1.2xlarge": "Trn", "x2idn.metal": "X", "u-6tb1.metal": "U", "u7i-12tb.224xlarge": "U",
		"f1.2xlarge": "F", "dl1.24xlarge": "DL", "hpc7g.4xlarge": "HPC", "im4gn.large": "Standard", "is4gen.large": "Standard", "mac2.metal": "Standard", "z1d.large": "Standard",
	}
	for name, class := range want {
		if got := QuotaClass(name); got != class {
			t.Errorf("%s is of class %s, want %s", name, got, class)
		}
	}
}

func TestClosingTheWorldWakesSleepersAndStopsTimers(t *testing.T) {
	w, clock := testWorld(t, nil)
	subnets := setUp(t, w)
	if _, err := w.CreateFleet(fleetOf(3, OnDemand, FleetOverride{InstanceType: "m5.large", SubnetID: subnets[0].ID})); err != nil {
		t.Fatal(err)
	}
	if clock.Waiting() != 3 {
		t.Fatalf("%d timers wait, want 3", clock.Waiting())
	}
	slept := make(chan error, 1)
	go func() { slept <- w.Sleep(context.Background(), time.Hour) }()
	for clock.Waiting() < 4 {
		time.Sleep(time.Millisecond) // until the sleeper has asked for its timer
	}
	w.Close()
	w.Close()
	if err := <-slept; !errors.Is(err, ErrClosed) {
		t.Errorf("sleeper woke with %v", err)
	}
	clock.Advance(time.Hour)
	for _, i := range w.AllInstances() {
		if i.State != StatePending {
			t.Errorf("%s went on to %s in a closed world", i.ID, i.State)
		}
	}
	if err := w.Sleep(context.Background(), 0); err != nil {
		t.Error(err)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	w, clock := testWorld(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := clock.Waiting(); n != 0 {
		t.Errorf("%d timers left", n)
	}
}

// callBack terminates instances as soon as they run, from within the call that says so.
type callBack struct {
	w    *World
	seen map[string][]string
}

func (c *callBack) OnRunning(i Instance) {
	c.seen[i.ID] = append(c.seen[i.ID], "running")
	if _, err := c.w.Terminate([]string{i.ID}); err != nil {
		panic(err)
	}
}
func (c *callBack) OnTerminating(i Instance) {
	c.seen[i.ID] = append(c.seen[i.ID], "terminating")
}
func (c *callBack) OnTerminated(i Instance) { c.seen[i.ID] = append(c.seen[i.ID], "terminated") }

func TestLifecycleCallsMayCallBackAndComeInOrder(t *testing.T) {
	w, clock := testWorld(t, nil)
	subnets := setUp(t, w)
	c := &callBack{w: w, seen: map[string][]string{}}
	w.AddLifecycle(c)
	f, err := w.CreateFleet(fleetOf(4, OnDemand, FleetOverride{InstanceType: "m5.large", SubnetID: subnets[0].ID}))
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	want := map[string][]string{}
	for _, id := range f.Instances[0].IDs {
		want[id] = []string{"running", "terminating", "terminated"}
	}
	if d := cmp.Diff(want, c.seen); d != "" {
		t.Error(d)
	}
}

func TestReclaimEndsASpotInstanceOnce(t *testing.T) {
	w, _ := testWorld(t, nil)
	subnets := setUp(t, w)
	f, err := w.CreateFleet(fleetOf(1, Spot, FleetOverride{InstanceType: "m5.large", SubnetID: subnets[0].ID}))
	if err != nil {
		t.Fatal(err)
	}
	id := f.Instances[0].IDs[0]
	if !w.Reclaim(id) || w.Reclaim(id) || w.Reclaim("i-none") {
		t.Error("reclaim must tell whether there was something to end")
	}
	if i, _ := w.Instance(id); i.State != StateShuttingDown || i.StateReasonCode != "Server.SpotInstanceTermination" {
		t.Errorf("%s, %s", i.State, i.StateReasonCode)
	}
}

func TestOpenReservationsAreUsedFirstAndEndWithTheirTime(t *testing.T) {
	w, clock := testWorld(t, func(o *Options) { o.OnDemandDepth = 1 })
	s := setUp(t, w)[0]
	r, err := w.AddReservation(Reservation{Type: "m5.large", Zone: s.Zone, Total: 2, End: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.CreateFleet(fleetOf(4, OnDemand, FleetOverride{InstanceType: "m5.large", SubnetID: s.ID}))
	if err != nil || f.Count() != 3 || len(f.Errors) != 1 {
		t.Fatalf("%d launched (2 reserved and 1 in stock are there), errors %+v, %v", f.Count(), f.Errors, err)
	}
	reserved := func() (n int) {
		for _, i := range w.AllInstances() {
			if i.CapacityReservationID == r.ID {
				n++
			}
		}
		return n
	}
	if n := reserved(); n != 2 {
		t.Errorf("%d instances use the reservation, want 2", n)
	}
	clock.Advance(2 * time.Hour)
	if n := reserved(); n != 0 || len(w.AllInstances()) != 3 {
		t.Errorf("after its end %d of %d instances use the reservation", n, len(w.AllInstances()))
	}
	if got := w.Reservations()[0]; got.State != "expired" || got.Available != 0 {
		t.Errorf("%+v", got)
	}
}

func TestCapacityBlocksTakeTheirInstancesWithThem(t *testing.T) {
	w, clock := testWorld(t, func(o *Options) { o.Types = []string{"p5.48xlarge"} })
	s := setUp(t, w)[0]
	for _, x := range w.Subnets() {
		if !x.Public && w.Offered("p5.48xlarge", x.Zone) {
			s = x
		}
	}
	r, err := w.AddReservation(Reservation{Type: "p5.48xlarge", Zone: s.Zone, Total: 1, Kind: CapacityBlock, MatchCriteria: "targeted", End: noon.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	data := w.Templates()[0].Versions[0].Data
	data.MarketOptions = &MarketOptions{MarketType: CapacityBlock}
	if _, err := w.Run(RunRequest{Min: 1, Max: 1, Data: data.merge(LaunchData{InstanceType: "p5.48xlarge"}), SubnetID: s.ID}); err == nil {
		t.Error("a capacity block without a reservation was launched")
	}
	data.CapacityReservation = &CapacityReservationSpec{Preference: "capacity-reservations-only", Target: &CapacityReservationTarget{ID: r.ID}}
	made, err := w.Run(RunRequest{Min: 1, Max: 1, Data: data.merge(LaunchData{InstanceType: "p5.48xlarge"}), SubnetID: s.ID})
	if err != nil || made[0].Lifecycle() != CapacityBlock {
		t.Fatalf("%+v, %v", made, err)
	}
	clock.Advance(time.Hour + time.Minute)
	if i, _ := w.Instance(made[0].ID); i.State != StateTerminated {
		t.Errorf("after the block's end the instance is %s", i.State)
	}
}

func TestTheCallLogCountsBeyondItsReach(t *testing.T) {
	w, _ := testWorld(t, nil)
	for i := range maxCalls + 10 {
		op := "DescribeInstances"
		if i%2 == 0 {
			op = "CreateFleet"
		}
		w.RecordCall(Call{Service: "ec2", Operation: op, Outcome: "OK", Request: i})
	}
	if n := w.CallCount("CreateFleet"); n != maxCalls/2+5 {
		t.Errorf("counted %d", n)
	}
	calls := w.Calls("ec2:*")
	if len(calls) > maxCalls || len(calls) < maxCalls/2 {
		t.Errorf("%d calls are kept", len(calls))
	}
	if first, last := calls[0], calls[len(calls)-1]; first.Request != nil || last.Request == nil {
		t.Errorf("inputs: oldest %v, newest %v", first.Request, last.Request)
	}
	if n := len(w.Calls("DescribeInstances")); n != len(calls)/2 {
		t.Errorf("%d of %d", n, len(calls))
	}
	w.ForgetCalls()
	if len(w.Calls("")) != 0 || w.CallCount("CreateFleet") != 0 {
		t.Error("calls are left")
	}
}
