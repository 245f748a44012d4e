package snapshot

import (
	"maps"
	"testing"
)

// What bounds a kubelet is kept in every way in which it can be written; without one half of it, a class would be refused.
func TestAmountsOfAKubeletAreKept(t *testing.T) {
	kept := map[string]string{
		"memory.available": "1m30s", "nodefs.available": "10%", "imagefs.available": "5.5%", "cpu": "100m", "memory": "1073741824", "ephemeral-storage": "1.5Gi", "pid": "12e6", "pid.available": "2h45m0s",
	}
	if got := amountsOf(kept); !maps.Equal(got, kept) {
		t.Errorf("kept are %v", got)
	}
	if got := amountsOf(map[string]string{"memory": "acme", "cpu": "100 * acme", "acme": "1"}); len(got) != 0 {
		t.Errorf("names are kept: %v", got)
	}
}
