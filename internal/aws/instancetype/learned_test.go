package instancetype_test

import (
	"slices"
	"strings"
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/guestmemory"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/res"
)

// What nodes of some types keep tells what those of others will: larger ones the same, smaller ones their part.
func TestWhatNodesKeepCountsForOtherTypes(t *testing.T) {
	facts, err := ec2facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	types := slices.SortedFunc(slices.Values(facts.Types), func(a, b ec2facts.Type) int { return strings.Compare(a.Name, b.Name) })
	s := &instancetype.Snapshot{Types: types, Zones: make([][]string, len(facts.Types))}
	class := &awsv1.EC2NodeClass{}
	class.Annotations = map[string]string{awsv1.AnnotationEC2NodeClassHash: "7"}
	class.Status.AMIs = []awsv1.AMI{{ID: "ami-1"}}
	cfg, err := instancetype.ConfigOf(class, instancetype.Options{MemoryOverhead: instancetype.DefaultMemoryOverhead})
	if err != nil {
		t.Fatal(err)
	}
	left := func(name string) res.List {
		k, ok := facts.Type(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		shape := instancetype.NewShape(k, nil, cfg)
		out := shape.Type.Capacity.Clone()
		for r, x := range shape.Type.Overhead {
			out[r] -= x
		}
		return out
	}
	before := map[string]res.List{}
	for _, name := range []string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge", "m5.12xlarge"} {
		before[name] = left(name)
	}
	book := guestmemory.NewBook(nil)
	const gib = int64(1) << 30
	book.LearnLeft("m5.xlarge", "ami-1", "7", "n", res.Memory, before["m5.xlarge"][res.Memory]-3*gib, before["m5.xlarge"][res.Memory])
	book.LearnLeft("m5.4xlarge", "ami-1", "7", "n", res.Memory, before["m5.4xlarge"][res.Memory], before["m5.4xlarge"][res.Memory]-3*gib)
	book.LearnLeft("m5.xlarge", "ami-1", "other", "n", res.CPU, 1, 2)
	book.LearnLeft("m5.xlarge", "ami-2", "7", "n", res.CPU, 1, 2)
	cfg.Learned = book.Snapshot()
	cfg.Extra = instancetype.ExtraOf(s, cfg)
	for name, want := range map[string][2]int64{"m5.large": {gib, 2 * gib}, "m5.xlarge": {3 * gib, 3 * gib}, "m5.2xlarge": {3 * gib, 3 * gib}, "m5.4xlarge": {0, 0}} {
		kept := before[name][res.Memory] - left(name)[res.Memory]
		if kept < want[0] || kept > want[1] {
			t.Errorf("%s keeps %d MiB besides, want %d to %d", name, kept>>20, want[0]>>20, want[1]>>20)
		}
		if was, is := before[name][res.CPU], left(name)[res.CPU]; was != is {
			t.Errorf("%s leaves %d millicores in place of %d: of another image, or class", name, is, was)
		}
	}
	// What is short of an instance store says nothing of volumes.
	cfg.RAID0 = true
	disk := func(name string) int64 { return left(name)[res.EphemeralStorage] }
	volume, larger := disk("m5.large"), disk("d2.2xlarge")
	book.LearnLeft("d2.xlarge", "ami-1", "7", "n", res.EphemeralStorage, 17*gib, disk("d2.xlarge"))
	cfg.Learned = book.Snapshot()
	cfg.Extra = instancetype.ExtraOf(s, cfg)
	if got := disk("m5.large"); got != volume {
		t.Errorf("after a node of d2.xlarge, m5.large has %d of %d bytes of ephemeral storage left", got, volume)
	}
	if disk("d2.xlarge") != 17*gib || disk("d2.2xlarge") >= larger {
		t.Errorf("d2.xlarge has %d, d2.2xlarge %d of %d bytes left, want 17 GiB, and less", disk("d2.xlarge"), disk("d2.2xlarge"), larger)
	}
	cfg.RAID0 = false
	// A kubelet's number of pods is the same on all nodes.
	planned := before["m5.4xlarge"][res.Pods]
	book.LearnLeft("m5.4xlarge", "ami-1", "7", "n", res.Pods, 110, planned)
	cfg.Learned = book.Snapshot()
	cfg.Extra = instancetype.ExtraOf(s, cfg)
	if got := left("m5.24xlarge")[res.Pods]; got != 737 {
		t.Errorf("m5.24xlarge takes %d pods after nodes of one other type were seen, want 737", got)
	}
	book.LearnLeft("m5.24xlarge", "ami-1", "7", "n", res.Pods, 110, 737)
	cfg.Learned = book.Snapshot()
	cfg.Extra = instancetype.ExtraOf(s, cfg)
	for name, want := range map[string]int64{"m5.large": before["m5.large"][res.Pods], "m5.xlarge": before["m5.xlarge"][res.Pods], "m5.4xlarge": 110, "m5.12xlarge": 110} {
		if got := left(name)[res.Pods]; got != want {
			t.Errorf("%s takes %d pods, want %d", name, got, want)
		}
	}
}
