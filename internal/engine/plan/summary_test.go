package plan

import "testing"

// TestTheNearestPoolSaysWhyAPodWaits has reasons in the order of pools: those that a pod does not tolerate, or does not select, tell the least.
func TestTheNearestPoolSaysWhyAPodWaits(t *testing.T) {
	taint, label, full, short := Reason{Pool: "gpu", Code: TaintNotTolerated}, Reason{Pool: "web", Code: LabelMismatch}, Reason{Code: NodesFull}, Reason{Pool: "default", Code: NoOffering}
	for name, c := range map[string]struct {
		reasons []Reason
		want    Code
	}{
		"nothing":                      {nil, ""},
		"a pool for others":            {[]Reason{taint}, TaintNotTolerated},
		"a pool without capacity":      {[]Reason{taint, short}, NoOffering},
		"whatever their order":         {[]Reason{short, label, taint}, NoOffering},
		"nodes before pools of labels": {[]Reason{taint, label, full}, NodesFull},
	} {
		if r, ok := Nearest(c.reasons); r.Code != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, r.Code, ok, c.want)
		}
	}
}
