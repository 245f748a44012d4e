package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func newOrders(n int) []*order {
	out := make([]*order, n)
	for i := range out {
		out[i] = &order{Order: Order{UID: fmt.Sprintf("uid-%03d", i), Name: fmt.Sprintf("claim-%03d", i), Created: time.Unix(1000, 0), Request: Request{Tags: map[string]string{"a": "b"}}}}
	}
	return out
}

func TestEveryClaimIsFoundInTheTagsAtItsPlace(t *testing.T) {
	for _, n := range []int{1, 2, perTag, perTag + 1, maxBatch} {
		orders := newOrders(n)
		tags := instanceTags(orders, "token")
		for i, o := range orders {
			if at, listed := place(tags, uidHash(o.UID)); at != i || !listed {
				t.Errorf("of %d claims number %d is found at %d, %v", n, i, at, listed)
			}
		}
		if at, listed := place(tags, uidHash("stranger")); at != -1 || !listed {
			t.Errorf("a stranger is found at %d, %v", at, listed)
		}
		for k, v := range tags {
			if len(v) > tagLen {
				t.Errorf("tag %s has %d characters", k, len(v))
			}
		}
		if (tags["karpenter.sh/nodeclaim"] != "") != (n == 1) {
			t.Errorf("the tags for %d claims name one: %v", n, tags)
		}
	}
}

func TestTagsNeverExceedWhatAResourceHolds(t *testing.T) {
	for n := range 49 {
		tags := map[string]string{}
		for i := range n {
			tags[fmt.Sprint("t", i)] = "v"
		}
		orders := newOrders(room(tags))
		for _, o := range orders {
			o.Request.Tags = tags
		}
		if got := len(instanceTags(orders, "token")); got+1 > maxTags { // Name comes later
			t.Errorf("%d tags of the user and %d claims make %d", n, len(orders), got)
		}
	}
}

func instances(orders []*order, token string, n int) []*cloud.Instance {
	var out []*cloud.Instance
	for i := range n {
		tags := instanceTags(orders, token)
		out = append(out, &cloud.Instance{InstanceID: fmt.Sprintf("i-%s-%03d", token, i), State: "running", Tags: tags, Claim: tags["karpenter.sh/nodeclaim"], LaunchedAt: time.Unix(1001, 0)})
	}
	return out
}

func TestWhatEveryProcessWorksOutOfTheTagsIsTheSame(t *testing.T) {
	orders := newOrders(40)
	all := append(instances(orders, "one", 33), instances(orders[33:], "two", 5)...)
	all = append(all, instances(orders[38:39], "three", 1)...)
	want := map[string]string{}
	for round := range 5 {
		r := rand.New(rand.NewPCG(1, uint64(round)))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		seen := map[string]string{}
		for i, o := range orders {
			got, _ := find(slices.Clone(all), o.Order, time.Unix(1100, 0))
			if (got == nil) != (i == 39) {
				t.Fatalf("claim %d has %v", i, got)
			}
			if got == nil {
				continue
			}
			if other, dup := seen[got.InstanceID]; dup {
				t.Errorf("%s and %s share %s", o.Name, other, got.InstanceID)
			}
			seen[got.InstanceID] = o.Name
			if want[o.UID] == "" {
				want[o.UID] = got.InstanceID
			}
			if want[o.UID] != got.InstanceID {
				t.Errorf("%s had %s and has now %s", o.Name, want[o.UID], got.InstanceID)
			}
		}
	}
}

