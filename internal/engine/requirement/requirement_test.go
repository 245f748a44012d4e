package requirement_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

// The model: a label is missing or has one of these values; what a term allows is decided one by one.
var universe = []string{"a", "b", "1", "2", "3", "4", "5", "-7", "9223372036854775807", "05"}

func modelAllows(t requirement.Term, value string, has bool) bool {
	switch t.Operator {
	case requirement.In:
		return has && slices.Contains(t.Values, value)
	case requirement.NotIn:
		return !has || !slices.Contains(t.Values, value)
	case requirement.Exists:
		return has
	case requirement.DoesNotExist:
		return !has
	}
	have, err := strconv.ParseInt(value, 10, 64)
	bound, _ := strconv.ParseInt(t.Values[0], 10, 64)
	if !has || err != nil {
		return false
	}
	switch t.Operator {
	case requirement.Gt:
		return have > bound
	case requirement.Gte:
		return have >= bound
	case requirement.Lt:
		return have < bound
	}
	return have <= bound
}

func modelAllowsAll(terms []requirement.Term, value string, has bool) bool {
	return !slices.ContainsFunc(terms, func(t requirement.Term) bool { return !modelAllows(t, value, has) })
}

func termGen(key string) *rapid.Generator[requirement.Term] {
	return rapid.Custom(func(t *rapid.T) requirement.Term {
		op := rapid.SampledFrom([]requirement.Operator{requirement.In, requirement.NotIn, requirement.Exists,
			requirement.DoesNotExist, requirement.Gt, requirement.Lt, requirement.Gte, requirement.Lte}).Draw(t, "op")
		term := requirement.Term{Key: key, Operator: op}
		switch op {
		case requirement.In, requirement.NotIn:
			term.Values = rapid.SliceOfNDistinct(rapid.SampledFrom(universe), 1, 4, rapid.ID).Draw(t, "values")
		case requirement.Gt, requirement.Lt, requirement.Gte, requirement.Lte:
			term.Values = []string{rapid.SampledFrom([]string{"-7", "0", "2", "3", "4", "9223372036854775807", "-9223372036854775808"}).Draw(t, "bound")}
		}
		return term
	})
}

func parse(t interface{ Fatal(...any) }, v *requirement.Vocabulary, terms []requirement.Term) requirement.Requirements {
	r, err := v.Parse(terms)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIntersectionAllowsWhatAllTermsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(termGen("k"), 1, 5).Draw(t, "terms")
		v := requirement.NewVocabulary()
		for _, x := range rapid.Permutation(universe).Draw(t, "vocabulary order") {
			v.Value(v.Key("k"), x)
		}
		r := parse(t, v, terms)
		set, _ := r.Get(v.Key("k"))
		for _, x := range universe {
			if got, want := set.Has(x), modelAllowsAll(terms, x, true); got != want {
				t.Fatalf("%v allows %s: %v, the model says %v", terms, x, got, want)
			}
		}
		if got, want := set.AllowsAbsent(), modelAllowsAll(terms, "", false); got != want {
			t.Fatalf("%v allows a missing label: %v, the model says %v", terms, got, want)
		}
	})
}

func TestTermsComeBackAsTheSameSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(termGen("k"), 1, 4).Draw(t, "terms")
		v := requirement.NewVocabulary()
		r := parse(t, v, terms)
		if set, _ := r.Get(v.Key("k")); set.IsEmpty() {
			return // nothing is written as In without values, which nobody may read back
		}
		again := parse(t, v, r.Terms())
		if r.CacheKey() != again.CacheKey() {
			t.Fatalf("%v is written as %v, which reads as %v", terms, r, again)
		}
	})
}

func TestIntersectsAgreesWithTheIntersection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := requirement.NewVocabulary()
		a := parse(t, v, rapid.SliceOfN(termGen("k"), 1, 3).Draw(t, "a"))
		b := parse(t, v, rapid.SliceOfN(termGen("k"), 1, 3).Draw(t, "b"))
		x, _ := a.Get(v.Key("k"))
		y, _ := b.Get(v.Key("k"))
		both := x.Intersect(y)
		if got, want := x.Intersects(y), !both.IsEmpty(); got != want {
			t.Fatalf("%v meets %v: %v, but the intersection %v says %v", a, b, got, both.Terms(), want)
		}
		if !y.Intersect(x).Equal(both) {
			t.Fatalf("the intersection of %v and %v depends on the order", a, b)
		}
		if !both.SubsetOf(x) || !both.SubsetOf(y) {
			t.Fatalf("the intersection of %v and %v is not within both", a, b)
		}
	})
}

