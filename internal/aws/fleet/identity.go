package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Tags that tell for whom an instance was launched.
const (
	// TagLaunch is the client token of the request that launched the instance.
	TagLaunch = "kerf.sh/launch"
	// TagClaims and a number hold the hashes of the claims of the request, in order.
	TagClaims = "kerf.sh/claims-"
)

const (
	hashLen   = 8   // characters of a claim's hash: 48 bits
	tagLen    = 256 // what EC2 takes as a tag's value
	perTag    = tagLen / hashLen
	maxTags   = 50 // of an EC2 resource
	laterTags = 2  // Name and karpenter.sh/nodeclaim come when the node has joined
	// maxAge is how old an instance may be to be dealt by its place in the list: by then EC2 no longer shows those that
	// were terminated early, and places would shift.
	maxAge = 45 * time.Minute
	// launchSkew is by how much EC2's clock may be behind that of the API server.
	launchSkew = time.Minute
)

// uidHash stands for a claim in tags.
func uidHash(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// room is how many claims can share a request whose instances carry these tags.
func room(tags map[string]string) int {
	free := maxTags - laterTags - 1 - len(tags)
	return max(1, min(free*perTag, maxBatch))
}

// instanceTags adds to the request's tags those that tell for whom the instances are. When there is no room for them, the
// request is for one claim, whose name must do.
func instanceTags(orders []*order, token string) map[string]string {
	tags := maps.Clone(orders[0].Request.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	if len(orders) == 1 {
		tags[awsv1.TagNodeClaim] = orders[0].Name
	}
	if len(orders[0].Request.Tags)+2+laterTags > maxTags {
		return tags
	}
	tags[TagLaunch] = token
	var all strings.Builder
	for _, o := range orders {
		all.WriteString(uidHash(o.UID))
	}
	list := all.String()
	for i := 0; i*tagLen < len(list); i++ {
		tags[TagClaims+strconv.Itoa(i)] = list[i*tagLen : min((i+1)*tagLen, len(list))]
	}
	return tags
}

// place is where a claim stands in the list of an instance's tags; listed is false when the instance has no list.
func place(tags map[string]string, hash string) (at int, listed bool) {
	at = 0
	for i := 0; ; i++ {
		part, ok := tags[TagClaims+strconv.Itoa(i)]
		if !ok {
			return -1, i > 0
		}
		for ; len(part) >= hashLen; part = part[hashLen:] {
			if part[:hashLen] == hash {
				return at, true
			}
			at++
		}
	}
}

// find is the instance that was launched for an order before, nil if there is none. spent is how many launches for it came
// to nothing.
func find(instances []*cloud.Instance, o Order, now time.Time) (found *Launched, spent int) {
	hash := uidHash(o.UID)
	launches := map[string][]*cloud.Instance{}
	for _, m := range instances {
		at, listed := place(m.Tags, hash)
		switch {
		case at >= 0:
			launches[m.Tags[TagLaunch]] = append(launches[m.Tags[TagLaunch]], m)
		case !listed && m.Claim == o.Name && !m.LaunchedAt.Before(o.Created.Add(-launchSkew)):
			// Launched without a list: by name, and not for an earlier claim of the same name.
			launches[m.InstanceID] = append(launches[m.InstanceID], m)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(launches)) {
		m := dealt(launches[token], hash, o.Name)
		switch {
		case m == nil, !alive(m), m.Claim != "" && m.Claim != o.Name, m.Claim == "" && now.Sub(m.LaunchedAt) > maxAge:
			spent++
		case found == nil:
			found = fromInstance(m)
		}
	}
	return found, spent
}

// dealt is the instance of a launch that a claim got, nil if it went away empty.
func dealt(launch []*cloud.Instance, hash, name string) *cloud.Instance {
	for _, m := range launch {
		if m.Claim == name {
			return m // tagged since; no need to count
		}
	}
	slices.SortFunc(launch, func(a, b *cloud.Instance) int { return strings.Compare(a.InstanceID, b.InstanceID) })
	at, _ := place(launch[0].Tags, hash)
	if at = max(at, 0); at < len(launch) {
		return launch[at]
	}
	return nil
}

func alive(m *cloud.Instance) bool {
	return m.State == string(types.InstanceStateNamePending) || m.State == string(types.InstanceStateNameRunning)
}

func fromInstance(m *cloud.Instance) *Launched {
	return &Launched{
		InstanceID: m.InstanceID, InstanceType: m.InstanceType, ImageID: m.ImageID, Zone: m.Zone,
		SubnetID: m.SubnetID, CapacityType: m.CapacityType, LaunchedAt: m.LaunchedAt, Tags: m.Tags,
		ReservationID: m.ReservationID, Group: m.PlacementGroup, Partition: m.Partition,
	}
}

func compareLaunched(a, b *Launched) int { return cmp.Compare(a.InstanceID, b.InstanceID) }
