package v1_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	v1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

func TestNillableDurationIsWrittenAsItWasRead(t *testing.T) {
	for text, want := range map[string]*time.Duration{
		`"Never"`:           nil,
		`"60m"`:             new(time.Hour),
		`"1h0m0s"`:          new(time.Hour),
		`"0s"`:              new(time.Duration(0)),
		`"720h"`:            new(720 * time.Hour),
		`"99999999999999h"`: new(time.Duration(math.MaxInt64)),
	} {
		var d v1.NillableDuration
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Errorf("read %s: %v", text, err)
			continue
		}
		if (d.Duration == nil) != (want == nil) || want != nil && *d.Duration != *want {
			t.Errorf("%s reads %v, want %v", text, d.Duration, want)
		}
		got, err := json.Marshal(d)
		if err != nil || string(got) != text {
			t.Errorf("%s is written %s (%v)", text, got, err)
		}
	}
}

func TestNillableDurationMadeInGo(t *testing.T) {
	for want, d := range map[string]v1.NillableDuration{
		`"Never"`:  {},
		`"1h0m0s"`: v1.NewNillableDuration(time.Hour),
	} {
		if got, err := json.Marshal(d); err != nil || string(got) != want {
			t.Errorf("written %s (%v), want %s", got, err, want)
		}
	}
}

func TestNillableDurationRefusesNonsense(t *testing.T) {
	for _, text := range []string{`""`, `"never"`, `"1d"`, `"h"`, `"1h30"`, `5`, `{}`} {
		var d v1.NillableDuration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s reads %+v, want an error", text, d)
		}
	}
}

func TestDurationIsWrittenAsItWasRead(t *testing.T) {
	for _, text := range []string{`"90s"`, `"60m"`, `"99999999999999h"`} {
		var d v1.Duration
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatalf("read %s: %v", text, err)
		}
		if got, err := json.Marshal(d); err != nil || string(got) != text {
			t.Errorf("%s is written %s (%v)", text, got, err)
		}
	}
	if got, err := json.Marshal(v1.NewDuration(90 * time.Second)); err != nil || string(got) != `"1m30s"` {
		t.Errorf("90 seconds are written %s (%v)", got, err)
	}
}
