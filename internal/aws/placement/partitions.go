package placement

import (
	"slices"
	"sync"
	"time"
)

// onTheWay is how long an instance that was asked for counts where it was asked for, unless it is seen before.
const onTheWay = 5 * time.Minute

// Partitions chooses the partitions of instances so that those of a group are used evenly.
//
// Concurrency: safe.
type Partitions struct {
	now func() time.Time

	mu     sync.Mutex
	chosen map[string]choice // by the claim's UID
}

// choice is where the instance of a claim is to stand. instance is empty while it is not launched.
type choice struct {
	group     string
	partition int32
	instance  string
	at        time.Time
}

// Placed is an instance in a group.
type Placed struct {
	Instance  string
	Partition int32
}

// NewPartitions returns one that has chosen nothing yet.
func NewPartitions(now func() time.Time) *Partitions {
	return &Partitions{now: now, chosen: map[string]choice{}}
}

// Choose gives a claim the allowed partition with the fewest instances: those that are seen in it, and those that are on their
// way by earlier choices. Of equal ones it is the first. The same claim gets the same one again, as long as that is allowed.
// It is 0 when none is allowed. A choice for no claim is not remembered.
func (p *Partitions) Choose(claim, group string, allowed []int32, seen []Placed) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	used, known := map[int32]int{}, make(map[string]bool, len(seen))
	for _, m := range seen {
		used[m.Partition]++
		known[m.Instance] = true
	}
	for uid, c := range p.chosen {
		switch {
		case now.Sub(c.at) >= onTheWay:
			delete(p.chosen, uid)
		case c.group != group:
		case uid == claim && slices.Contains(allowed, c.partition):
			return c.partition
		case c.instance != "" && known[c.instance]:
			delete(p.chosen, uid)
		case uid != claim:
			used[c.partition]++
		}
	}
	if len(allowed) == 0 {
		return 0
	}
	best := slices.MinFunc(allowed, func(a, b int32) int { return used[a] - used[b] })
	if claim == "" {
		return best // nobody's, to look ahead only
	}
	p.chosen[claim] = choice{group: group, partition: best, at: now}
	return best
}

// Launched tells which instance a claim got.
func (p *Partitions) Launched(claim, instance string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.chosen[claim]; ok {
		c.instance = instance
		p.chosen[claim] = c
	}
}

// Refused tells that a claim got no instance, so that its next try may choose again.
func (p *Partitions) Refused(claim string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.chosen, claim)
}
