package inventory

import (
	"crypto/sha256"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/rawlist"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// remembered are the reservations of the last listing by their text. Between two listings most instances stay as they are, and
// EC2 says some ten kilobytes of each, so that decoding all of them anew is most of what a listing takes.
//
// Concurrency: not safe.
type remembered struct {
	last map[digest][]*cloud.Instance
	now  map[digest][]*cloud.Instance
	page []reservation
}

type digest = [sha256.Size]byte

// reservation is one of a page, with its instances if they are known.
type reservation struct {
	text      digest
	known     bool
	instances []*cloud.Instance
}

// begin begins a listing.
func (k *remembered) begin() { k.now, k.page = map[digest][]*cloud.Instance{}, nil }

// end ends a listing that has all pages.
func (k *remembered) end() { k.last, k.now, k.page = k.now, nil, nil }

// option lets a call for a page leave out what is known.
func (k *remembered) option() func(*ec2.Options) {
	k.page = nil // of the page before
	return rawlist.Take("reservationSet", func() { k.page = nil }, func(item []byte) bool {
		r := reservation{text: sha256.Sum256(item)}
		r.instances, r.known = k.last[r.text]
		k.page = append(k.page, r)
		return r.known
	})
}

// instances are those of a page, in the order of the answer. fresh is what the SDK has decoded of it: all reservations if the
// answer could not be taken apart.
//
// Errors: the SDK has decoded another number of reservations than it was given.
func (k *remembered) instances(fresh []types.Reservation) ([]*cloud.Instance, error) {
	var out []*cloud.Instance
	if len(k.page) == 0 {
		for i := range fresh {
			out = append(out, instancesOf(&fresh[i])...)
		}
		return out, nil
	}
	for _, r := range k.page {
		if !r.known {
			if len(fresh) == 0 {
				return nil, fmt.Errorf("an answer of EC2 with %d reservations could not be read", len(k.page))
			}
			r.instances, fresh = instancesOf(&fresh[0]), fresh[1:]
		}
		k.now[r.text] = r.instances
		out = append(out, r.instances...)
	}
	if len(fresh) > 0 {
		return nil, fmt.Errorf("an answer of EC2 with %d reservations could not be read", len(k.page))
	}
	return out, nil
}

func instancesOf(r *types.Reservation) []*cloud.Instance {
	var out []*cloud.Instance
	for i := range r.Instances {
		if m, ok := ToInstance(&r.Instances[i]); ok {
			out = append(out, m)
		}
	}
	return out
}
