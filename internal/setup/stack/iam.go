package stack

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// IAM is the stack's policies as plain JSON: what to attach to the controller, by policy name, and the trust policies and
// attachments of the roles, by role name.
//
// The queue's policy takes the rules to be named by their logical IDs. For a queue of another account it is what the owner
// has to add to the queue's policy.
//
// Errors: without region and account, or for a key that does not exist yet, there is nothing to put into the ARNs.
func (s *Stack) IAM() ([]byte, error) {
	o := &s.Options
	if o.Region == "" || o.AccountID == "" {
		return nil, errors.New("plain policies name a region and an account: give --region and --account-id, or write a template, which finds them out")
	}
	if s.Key != nil {
		return nil, errors.New("with --kms the key's ARN is known only once the key is made: make it first and name it with --kms-key, or write a template")
	}
	type role struct {
		Path, PermissionsBoundary string `json:",omitempty"`
		AssumeRolePolicyDocument  *iampolicy.Document
		ManagedPolicyArns         []string
	}
	out := struct {
		Policies      map[string]*iampolicy.Document
		Roles         map[string]role
		QueuePolicies map[string]*iampolicy.Document
	}{map[string]*iampolicy.Document{}, map[string]role{}, map[string]*iampolicy.Document{}}
	setup := s.Setup(o.AccountID, o.Region)
	for _, p := range setup.Policies {
		out.Policies[p.Name] = p.Document
	}
	for _, r := range setup.Roles {
		out.Roles[r.Name] = role{r.Path, r.Boundary, r.Trust, r.ManagedPolicyARNs}
	}
	for _, q := range setup.Queues {
		out.QueuePolicies[q.Name] = q.Policy
	}
	if m := queueARN.FindStringSubmatch(o.QueueARN); m != nil && m[3] != o.AccountID {
		out.QueuePolicies[m[4]] = s.resolver(o.AccountID, o.Region).document(s.receivingPolicy())
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing policies: %w", err)
	}
	return append(b, '\n'), nil
}
