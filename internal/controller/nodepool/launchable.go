package nodepool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/apply"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/engine/res"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// Types lists what can be launched of a node class, whether there is capacity for it now or not.
type Types interface {
	Types(ctx context.Context, class *awsv1.EC2NodeClass) ([]*catalog.Type, error)
}

const (
	// typesPatience is how long a pass waits for the types of a class: what else is said of the pool must not wait for EC2.
	typesPatience = time.Second
	// judgeAgain is when a pool is judged anew of which nothing changed: EC2 offers new types now and then, and a class whose
	// types could not be read may be readable again.
	judgeAgain = time.Minute
)

// verdict is what was last found of a pool.
type verdict struct {
	pool            types.UID
	generation      int64 // of the pool that was judged
	classUID        types.UID
	classGeneration int64
	class           string // the version of its class
	at              time.Time
	none            string // why no instance type can be launched; empty if there are some, or nothing is known
	some            string // a type that could be launched; it is tried first
}

// unlaunchable says why no instance type meets the pool's requirements, empty when some do. A type counts that is short,
// without a price or over a quota: that passes. While the types of the class can't be read, what was found of the same
// pool and the same class stands; after a restart the condition of the pool as it is stored is the memory of that.
func (c *Controller) unlaunchable(ctx context.Context, stored *karpv1.NodePool, class *awsv1.EC2NodeClass) string {
	if c.Types == nil {
		return ""
	}
	last, known := c.verdicts[stored.Name]
	if !known || last.pool != stored.UID || last.generation != stored.Generation {
		last = verdict{pool: stored.UID, generation: stored.Generation, classGeneration: stored.Status.NodeClassObservedGeneration}
		if valid := stored.StatusConditions().Get(karpv1.ConditionTypeValidationSucceeded); valid != nil && valid.Reason == karpv1.ReasonNoInstanceTypes && valid.ObservedGeneration == stored.Generation {
			last.none = valid.Message
		}
	}
	if class == nil {
		return last.none
	}
	if last.classGeneration != class.Generation || last.classUID != "" && last.classUID != class.UID {
		last.class, last.none = "", ""
	}
	last.classGeneration, last.classUID = class.Generation, class.UID
	if !class.StatusConditions(true).IsTrue() || last.class == class.ResourceVersion && c.Clock.Since(last.at) < judgeAgain {
		return last.none
	}
	waiting, stop := context.WithTimeout(ctx, typesPatience)
	defer stop()
	list, err := c.Types.Types(waiting, class)
	if err == nil && len(list) > 0 { // no types at all says that something is wrong with the list
		last.none, last.some = unlaunchable(stored, class, list, last.some)
	}
	last.class, last.at = class.ResourceVersion, c.Clock.Now()
	if c.verdicts == nil {
		c.verdicts = map[string]verdict{}
	}
	c.verdicts[stored.Name] = last
	return last.none
}

// launchable are the types of a class in the zones of its subnets, and what a pool asks of them.
type launchable struct {
	class *awsv1.EC2NodeClass
	cat   *catalog.Catalog
	vocab *requirement.Vocabulary
	reqs  requirement.Requirements
	// between are types that nothing but a reservation offers, where pool and class may use those: what is sold as Capacity
	// Blocks alone has offerings only while there is a block.
	between []int
}

// unlaunchable says why no type of the list meets the pool's requirements, and otherwise names one that does. try names the type to begin with:
// where that still does the others need not be looked at.
func unlaunchable(pool *karpv1.NodePool, class *awsv1.EC2NodeClass, list []*catalog.Type, try string) (why, some string) {
	if at := slices.IndexFunc(list, func(t *catalog.Type) bool { return t.Name == try }); at >= 0 {
		if why, some = judge(pool, class, list[at:at+1]); some != "" {
			return why, some
		}
	}
	return judge(pool, class, list)
}

func judge(pool *karpv1.NodePool, class *awsv1.EC2NodeClass, list []*catalog.Type) (why, some string) {
	l := &launchable{class: class, vocab: requirement.NewVocabulary()}
	asked := intake.Pool(pool, class, nil)
	reqs, err := l.vocab.Parse(asked.Requirements)
	if err != nil {
		return err.Error(), ""
	}
	reqs = reqs.And(l.vocab.Labels(asked.Labels))
	between := map[string]bool{}
	if set, ok := reqs.Get(l.vocab.Key(requirement.CapacityType)); (!ok || set.Has(catalog.Reserved)) && len(class.Spec.CapacityReservationSelectorTerms) > 0 {
		for _, t := range list {
			between[t.Name] = !slices.ContainsFunc(t.Offerings, func(o catalog.Offering) bool { return o.CapacityType != catalog.Reserved })
		}
	}
	l.reqs = withoutReservations(reqs, l.vocab)
	if l.cat, err = catalog.Compile(inSubnets(list), l.vocab, res.NewSchema()); err != nil {
		return "", "" // the list's fault, not the pool's
	}
	for i := range l.cat.Types {
		if between[l.cat.Types[i].Name] {
			l.between = append(l.between, i)
		}
	}
	if left := slices.Collect(l.left(l.reqs).Each); len(left) > 0 {
		return "", l.cat.Types[left[0]].Name
	}
	return l.why(), ""
}

