package trial

import "slices"

// Shrink makes a schedule that fails shorter for as long as it still fails: it leaves steps out, in blocks and then one by
// one. fails is asked at most tries times.
func Shrink(s *Schedule, tries int, fails func(*Schedule) bool) *Schedule {
	best := s
	for size := len(best.Steps) / 2; size > 0 && tries > 0; {
		smaller := false
		for from := 0; from+size <= len(best.Steps) && tries > 0; {
			shorter := *best
			shorter.Steps = slices.Delete(slices.Clone(best.Steps), from, from+size)
			tries--
			if fails(&shorter) {
				best, smaller = &shorter, true
				continue
			}
			from += size
		}
		if !smaller || size > 1 {
			size /= 2
		}
	}
	for _, simpler := range []func(*Schedule){
		func(s *Schedule) { s.KillAt = 0 }, func(s *Schedule) { s.Kills = 0 }, func(s *Schedule) { s.Skew = 0 },
	} {
		shorter := *best
		if simpler(&shorter); tries > 0 && (shorter.KillAt != best.KillAt || shorter.Kills != best.Kills || shorter.Skew != best.Skew) {
			tries--
			if fails(&shorter) {
				best = &shorter
			}
		}
	}
	return best
}
