package pack

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/plan"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// addressReason says which zones have too few addresses, when none that the types can be launched in under the requirements
// has enough.
func (s *solver) addressReason(p *pool, reqs requirement.Requirements, types catalog.TypeSet) (plan.Reason, bool) {
	if len(s.memory.learned.zones) == 0 {
		return plan.Reason{}, false
	}
	rooms, least, told := s.roomsOf(p.src), int64(-1), []string{}
	seen := map[string]bool{}
	for _, at := range p.cat.CellsMatching(reqs) {
		cell := &p.cat.Cells[at]
		if !types.Intersects(cell.Available) {
			continue
		}
		room := rooms[cell.Zone]
		if room == nil || s.memory.learned.zones[cell.Zone] == 0 {
			return plan.Reason{}, false
		}
		left := room.roomiest().left
		for t := range types.Each {
			if !cell.Available.Has(t) {
				continue
			}
			need := takes(p.cat.Types[t])
			if least < 0 || need < least {
				least = need
			}
			if need <= left && s.memory.learned.zones[cell.Zone] != closed {
				return plan.Reason{}, false
			}
		}
		if !seen[cell.Zone] {
			seen[cell.Zone] = true
			told = append(told, fmt.Sprintf("zone %s has %d left", cell.Zone, max(0, left)))
		}
	}
	if len(told) == 0 {
		return plan.Reason{}, false
	}
	return plan.Reason{Code: plan.NoAddresses, Types: types.Count(), Want: strconv.FormatInt(least, 10), Detail: strings.Join(told, ", ")}, true
}
