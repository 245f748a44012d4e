package setupfile

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Place is where ARNs lie.
type Place struct{ Partition, Region, Account string }

func (w Place) ARN(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", w.Partition, service, w.Region, w.Account, resource)
}

func (w Place) Global(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s::%s:%s", w.Partition, service, w.Account, resource)
}

// What is taken where neither options nor file say. Nothing depends on it, for what is found and what is wanted have the
// same.
const (
	AssumedAccount = "111122223333"
	AssumedRegion  = "us-east-1"
	AssumedCluster = "demo"
)

func (w Place) Complete() Place {
	w.Region = cmp.Or(w.Region, AssumedRegion)
	w.Account = cmp.Or(w.Account, AssumedAccount)
	w.Partition = cmp.Or(w.Partition, partition.Of(w.Region).Name)
	return w
}

var (
	writtenRegion  = regexp.MustCompile(`arn:aws[a-z-]*:(?:ec2|sqs|events|ssm|eks|kms):([a-z]{2,4}(?:-[a-z]+)+-[0-9]):`)
	writtenAccount = regexp.MustCompile(`arn:aws[a-z-]*:(?:iam|sqs|events|eks|kms|ec2):[a-z0-9-]*:([0-9]{12}):`)
)

// written completes a place from the ARNs that are written out in a file, the most frequent first, and then from those that
// were given beside it.
func (w Place) written(data []byte, given []string) Place {
	beside := []byte(strings.Join(given, "\n") + "\n")
	w.Region = cmp.Or(w.Region, mostFrequent(writtenRegion, data), mostFrequent(writtenRegion, beside))
	w.Account = cmp.Or(w.Account, mostFrequent(writtenAccount, data), mostFrequent(writtenAccount, beside))
	return w.Complete()
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
