package landing

import (
	"encoding/binary"

	"github.com/kerf-sh/kerf/internal/cluster"
)

// lane is what kinds have in common to which the same nodes look alike, in parts that lie in the same domains.
type lane struct {
	id    int
	kind  *kind // any of them
	parts []part
	// wide and host are the demands by domain and by node; all kinds of a lane that has any are one.
	wide, host []demand
}

// part is the seats of a lane that are in the same domains of all its wide demands.
type part struct {
	domains []int
	seats   []place
}

type place struct {
	seat    int32
	verdict verdict
}

// laneOf finds the lane of a kind. Kinds without demands share one when they ask for the same.
func (b *boardLanes) laneOf(k *kind) *lane {
	if k.lane != nil {
		return k.lane
	}
	name := ""
	if len(k.demands) == 0 {
		c := k.class
		bare := &cluster.Class{Requests: c.Requests, Selector: c.Selector, Affinity: c.Affinity, Volumes: c.Volumes, Tolerations: c.Tolerations,
			HostPorts: c.HostPorts, Attach: c.Attach, Shared: c.Shared, Unplaceable: c.Unplaceable}
		name = bare.Hash()
		if l := b.byName[name]; l != nil {
			k.lane = l
			return l
		}
	}
	l := &lane{id: len(b.all), kind: k}
	for _, d := range k.demands {
		if d.tally.column.byHost {
			l.host = append(l.host, d)
		} else {
			l.wide = append(l.wide, d)
		}
	}
	l.divide(b.board)
	k.lane = l
	b.all = append(b.all, l)
	if name != "" {
		b.byName[name] = l
	}
	return l
}

// boardLanes are the lanes of a board, made as they are asked for.
type boardLanes struct {
	board  *Board
	byName map[string]*lane
	all    []*lane
}

// divide finds the seats that suit the lane and parts them by domain.
func (l *lane) divide(b *Board) {
	if l.kind.impossible {
		return
	}
	at := map[string]int{}
	var domains []int
	var name []byte
	for i, s := range b.seats {
		if !l.kind.req.Fits(s.room) {
			continue // room only shrinks
		}
		v := judge(l.kind.class, s)
		if v == barred {
			continue
		}
		domains, name = domains[:0], name[:0]
		lacks := false
		for _, d := range l.wide {
			x := d.tally.column.of[i]
			lacks = lacks || x < 0 && d.kind != apart
			domains, name = append(domains, x), binary.AppendVarint(name, int64(x))
		}
		if lacks {
			continue
		}
		n, known := at[string(name)]
		if !known {
			n = len(l.parts)
			at[string(name)] = n
			l.parts = append(l.parts, part{domains: append([]int(nil), domains...)})
		}
		l.parts[n].seats = append(l.parts[n].seats, place{int32(i), v})
	}
}
