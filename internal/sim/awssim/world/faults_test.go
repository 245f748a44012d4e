package world

import (
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"", "", true}, {"", "a", false}, {"m5.*", "m5.large", true}, {"m5.*", "m5a.large", false}, {"*.large", "m5.large", true},
		{"m?.large", "m5.large", true}, {"m?.large", "m5a.large", false}, {"*a*b*", "xxaxxbxx", true}, {"*a*b", "xaxbx", false}, {"a", "A", false},
		{"/aws/*/image_id", "/aws/service/eks/image_id", true}, {"**", "x", true}, {"a*a", "a", false},
	} {
		if got := Match(c.pattern, c.s); got != c.want {
			t.Errorf("Match(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

func TestFaultsThatAreSpentSkippedOrTimed(t *testing.T) {
	strikes := func(f Fault, step time.Duration, n int) (hit []int) {
		w, clock := testWorld(t, nil)
		f.Kind = FaultError
		w.AddFault(f)
		for i := range n {
			if w.Intercept("ec2", "CreateFleet", "someone").Err != nil {
				hit = append(hit, i)
			}
			clock.Advance(step)
		}
		return hit
	}
	for _, c := range []struct {
		says string
		f    Fault
		want []int
	}{
		{"always", Fault{}, []int{0, 1, 2, 3, 4}},
		{"twice", Fault{Count: 2}, []int{0, 1}},
		{"once, at the third call", Fault{Skip: 2, Count: 1}, []int{2}},
		{"until a time", Fault{Until: noon.Add(2500 * time.Millisecond)}, []int{0, 1, 2}},
		{"another operation", Fault{Operation: "Describe*"}, nil},
		{"another service", Fault{Service: "ssm"}, nil},
		{"another caller", Fault{Principal: "*/other"}, nil},
		{"a resource that is not named", Fault{Resource: "/aws/*"}, nil},
	} {
		t.Run(c.says, func(t *testing.T) {
			got := strikes(c.f, time.Second, 5)
			if len(got) != len(c.want) {
				t.Fatalf("struck at %v, want %v", got, c.want)
			}
			for i := range got {
				if got[i] != c.want[i] {
					t.Errorf("struck at %v, want %v", got, c.want)
				}
			}
		})
	}
}

func TestAThrottleWithARateLetsThatRatePass(t *testing.T) {
	w, clock := testWorld(t, nil)
	id := w.AddFault(Fault{Kind: FaultThrottle, Operation: "CreateFleet", Rate: 2, Burst: 5})
	passed := func(calls int) (n int) {
		for range calls {
			in := w.Intercept("ec2", "CreateFleet", "")
			if in.Err == nil {
				n++
			} else if !in.Throttled || in.Err.Code != ThrottlingCode {
				t.Errorf("%+v", in.Err)
			}
		}
		return n
	}
	if n := passed(20); n != 5 {
		t.Errorf("%d of 20 passed at once, want the burst of 5", n)
	}
	clock.Advance(time.Second)
	if n := passed(20); n != 2 {
		t.Errorf("%d of 20 passed after a second, want 2", n)
	}
	clock.Advance(time.Hour)
	if n := passed(20); n != 5 {
		t.Errorf("%d of 20 passed after an hour, want 5", n)
	}
	if f, _ := w.Fault(id); f.Hits != 48 || f.Seen != 60 {
		t.Errorf("%d hits of %d", f.Hits, f.Seen)
	}
}

func TestFaultsAddUp(t *testing.T) {
	w, _ := testWorld(t, nil)
	w.AddFault(Fault{ID: "slow", Kind: FaultSlow, Delay: time.Second})
	w.AddFault(Fault{ID: "slower", Kind: FaultSlow, Delay: 2 * time.Second})
	w.AddFault(Fault{ID: "lost", Kind: FaultLostReply, Resource: "/aws/*"})
	in := w.Intercept("ssm", "GetParameter", "", "/aws/service/x")
	if in.Delay != 3*time.Second || !in.DropReply || in.Err != nil || len(in.FaultIDs) != 3 {
		t.Errorf("%+v", in)
	}
	w.AddFault(Fault{ID: "slow", Kind: FaultSlow, Delay: time.Minute})
	if len(w.Faults()) != 3 {
		t.Errorf("a fault of the same id must replace the other: %+v", w.Faults())
	}
	if !w.RemoveFault("slow") || w.RemoveFault("slow") {
		t.Error("remove must tell whether there was one")
	}
	w.ClearFaults()
	if in := w.Intercept("ssm", "GetParameter", "", "/aws/service/x"); in.Delay != 0 || in.DropReply {
		t.Errorf("%+v", in)
	}
}
