package instancetype

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// gone is how many answers in a row must lack a type in a zone for it to count as gone. One answer that lacks it may be
// incomplete; its nodes would be replaced for nothing. With Soon between the answers, it takes ten minutes.
const gone = 3

// offering is a type in a zone.
type offering struct{ name, zone string }

// keep puts into next what last has and next lacks, until the answers of next and of those before it have lacked it gone times.
// lacking is how many answers in a row have lacked it before; keep returns that for what it has kept.
func keep(next, last *Snapshot, lacking map[offering]int) map[offering]int {
	kept := map[offering]int{}
	for i := range last.Types {
		name := last.Types[i].Name
		at, has := next.Find(name)
		for _, zone := range last.Zones[i] {
			if has && slices.Contains(next.Zones[at], zone) {
				continue
			}
			o := offering{name, zone}
			if lacking[o]+1 >= gone {
				continue
			}
			kept[o] = lacking[o] + 1
			if !has {
				next.Types, next.Zones = slices.Insert(next.Types, at, last.Types[i]), slices.Insert(next.Zones, at, nil)
				delete(next.Skipped, name)
				has = true
			}
			to, _ := slices.BinarySearch(next.Zones[at], zone)
			next.Zones[at] = slices.Insert(next.Zones[at], to, zone)
		}
	}
	return kept
}

// another returns the token of the next page. The same token again would end in the same page again: the list is not whole then.
//
// Errors: when it is the token of this page.
func another(token string, next *string) (string, error) {
	if token != "" && aws.ToString(next) == token {
		return "", errors.New("EC2 answered with the page token of the page itself, so the list is incomplete")
	}
	return aws.ToString(next), nil
}
