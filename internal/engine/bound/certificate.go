package bound

import "github.com/kerf-sh/kerf/internal/engine/res"

// Certificate proves a bound; see the package comment for how. It is plain data in whole numbers.
type Certificate struct {
	// Rows give each class its value, sorted by class. Classes that are not listed are worth nothing.
	Rows []Row `json:"rows"`
	// Weights of resources, each a proof for the instances that it fits.
	Weights []Weights `json:"weights"`
	// Whole is how much more than the pods are worth they cost at least because instances are launched whole, in nano-USD per
	// hour. The checker goes through all ways to serve the pods to see that no way costs less, and takes less where one does.
	Whole int64 `json:"whole,omitempty"`
}

// Row is the value of the pods of one class.
type Row struct {
	Class string `json:"class"` // its ID
	Count int    `json:"count"`
	// Value of a pod in nano-USD per hour.
	Value int64 `json:"value"`
	// Zones gives the value by zone in place of Value, for a class with a spread over zones: the certificate then counts on
	// the spread.
	Zones map[string]int64 `json:"zones,omitempty"`
}

// Weights give each resource a price in nano-USD per hour, for as much of it as Unit says.
type Weights map[string]int64

// Unit is the amount of a resource that a weight is for: 2^40 for bytes, which is a TiB, and 2^20 for everything else.
// Powers of two let the checker add without rounding.
func Unit(resource string) int64 { return 1 << unitBits(resource) }

// fine is how many binary digits below a nano-USD the checker computes with.
const fine = 40

func unitBits(resource string) int {
	if res.IsBytes(resource) {
		return fine
	}
	return 20
}
