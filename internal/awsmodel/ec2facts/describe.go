package ec2facts

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Description is what is known of a type, and of its offerings and prices in a region.
type Description struct {
	Type              string   `json:"type"`
	CurrentGeneration bool     `json:"currentGeneration"`
	LastSeen          string   `json:"lastSeen,omitempty"` // the day a retired type was last offered
	VCPUs             int      `json:"vCPUs"`
	Cores             int      `json:"cores"`
	CPUMaker          string   `json:"cpuMaker"`
	Architectures     []string `json:"architectures"`
	ClockMHz          int      `json:"clockMHz,omitempty"`
	MemoryMiB         int      `json:"memoryMiB"`
	// GuestMemoryMiB is what a Linux guest was measured to see; 0 when nobody measured.
	GuestMemoryMiB int      `json:"guestMemoryMiB,omitempty"`
	GPU            *GPU     `json:"gpu,omitempty"`
	Neuron         *Neuron  `json:"neuron,omitempty"`
	Disks          *Disks   `json:"disks,omitempty"`
	Network        string   `json:"network"`
	BaselineMbps   int      `json:"baselineMbps"`
	Interfaces     int      `json:"interfaces"`
	IPv4PerENI     int      `json:"ipv4PerInterface"`
	Pods           int      `json:"pods"`
	EBS            EBS      `json:"ebs"`
	SoldAs         []string `json:"soldAs"`

	Region     string  `json:"region"`
	Currency   string  `json:"currency"`
	OnDemand   *Quote  `json:"onDemand,omitempty"` // without one, no price is known
	Zones      []Offer `json:"zones"`              // without one, the type is not offered in the region
	ZonesBasis Basis   `json:"zonesBasis"`
	// Interrupted is the band of the share of spot instances that are reclaimed in a month, in percent.
	Interrupted string `json:"spotInterruptedPercentPerMonth,omitempty"`
}

// Quote is a price an hour, a decimal number, and where it is from.
type Quote struct {
	Price        string `json:"price"`
	Basis        Basis  `json:"basis"`
	Date         string `json:"date,omitempty"`
	BorrowedFrom string `json:"borrowedFrom,omitempty"` // another region
}

// Offer is a zone in which a type is offered.
type Offer struct {
	Name string `json:"name"`
	Spot *Quote `json:"spot,omitempty"`
}

// Describe collects what is known of a type in a region.
//
// Errors: a type that is not known; the message names those that begin alike.
func (f *Facts) Describe(instanceType, region string) (*Description, error) {
	t, ok := f.Type(instanceType)
	if !ok {
		return nil, fmt.Errorf("instance type %q is not known%s", instanceType, f.alike(instanceType))
	}
	table := f.OnDemand(region)
	d := &Description{
		Type: t.Name, CurrentGeneration: t.CurrentGeneration, LastSeen: t.LastSeen,
		VCPUs: t.VCPUs, Cores: t.Cores, CPUMaker: t.CPUMaker, Architectures: t.Architectures, ClockMHz: t.ClockMHz,
		MemoryMiB: t.MemoryMiB, GuestMemoryMiB: t.GuestMemoryMiB,
		Network: t.Network.Performance, BaselineMbps: t.Network.BaselineMbps,
		Interfaces: t.Network.DefaultENIs(), IPv4PerENI: t.Network.IPv4PerENI, Pods: t.Network.DefaultENIs()*(t.Network.IPv4PerENI-1) + 2,
		EBS: t.EBS, SoldAs: t.UsageClasses,
		Region: region, Currency: table.Currency, Zones: []Offer{},
	}
	if t.GPU.Name != "" {
		d.GPU = &t.GPU
	}
	if t.Neuron.Devices > 0 {
		d.Neuron = &t.Neuron
	}
	if t.Disks.TotalGB > 0 {
		d.Disks = &t.Disks
	}
	if p, ok := table.Prices[t.Name]; ok {
		d.OnDemand = &Quote{Decimal(p.MicroUSD), p.Basis, p.Date, table.BorrowedFrom}
	}
	offerings, basis := f.Offerings(region)
	d.ZonesBasis = basis
	for _, name := range offerings[t.Name] {
		zone := Offer{Name: name}
		if p, ok := f.Spot(region, name, t.Name); ok {
			zone.Spot = &Quote{Price: Decimal(p.MicroUSD), Basis: p.Basis, Date: p.Date}
		}
		d.Zones = append(d.Zones, zone)
	}
	if a, ok := f.SpotAdvice(region, t.Name); ok && len(d.Zones) > 0 {
		d.Interrupted = a.Interrupted
	}
	return d, nil
}

