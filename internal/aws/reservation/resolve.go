// Package reservation finds the capacity reservations that node classes select, and counts what they still hold between
// two looks at EC2.
package reservation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

const (
	// answerAge is how long an answer is believed. It is a little less than the pause between two looks at a class.
	answerAge = 50 * time.Second
	// pageSize is the most reservations that EC2 lists at once.
	pageSize = 1000
	// Lead is how long before the end of a capacity block its instances are given up: EC2 takes them 30 minutes before the
	// end, and their pods need time to move.
	Lead = 40 * time.Minute
	// Reclaim is how long before the end of a capacity block EC2 takes its instances.
	//
	// Source: EC2 User Guide, "Capacity Blocks for ML".
	Reclaim = 30 * time.Minute
)

// reasonLookupFailed is why it is not known what a class selects.
const reasonLookupFailed = "LookupFailed"

// API is what Resolver calls.
type API interface {
	DescribeCapacityReservations(context.Context, *ec2.DescribeCapacityReservationsInput, ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error)
}

// Resolver finds reservations. All methods may be called from many goroutines.
type Resolver struct {
	api    API
	ledger *Ledger
	now    func() time.Time

	mu      sync.Mutex
	answers map[string]answer
}

// answer is what EC2 said to a question.
type answer struct {
	found []types.CapacityReservation
	at    time.Time // when it was asked
}

// NewResolver returns a Resolver. What is seen of free instances goes into the ledger.
func NewResolver(api API, ledger *Ledger, now func() time.Time) *Resolver {
	return &Resolver{api: api, ledger: ledger, now: now, answers: map[string]answer{}}
}

// Resolve finds the active reservations that a class selects, sorted by ID. When EC2 does not answer, the list is what the
// class had, and the finding unknown; when a permission is missing, which no waiting fixes, it is not met. A class that
// selects nothing that exists is well: instances are launched as if it selected none.
func (r *Resolver) Resolve(ctx context.Context, class *awsv1.EC2NodeClass) ([]awsv1.CapacityReservation, cloud.Finding) {
	f := cloud.Finding{Condition: awsv1.ConditionTypeCapacityReservationsReady}
	queries, notes := queriesOf(class.Spec.CapacityReservationSelectorTerms)
	found, platform := map[string]awsv1.CapacityReservation{}, platformOf(class)
	for _, q := range queries {
		all, err := r.ask(ctx, q)
		if err != nil {
			f.Reason, f.Unknown = reasonLookupFailed, !awserr.LacksPermission(err)
			f.Message = fmt.Sprintf("EC2NodeClass %q: %v; what was found before stays", class.Name, err)
			return class.Status.CapacityReservations, f
		}
		for i := range all {
			c, ok, why := r.convert(&all[i])
			switch is := all[i].InstancePlatform; {
			case ok && platform != "" && is != "" && is != platform:
				ok, why = false, fmt.Sprintf("capacity reservation %s is passed over: it is for the platform %s, and nodes of the class are %s", c.ID, is, platform)
			case ok && otherTenancy(&all[i]):
				why = fmt.Sprintf("capacity reservation %s is of tenancy %s: only NodePools that demand karpenter.k8s.aws/instance-tenancy In [%[2]s] can launch into it", c.ID, all[i].Tenancy)
			}
			if why != "" {
				notes = append(notes, why)
			}
			if ok {
				found[c.ID] = c
			}
		}
	}
	out := slices.SortedFunc(maps.Values(found), func(a, b awsv1.CapacityReservation) int { return cmp.Compare(a.ID, b.ID) })
	if len(queries) > 0 && len(out) == 0 {
		notes = append(notes, "no active capacity reservation is selected, so nothing is launched as reserved")
	}
	f.OK, f.Message = true, strings.Join(notes, "; ")
	if f.Message != "" {
		f.Reason = awsv1.ConditionTypeCapacityReservationsReady
	}
	return out, f
}

