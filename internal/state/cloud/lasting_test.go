package cloud_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestEqualFailuresHaveEqualWords(t *testing.T) {
	for sentence, tt := range map[string]struct{ text, want string }{
		"an answer of EC2": {
			"operation error EC2: RunInstances, https response error StatusCode: 403, RequestID: 9a89ed39-1, api error UnauthorizedOperation: no",
			"operation error EC2: RunInstances, https response error StatusCode: 403, api error UnauthorizedOperation: no",
		},
		"one at the end":  {"it failed, request id: 7c1-D", "it failed"},
		"two in one text": {"a RequestID: 1, b requestId: 2.", "a, b."},
		"a refusal that is encoded, whole and cut": {
			"with an explicit deny in an identity-based policy. Encoded authorization failure message: rFbbbuM2E34_8v-q/w+b==; and Encoded authorization failure message: rFb...",
			"with an explicit deny in an identity-based policy; and",
		},
		"none":                  {"RequestID is not said", "RequestID is not said"},
		"an answer without one": {"StatusCode: 0, RequestID: , request send failed", "StatusCode: 0, RequestID: , request send failed"},
	} {
		if got := cloud.Lasting(tt.text); got != tt.want {
			t.Errorf("%s: got %q, want %q", sentence, got, tt.want)
		}
	}
}