// Write prints the description for people.
func (d *Description) Write(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		if s := fmt.Sprintf(format, args...); strings.TrimSpace(s) != "" {
			fmt.Fprintf(out, "%s\t%s\n", label, s)
		}
	}
	state := "current generation"
	if !d.CurrentGeneration {
		state = "previous generation"
	}
	if d.LastSeen != "" {
		state = "retired, last seen " + d.LastSeen
	}
	line("Type", "%s (%s)", d.Type, state)
	line("CPU", "%d vCPUs, %d cores, %s %s%s", d.VCPUs, d.Cores, d.CPUMaker, strings.Join(d.Architectures, "/"), clock(d.ClockMHz))
	if d.GuestMemoryMiB > 0 {
		line("Memory", "%d MiB, of which a Linux guest sees %d", d.MemoryMiB, d.GuestMemoryMiB)
	} else {
		line("Memory", "%d MiB (what a guest sees was not measured)", d.MemoryMiB)
	}
	if g := d.GPU; g != nil {
		line("GPU", "%d × %s %s, %d MiB each", g.Count, g.Maker, g.Name, g.MemoryMiB)
	}
	if n := d.Neuron; n != nil {
		line("Neuron", "%d × %s, %d cores each", n.Devices, n.Name, n.CoresPerDevice)
	}
	if d.Disks != nil {
		line("Disks", "%d × %d GB %s", d.Disks.Count, d.Disks.EachGB, d.Disks.Kind)
	}
	line("Network", "%s, %g Gbps baseline, %d interfaces × %d IPv4, %d pods", d.Network, float64(d.BaselineMbps)/1000, d.Interfaces, d.IPv4PerENI, d.Pods)
	line("EBS", "%d to %d Mbps, %d attachments (%s)", d.EBS.BaselineMbps, d.EBS.MaxMbps, d.EBS.MaxAttachments, d.EBS.AttachmentKind)
	line("Sold as", "%s", strings.Join(d.SoldAs, ", "))
	if p := d.OnDemand; p != nil {
		line("On-demand", "%s %s an hour in %s (%s)", p.Price, d.Currency, d.Region, p.from())
	} else {
		line("On-demand", "no price known in %s", d.Region)
	}
	d.writeZones(line)
	return out.Flush()
}

func (d *Description) writeZones(line func(string, string, ...any)) {
	if len(d.Zones) == 0 {
		line("Zones", "not offered in %s", d.Region)
		return
	}
	var names []string
	for _, zone := range d.Zones {
		names = append(names, zone.Name)
	}
	if d.ZonesBasis != Exact {
		line("Zones", "%s (%s; the offerings of %s are not known)", strings.Join(names, ", "), d.ZonesBasis, d.Region)
	} else {
		line("Zones", "%s", strings.Join(names, ", "))
	}
	for _, zone := range d.Zones {
		if zone.Spot != nil {
			line("Spot "+zone.Name, "%s %s an hour (%s)", zone.Spot.Price, d.Currency, zone.Spot.Basis)
		}
	}
	if d.Interrupted != "" {
		line("Interrupted", "%s %% of instances in a month", d.Interrupted)
	}
}

func (q *Quote) from() string {
	switch {
	case q.BorrowedFrom != "":
		return fmt.Sprintf("borrowed from %s, %s", q.BorrowedFrom, q.Date)
	case q.Date != "":
		return "listed " + q.Date
	}
	return string(q.Basis)
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
