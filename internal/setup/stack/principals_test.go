package stack

import (
	"slices"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Nodes can take their role in every partition, the controller may pass it to the service that the role names, and all other services are
// called what they are everywhere.
func TestServicesAreNamedAsTheirPartitionDoes(t *testing.T) {
	for _, compat := range []Compat{V032Later, V10, Latest} {
		s := makeStack(t, compat)
		for _, p := range partition.All {
			setup := s.Setup(testAccount, p.Longest)
			var policies []iampolicy.Named
			for _, x := range setup.Policies {
				policies = append(policies, iampolicy.Named{Name: x.Name, Document: x.Document})
			}
			service := setup.Roles[0].Trust.Statements[0].Principal.Service
			if !slices.Equal(service, []string{p.EC2Service()}) {
				t.Errorf("%s, %s: the nodes' role trusts %q, want %s", compat, p.Name, service, p.EC2Service())
			}
			call := iampolicy.Call{
				Caller: iampolicy.Caller{Account: testAccount}, Action: "iam:PassRole", Resource: setup.Roles[0].ARN,
				Context: iampolicy.Context{"iam:passedtoservice": {p.EC2Service()}},
			}
			if !iampolicy.Evaluate(call, iampolicy.Policies{Identity: policies}).OK() {
				t.Errorf("%s, %s: the role can't be passed to %s", compat, p.Name, p.EC2Service())
			}
			for _, q := range setup.Queues {
				for _, st := range q.Policy.Statements {
					if st.Principal == nil {
						continue
					}
					for _, name := range st.Principal.Service {
						if !strings.HasSuffix(name, ".amazonaws.com") {
							t.Errorf("%s, %s: the queue's policy names %s", compat, p.Name, name)
						}
					}
				}
			}
		}
	}
}
