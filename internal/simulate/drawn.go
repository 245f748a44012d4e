package simulate

import (
	"slices"
	"strings"
)

// drawnText says what seeds vary, and what they do not.
func drawnText(drawn []string) string {
	if len(drawn) == 0 {
		return ""
	}
	out := "Drawn from the seed: " + inWords(drawn) + "."
	if !slices.Contains(drawn, drawnWorkload) {
		out += " The workload is the same for each seed, so no interval knows of other days: play another workload too."
	}
	return out
}

// moreSeeds is the hint to play more seeds.
func moreSeeds(drawn []string) string {
	out := "There is one seed, so nothing says how much of the differences is chance: play more (--seeds 1-10)."
	if len(drawn) > 0 {
		out += " They vary " + inWords(drawn) + "."
		if !slices.Contains(drawn, drawnWorkload) {
			out = strings.TrimSuffix(out, ".") + ", and not the load."
		}
	}
	return out
}

// inWords is "a, b and c".
func inWords(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
