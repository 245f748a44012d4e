package check

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// place is where ARNs lie.
type place struct{ partition, region, account string }

func (w place) arn(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", w.partition, service, w.region, w.account, resource)
}

func (w place) global(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s::%s:%s", w.partition, service, w.account, resource)
}

// What is taken where neither options nor file say. Nothing depends on it, for what is found and what is wanted have the
// same.
const (
	assumedAccount = "111122223333"
	assumedRegion  = "us-east-1"
	assumedCluster = "demo"
)

func (w place) complete() place {
	w.region = cmp.Or(w.region, assumedRegion)
	w.account = cmp.Or(w.account, assumedAccount)
	w.partition = cmp.Or(w.partition, partition.Of(w.region).Name)
	return w
}

var (
	writtenRegion  = regexp.MustCompile(`arn:aws[a-z-]*:(?:ec2|sqs|events|ssm|eks|kms):([a-z]{2,4}(?:-[a-z]+)+-[0-9]):`)
	writtenAccount = regexp.MustCompile(`arn:aws[a-z-]*:(?:iam|sqs|events|eks|kms|ec2):[a-z0-9-]*:([0-9]{12}):`)
)

// written completes a place from the ARNs that are written out in a file, the most frequent first, and then from those that
// were given beside it.
func (w place) written(data []byte, given []string) place {
	beside := []byte(strings.Join(given, "\n") + "\n")
	w.region = cmp.Or(w.region, mostFrequent(writtenRegion, data), mostFrequent(writtenRegion, beside))
	w.account = cmp.Or(w.account, mostFrequent(writtenAccount, data), mostFrequent(writtenAccount, beside))
	return w.complete()
}

func mostFrequent(r *regexp.Regexp, data []byte) string {
	count := map[string]int{}
	for _, m := range r.FindAllSubmatch(data, -1) {
		count[string(m[1])]++
	}
	best := ""
	for _, v := range slices.Sorted(maps.Keys(count)) {
		if count[v] > count[best] {
			best = v
		}
	}
	return best
}
