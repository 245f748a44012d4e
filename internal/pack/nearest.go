package pack

import "slices"

// nearest finds the known word that looks most like the given one, if any is close enough to be a slip of the pen.
func nearest(word string, known []string) string {
	sorted := slices.Clone(known)
	slices.Sort(sorted)
	best, bestAt := "", len(word)/4+2
	for _, k := range slices.Compact(sorted) {
		if k == word {
			continue
		}
		if d := editDistance(word, k); d < bestAt {
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
