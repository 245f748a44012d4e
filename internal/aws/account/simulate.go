package account

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// Refusals asks IAM itself which actions of a role on a resource are denied for good: by a statement that denies them, or
// by the organization, whose policies can't be read from a member account. What is merely not allowed is left out: IAM does
// not look at the policy of the resource here, which may allow it.
//
// Errors: *cloud.Error.
func Refusals(ctx context.Context, api iam.SimulatePrincipalPolicyAPIClient, roleARN, resource string, actions []string) (map[string]string, error) {
	out := map[string]string{}
	pages := iam.NewSimulatePrincipalPolicyPaginator(api, &iam.SimulatePrincipalPolicyInput{PolicySourceArn: &roleARN, ActionNames: actions, ResourceArns: []string{resource},
		ContextEntries: []types.ContextEntry{{ContextKeyName: new("aws:SecureTransport"), ContextKeyType: types.ContextKeyTypeEnumBoolean, ContextKeyValues: []string{"true"}}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("asking IAM what "+roleARN+" may do", err)
		}
		for _, r := range page.EvaluationResults {
			action := deref(r.EvalActionName)
			switch {
			case r.OrganizationsDecisionDetail != nil && !r.OrganizationsDecisionDetail.AllowedByOrganizations:
				out[action] = "a policy of the organization does not allow it"
			case r.PermissionsBoundaryDecisionDetail != nil && !r.PermissionsBoundaryDecisionDetail.AllowedByPermissionsBoundary:
				out[action] = "the permissions boundary does not allow it"
			case r.EvalDecision == types.PolicyEvaluationDecisionTypeExplicitDeny:
				out[action] = "a statement denies it"
			}
		}
	}
	return out, nil
}
