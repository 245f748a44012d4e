package pricing

import (
	"time"

	"github.com/kerf-sh/kerf/internal/aws/rawlist"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// quoteReader reads the quotes of a page from its text: a region has thousands, and decoding them takes the SDK longer than all
// else about them (BenchmarkQuotes).
type quoteReader struct {
	page  []quoted
	names map[string]string // types and zones, each kept once
}

type quoted struct {
	of    pool
	quote quote
}

// begin forgets the page that was read last.
func (q *quoteReader) begin() { q.page = q.page[:0] }

// take reads a quote. One that is not understood is left to the SDK.
func (q *quoteReader) take(item []byte) bool {
	var kind, zone, price, set []byte
	if !rawlist.Fields(item, func(name, text []byte) {
		switch string(name) {
		case "instanceType":
			kind = text
		case "availabilityZone":
			zone = text
		case "spotPrice":
			price = text
		case "timestamp":
			set = text
		}
	}) || len(kind) == 0 || len(zone) == 0 {
		return false
	}
	at, err := time.Parse(time.RFC3339, string(set))
	if err != nil {
		return false
	}
	micro, err := ec2facts.ParseMicro(string(price))
	if err != nil || micro == 0 {
		return false
	}
	q.page = append(q.page, quoted{pool{q.name(kind), q.name(zone)}, quote{price: catalog.MicroUSD(micro), set: at}})
	return true
}

func (q *quoteReader) name(text []byte) string {
	known, ok := q.names[string(text)]
	if !ok {
		if q.names == nil {
			q.names = map[string]string{}
		}
		known = string(text)
		q.names[known] = known
	}
	return known
}
