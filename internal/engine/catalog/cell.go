package catalog

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// cellKeys are the labels that the way of launching decides.
var cellKeys = []string{
	requirement.Zone, requirement.ZoneID, requirement.CapacityType,
	requirement.ReservationID, requirement.ReservationType, requirement.ReservationInterruptible,
	requirement.PlacementPartition,
}

// cellValues are the values of cellKeys for what is launched by the offering, in their order; empty for labels that it has not.
func (o *Offering) cellValues() [7]string {
	interruptible := ""
	if o.ReservationType != "" {
		interruptible = strconv.FormatBool(o.Interruptible)
	}
	return [...]string{o.Zone, o.ZoneID, o.CapacityType, o.ReservationID, o.ReservationType, interruptible, PartitionLabel(o.Partition)}
}

// CellKeys are the labels that the way of launching decides, the one that says most first.
func CellKeys() []string { return slices.Clone(cellKeys) }

// IsCellKey reports whether the way of launching decides the label.
func IsCellKey(name string) bool { return slices.Contains(cellKeys, name) }

// PartitionLabel is the value of the label for a partition of a placement group; empty for none.
func PartitionLabel(partition int32) string {
	if partition == 0 {
		return ""
	}
	return strconv.Itoa(int(partition))
}

func (c *Catalog) isCellKey(key requirement.Key) bool {
	return IsCellKey(c.Vocab.Name(key))
}

func (c *Catalog) buildCells() {
	type id struct {
		zone, zoneID, capacityType, reservation string
		partition                               int32
	}
	found := map[id]int{}
	for i, t := range c.Types {
		for _, o := range t.Offerings {
			k := id{o.Zone, o.ZoneID, o.CapacityType, o.ReservationID, o.Partition}
			at, ok := found[k]
			if !ok {
				at = len(c.Cells)
				found[k] = at
				c.Cells = append(c.Cells, c.newCell(o))
			}
			cell := &c.Cells[at]
			cell.Exists.Add(i)
			if o.Available && (o.CapacityType != Reserved || o.Reservable > 0) {
				cell.Available.Add(i)
				cell.Price[i] = min(cell.Price[i], o.Price)
			}
		}
	}
	slices.SortFunc(c.Cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.ZoneID, b.ZoneID),
			cmp.Compare(a.CapacityType, b.CapacityType), cmp.Compare(a.ReservationID, b.ReservationID), cmp.Compare(a.Partition, b.Partition))
	})
}

func (c *Catalog) newCell(o Offering) Cell {
	cell := Cell{
		Zone: o.Zone, ZoneID: o.ZoneID, CapacityType: o.CapacityType, ReservationID: o.ReservationID, Partition: o.Partition,
		Price:     make([]MicroUSD, len(c.Types)),
		Available: NewTypeSet(len(c.Types)),
		Exists:    NewTypeSet(len(c.Types)),
	}
	for i := range cell.Price {
		cell.Price[i] = NoPrice
	}
	labels := map[string]string{}
	for i, value := range o.cellValues() {
		if value != "" {
			labels[cellKeys[i]] = value
		}
	}
	cell.labels = c.Vocab.Labels(labels)
	return cell
}

// CellsMatching are the positions of the cells that reqs allow.
func (c *Catalog) CellsMatching(reqs requirement.Requirements) []int {
	var out []int
	for i := range c.Cells {
		if c.cellMatches(i, reqs) {
			out = append(out, i)
		}
	}
	return out
}

func (c *Catalog) cellMatches(i int, reqs requirement.Requirements) bool {
	for key, set := range reqs.All {
		if !c.isCellKey(key) {
			continue
		}
		have, ok := c.Cells[i].labels.Get(key)
		if (ok && !have.Intersects(set)) || (!ok && !set.AllowsAbsent()) {
			return false
		}
	}
	return true
}

// Label is the value that launching in the cell gives a key; false if the cell does not decide it.
func (cell *Cell) Label(key requirement.Key) (string, bool) {
	set, ok := cell.labels.Get(key)
	if !ok {
		return "", false
	}
	return set.Single()
}

// Decides reports whether a type or the way to launch it says anything about the label.
func (c *Catalog) Decides(key requirement.Key) bool {
	return c.labels[key] != nil || c.isCellKey(key)
}
