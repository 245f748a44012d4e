package world

import (
	"strings"
	"testing"
	"time"
)

func TestParseFault(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a known kind":          {`{"kind":"no-capacity","capacityType":"spot","count":3}`, ""},
		"a kind that is not":    {`{"kind":"earthquake"}`, "no-capacity"},
		"a field that is not":   {`{"kind":"slow","speed":1}`, `"speed"`},
		"something that's text": {`no-capacity`, "fault no-capacity"},
		"a delay that is none":  {`{"kind":"slow","delay":"soon"}`, `"soon"`},
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

func TestDelaysAreWrittenAsPeopleWriteDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{`"2m"`: 2 * time.Minute, `1000`: 1000} {
		if f, err := ParseFault([]byte(`{"kind":"slow","service":"ec2","delay":` + text + `}`)); err != nil || f.Delay != want {
			t.Errorf("%s: %s, %v, want %s", text, f.Delay, err, want)
		}
	}
}
