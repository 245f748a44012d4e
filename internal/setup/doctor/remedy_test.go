package doctor

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
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
