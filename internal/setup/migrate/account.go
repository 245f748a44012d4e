package migrate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/setup/doctor"
)

// accountChecks are those of the doctor that bear upon the swap, with what a failure means for it. The doctor's others judge a
// set-up that is as good or bad for Karpenter.
var accountChecks = map[string]string{
	"controller-permissions":  "Kerf makes calls that the role does not allow",
	"controller-queue-access": "Kerf does not learn of interruptions",
	"controller-decrypt":      "Kerf can't read the messages of the queue",
	"queue-exists":            "Kerf does not learn of interruptions",
	"node-role-mapped":        "nodes that Kerf launches can't join",
}

// nodeRegion is the region that the cluster runs in, as its nodes or its controller say; empty: not known.
func (s *Seen) nodeRegion() string {
	for i := range s.Nodes {
		if region := s.Nodes[i].Labels[corev1.LabelTopologyRegion]; region != "" {
			return region
		}
	}
	return s.environment()["AWS_REGION"]
}

// WrongRegion says that a region is not the one of the cluster, as far as the cluster tells; empty: nothing speaks against it.
func (s *Seen) WrongRegion(region string) string {
	if own := s.nodeRegion(); region != "" && own != "" && own != region {
		return fmt.Sprintf("cluster %q runs in %s, not in %s", s.ClusterName, own, region)
	}
	return ""
}

// account takes over what the doctor found in AWS.
func (e *examination) account() {
	if e.Account == nil {
		if e.NoAWS != "" {
			e.unknown("AWS", "it was not checked: %s", e.NoAWS).
				why("the permissions of the controller's role and drift by images, subnets and instance types are not judged").
				fix("kerf migrate check --region " + orWord(e.nodeRegion(), "REGION") + "   # with --profile PROFILE for other credentials, or --no-aws to leave AWS out on purpose")
		}
		return
	}
	for i := range e.Account.Results {
		r := &e.Account.Results[i]
		why, ok := accountChecks[r.ID]
		if !ok || r.Status == doctor.Skipped {
			continue
		}
		object := "AWS account " + e.Account.Account
		if e.Account.ControllerRole != "" && r.ID != "node-role-mapped" {
			object = "role " + e.Account.ControllerRole
		}
		severity := map[doctor.Status]Severity{doctor.Failed: Blocks, doctor.Warning: Differs, doctor.Unknown: Unknown, doctor.OK: Fine}[r.Status]
		f := e.note(severity, object, "%s", r.Finding).with(slices.Clone(r.Evidence)...)
		switch severity {
		case Fine:
			f.Evidence = nil
		default:
			f.why("%s", why)
			if r.Remedy != "" {
				f.fix(r.Remedy)
			}
		}
	}
}
