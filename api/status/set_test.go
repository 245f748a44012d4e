package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kerf-sh/kerf/api/status"
)

type object struct {
	metav1.ObjectMeta
	conditions []status.Condition
}

func (o *object) GetConditions() []status.Condition  { return o.conditions }
func (o *object) SetConditions(c []status.Condition) { o.conditions = c }

var birth = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// fixture returns an object with dependents A and B, and a clock that the test moves.
func fixture() (*object, status.Set, *time.Time) {
	o := &object{ObjectMeta: metav1.ObjectMeta{Generation: 1, CreationTimestamp: metav1.NewTime(birth)}}
	now := birth.Add(time.Minute)
	return o, status.For(o, "A", "B").WithClock(func() time.Time { return now }), &now
}

func TestReadsLeaveTheObjectAlone(t *testing.T) {
	o, set, _ := fixture()
	for _, typ := range []string{"A", "B", status.Ready} {
		if c := set.Get(typ); !c.IsUnknown() || c.Reason != status.ReasonAwaitingReconciliation {
			t.Errorf("missing %s reads %+v, want Unknown", typ, c)
		}
	}
	if c := set.Get("Other"); c != nil {
		t.Errorf("a missing condition that is no dependent reads %+v, want nil", c)
	}
	if set.IsTrue() || len(o.conditions) != 0 {
		t.Errorf("reading added %+v", o.conditions)
	}
}

func TestFirstWriteAddsDependentsDatedAtCreation(t *testing.T) {
	o, set, now := fixture()
	if !set.SetTrue("A") {
		t.Fatal("the first write reports no change")
	}
	want := []status.Condition{
		{Type: "B", Status: "Unknown", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(birth), Reason: status.ReasonAwaitingReconciliation},
		{Type: "A", Status: "True", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(*now), Reason: "A"},
		{Type: "Ready", Status: "Unknown", ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(birth), Reason: status.ReasonReconcilingDependents, Message: "B=Unknown"},
	}
	for i := range o.conditions {
		if o.conditions[i].Reason == status.ReasonAwaitingReconciliation {
			o.conditions[i].Message = ""
		}
	}
	if diff := cmp.Diff(want, o.conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestRootSumsUpItsDependents(t *testing.T) {
	for name, tc := range map[string]struct {
		write       func(status.Set)
		wantStatus  metav1.ConditionStatus
		wantReason  string
		wantMessage string
	}{
		"all true": {func(s status.Set) { s.SetTrue("A"); s.SetTrue("B") }, "True", "Ready", ""},
		"one unknown": {func(s status.Set) { s.SetTrue("A"); s.SetUnknownWithReason("B", "Wait", "") },
			"Unknown", status.ReasonReconcilingDependents, "B=Unknown"},
		"one false": {func(s status.Set) { s.SetTrue("A"); s.SetFalse("B", "Bad", "") },
			"False", status.ReasonUnhealthyDependents, "B=False"},
		"one false before another that is unknown": {func(s status.Set) { s.SetFalse("B", "Bad", "") },
			"False", status.ReasonUnhealthyDependents, "B=False, A=Unknown"},
		"others do not count": {func(s status.Set) { s.SetTrue("A"); s.SetTrue("B"); s.SetFalse("Other", "Bad", "") }, "True", "Ready", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, set, _ := fixture()
			tc.write(set)
			root := set.Root()
			if root.Status != tc.wantStatus || root.Reason != tc.wantReason || root.Message != tc.wantMessage {
				t.Errorf("root is %s %s %q, want %s %s %q", root.Status, root.Reason, root.Message, tc.wantStatus, tc.wantReason, tc.wantMessage)
			}
		})
	}
}

func TestADependentOfAnOlderGenerationCountsAsUnknown(t *testing.T) {
	o, set, _ := fixture()
	set.SetTrue("A")
	set.SetTrue("B")
	o.Generation = 2
	set.SetTrue("A")
	if root := set.Root(); root.Status != "Unknown" || root.Message != "B=Unknown" {
		t.Errorf("root is %s %q, want Unknown because of B", root.Status, root.Message)
	}
	set.SetTrue("B")
	if !set.IsTrue() {
		t.Error("root is not True though both dependents were seen again")
	}
}

func TestTransitionTimeMovesOnlyWhenTheStatusFlips(t *testing.T) {
	_, set, now := fixture()
	set.SetFalse("A", "One", "")
	first := set.Get("A").LastTransitionTime
	*now = now.Add(time.Minute)
	if !set.SetFalse("A", "Two", "new words") {
		t.Error("another reason is no change")
	}
	if got := set.Get("A"); got.LastTransitionTime != first || got.Reason != "Two" {
		t.Errorf("another reason gave %+v, want the time %s", got, first)
	}
	if set.SetFalse("A", "Two", "new words") {
		t.Error("writing the same again is a change")
	}
	set.SetTrue("A")
	if got := set.Get("A").LastTransitionTime; !got.Time.Equal(*now) {
		t.Errorf("a flip gave the time %s, want %s", got, now)
	}
}

func TestClearRemovesOnlyWhatIsNoDependent(t *testing.T) {
	_, set, _ := fixture()
	set.SetTrue("Other")
	if !set.Clear("Other") || set.Get("Other") != nil {
		t.Error("Other is still there")
	}
	if set.Clear("Other") || set.Clear("A") || set.Clear(status.Ready) {
		t.Error("cleared what is not there, a dependent or the root")
	}
}

func TestDeletionMarksEveryConditionAsSeen(t *testing.T) {
	o, set, _ := fixture()
	set.SetTrue("A")
	set.SetTrue("B")
	o.Generation, o.DeletionTimestamp = 2, new(metav1.NewTime(birth))
	set.SetTrue("Drained")
	for _, c := range o.conditions {
		if c.ObservedGeneration != 2 {
			t.Errorf("%s was seen at generation %d, want 2", c.Type, c.ObservedGeneration)
		}
	}
	if !set.IsTrue() {
		t.Error("the root went away with the object's generation")
	}
}

func TestRootlessAddsNothing(t *testing.T) {
	o := &object{}
	status.Rootless(o).SetTrue("A")
	if len(o.conditions) != 1 || o.conditions[0].Type != "A" {
		t.Errorf("conditions are %+v, want A alone", o.conditions)
	}
}

func TestWritesDoNotReachACopyThatSharesTheList(t *testing.T) {
	o, set, _ := fixture()
	set.SetTrue("A")
	shared := o.conditions
	before := append([]status.Condition(nil), shared...)
	set.SetFalse("A", "Bad", "")
	set.SetTrue("Other")
	set.Clear("Other")
	if diff := cmp.Diff(before, shared); diff != "" {
		t.Errorf("the older list changed (-before +after):\n%s", diff)
	}
}
