package inventory

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/state/cloud"
)

func TestWhatEachStateReasonComesTo(t *testing.T) {
	for code, want := range map[string]struct {
		reason string
		blame  cloud.Blame
		says   string
	}{
		"Client.InternalError":                {"VolumeKeyUnusable", cloud.BlameClass, "kms:CreateGrant"},
		"Client.InvalidKMSKey.InvalidState":   {"VolumeKeyUnusable", cloud.BlameClass, "--volume-key"},
		"Client.InvalidSnapshot.NotFound":     {"SnapshotNotFound", cloud.BlameClass, "snapshot"},
		"Client.VolumeLimitExceeded":          {"VolumeLimitExceeded", cloud.BlameClass, "Service Quotas"},
		"Client.InstanceInitiatedShutdown":    {"InstanceShutItselfDown", cloud.BlameClass, "user data"},
		"Client.InstanceTerminated":           {"InstanceTerminated", cloud.BlameNobody, ""},
		"Client.UserInitiatedShutdown":        {"InstanceTerminated", cloud.BlameNobody, "CloudTrail"},
		"Client.UserInitiatedHibernate":       {"InstanceTerminated", cloud.BlameNobody, ""},
		"Client.SomethingNew":                 {"InstanceFailed", cloud.BlameClass, ""},
		"Server.InsufficientInstanceCapacity": {"InsufficientInstanceCapacity", cloud.BlamePool, ""},
		"Server.InternalError":                {"InternalError", cloud.BlamePool, ""},
		"Server.SpotInstanceTermination":      {"SpotInterrupted", cloud.BlamePool, ""},
		"Server.SpotInstanceShutdown":         {"SpotInterrupted", cloud.BlamePool, ""},
		"Server.ScheduledStop":                {"ScheduledStop", cloud.BlameNobody, ""},
		"Server.SomethingNew":                 {"InstanceFailed", cloud.BlamePool, ""},
	} {
		t.Run(code, func(t *testing.T) {
			message := code + ": the words of EC2"
			for name, r := range map[string]*types.StateReason{
				"with its code": {Code: &code, Message: &message}, "by its message alone": {Message: &message},
			} {
				got := endOf(types.InstanceStateNameTerminated, r)
				if got.Code != code || got.Reason != want.reason || got.Blame != want.blame || !strings.HasPrefix(got.Message, message) || !strings.Contains(got.Message, want.says) {
					t.Errorf("%s: %+v, want reason %s, blame %q, %q", name, got, want.reason, want.blame, want.says)
				}
			}
			if got := endOf(types.InstanceStateNameRunning, &types.StateReason{Code: &code}); got != nil {
				t.Errorf("a running instance has ended: %+v", got)
			}
		})
	}
	if got := endOf(types.InstanceStateNameTerminated, nil); got == nil || got.Blame != cloud.BlameNobody || got.Message == "" {
		t.Errorf("without a reason: %+v", got)
	}
}
