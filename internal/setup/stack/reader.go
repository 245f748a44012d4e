package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// ReadPolicyName is the name of the policy of kerf plan and kerf controller --shadow.
func (s *Stack) ReadPolicyName() string { return "KerfReadOnlyPolicy-" + s.Options.ClusterName }

// readServices are those that are asked where nothing is changed: instance profiles and queues are not, for they are only
// looked at to be made right or emptied.
var readServices = []string{"ec2", "ssm", "pricing", "eks", "arc-zonal-shift"}

// ReadPolicy is what kerf plan and kerf controller --shadow may do in AWS: of each statement of the controller's policies the
// actions that read.
func (s *Stack) ReadPolicy() *iampolicy.Document {
	var list []iampolicy.Statement
	for _, p := range s.Setup(s.Options.AccountID, s.Options.Region).Policies {
		for _, statement := range p.Document.Statements {
			read := statement
			read.Actions = slices.DeleteFunc(slices.Clone(statement.Actions), func(a string) bool { return !readsOnly(a) })
			if statement.Effect == iampolicy.Allow && len(read.Actions) > 0 {
				list = append(list, read)
			}
		}
	}
	return document(list...)
}

func readsOnly(action string) bool {
	service, name, _ := strings.Cut(action, ":")
	return slices.Contains(readServices, service) && (strings.HasPrefix(name, "Describe") || strings.HasPrefix(name, "Get") || strings.HasPrefix(name, "List"))
}

// ReadOnlyIAM is that policy as plain JSON.
//
// Errors: without region and account there is nothing to put into the ARNs.
func (s *Stack) ReadOnlyIAM() ([]byte, error) {
	if s.Options.Region == "" || s.Options.AccountID == "" {
		return nil, errors.New("plain policies name a region and an account: give --region and --account-id")
	}
	b, err := json.MarshalIndent(s.ReadPolicy(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing policies: %w", err)
	}
	return append(b, '\n'), nil
}
