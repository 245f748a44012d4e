package ec2facts

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func facts(t testing.TB) *Facts {
	t.Helper()
	f, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestKnownTypes(t *testing.T) {
	f := facts(t)
	m5, ok := f.Type("m5.large")
	if !ok {
		t.Fatal("m5.large is missing")
	}
	want := &Type{
		Name: "m5.large", Architectures: []string{"x86_64"}, CPUMaker: "Intel", VCPUs: 2, Cores: 1, ThreadsPerCore: 2, ClockMHz: 3100,
		ValidCores: []int{1}, ValidThreads: []int{1, 2}, MemoryMiB: 8192, GuestMemoryMiB: 7811, Hypervisor: "nitro",
		UsageClasses: []string{"on-demand", "spot"}, Virtualization: []string{"hvm"}, BootModes: []string{"legacy-bios", "uefi"},
		RootDevices: []string{"ebs"}, Hibernation: true, DedicatedHosts: true, AutoRecovery: true, NitroEnclaves: Unsupported,
		TPMVersions: []string{"2.0"}, PlacementStrategies: []string{"cluster", "partition", "spread"}, RebootMigration: Supported,
		EBS: EBS{Optimized: ByDefault, NVMe: Required, MaxAttachments: 27, AttachmentKind: "shared", BaselineMbps: 650, MaxMbps: 4750,
			BaselineIOPS: 3600, MaxIOPS: 18750, BaselineThroughput: 81.25, MaxThroughput: 593.75},
		Network: Network{Performance: "Up to 10 Gigabit", ENIsPerCard: []int{3}, IPv4PerENI: 10, IPv6: true, IPv6PerENI: 10,
			BaselineMbps: 750, PeakMbps: 10000, ENA: Required},
		Trunking: m5.Trunking, BranchENIs: 9, EKSMaxPods: 29,
	}
	if diff := cmp.Diff(want, m5); diff != "" {
		t.Errorf("m5.large differs (-want +got):\n%s", diff)
	}
	if p5, _ := f.Type("p5.48xlarge"); p5.Network.MaxENIs() != 64 || p5.Network.DefaultENIs() != 2 || p5.GPU.Count != 8 || p5.Network.MaxEFA != 32 {
		t.Errorf("p5.48xlarge: %d interfaces, %d on the default card, %d GPUs, %d EFA", p5.Network.MaxENIs(), p5.Network.DefaultENIs(), p5.GPU.Count, p5.Network.MaxEFA)
	}
	if _, ok := f.Type("m5.huge"); ok {
		t.Error("m5.huge is known, though there is no such type")
	}
}

func TestEveryTypeIsPlausible(t *testing.T) {
	f := facts(t)
	if len(f.Types) < 1300 {
		t.Errorf("only %d types", len(f.Types))
	}
	if !slices.IsSortedFunc(f.Types, func(a, b Type) int { return Compare(&a, &b) }) {
		t.Error("types are not sorted")
	}
	for i := range f.Types {
		x := &f.Types[i]
		bad := func(what string, got any) { t.Errorf("%s: %s is %v", x.Name, what, got) }
		if x.VCPUs < 1 || x.VCPUs > 2048 || x.Cores < 1 || x.Cores > x.VCPUs {
			bad("vCPUs and cores", [2]int{x.VCPUs, x.Cores})
		}
		if x.MemoryMiB < 256 || x.MemoryMiB > 64<<20 {
			bad("memory", x.MemoryMiB)
		}
		if x.GuestMemoryMiB != 0 && (x.GuestMemoryMiB >= x.MemoryMiB || x.GuestMemoryMiB < x.MemoryMiB*3/4) {
			bad("guest memory against stated", [2]int{x.GuestMemoryMiB, x.MemoryMiB})
		}
		if len(x.Architectures) == 0 || len(x.UsageClasses) == 0 && x.LastSeen == "" {
			bad("architectures, usage", [2][]string{x.Architectures, x.UsageClasses})
		}
		n := &x.Network
		if n.DefaultENIs() < 1 || n.IPv4PerENI < 1 {
			bad("interfaces and addresses", [2]int{n.DefaultENIs(), n.IPv4PerENI})
		}
		if x.EKSMaxPods != 0 && x.EKSMaxPods != n.DefaultENIs()*(n.IPv4PerENI-1)+2 {
			bad("pod limit", x.EKSMaxPods)
		}
		if x.BareMetal != (x.Hypervisor == "") {
			bad("hypervisor of a type whose bare-metal flag is "+map[bool]string{true: "set", false: "clear"}[x.BareMetal], x.Hypervisor)
		}
		if x.LastSeen != "" {
			if _, err := time.Parse(time.DateOnly, x.LastSeen); err != nil {
				bad("day last seen", err)
			}
		}
	}
}

func TestSourcesAreDated(t *testing.T) {
	f := facts(t)
	for _, s := range f.Sources {
		if s.Part == "" || s.Licence == "" || s.Origin == "" || s.Date == "" && s.Part != "on-demand estimates" {
			t.Errorf("source %+v is incomplete", s)
		}
	}
	if len(f.Sources) < 5 {
		t.Errorf("only %d sources", len(f.Sources))
	}
}

func TestOfferings(t *testing.T) {
	f := facts(t)
	got, basis := f.Offerings("us-east-1")
	want := []string{"us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d", "us-east-1f"}
	if diff := cmp.Diff(want, got["m5.large"]); diff != "" || basis != Exact {
		t.Errorf("basis %s, m5.large in us-east-1 differs:\n%s", basis, diff)
	}
	zones, basis := f.Zones("us-gov-west-1")
	if diff := cmp.Diff(Zone{"us-gov-west-1b", "usgw1-az2"}, zones[1]); diff != "" || basis != Borrowed {
		t.Errorf("zones of a region without data: basis %s\n%s", basis, diff)
	}
	got, basis = f.Offerings("us-gov-west-1")
	if len(got["m5.large"]) != 3 || basis != Borrowed {
		t.Errorf("offerings of a region without data: m5.large in %v, basis %s", got["m5.large"], basis)
	}
	for _, region := range f.Regions() {
		zones, _ := f.Zones(region)
		for _, z := range zones {
			if !strings.HasPrefix(z.Name, region) || !strings.Contains(z.ID, "-az") {
				t.Errorf("%s has zone %+v", region, z)
			}
		}
	}
}

func TestPrices(t *testing.T) {
	f := facts(t)
	for name, c := range map[string]struct {
		region, instanceType string
		want                 Price
	}{
		"a listed price":                    {"us-east-1", "m5.large", Price{96000, Exact, "2026-07-20"}},
		"another region's own price":        {"eu-west-1", "m5.large", Price{107000, Exact, "2025-05-28"}},
		"a region that nothing is known of": {"xx-nowhere-1", "m5.large", Price{96000, Borrowed, "2026-07-20"}},
		"another partition's fallback":      {"cn-northwest-1", "m5.large", Price{f.OnDemand("cn-north-1").Prices["m5.large"].MicroUSD, Borrowed, "2024-11-06"}},
	} {
		if diff := cmp.Diff(c.want, f.OnDemand(c.region).Prices[c.instanceType]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if c := f.OnDemand("cn-north-1").Currency; c != "CNY" {
		t.Errorf("cn-north-1 has prices in %s", c)
	}
	table := f.OnDemand("eu-west-1")
	if table.Estimates != 347 || table.Oldest != "2025-05-28" || table.Newest != "2025-05-28" || table.BorrowedFrom != "" {
		t.Errorf("eu-west-1: %d estimates, %s to %s, borrowed from %q", table.Estimates, table.Oldest, table.Newest, table.BorrowedFrom)
	}
	for _, region := range f.Regions() {
		for name, p := range f.OnDemand(region).Prices {
			if p.MicroUSD < 1000 || p.MicroUSD > 5_000_000_000 {
				t.Errorf("%s costs %d in %s", name, p.MicroUSD, region)
			}
		}
	}
}

func TestSpot(t *testing.T) {
	f := facts(t)
	offered, _ := f.Offerings("us-east-1")
	zoneQuote, ok := f.Spot("us-east-1", "us-east-1a", "a1.medium")
	if diff := cmp.Diff(Price{MicroUSD: 12300, Basis: Exact, Date: "2024-01-09..2024-02-01"}, zoneQuote); diff != "" || !ok {
		t.Errorf("a1.medium in us-east-1a:\n%s", diff)
	}
	bases := map[Basis]int{}
	for _, region := range append(f.Regions(), "xx-nowhere-1") {
		od := f.OnDemand(region).Prices
		zones, _ := f.Zones(region)
		for i := range f.Types {
			x := &f.Types[i]
			for _, z := range zones {
				p, ok := f.Spot(region, z.Name, x.Name)
				if ok && (p.MicroUSD <= 0 || od[x.Name].MicroUSD > 0 && p.MicroUSD > od[x.Name].MicroUSD) {
					t.Errorf("spot price of %s in %s is %d, on-demand %d", x.Name, z.Name, p.MicroUSD, od[x.Name].MicroUSD)
				}
				if ok && !slices.Contains(x.UsageClasses, "spot") {
					t.Errorf("%s has a spot price but is not sold as spot", x.Name)
				}
				if !ok && region == "us-east-1" && slices.Contains(offered[x.Name], z.Name) && slices.Contains(x.UsageClasses, "spot") && od[x.Name].MicroUSD > 0 {
					t.Errorf("%s has no spot price in %s", x.Name, z.Name)
				}
				if ok && (p.Date == "") != (p.Basis == Estimated) && p.Basis != Borrowed {
					t.Errorf("the spot price of %s in %s rests on %q of %q", x.Name, z.Name, p.Basis, p.Date)
				}
				bases[p.Basis]++
			}
		}
	}
	for _, b := range []Basis{Exact, ZoneUnknown, Advised, Estimated, Borrowed} {
		if bases[b] == 0 {
			t.Errorf("no spot price rests on %q", b)
		}
	}
	if a, ok := f.SpotAdvice("eu-west-1", "m5.large"); !ok || a.SavingPercent == 0 || a.Interrupted == "" {
		t.Errorf("spot advice of m5.large in eu-west-1: %+v, %v", a, ok)
	}
}

func TestFileRoundTrip(t *testing.T) {
	f := facts(t)
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), embedded) {
		t.Errorf("the embedded file encodes to different bytes (%d, not %d); run go generate", b.Len(), len(embedded))
	}
	if b.Len() > 600_000 {
		t.Errorf("the file has %d bytes", b.Len())
	}
	again, err := Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, again, cmp.AllowUnexported(Facts{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("decoding what was encoded differs:\n%.2000s", diff)
	}
}

func TestBadFilesAreRefusedByLine(t *testing.T) {
	head := magic + "\t" + formatVersion + "\n"
	var names []string
	for _, c := range typeColumns {
		names = append(names, c.name)
	}
	types := head + "@types\t" + strings.Join(names, "\t") + "\nm5.large" + strings.Repeat("\t", len(typeColumns)-1) + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"another format":           {"hello\n", "line 1"},
		"a newer version":          {magic + "\t9\n", "line 1"},
		"no types":                 {head, "lists no instance types"},
		"no column of names":       {head + "@types\tvcpus\n", "no column"},
		"a short row":              {types + "c5.large\t\n", "line 4 of the facts file: a type has 2 fields"},
		"a region before types":    {head + "@region\tx\tUSD\n", "before the types"},
		"an unknown type":          {types + "@region\tx\tUSD\nprice\t2026-01-01\tm5\txlarge:1\n", `"m5.xlarge", which is not listed`},
		"a price that is no count": {types + "@region\tx\tUSD\nprice\t2026-01-01\tm5\tlarge:-1\n", "not positive"},
		"a mask beyond the zones":  {types + "@region\tx\tUSD\nzones\txa=x-az1\noffered\t\tm5\tlarge:2\n", "more zones"},
		"an unknown kind":          {types + "@region\tx\tUSD\nfoo\t\tm5\tlarge:2\n", `unknown kind of row "foo"`},
		"a type listed twice":      {types + "m5.large" + strings.Repeat("\t", len(typeColumns)-1) + "\n", "listed twice"},
		"a nameless type":          {types + strings.Repeat("\t", len(typeColumns)-1) + "\n", "not of the form"},
		"a number that is none":    {types + "c5.large" + strings.Repeat("\tx", len(typeColumns)-1) + "\n", `type "c5.large", column`},
	} {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(c.text))
		z.Close()
		if _, err := Decode(&b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	if _, err := Decode(strings.NewReader("plain")); err == nil {
		t.Error("a file that is not packed was read")
	}
	if _, err := Decode(bytes.NewReader(embedded[:len(embedded)/2])); err == nil {
		t.Error("half a file was read")
	}
}

func TestParseMicro(t *testing.T) {
	for s, want := range map[string]int64{
		"0.0960000000": 96000, "1": 1_000_000, "0": 0, ".5": 500_000, "5.": 5_000_000, "0.0000005": 1, "0.00000049": 0,
		"0.9999995": 1_000_000, "98.3200000000": 98_320_000, "0.096": 96000, "40.96575": 40_965_750,
	} {
		if got, err := ParseMicro(s); err != nil || got != want {
			t.Errorf("ParseMicro(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", ".", "-1", "1e3", "1,5", "0x1", "1.2.3", " 1", "99999999999999999999"} {
		if got, err := ParseMicro(s); err == nil {
			t.Errorf("ParseMicro(%q) = %d, want an error", s, got)
		}
	}
}

func TestRuns(t *testing.T) {
	for _, in := range [][]int{nil, {3}, {2, 2, 2}, {8, 8, 4}, {1, 2, 2, 3}} {
		got, err := parseRuns(formatRuns(in))
		if err != nil || !slices.Equal(got, in) {
			t.Errorf("%v comes back as %v, %v", in, got, err)
		}
	}
	if _, err := parseRuns("1000000000x1"); err == nil {
		t.Error("a run of a billion was accepted")
	}
}

func BenchmarkDecode(b *testing.B) {
	for b.Loop() {
		if _, err := Decode(bytes.NewReader(embedded)); err != nil {
			b.Fatal(err)
		}
	}
}
