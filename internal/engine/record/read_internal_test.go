package record

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/engine/cluster"
	"github.com/kerf-sh/kerf/internal/engine/pack"
)

func TestFilesThatAreTooLarge(t *testing.T) {
	p := &pack.Problem{Pending: []*cluster.Pod{{Class: &cluster.Class{Unplaceable: strings.Repeat("no ", 10_000)}}}}
	var b bytes.Buffer
	if err := Write(&b, &Decision{Kerf: "v1", Problem: p}); err != nil {
		t.Fatal(err)
	}
	file, text := int64(b.Len()), int64(40_000)
	for name, tc := range map[string]struct {
		file, text int64
		ok         bool
	}{
		"just large enough":              {file, text, true},
		"one byte too large":             {file - 1, text, false},
		"small, but much when it opened": {file, 20_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(bytes.NewReader(b.Bytes()), tc.file, tc.text)
			if tc.ok && err != nil || !tc.ok && (err == nil || !strings.Contains(err.Error(), "larger than a recorded decision may be")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
