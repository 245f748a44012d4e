package changeplan

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// oracle answers with the findings that it is given, and with nothing found.
type oracle struct {
	Cloud
	findings []cloud.Finding
}

func (o oracle) Resolve(context.Context, *awsv1.EC2NodeClass) (*cloud.Resolution, error) {
	return &cloud.Resolution{Findings: o.findings}, nil
}

// Nodes would seem to have drifted from all that AWS did not tell at the moment.
func TestWhatCanNotBeLookedUpIsLeftAsItWasFoundLast(t *testing.T) {
	class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	class.Status = awsv1.EC2NodeClassStatus{
		Subnets: []awsv1.Subnet{{ID: "subnet-1"}}, SecurityGroups: []awsv1.SecurityGroup{{ID: "sg-1"}}, AMIs: []awsv1.AMI{{ID: "ami-1"}},
		CapacityReservations: []awsv1.CapacityReservation{{ID: "cr-1"}}, InstanceProfile: "profile",
	}
	conditions := []string{
		awsv1.ConditionTypeSubnetsReady, awsv1.ConditionTypeSecurityGroupsReady, awsv1.ConditionTypeAMIsReady, awsv1.ConditionTypeCapacityReservationsReady,
		awsv1.ConditionTypeInstanceProfileReady,
	}
	for _, unknown := range append([]string{""}, conditions...) {
		t.Run(unknown, func(t *testing.T) {
			o, want := oracle{}, awsv1.EC2NodeClassStatus{}
			for _, c := range conditions {
				o.findings = append(o.findings, cloud.Finding{Condition: c, Unknown: c == unknown, OK: c != unknown, Reason: "Throttled", Message: "too many calls"})
			}
			switch unknown {
			case awsv1.ConditionTypeSubnetsReady:
				want.Subnets = class.Status.Subnets
			case awsv1.ConditionTypeSecurityGroupsReady:
				want.SecurityGroups = class.Status.SecurityGroups
			case awsv1.ConditionTypeAMIsReady:
				want.AMIs = class.Status.AMIs
			case awsv1.ConditionTypeCapacityReservationsReady:
				want.CapacityReservations = class.Status.CapacityReservations
			case awsv1.ConditionTypeInstanceProfileReady:
				want.InstanceProfile = class.Status.InstanceProfile
			}
			r := &resolver{cloud: o, reserved: true}
			got, _, err := r.resolve(t.Context(), class)
			if err != nil {
				t.Fatal(err)
			}
			got.Status.Conditions = nil
			if diff := cmp.Diff(want, got.Status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if told := slices.ContainsFunc(r.gaps, func(g string) bool { return strings.Contains(g, unknown+" is not known") }); told != (unknown != "") {
				t.Errorf("gaps %q", r.gaps)
			}
		})
	}
}
