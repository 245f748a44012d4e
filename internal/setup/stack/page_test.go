package stack

import (
	"strings"
	"testing"
)

func TestThePageHasEveryStatementAndEveryOption(t *testing.T) {
	page, err := Doc()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Editions() {
		for _, p := range makeStack(t, c, everything).Policies {
			for _, st := range p.Document.Statements {
				if !strings.Contains(page, st.Sid) {
					t.Errorf("no word of %s", st.Sid)
				}
				for _, a := range st.Actions {
					if !strings.Contains(page, "`"+a+"`") {
						t.Errorf("no word of %s", a)
					}
				}
			}
		}
	}
	for _, n := range MustNot() {
		if !strings.Contains(page, n.Feature) {
			t.Errorf("no word of %s", n.Feature)
		}
	}
}
