package ec2facts

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Describe prints what is known of a type, and of its offerings and prices in a region.
//
// Errors: a type that is not known; the message names those that begin alike.
func (f *Facts) Describe(w io.Writer, instanceType, region string) error {
	t, ok := f.Type(instanceType)
	if !ok {
		return fmt.Errorf("instance type %q is not known%s", instanceType, f.alike(instanceType))
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		if s := fmt.Sprintf(format, args...); strings.TrimSpace(s) != "" {
			fmt.Fprintf(out, "%s\t%s\n", label, s)
		}
	}
	state := "current generation"
	if !t.CurrentGeneration {
		state = "previous generation"
	}
	if t.LastSeen != "" {
		state = "retired, last seen " + t.LastSeen
	}
	line("Type", "%s (%s)", t.Name, state)
	line("CPU", "%d vCPUs, %d cores, %s %s%s", t.VCPUs, t.Cores, t.CPUMaker, strings.Join(t.Architectures, "/"), clock(t.ClockMHz))
	if t.GuestMemoryMiB > 0 {
		line("Memory", "%d MiB, of which a Linux guest sees %d", t.MemoryMiB, t.GuestMemoryMiB)
	} else {
		line("Memory", "%d MiB (what a guest sees was not measured)", t.MemoryMiB)
	}
	if t.GPU.Name != "" {
		line("GPU", "%d × %s %s, %d MiB each", t.GPU.Count, t.GPU.Maker, t.GPU.Name, t.GPU.MemoryMiB)
	}
	if t.Neuron.Devices > 0 {
		line("Neuron", "%d × %s, %d cores each", t.Neuron.Devices, t.Neuron.Name, t.Neuron.CoresPerDevice)
	}
	if t.Disks.TotalGB > 0 {
		line("Disks", "%d × %d GB %s", t.Disks.Count, t.Disks.EachGB, t.Disks.Kind)
	}
	line("Network", "%s, %g Gbps baseline, %d interfaces × %d IPv4, %d pods", t.Network.Performance, float64(t.Network.BaselineMbps)/1000,
		t.Network.DefaultENIs(), t.Network.IPv4PerENI, t.Network.DefaultENIs()*(t.Network.IPv4PerENI-1)+2)
	line("EBS", "%d to %d Mbps, %d attachments (%s)", t.EBS.BaselineMbps, t.EBS.MaxMbps, t.EBS.MaxAttachments, t.EBS.AttachmentKind)
	line("Sold as", "%s", strings.Join(t.UsageClasses, ", "))
	f.describePrices(line, t, region)
	return out.Flush()
}

func (f *Facts) describePrices(line func(string, string, ...any), t *Type, region string) {
	table := f.OnDemand(region)
	if p, ok := table.Prices[t.Name]; ok {
		line("On-demand", "%s %s an hour in %s (%s)", Decimal(p.MicroUSD), table.Currency, region, basisText(p, table.BorrowedFrom))
	} else {
		line("On-demand", "no price known in %s", region)
	}
	offerings, basis := f.Offerings(region)
	zones := offerings[t.Name]
	if len(zones) == 0 {
		line("Zones", "not offered in %s", region)
		return
	}
	if basis != Exact {
		line("Zones", "%s (%s; the offerings of %s are not known)", strings.Join(zones, ", "), basis, region)
	} else {
		line("Zones", "%s", strings.Join(zones, ", "))
	}
	for _, zone := range zones {
		if p, ok := f.Spot(region, zone, t.Name); ok {
			line("Spot "+zone, "%s %s an hour (%s)", Decimal(p.MicroUSD), table.Currency, p.Basis)
		}
	}
	if a, ok := f.SpotAdvice(region, t.Name); ok {
		line("Interrupted", "%s %% of instances in a month", a.Interrupted)
	}
}

func basisText(p Price, from string) string {
	switch {
	case from != "":
		return fmt.Sprintf("borrowed from %s, %s", from, p.Date)
	case p.Date != "":
		return "listed " + p.Date
	}
	return string(p.Basis)
}

func clock(mhz int) string {
	if mhz == 0 {
		return ""
	}
	return fmt.Sprintf(", %g GHz", float64(mhz)/1000)
}

// Decimal writes millionths as a decimal number without needless zeros.
func Decimal(micro int64) string {
	s := fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// alike names up to eight types of the family that a wrong name begins with.
func (f *Facts) alike(name string) string {
	family, _ := SplitName(name)
	var out []string
	for i := range f.Types {
		if got, _ := SplitName(f.Types[i].Name); got == family && len(out) < 8 {
			out = append(out, f.Types[i].Name)
		}
	}
	if out == nil {
		return ""
	}
	return "; of that family there are " + strings.Join(out, ", ")
}
