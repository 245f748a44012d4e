package check

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// ReadOptions say what a file does not tell by itself.
type ReadOptions struct {
	Source      string // file name
	ClusterName string
	AccountID   string
	Region      string
	Partition   string            // of the region, if empty
	Parameters  map[string]string // of a template
	// Given are ARNs that were given beside the file; they tell the account and the region where the file does not.
	Given []string
}

// Read reads a file of any kind.
func Read(data []byte, o ReadOptions) (*awssetup.Setup, Kind, error) {
	kind, err := Detect(o.Source, data)
	if err != nil {
		return nil, "", err
	}
	var setup *awssetup.Setup
	switch kind {
	case KindTerraform:
		setup, err = readPlan(data, o)
	case KindIAM:
		setup, err = readIAM(data, o)
	default:
		setup, err = readTemplate(data, o)
	}
	if err != nil {
		return nil, kind, fmt.Errorf("%s: %w", o.Source, err)
	}
	setup.Source = o.Source
	setup.AssumedRegion = setup.Region == assumedRegion && o.Region == "" && !bytes.Contains(data, []byte(assumedRegion)) && mostFrequent(writtenRegion, []byte(strings.Join(o.Given, "\n"))) == ""
	setup.Assumed = setup.AccountID == assumedAccount && o.AccountID == "" && !bytes.Contains(data, []byte(assumedAccount)) && !strings.Contains(strings.Join(o.Given, "\n"), assumedAccount)
	return setup, kind, nil
}

// clusterNameOf tells the cluster's name from what carries it, surest first.
func clusterNameOf(s *awssetup.Setup) string {
	const ownerTag = "/kubernetes.io/cluster/"
	for _, d := range documentsOf(s) {
		for _, st := range d.Document.Statements {
			for _, c := range st.Conditions {
				if _, name, ok := strings.Cut(c.Key, ownerTag); ok && name != "" {
					return name
				}
			}
		}
	}
	for _, r := range s.Roles {
		if name, ok := strings.CutPrefix(r.Name, "KarpenterNodeRole-"); ok {
			return name
		}
	}
	for _, d := range documentsOf(s) {
		for _, st := range d.Document.Statements {
			for _, r := range st.Resources {
				if _, name, ok := strings.Cut(r, ":cluster/"); ok && strings.Contains(r, ":eks:") && !strings.ContainsAny(name, "*?$") {
					return name
				}
			}
		}
	}
	for _, q := range s.Queues {
		if name := q.Tags["karpenter.sh/discovery"]; name != "" {
			return name
		}
	}
	return ""
}

// documentsOf are all policies of identities.
func documentsOf(s *awssetup.Setup) []iampolicy.Named {
	var out []iampolicy.Named
	for _, p := range s.Policies {
		if p.Document != nil {
			out = append(out, iampolicy.Named{Name: p.Name, Document: p.Document})
		}
	}
	for _, r := range s.Roles {
		out = append(out, r.Inline...)
	}
	return out
}

func roleBy(s *awssetup.Setup, nameOrARN string) *awssetup.Role {
	for i := range s.Roles {
		if r := &s.Roles[i]; nameOrARN != "" && (r.Name == nameOrARN || r.ARN == nameOrARN) {
			return r
		}
	}
	return nil
}

func queueByARN(s *awssetup.Setup, arn string) *awssetup.Queue {
	for i := range s.Queues {
		if arn != "" && s.Queues[i].ARN == arn {
			return &s.Queues[i]
		}
	}
	return nil
}
