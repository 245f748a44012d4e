// Package network finds the subnets and security groups that a node class selects, and chooses the subnet for a launch by
// the addresses that will still be free once everything in flight has arrived.
package network

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/singleflight"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// API is what Resolver needs of EC2.
type API interface {
	DescribeSubnets(context.Context, *ec2.DescribeSubnetsInput, ...func(*ec2.Options)) (*ec2.DescribeSubnetsOutput, error)
	DescribeSecurityGroups(context.Context, *ec2.DescribeSecurityGroupsInput, ...func(*ec2.Options)) (*ec2.DescribeSecurityGroupsOutput, error)
}

// groupAge is how long an answer on security groups is believed.
const groupAge = time.Minute

// Resolver finds subnets and security groups. All methods may be called from many goroutines.
type Resolver struct {
	api     API
	ledger  *Ledger
	subnets memory[subnet]
	groups  memory[group]
	// described has, by ID, whether a subnet is one of an Outpost, which has few types and little capacity of its own. That never changes.
	described sync.Map
	// asked has, by UID of a class, when Know last described its subnets.
	asked sync.Map
}

// NewResolver returns a Resolver. refresh is how long an answer on subnets is believed (SUBNET_REFRESH_INTERVAL); what is
// seen of free addresses goes into the ledger. now is the clock, nil for time.Now.
func NewResolver(api API, ledger *Ledger, refresh time.Duration, now func() time.Time) *Resolver {
	if now == nil {
		now = time.Now
	}
	return &Resolver{api: api, ledger: ledger, subnets: memory[subnet]{now: now, age: refresh}, groups: memory[group]{now: now, age: groupAge}}
}

// subnet is a subnet as EC2 describes it.
type subnet struct {
	awsv1.Subnet
	vpc  string
	free int
}

// group is a security group as EC2 describes it.
type group struct {
	awsv1.SecurityGroup
	vpc string
}

// memory keeps the answers to queries for a while. The lock is never held over a call; who asks what is being asked waits
// for the same answer, because all classes of a cluster come at the same moment.
type memory[T any] struct {
	now func() time.Time
	age time.Duration

	flights singleflight.Group
	mu      sync.Mutex
	answers map[string]remembered[T]
}

type remembered[T any] struct {
	found []T
	at    time.Time
}

// get returns what ask finds, or what it found a short while ago. Each waits until its own ctx ends; what was asked for goes on for the
// others, for answerWithin.
func (m *memory[T]) get(ctx context.Context, key string, ask func(context.Context) ([]T, error)) ([]T, error) {
	if found, ok := m.known(key); ok {
		return found, nil
	}
	answer := m.flights.DoChan(key, func() (any, error) {
		if found, ok := m.known(key); ok { // the flight before this one
			return found, nil
		}
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
		defer cancel()
		got := remembered[T]{at: m.now()}
		// singleflight ends the process with a panic.
		err := guard.Run("aws.network", func() (err error) {
			got.found, err = ask(shared)
			return err
		})
		if err != nil {
			return got.found, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.answers == nil {
			m.answers = map[string]remembered[T]{}
		}
		m.answers[key] = got
		return got.found, nil
	})
	select {
	case r := <-answer:
		return r.Val.([]T), r.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for EC2's answer: %w", ctx.Err())
	}
}

// answerWithin is how long an answer is waited for at most that several may need: an attempt and its repetition.
const answerWithin = time.Minute

// known is an answer that is not too old. Older ones are forgotten.
func (m *memory[T]) known(key string) ([]T, bool) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, a := range m.answers {
		if now.Sub(a.at) >= m.age {
			delete(m.answers, k)
		}
	}
	last, ok := m.answers[key]
	return last.found, ok
}

// query is one question: by ids, by names, or by tags.
type query struct {
	ids, names []string
	tags       map[string]string
	vpc        string
}

func (q *query) key() string {
	parts := []string{strings.Join(q.ids, ","), strings.Join(q.names, ","), q.vpc}
	for _, k := range slices.Sorted(maps.Keys(q.tags)) {
		parts = append(parts, k, q.tags[k])
	}
	return strings.Join(parts, "\x00")
}

// filters words the query for EC2; idName is the name of the filter on ids.
func (q *query) filters(idName string) []types.Filter {
	var out []types.Filter
	if len(q.ids) > 0 {
		out = append(out, types.Filter{Name: &idName, Values: q.ids})
	}
	if len(q.names) > 0 {
		out = append(out, types.Filter{Name: new("group-name"), Values: q.names})
	}
	if q.vpc != "" {
		out = append(out, types.Filter{Name: new("vpc-id"), Values: []string{q.vpc}})
	}
	for _, k := range slices.Sorted(maps.Keys(q.tags)) {
		if q.tags[k] == "*" {
			out = append(out, types.Filter{Name: new("tag-key"), Values: []string{k}})
		} else {
			out = append(out, types.Filter{Name: new("tag:" + k), Values: []string{q.tags[k]}})
		}
	}
	return out
}

// term is a selector term of either kind.
type term struct {
	id, name string
	tags     map[string]string
}

// queriesOf turns terms into queries, all ids in one and all names in one. A term that mixes fields counts by its id, then
// its name; the schema lets such terms pass, so the note says what is ignored. Terms that select nothing are left out:
// a query without filters would select everything.
func queriesOf(field string, terms []term) (out []query, note string) {
	var ids, names []string
	var notes []string
	for i, t := range terms {
		switch {
		case t.id != "":
			ids = append(ids, t.id)
			if t.name != "" || len(t.tags) > 0 {
				notes = append(notes, fmt.Sprintf("spec.%s[%d] has an id, so its other fields are ignored", field, i))
			}
		case t.name != "":
			names = append(names, t.name)
			if len(t.tags) > 0 {
				notes = append(notes, fmt.Sprintf("spec.%s[%d] has a name, so its tags are ignored", field, i))
			}
		case len(t.tags) > 0:
			out = append(out, query{tags: t.tags})
		default:
			notes = append(notes, fmt.Sprintf("spec.%s[%d] is empty and selects nothing", field, i))
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		out = append(out, query{names: slices.Compact(names)})
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		out = append(out, query{ids: slices.Compact(ids)})
	}
	return out, strings.Join(notes, "; ")
}

func outcome(condition, reason string, found int, nothing, note string, err error) cloud.Finding {
	f := cloud.Finding{Condition: condition}
	switch {
	case err != nil:
		f.Unknown, f.Reason, f.Message = true, "LookupFailed", fmt.Sprintf("%v; what was found before stays", err)
	case found == 0:
		f.Reason, f.Message = reason, nothing
		if note != "" {
			f.Message += "; " + note
		}
	default:
		f.OK, f.Message = true, note
	}
	return f
}
