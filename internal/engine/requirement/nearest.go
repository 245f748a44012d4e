package requirement

import (
	"math"
	"slices"
	"strings"
)

// Nearest finds the known word that looks most like the given one, if any is close enough to be a slip of the pen.
// Of words with a slash only what differs of the last part counts when the rest is the same: names under one domain look
// alike all the same.
func Nearest(word string, known []string) string {
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	domain := word[:strings.LastIndexByte(word, '/')+1]
	best, bestAt := "", math.MaxInt
	for _, k := range slices.Compact(sorted) {
		if k == word {
			continue
		}
		near := len(word)/4 + 2
		if domain != "" && strings.HasPrefix(k, domain) {
			near = (len(word)-len(domain))/4 + 2
		}
		if d := editDistance(word, k); d < min(near, bestAt) {
			best, bestAt = k, d
		}
	}
	return best
}

// editDistance counts the letters to insert, drop or change.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
