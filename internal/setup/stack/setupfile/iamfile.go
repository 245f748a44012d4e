package setupfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// readIAM reads a policy document, what "aws iam get-policy-version" prints, or what "kerf stack iam" writes.
func readIAM(data []byte, o ReadOptions) (*awssetup.Setup, error) {
	where := Place{o.Partition, o.Region, o.AccountID}.written(data, o.Given)
	s := &awssetup.Setup{Partition: where.Partition, Region: where.Region, AccountID: where.Account, ClusterName: o.ClusterName}
	var file struct {
		Statement     json.RawMessage
		PolicyVersion struct{ Document json.RawMessage }
		Policies      map[string]json.RawMessage
		Roles         map[string]struct {
			Path, PermissionsBoundary string
			AssumeRolePolicyDocument  json.RawMessage
			ManagedPolicyArns         []string
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	documents := file.Policies
	switch {
	case file.Statement != nil:
		documents = map[string]json.RawMessage{o.Source: data}
	case file.PolicyVersion.Document != nil:
		documents = map[string]json.RawMessage{o.Source: file.PolicyVersion.Document}
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		d, err := iampolicy.Parse(documents[name])
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
		s.Policies = append(s.Policies, awssetup.Policy{
			Name: name, ARN: where.Global("iam", "policy/"+name), Document: d, Characters: iampolicy.Size(d.JSON()),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(file.Roles)) {
		f := file.Roles[name]
		path := f.Path
		if path == "" {
			path = "/"
		}
		r := awssetup.Role{Name: name, Path: path, ARN: where.Global("iam", "role"+path+name), ManagedPolicyARNs: f.ManagedPolicyArns, Boundary: f.PermissionsBoundary}
		if len(f.AssumeRolePolicyDocument) > 0 {
			d, err := iampolicy.Parse(f.AssumeRolePolicyDocument)
			if err != nil {
				return nil, fmt.Errorf("trust policy of role %s: %w", name, err)
			}
			r.Trust = d
		}
		s.Roles = append(s.Roles, r)
	}
	if s.ClusterName == "" {
		s.ClusterName = clusterNameOf(s)
	}
	return s, nil
}