// withoutReservations leaves out what only open reservations can meet: they come and go.
func withoutReservations(reqs requirement.Requirements, vocab *requirement.Vocabulary) requirement.Requirements {
	var out requirement.Requirements
	for k, set := range reqs.All {
		switch vocab.Name(k) {
		case requirement.ReservationID, requirement.ReservationType, requirement.ReservationInterruptible:
			continue
		case requirement.CapacityType:
			if set.Has(catalog.Reserved) {
				continue
			}
		}
		out = out.With(set)
	}
	return out
}

// inSubnets leaves only the offerings in zones in which the class has a subnet.
func inSubnets(list []*catalog.Type) []*catalog.Type {
	out := make([]*catalog.Type, len(list))
	for i, t := range list {
		one := *t
		one.Offerings = slices.DeleteFunc(slices.Clone(t.Offerings), func(o catalog.Offering) bool { return o.Unavailable == catalog.WithoutSubnet })
		out[i] = &one
	}
	return out
}

// left are the types that meet some of what the pool asks.
func (l *launchable) left(some requirement.Requirements) catalog.TypeSet {
	out := l.cat.All().Clone()
	l.cat.KeepMatching(out, some, l.defines)
	offered := catalog.NewTypeSet(l.cat.Len())
	for _, at := range l.cat.CellsMatching(some) {
		offered.Or(l.cat.Cells[at].Exists)
	}
	if len(l.cat.CellsMatching(l.place(some))) > 0 { // a block can only be in a zone that there is
		for _, t := range l.between {
			offered.Add(t)
		}
	}
	out.And(offered)
	return out
}

// place is what some of the requirements ask of the zone.
func (l *launchable) place(some requirement.Requirements) requirement.Requirements {
	var out requirement.Requirements
	for k, set := range some.All {
		if name := l.vocab.Name(k); name == requirement.Zone || name == requirement.ZoneID {
			out = out.With(set)
		}
	}
	return out
}

// defines reports whether nodes of the pool carry the label whatever the type.
func (l *launchable) defines(k requirement.Key) bool {
	set, ok := l.reqs.Get(k)
	return ok && (!set.AllowsAbsent() || !apply.WellKnown(l.vocab.Name(k)))
}

// why names the requirement that no type meets, else two that no type meets together, and the way out.
func (l *launchable) why() string {
	var sets []requirement.Set
	for _, set := range l.reqs.All {
		sets = append(sets, set)
	}
	slices.SortFunc(sets, func(a, b requirement.Set) int { return strings.Compare(a.Terms()[0].Key, b.Terms()[0].Key) })
	only := func(set requirement.Set) requirement.Requirements { return requirement.Requirements{}.With(set) }
	for _, set := range sets {
		if !l.left(only(set)).Any() {
			return l.alone(set)
		}
	}
	for i, a := range sets {
		for _, b := range sets[:i] {
			if !l.left(only(b).With(a)).Any() {
				return fmt.Sprintf("no instance type meets both %s (%d of %d do) and %s (%d do): change one of the two",
					text(b), l.left(only(b)).Count(), l.cat.Len(), text(a), l.left(only(a)).Count())
			}
		}
	}
	return fmt.Sprintf("none of %d instance types meets all requirements together, though every two of them can be met: leave out or widen one of %s", l.cat.Len(), l.reqs)
}

// alone words a requirement that no type meets even by itself.
func (l *launchable) alone(set requirement.Set) string {
	if set.IsEmpty() {
		return fmt.Sprintf("the requirements on %s exclude each other: leave out one of them", set.Terms()[0].Key)
	}
	key := set.Terms()[0].Key
	k, _ := l.vocab.Lookup(key)
	values := l.cat.Values(l.cat.All(), k)
	if catalog.IsCellKey(key) {
		for i := range l.cat.Cells {
			if v, ok := l.cat.Cells[i].Label(k); ok {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		values = slices.Compact(values)
	}
	if key == requirement.Zone || key == requirement.ZoneID {
		return fmt.Sprintf("%s: the subnets of EC2NodeClass %q are in %s: name one of these zones, or let spec.subnetSelectorTerms of the class select a subnet in the other",
			text(set), l.class.Name, strings.Join(values, ", "))
	}
	return fmt.Sprintf("%s: none of the %d instance types of EC2NodeClass %q meets it; %s", text(set), l.cat.Len(), l.class.Name, wayOut(set, values))
}

// listed is how many values a message lists at most.
const listed = 10

// wayOut says what could have been asked for; values are those that types have.
func wayOut(set requirement.Set, values []string) string {
	if len(values) == 0 {
		return "no type has the label: leave the requirement out"
	}
	if term := set.Terms()[0]; term.Operator == requirement.Gte || term.Operator == requirement.Lte {
		slices.SortFunc(values, func(a, b string) int { return number(a) - number(b) })
		return fmt.Sprintf("the smallest is %s, the largest %s", values[0], values[len(values)-1])
	}
	var near []string
	if !set.Complement() {
		for _, v := range set.Values() {
			if n := requirement.Nearest(v, values); n != "" {
				near = append(near, n)
			}
		}
	}
	slices.Sort(near)
	if near = slices.Compact(near); len(near) > 0 {
		return fmt.Sprintf("did you mean %s?", strings.Join(near[:min(len(near), listed)], ", "))
	}
	if len(values) > listed {
		return fmt.Sprintf("there are %d values, such as %s", len(values), strings.Join(values[:listed], ", "))
	}
	return "there are " + strings.Join(values, ", ")
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func text(set requirement.Set) string {
	var parts []string
	for _, t := range set.Terms() {
		parts = append(parts, t.String())
	}
	return strings.Join(parts, " and ")
}
