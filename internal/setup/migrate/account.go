package migrate

import (
	"slices"

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

// account takes over what the doctor found in AWS.
func (e *examination) account() {
	if e.Account == nil {
		if e.NoAWS != "" {
			e.unknown("AWS", "it was not checked: %s", e.NoAWS).
				why("the permissions of the controller's role and drift by images, subnets and instance types are not judged").
				fix("kerf migrate check --region REGION --profile PROFILE   # or --no-aws to leave AWS out on purpose")
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
