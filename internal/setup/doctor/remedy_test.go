package doctor

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// Remedies of several lines can be pasted into a shell as they stand: each line is a command or a comment.
func TestRemediesCanBePasted(t *testing.T) {
	reports := []*Report{Examine(healthy(t, nil)), Examine(broken(t))}
	in := healthy(t, nil)
	in.ClusterName = "a b"
	reports = append(reports, &Report{Results: []Result{{ID: "quoted", Remedy: in.fixes("adds what is missing (all of it)", "or not")}}})
	several := 0
	for _, r := range reports {
		for _, res := range r.Results {
			if !strings.Contains(res.Remedy, "\n") {
				if strings.Contains(res.Remedy, " > ") || strings.Contains(res.Remedy, "  #") {
					t.Errorf("%s: %q is a command with a sentence in it", res.ID, res.Remedy)
				}
				continue
			}
			several++
			for line := range strings.SplitSeq(res.Remedy, "\n") {
				first, _, _ := strings.Cut(line, " ")
				if !slices.Contains([]string{"#", "kerf", "aws", "kubectl", "sh"}, first) {
					t.Errorf("%s: %q is neither a comment nor a command", res.ID, line)
				}
			}
			if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", res.Remedy).CombinedOutput(); err != nil {
				t.Errorf("%s: a shell can't read it: %v: %s\n%s", res.ID, err, out, res.Remedy)
			}
		}
	}
	if several < 3 {
		t.Errorf("only %d remedies were tried", several)
	}
	if fix := reports[2].Results[0].Remedy; !strings.Contains(fix, "--cluster-name 'a b' ") {
		t.Errorf("the name is not quoted: %s", fix)
	}
}

// The script must not take away what the classes use, and must be about the role that the controller has.
func TestTheScriptKeepsWhatClassesUse(t *testing.T) {
	in := healthy(t, nil)
	if fix := in.fix(); strings.Contains(fix, "--launch-templates") || strings.Contains(fix, "--controller-role") || strings.Contains(fix, "--volume-key") {
		t.Errorf("nothing of that is used: %s", fix)
	}
	const key = "arn:aws:kms:eu-west-1:111122223333:key/1"
	in.AWS.Setup.Keys = append(in.AWS.Setup.Keys, awssetup.Key{ID: "1", ARN: key, Manager: "CUSTOMER"})
	in.AWS.Setup.Roles = append(in.AWS.Setup.Roles, awssetup.Role{Name: "other", ARN: "arn:aws:iam::111122223333:role/other"})
	in.AWS.ControllerRole = "other"
	class := awsv1.EC2NodeClass{}
	class.Spec.LaunchTemplate = &awsv1.LaunchTemplateReference{}
	class.Spec.AMISelectorTerms = []awsv1.AMISelectorTerm{{SSMParameter: "/golden/1"}}
	class.Spec.BlockDeviceMappings = []awsv1.BlockDeviceMapping{{EBS: &awsv1.BlockDevice{KMSKeyID: new(key)}}}
	in.Kube.Classes = append(in.Kube.Classes, class)
	for _, want := range []string{"--controller-role other", "--launch-templates", "--volume-key " + key, ":parameter/golden/1"} {
		if fix := in.fix(); !strings.Contains(fix, want) {
			t.Errorf("%q is not in %s", want, fix)
		}
	}
}
