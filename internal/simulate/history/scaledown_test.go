package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/simulate/history"
)

// No Event says that the pods went: that of the Deployment does.
func TestScaleDownsEndPods(t *testing.T) {
	var items []string
	event := func(at, kind, name, reason, message string) {
		items = append(items, fmt.Sprintf(`{"kind":"Event","apiVersion":"v1","involvedObject":{"kind":%q,"namespace":"shop","name":%q},"reason":%q,"message":%q,"firstTimestamp":%q,"lastTimestamp":%[5]q}`,
			kind, name, reason, message, "2026-11-20T10:"+at+"Z"))
	}
	for i := range 4 {
		event("00:01", "ReplicaSet", "web-fc9577c78", "SuccessfulCreate", fmt.Sprintf("Created pod: web-fc9577c78-2t9x%d", i+2))
	}
	event("10:00", "Deployment", "web", "ScalingReplicaSet", "Scaled down replica set web-fc9577c78 from 4 to 1")
	path := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(path, []byte(`{"kind":"List","apiVersion":"v1","items":[`+strings.Join(items, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w, _, err := history.Read([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	if last := w.Steps[len(w.Steps)-1]; w.Peak(0) != 4 || last.Replicas != 1 {
		t.Errorf("at most %d, at the end %+v", w.Peak(0), last)
	}
}
