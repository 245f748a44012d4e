package awscli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/kerf-sh/kerf/internal/aws/session"
)

// operations are the commands that are known, by service and operation.
func operations(s *session.Session) map[string]operation {
	kms, events, alarms := s.KMS(), s.EventBridge(), s.CloudWatch()
	return map[string]operation{
		"cloudwatch put-metric-alarm":         call(alarms.PutMetricAlarm),
		"eks create-access-entry":             call(s.EKS.CreateAccessEntry),
		"eks create-pod-identity-association": call(s.EKS.CreatePodIdentityAssociation),
		"eks delete-access-entry":             call(s.EKS.DeleteAccessEntry),
		"events enable-rule":                  call(events.EnableRule),
		"events put-rule":                     call(events.PutRule),
		"events put-targets":                  call(events.PutTargets),
		"iam attach-role-policy":              call(s.IAM.AttachRolePolicy),
		"iam create-policy":                   call(s.IAM.CreatePolicy),
		"iam create-policy-version":           inTurn(makeRoom(s), call(s.IAM.CreatePolicyVersion)),
		"iam delete-role-policy":              call(s.IAM.DeleteRolePolicy),
		"iam detach-role-policy":              call(s.IAM.DetachRolePolicy),
		"iam put-role-policy":                 call(s.IAM.PutRolePolicy),
		"iam update-assume-role-policy":       call(s.IAM.UpdateAssumeRolePolicy),
		"kms enable-key":                      call(kms.EnableKey),
		"kms put-key-policy":                  call(kms.PutKeyPolicy),
		"sqs create-queue":                    call(s.SQS.CreateQueue),
		"sqs set-queue-attributes":            call(s.SQS.SetQueueAttributes),
		"sqs tag-queue":                       call(s.SQS.TagQueue),
	}
}

// inTurn carries out one after the other with the same flags.
func inTurn(first, second operation) operation {
	return func(ctx context.Context, flags []string) error {
		if err := first(ctx, flags); err != nil {
			return err
		}
		return second(ctx, flags)
	}
}

// makeRoom does what a loop of the shell does before a version is added to a policy: it deletes the oldest, for IAM keeps
// five.
func makeRoom(s *session.Session) operation {
	const others = 3 // besides the one in force and the one to come
	return func(ctx context.Context, flags []string) error {
		i := slices.Index(flags, "--policy-arn")
		if i < 0 || i+1 == len(flags) {
			return fmt.Errorf("--policy-arn is not given")
		}
		arn := &flags[i+1]
		out, err := s.IAM.ListPolicyVersions(ctx, &iam.ListPolicyVersionsInput{PolicyArn: arn})
		if err != nil {
			return err
		}
		old := slices.DeleteFunc(out.Versions, func(v types.PolicyVersion) bool { return v.IsDefaultVersion })
		slices.SortFunc(old, func(a, b types.PolicyVersion) int {
			return cmp.Or(a.CreateDate.Compare(*b.CreateDate), cmp.Compare(*a.VersionId, *b.VersionId))
		})
		for _, v := range old[:max(0, len(old)-others)] {
			if _, err := s.IAM.DeletePolicyVersion(ctx, &iam.DeletePolicyVersionInput{PolicyArn: arn, VersionId: v.VersionId}); err != nil {
				return err
			}
		}
		return nil
	}
}
