package setupfile

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
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
	setup.AssumedRegion = setup.Region == AssumedRegion && o.Region == "" && !bytes.Contains(data, []byte(AssumedRegion)) && mostFrequent(writtenRegion, []byte(strings.Join(o.Given, "\n"))) == ""
	setup.Assumed = setup.AccountID == AssumedAccount && o.AccountID == "" && !bytes.Contains(data, []byte(AssumedAccount)) && !strings.Contains(strings.Join(o.Given, "\n"), AssumedAccount)
	return setup, kind, nil
}

// clusterNameOf tells the cluster's name from what carries it, surest first.
func clusterNameOf(s *awssetup.Setup) string {
	const ownerTag = "/kubernetes.io/cluster/"
	for _, d := range s.Documents() {
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
	for _, d := range s.Documents() {
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