// platformOf is what EC2 calls the platform of the images that a class names by alias, empty where it names them otherwise: those may
// be of any, whatever family they are set up as. EC2 launches into a reservation only what is of its platform.
func platformOf(class *awsv1.EC2NodeClass) types.CapacityReservationInstancePlatform {
	switch alias, err := class.Alias(); {
	case err != nil || alias == nil:
		return ""
	case class.ResolvedAMIFamily().IsWindows():
		return types.CapacityReservationInstancePlatformWindows
	}
	return types.CapacityReservationInstancePlatformLinuxUnix
}

// otherTenancy reports whether EC2 launches into the reservation only what demands its tenancy.
func otherTenancy(c *types.CapacityReservation) bool {
	return c.Tenancy != "" && c.Tenancy != types.CapacityReservationTenancyDefault
}

// Named finds those of the given reservations that are active, whether a class selects them or not.
//
// Errors: *cloud.Error.
func (r *Resolver) Named(ctx context.Context, ids []string) ([]awsv1.CapacityReservation, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := r.ask(ctx, byID(ids))
	if err != nil {
		return nil, err
	}
	var out []awsv1.CapacityReservation
	for i := range all {
		if c, ok, _ := r.convert(&all[i]); ok {
			out = append(out, c)
		}
	}
	return out, nil
}

// query is one question to EC2: by IDs or by filters.
type query struct {
	ids     []string
	filters []types.Filter
}

func (q *query) key() string {
	parts := slices.Clone(q.ids)
	for _, f := range q.filters {
		parts = append(parts, "\x00"+aws.ToString(f.Name)+"\x00"+strings.Join(f.Values, "\x00"))
	}
	return strings.Join(parts, "\x01")
}

// queriesOf turns terms into questions, all IDs into one. A term that mixes fields counts by its ID; the schema lets such
// terms pass, so a note says what is ignored. Terms that select nothing are left out.
func queriesOf(terms []awsv1.CapacityReservationSelectorTerm) (out []query, notes []string) {
	var ids []string
	for i, t := range terms {
		if t.ID != "" {
			ids = append(ids, t.ID)
			if t.OwnerID != "" || t.InstanceMatchCriteria != "" || len(t.Tags) > 0 {
				notes = append(notes, fmt.Sprintf("spec.capacityReservationSelectorTerms[%d] has an id, so its other fields are ignored", i))
			}
			continue
		}
		filters := []types.Filter{filter("state", string(types.CapacityReservationStateActive))}
		if t.OwnerID != "" {
			filters = append(filters, filter("owner-id", t.OwnerID))
		}
		if t.InstanceMatchCriteria != "" {
			filters = append(filters, filter("instance-match-criteria", t.InstanceMatchCriteria))
		}
		for _, k := range slices.Sorted(maps.Keys(t.Tags)) {
			if t.Tags[k] == "*" {
				filters = append(filters, filter("tag-key", k))
			} else {
				filters = append(filters, filter("tag:"+k, t.Tags[k]))
			}
		}
		if len(filters) == 1 {
			notes = append(notes, fmt.Sprintf("spec.capacityReservationSelectorTerms[%d] is empty and selects nothing", i))
			continue
		}
		out = append(out, query{filters: filters})
	}
	if len(ids) > 0 {
		out = append(out, byID(ids))
	}
	return out, notes
}

func byID(ids []string) query {
	return query{ids: slices.Compact(slices.Sorted(slices.Values(ids))), filters: []types.Filter{filter("state", string(types.CapacityReservationStateActive))}}
}

func filter(name string, value string) types.Filter {
	return types.Filter{Name: &name, Values: []string{value}}
}

