package expire

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// crowd are claims that are due an hour and up to a minute after the beginning of time.
func crowd(n int, ahead time.Duration) []*due {
	out := make([]*due, n)
	for i := range out {
		out[i] = &due{
			claim: &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%04d", i)}},
			at:    time.Unix(3600+int64(i*7%60), 0), ahead: ahead,
		}
	}
	return out
}

func TestAThousandThatWereBornTogetherDoNotGoTogether(t *testing.T) {
	const n = 1000
	dues := crowd(n, time.Hour)
	pace(dues, n)
	minutes := map[int64]int{}
	for _, d := range dues {
		minutes[d.begin.Unix()/60]++
		if d.begin.After(d.at) {
			t.Errorf("%s begins %s late", d.claim.Name, d.begin.Sub(d.at))
		}
		if early := d.at.Sub(d.begin); early > time.Hour {
			t.Errorf("%s begins %s early", d.claim.Name, early)
		}
	}
	for m, in := range minutes {
		if in > 17 {
			t.Errorf("%d begin in minute %d; evenly spread it is 17", in, m)
		}
	}
}

func TestThePlanOfTheOthersStaysWhenOneHasGone(t *testing.T) {
	const n = 200
	dues := crowd(n, time.Hour)
	pace(dues, n)
	planned := map[string]time.Time{}
	for _, d := range dues {
		planned[d.claim.Name] = d.begin
	}
	for len(dues) > 0 {
		dues = dues[1:] // its replacement is a claim of the pool, and far from its age
		pace(dues, n)
		for _, d := range dues {
			if !d.begin.Equal(planned[d.claim.Name]) {
				t.Fatalf("%s was to begin at %s, and with %d left at %s", d.claim.Name, planned[d.claim.Name], len(dues), d.begin)
			}
		}
	}
}
