package overlay

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
)

func types() []*catalog.Type {
	offer := func(p catalog.MicroUSD) []catalog.Offering {
		return []catalog.Offering{{Zone: "a", CapacityType: catalog.OnDemand, Price: p, Available: true}}
	}
	return []*catalog.Type{{Name: "c5.large", Offerings: offer(85)}, {Name: "m5.large", Offerings: offer(96)}}
}

func of(instanceType string, price catalog.MicroUSD) catalog.Overlay {
	return catalog.Overlay{Name: instanceType, Price: &catalog.PriceRule{Price: price}, Requirements: []requirement.Term{
		{Key: requirement.InstanceType, Operator: requirement.In, Values: []string{instanceType}},
	}}
}

func TestAPoolWaitsUntilItIsEvaluated(t *testing.T) {
	s := New()
	if _, err := s.Types("blue", types()); err == nil {
		t.Error("types are shown before the first evaluation")
	}
	s.Set(nil, map[string]map[string]string{"blue": nil})
	list := types()
	got, err := s.Types("blue", list)
	if err != nil || &got[0] != &list[0] {
		t.Errorf("without overlays: another list, %v", err)
	}
	if _, err := s.Types("red", list); err == nil {
		t.Error("types are shown to a pool that nobody evaluated")
	}
	if got, err := s.Types("", list); err != nil || &got[0] != &list[0] {
		t.Errorf("an instance of no pool sees another list, %v", err)
	}
	if got, err := (*Store)(nil).Types("blue", list); err != nil || &got[0] != &list[0] {
		t.Errorf("without a store there is another list, %v", err)
	}
}

func TestTheSameQuestionGetsTheSameList(t *testing.T) {
	s := New()
	pools := map[string]map[string]string{"blue": nil}
	if !s.Set([]catalog.Overlay{of("m5.large", 7)}, pools) {
		t.Error("the first evaluation changed nothing")
	}
	list := types()
	first, _ := s.Types("blue", list)
	if first[1].Offerings[0].Price != 7 || first[0] != list[0] || list[1].Offerings[0].Price != 96 {
		t.Errorf("prices: %d, %d; the list's own %d", first[0].Offerings[0].Price, first[1].Offerings[0].Price, list[1].Offerings[0].Price)
	}
	if s.Set([]catalog.Overlay{of("m5.large", 7)}, pools) {
		t.Error("the same overlays changed something")
	}
	if again, _ := s.Types("blue", list); &again[0] != &first[0] {
		t.Error("the same question got another list")
	}
	next := []*catalog.Type{types()[0], list[1]}
	if got, _ := s.Types("blue", next); &got[0] == &first[0] || got[1] != first[1] || got[0] != next[0] {
		t.Error("what did not change was made anew, or what did was not")
	}
	s.Set([]catalog.Overlay{of("m5.large", 8)}, pools)
	if got, _ := s.Types("blue", list); got[1].Offerings[0].Price != 8 {
		t.Errorf("after another evaluation the price is %d", got[1].Offerings[0].Price)
	}
	shown, _ := s.Types("blue", list)
	s.Set(nil, pools) // whoever has the list of before still knows what its types were
	if _, err := s.Types("blue", types()); err != nil || shown[1].Listed != list[1] || shown[0].Listed != nil {
		t.Errorf("it is not known any more what a type was: %v", err)
	}
}
