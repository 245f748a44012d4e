package inventory

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// end is what a state reason of EC2 comes to.
type end struct {
	// code is the state reason's, or what it begins with if it ends in a dot.
	code, reason string
	blame        cloud.Blame
	hint         string
}

// ends are tried from the top. What is not in the list is judged by its first word: the caller's doing, or the service's.
//
// Source: EC2 API reference, StateReason; EC2 User Guide, "Troubleshoot Amazon EC2 instance termination issues".
var ends = []end{
	{"Client.InternalError", "VolumeKeyUnusable", cloud.BlameClass, keyHint},
	{"Client.InvalidKMSKey.", "VolumeKeyUnusable", cloud.BlameClass, keyHint},
	{"Client.InvalidSnapshot.NotFound", "SnapshotNotFound", cloud.BlameClass, "a snapshot of the image or of spec.blockDeviceMappings does not exist or is not shared with this account"},
	{"Client.VolumeLimitExceeded", "VolumeLimitExceeded", cloud.BlameClass, "the account's EBS volumes or their storage are at their quota: raise it in Service Quotas (Amazon EBS), or delete volumes that nobody uses"},
	{"Client.InstanceInitiatedShutdown", "InstanceShutItselfDown", cloud.BlameClass, "its operating system shut it down: look at the user data and the image"},
	{"Client.InstanceTerminated", "InstanceTerminated", cloud.BlameNobody, ""},
	{"Client.UserInitiated", "InstanceTerminated", cloud.BlameNobody, "somebody ended it by a call to EC2; CloudTrail tells who"},
	{"Server.InsufficientInstanceCapacity", awserr.ReasonInsufficientCapacity, cloud.BlamePool, ""},
	{"Server.InternalError", awserr.ReasonInternalError, cloud.BlamePool, ""},
	{"Server.SpotInstance", "SpotInterrupted", cloud.BlamePool, ""},
	{"Server.ScheduledStop", "ScheduledStop", cloud.BlameNobody, ""},
	{"Client.", "InstanceFailed", cloud.BlameClass, ""},
	{"Server.", "InstanceFailed", cloud.BlamePool, ""},
	{"", "InstanceTerminated", cloud.BlameNobody, ""},
}

// keyHint is what is behind an instance that ends as it begins, as a rule: EC2 does not say so.
//
// Source: EC2 User Guide, "Troubleshoot Amazon EC2 instance termination issues"; EBS User Guide, "Permissions for Amazon
// EBS encryption".
const keyHint = "mostly it could not use the KMS key of a volume: allow kms:CreateGrant, kms:Decrypt, kms:DescribeKey, " +
	"kms:GenerateDataKeyWithoutPlaintext, kms:ReEncryptFrom and kms:ReEncryptTo on that key in the policies of the controller's role " +
	"(\"kerf stack\" does with --volume-key), and see that the key is enabled and that its own policy lets the account decide"

// endOf judges why an instance in such a state no longer runs; nil while it does.
func endOf(state types.InstanceStateName, r *types.StateReason) *cloud.Ended {
	if state == types.InstanceStateNamePending || state == types.InstanceStateNameRunning {
		return nil
	}
	var code, message string
	if r != nil {
		code, message = aws.ToString(r.Code), aws.ToString(r.Message)
	}
	if code == "" {
		code, _, _ = strings.Cut(message, ":")
	}
	if message == "" {
		message = code
	}
	for _, e := range ends {
		if !strings.HasPrefix(code, e.code) {
			continue
		}
		if message == "" {
			message = "EC2 does not say why"
		}
		if e.hint != "" {
			message += "; " + e.hint
		}
		return &cloud.Ended{Code: code, Reason: e.reason, Blame: e.blame, Message: message}
	}
	return nil // the last of the list fits all
}