// What pods may demand of a custom key of a node or a template.
func TestUndefinedKeys(t *testing.T) {
	term := func(op requirement.Operator, values ...string) []requirement.Term {
		return []requirement.Term{{Key: "custom", Operator: op, Values: values}}
	}
	cases := map[string]struct {
		pod                 []requirement.Term
		wantLacking, wantIn bool
	}{
		"In the value":         {term(requirement.In, "a"), false, true},
		"In another value":     {term(requirement.In, "b"), false, false},
		"NotIn the value":      {term(requirement.NotIn, "a"), true, false},
		"NotIn another value":  {term(requirement.NotIn, "b"), true, true},
		"Exists":               {term(requirement.Exists), false, true},
		"DoesNotExist":         {term(requirement.DoesNotExist), true, false},
		"Gt on no integer":     {term(requirement.Gt, "1"), false, false},
		"NotIn and Exists too": {append(term(requirement.NotIn, "b"), term(requirement.Exists)...), false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := requirement.NewVocabulary()
			pod := parse(t, v, tc.pod)
			if got := (requirement.Requirements{}).Compatible(pod, nil); got != tc.wantLacking {
				t.Errorf("where the key is missing: %v", got)
			}
			if got := v.Labels(map[string]string{"custom": "a"}).Compatible(pod, nil); got != tc.wantIn {
				t.Errorf("where the key is a: %v", got)
			}
		})
	}
	v := requirement.NewVocabulary()
	in := parse(t, v, term(requirement.In, "a"))
	if !(requirement.Requirements{}).Compatible(in, func(requirement.Key) bool { return true }) {
		t.Error("a key that may be undefined was refused")
	}
	notIn := parse(t, v, term(requirement.NotIn, "a"))
	if absent := parse(t, v, term(requirement.DoesNotExist)); !absent.Compatible(notIn, nil) {
		t.Error("two sides that both accept a missing label exclude each other")
	}
}

func TestAliasesMeanTheSame(t *testing.T) {
	for old, stable := range map[string]string{
		"beta.kubernetes.io/arch":                  requirement.Arch,
		"beta.kubernetes.io/os":                    requirement.OS,
		"beta.kubernetes.io/instance-type":         requirement.InstanceType,
		"failure-domain.beta.kubernetes.io/zone":   requirement.Zone,
		"failure-domain.beta.kubernetes.io/region": requirement.Region,
		"topology.ebs.csi.aws.com/zone":            requirement.Zone,
	} {
		v := requirement.NewVocabulary()
		if v.Key(old) != v.Key(stable) {
			t.Errorf("%s is not %s", old, stable)
		}
	}
}

func TestBoundsAreWrittenInclusively(t *testing.T) {
	v := requirement.NewVocabulary()
	r := parse(t, v, []requirement.Term{
		{Key: "cpu", Operator: requirement.Gt, Values: []string{"3"}, MinValues: 2},
		{Key: "cpu", Operator: requirement.Lt, Values: []string{"9"}},
	})
	want := []requirement.Term{
		{Key: "cpu", Operator: requirement.Gte, Values: []string{"4"}, MinValues: 2},
		{Key: "cpu", Operator: requirement.Lte, Values: []string{"8"}},
	}
	if diff := cmp.Diff(want, r.Terms()); diff != "" {
		t.Error(diff)
	}
}

func TestBadTermsAreRefusedByName(t *testing.T) {
	cases := map[string]struct {
		term requirement.Term
		want string
	}{
		"no key":           {requirement.Term{Operator: requirement.Exists}, "requirement without a key: give the label it is about"},
		"unknown operator": {requirement.Term{Key: "k", Operator: "Maybe"}, `requirement on k: unknown operator "Maybe"; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte`},
		"In of nothing":    {requirement.Term{Key: "k", Operator: requirement.In}, "requirement on k: In needs at least one value"},
		"Exists a value":   {requirement.Term{Key: "k", Operator: requirement.Exists, Values: []string{"x"}}, "requirement on k: Exists takes no values"},
		"two bounds":       {requirement.Term{Key: "k", Operator: requirement.Gt, Values: []string{"1", "2"}}, "requirement on k: Gt needs exactly one integer"},
		"no integer":       {requirement.Term{Key: "k", Operator: requirement.Lte, Values: []string{"many"}}, `requirement on k: Lte needs an integer, not "many"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := requirement.NewVocabulary().Parse([]requirement.Term{tc.term})
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

func TestASetOfOneValueIsAsSmallForTheLastNameAsForTheFirst(t *testing.T) {
	v := requirement.NewVocabulary()
	first := v.Only(requirement.Hostname, "node-0")
	for i := range 100_000 {
		v.Value(v.Key(requirement.Hostname), "node-"+strconv.Itoa(i))
	}
	before := v.Bytes()
	last := v.Only(requirement.Hostname, "node-99999")
	without := v.Without(requirement.Hostname, "node-99998")
	for name, r := range map[string]requirement.Requirements{"only": last, "without": without, "both": last.And(without),
		"of many": last.And(v.Only(requirement.Hostname, "node-1", "node-99999"))} {
		if r.Bytes() != first.Bytes() {
			t.Errorf("%s: %d bytes for the last name, %d for the first", name, r.Bytes(), first.Bytes())
		}
	}
	if v.Bytes() != before {
		t.Errorf("asking for a set made the vocabulary grow by %d bytes", v.Bytes()-before)
	}
}
