package bound

import "github.com/kerf-sh/kerf/internal/engine/res"

// stepsOf are the largest amounts of which all requests are multiples, by resource. Whole pods use whole steps only.
func stepsOf(schema *res.Schema, rows []row) []int64 {
	steps := make([]int64, schema.Len())
	for i := range rows {
		for r, x := range rows[i].exact {
			a, b := steps[r], x
			for b != 0 {
				a, b = b, a%b
			}
			steps[r] = a
		}
	}
	for r := range steps {
		steps[r] = max(1, steps[r])
	}
	return steps
}