func TestFind(t *testing.T) {
	orders := newOrders(3)
	o := orders[1].Order
	byName := &cloud.Instance{InstanceID: "i-1", Claim: o.Name, State: "running", LaunchedAt: o.Created.Add(time.Second)}
	edit := func(m cloud.Instance, f func(*cloud.Instance)) *cloud.Instance { f(&m); return &m }
	dead := instances(orders, "x", 3)
	dead[1].State = "terminated"
	old := instances(orders, "x", 3)
	for _, m := range old {
		m.LaunchedAt = time.Unix(1100, 0).Add(-time.Hour)
	}
	oldButNamed := []*cloud.Instance{edit(*old[0], func(m *cloud.Instance) {}), edit(*old[1], func(m *cloud.Instance) { m.Claim = o.Name })}
	tests := []struct {
		name      string
		instances []*cloud.Instance
		want      string
		spent     int
	}{
		{"nothing was launched", nil, "", 0},
		{"others' instances only", instances(orders[:1], "x", 1), "", 0},
		{"a partial fleet that did not reach it", instances(orders, "x", 1), "", 1},
		{"its share of a fleet", instances(orders, "x", 3), "i-x-001", 0},
		{"an instance that is dead already", dead, "", 1},
		{"an instance with its name and no list", []*cloud.Instance{byName}, "i-1", 0},
		{"an instance of an earlier claim of that name", []*cloud.Instance{edit(*byName, func(m *cloud.Instance) { m.LaunchedAt = o.Created.Add(-time.Hour) })}, "", 0},
		{"an instance of another claim of that name", []*cloud.Instance{edit(*byName, func(m *cloud.Instance) { m.Tags = map[string]string{TagLaunch: "x", TagClaims + "0": uidHash("other")} })}, "", 0},
		{"an instance that was given to somebody else", []*cloud.Instance{edit(*instances(orders[1:2], "x", 1)[0], func(m *cloud.Instance) { m.Claim = "other" })}, "", 1},
		{"its share of a fleet so old that places may have shifted", old, "", 1},
		{"its share of an old fleet, tagged with its name since", oldButNamed, "i-x-001", 0},
		{"a list cut short", []*cloud.Instance{{InstanceID: "i-1", State: "running", Tags: map[string]string{TagLaunch: "x", TagClaims + "0": "abc"}}}, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, spent := find(tt.instances, o, time.Unix(1100, 0))
			id := ""
			if got != nil {
				id = got.InstanceID
			}
			if id != tt.want || spent != tt.spent {
				t.Errorf("found %q after %d spent launches, want %q after %d", id, spent, tt.want, tt.spent)
			}
		})
	}
}

func TestTokensDifferByClaimsAndAttempts(t *testing.T) {
	orders := newOrders(3)
	a := token(orders)
	if a != token(newOrders(3)) || len(a) > 64 {
		t.Errorf("equal orders have tokens %s and %s", a, token(newOrders(3)))
	}
	orders[1].attempt++
	if b := token(orders); a == b || a == token(orders[:2]) {
		t.Error("another attempt, and other claims, need other tokens")
	}
}

func TestFailuresAreToldByTheWorst(t *testing.T) {
	ice := PoolError{Class: cloud.Exhausted, Reason: "InsufficientInstanceCapacity", Code: "InsufficientInstanceCapacity", Message: "no", InstanceType: "m5.large", Zone: "a"}
	denied := PoolError{Class: cloud.Denied, Reason: "Unauthorized", Code: "UnauthorizedOperation", Message: "you may not"}
	forbidden := PoolError{Class: cloud.Exhausted, Reason: "Unauthorized", Code: "UnauthorizedOperation", Message: "you may not, with an explicit deny in a service control policy", InstanceType: "m5a.large", Zone: "a"}
	throttled := PoolError{Class: cloud.Throttled, Reason: "RequestLimitExceeded", Code: "RequestLimitExceeded", InstanceType: "m5.large", Zone: "a"}
	tests := []struct {
		name     string
		failures []PoolError
		class    cloud.ErrorClass
		text     string
	}{
		{"none", nil, cloud.Exhausted, "did not say why"},
		{"only capacity", []PoolError{ice, ice, ice, ice}, cloud.Exhausted, "InsufficientInstanceCapacity for 4 pools (m5.large in a, m5.large in a, m5.large in a, …): no"},
		{"capacity and a denial", []PoolError{ice, denied}, cloud.Denied, "UnauthorizedOperation: you may not; InsufficientInstanceCapacity for 1 pools"},
		{"capacity and a pool that a policy forbids", []PoolError{ice, forbidden}, cloud.Exhausted, "UnauthorizedOperation for 1 pools (m5a.large in a): you may not"},
		{"its policy is named first", []PoolError{ice, forbidden}, cloud.Exhausted, "missing permission ec2:RunInstances: a service control policy that applies to the controller's role denies it"},
		{"a forbidden pool and another that may do in a moment", []PoolError{forbidden, throttled}, cloud.Throttled, "RequestLimitExceeded for 1 pools"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := failure(tt.failures)
			if cloud.ClassOf(err) != tt.class || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %s: %v", cloud.ClassOf(err), err)
			}
		})
	}
}
