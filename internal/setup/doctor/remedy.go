package doctor

import (
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/kerf-sh/kerf/internal/aws/account"
)

// A remedy is a sentence, or lines for a shell that can be pasted as they stand: commands, and sentences as comments on lines of
// their own.

// lines makes a remedy of several lines.
func lines(of ...string) string { return strings.Join(of, "\n") }

// note is a sentence among commands.
func note(sentence string) string { return "# " + sentence }

// command is a command line; words are put into quotes where a shell would read them otherwise.
func command(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellescape.Quote(w)
	}
	return strings.Join(out, " ")
}

// fix is the script that puts the account in order.
func (in *Input) fix() string { return in.fixes("fixes it") }

// fixes is fix with what the script does, and with more to do after it.
func (in *Input) fixes(what string, more ...string) string {
	words := []string{"kerf", "stack", "check", "--live", "--fix", "--cluster-name", in.ClusterName}
	if in.AWS != nil && in.AWS.QueueName != "" && in.AWS.QueueName != in.ClusterName {
		words = append(words, "--queue", in.AWS.QueueName)
	}
	if in.AWS != nil && in.AWS.Region != "" {
		words = append(words, "--region", in.AWS.Region)
	}
	words = append(words, in.uses()...)
	out := []string{note("write a script that " + what + ":"), command(words...) + " > fix.sh", note("read it, then run it: sh fix.sh")} // a paste runs nothing unread
	for _, m := range more {
		out = append(out, note(m))
	}
	return lines(out...)
}

// uses are the flags without which the script would take from the controller what the EC2NodeClasses use, and the role that it is
// about where that is not the usual one.
func (in *Input) uses() (flags []string) {
	if in.AWS == nil {
		return nil
	}
	if role := account.RoleOf(&in.AWS.Setup, in.AWS.ControllerRole); role != nil && role.Name != in.ClusterName+"-karpenter" {
		flags = append(flags, "--controller-role", role.Name)
	}
	if in.Kube == nil {
		return flags
	}
	templates := false
	for i := range in.Kube.Classes {
		spec := &in.Kube.Classes[i].Spec
		templates = templates || spec.LaunchTemplate != nil
		for _, p := range in.parameters(spec) {
			flags = append(flags, "--ssm-parameter", p)
		}
	}
	if templates {
		flags = append(flags, "--launch-templates")
	}
	keys := map[string]bool{}
	for _, u := range in.Kube.volumeKeys() {
		if key := account.KeyOf(&in.AWS.Setup, u.key); key != nil && key.Manager != "AWS" && key.ARN != "" && !keys[key.ARN] {
			keys[key.ARN] = true
			flags = append(flags, "--volume-key", key.ARN)
		}
	}
	return flags
}

// makesStack is the command that writes a stack for the cluster with further flags.
func (in *Input) makesStack(flags ...string) string {
	return command(append([]string{"kerf", "stack", "cloudformation", "--cluster-name", in.ClusterName}, flags...)...) + " > stack.yaml"
}
