package world

import (
	"strings"
	"testing"
)

func TestParseFault(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a known kind":          {`{"kind":"no-capacity","capacityType":"spot","count":3}`, ""},
		"a kind that is not":    {`{"kind":"earthquake"}`, "no-capacity"},
		"a field that is not":   {`{"kind":"slow","speed":1}`, `"speed"`},
		"something that's text": {`no-capacity`, "fault no-capacity"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := ParseFault([]byte(tc.text))
			if tc.want == "" && (err != nil || f.Kind != FaultNoCapacity || f.Count != 3) {
				t.Errorf("got %+v, %v", f, err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}