// ask answers a question from memory or from EC2. What EC2 says of free instances goes into the ledger.
func (r *Resolver) ask(ctx context.Context, q query) ([]types.CapacityReservation, error) {
	now := r.now()
	r.mu.Lock()
	for k, a := range r.answers {
		if now.Sub(a.at) >= answerAge {
			delete(r.answers, k)
		}
	}
	last, ok := r.answers[q.key()]
	r.mu.Unlock()
	if ok {
		return last.found, nil
	}
	found, err := r.describe(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range found {
		r.ledger.Seen(aws.ToString(found[i].CapacityReservationId), int(aws.ToInt32(found[i].AvailableInstanceCount)), now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[q.key()] = answer{found, now}
	return found, nil
}

func (r *Resolver) describe(ctx context.Context, q query) ([]types.CapacityReservation, error) {
	const op = "describing capacity reservations"
	if len(q.ids) == 0 {
		var out []types.CapacityReservation
		pages := ec2.NewDescribeCapacityReservationsPaginator(r.api, &ec2.DescribeCapacityReservationsInput{Filters: q.filters, MaxResults: new(int32(pageSize))})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, awserr.Wrap(op, err)
			}
			out = append(out, page.CapacityReservations...)
		}
		return out, nil
	}
	// With IDs EC2 refuses MaxResults, and pages are no more than one.
	page, err := r.api.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: q.ids, Filters: q.filters})
	err = awserr.Wrap(op, err)
	switch {
	case err == nil:
		return page.CapacityReservations, nil
	case !cloud.IsNotFound(err):
		return nil, err
	case len(q.ids) == 1:
		return nil, nil
	}
	// One unknown ID makes EC2 refuse them all; then each is asked for alone.
	var out []types.CapacityReservation
	for i := range q.ids {
		one, err := r.describe(ctx, query{ids: q.ids[i : i+1], filters: q.filters})
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// convert makes an entry of the class's status. ok is false for one that can't be used; why says so where it is no matter of
// course.
func (r *Resolver) convert(c *types.CapacityReservation) (out awsv1.CapacityReservation, ok bool, why string) {
	now := r.now()
	out = awsv1.CapacityReservation{
		ID: aws.ToString(c.CapacityReservationId), AvailabilityZone: aws.ToString(c.AvailabilityZone), InstanceType: aws.ToString(c.InstanceType),
		OwnerID: aws.ToString(c.OwnerId), InstanceMatchCriteria: string(c.InstanceMatchCriteria), ReservationType: string(c.ReservationType),
		Interruptible: aws.ToBool(c.Interruptible), State: awsv1.CapacityReservationStateActive,
	}
	if out.ReservationType == "" {
		out.ReservationType = awsv1.CapacityReservationTypeDefault
	}
	if c.EndDate != nil {
		out.EndTime = &metav1.Time{Time: c.EndDate.UTC().Truncate(time.Second)}
	}
	switch {
	case out.ID == "" || out.InstanceType == "" || out.AvailabilityZone == "":
		return out, false, ""
	case c.State != types.CapacityReservationStateActive, out.EndTime != nil && !now.Before(out.EndTime.Time):
		return out, false, ""
	case out.InstanceMatchCriteria != string(types.InstanceMatchCriteriaOpen) && out.InstanceMatchCriteria != string(types.InstanceMatchCriteriaTargeted):
		return out, false, fmt.Sprintf("capacity reservation %s is passed over: its match criteria %q are not known", out.ID, out.InstanceMatchCriteria)
	case out.ReservationType != awsv1.CapacityReservationTypeDefault && out.ReservationType != awsv1.CapacityReservationTypeCapacityBlock:
		return out, false, fmt.Sprintf("capacity reservation %s is passed over: its type %q is not known", out.ID, out.ReservationType)
	}
	if Expiring(&out, now) {
		out.State = awsv1.CapacityReservationStateExpiring
	}
	return out, true, ""
}

// Expiring reports whether a reservation is a capacity block so near its end that its instances have to be given up.
func Expiring(c *awsv1.CapacityReservation, now time.Time) bool {
	return c.ReservationType == awsv1.CapacityReservationTypeCapacityBlock && c.EndTime != nil && !now.Before(c.EndTime.Add(-Lead))
}
