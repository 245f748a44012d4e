package migrate

import (
	"fmt"
	"io"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Form is how the steps change the cluster.
type Form string

// The forms: Helm's command line, a change that a GitOps tool carries out, and plain YAML with kubectl.
const (
	WithHelm    Form = "helm"
	WithGitOps  Form = "gitops"
	WithKubectl Form = "kubectl"
)

// Forms are all forms.
var Forms = []Form{WithHelm, WithGitOps, WithKubectl}

// Guide is a way in steps.
type Guide struct {
	// To is where it leads: kerf or karpenter.
	To string `json:"to"`
	// For is what it was made for, in words, and Form how it changes the cluster.
	For  string `json:"for"`
	Form Form   `json:"form"`
	// Fill are words in capitals that stand in the commands for what is not known.
	Fill []Placeholder `json:"fill,omitempty"`
	// First are things that have to be decided before, found in the cluster.
	First []string `json:"first,omitempty"`
	Steps []Step   `json:"steps"`
}

// Placeholder is a word that stands for what is not known.
type Placeholder struct {
	Word string `json:"word"`
	What string `json:"what"`
	Flag string `json:"flag,omitempty"` // that gives it
}

// Step is a part of the way.
type Step struct {
	Title    string   `json:"title"`
	Commands []string `json:"commands,omitempty"`
	// Note is what to see or to know.
	Note string `json:"note,omitempty"`
}

// Facts are what the steps are adapted to. What is empty is not known, and a placeholder stands for it.
type Facts struct {
	Form                       Form
	Owner                      Owner
	CRDs                       Owner // of the definitions
	Cluster, Region, Profile   string
	Queue                      string
	Namespace, Release         string
	Deployment, ServiceAccount string
	Image                      string // REPOSITORY:TAG of Kerf's image
	Running                    string // image that the Deployment names
	// Kerf says that this is Kerf's already; Trial that its release is still of Karpenter's chart, and that kubectl set these
	// variables. Applied says that kubectl has applied the Deployment on the server's side.
	Kerf, Trial, Applied bool
	TrialVariables       []string
	// Selector are the labels of the pods, Container is the controller's.
	Selector, Container string
	// Given are the values of the release, HelmRelease or Application; Refused are those of them that Kerf's chart refuses.
	Given                   *Given
	Refused                 []manifests.Refusal
	Compat                  string // settings.kerf.compat, empty: Kerf's defaults
	RoleARN                 string
	Values                  map[string]string // of the chart, by path, beyond what the release has
	DeploymentValues        map[string]any    // of the chart, that make the Deployment which is there
	TakeOwnership, Recreate bool
	Kubeconfig, Context     string
	// Charts is the folder with charts/kerf and charts/kerf-crd, a clone or an unpacked release.
	Charts string
	// Unknown is what Karpenter does not know, in words.
	Unknown []string
	// Offline says that no cluster was looked at.
	Offline bool
}

// words are the placeholders.
var words = map[string]Placeholder{
	"CLUSTER_NAME":       {"CLUSTER_NAME", "the name of the EKS cluster", "--cluster-name"},
	"REGION":             {"REGION", "the region of the cluster", "--region"},
	"RELEASE":            {"RELEASE", "the Helm release of the controller: helm list --all-namespaces", "--release"},
	"NAMESPACE":          {"NAMESPACE", "the namespace of the controller", "--namespace"},
	"QUEUE":              {"QUEUE", "the interruption queue, as the controller is told it", "--interruption-queue"},
	"IMAGE_REPOSITORY":   {"IMAGE_REPOSITORY", "where Kerf's image is in your registry (docs/install.md says how it gets there)", "--image"},
	"IMAGE_TAG":          {"IMAGE_TAG", "the tag of Kerf's image", "--image"},
	"REVISION":           {"REVISION", "the last revision of the release with Karpenter's chart, as helm history lists it", ""},
	"VERSION":            {"VERSION", "the version of Karpenter's chart that ran before: karpenter-release.txt of the way to Kerf has it", ""},
	"VALUES_FILE":        {"VALUES_FILE", "the values that Karpenter's chart had: karpenter-values.yaml of the way to Kerf", ""},
	"KERF_SOURCE":        {"KERF_SOURCE", "the URL of a Git repository with Kerf's charts, which the GitOps tool may read", ""},
	"KERF_REVISION":      {"KERF_REVISION", "the tag there", ""},
	"OWNER_NAME":         {"OWNER_NAME", "the HelmRelease, Kustomization or Application of the controller", ""},
	"OWNER_NAMESPACE":    {"OWNER_NAMESPACE", "its namespace", ""},
	"COMMIT":             {"COMMIT", "the commit of the swap", ""},
	"KARPENTER_MANIFEST": {"KARPENTER_MANIFEST", "the file with Karpenter's objects, as they were applied before", ""},
}

// writer makes the steps.
type writer struct {
	Facts
	guide *Guide
}

// or is a value, or the placeholder that stands for it.
func (w *writer) or(value, word string) string {
	if value != "" {
		return value
	}
	for _, p := range w.guide.Fill {
		if p.Word == word {
			return word
		}
	}
	w.guide.Fill = append(w.guide.Fill, words[word])
	return word
}

func (w *writer) step(title, note string, commands ...string) {
	w.guide.Steps = append(w.guide.Steps, Step{title, commands, note})
}

func (w *writer) kubectl(format string, args ...any) string {
	out := "kubectl "
	if w.Context != "" {
		out += "--context " + shellescape.Quote(w.Context) + " "
	}
	return out + fmt.Sprintf(format, args...)
}

func (w *writer) helm(format string, args ...any) string {
	out := "helm "
	if w.Context != "" {
		out += "--kube-context " + shellescape.Quote(w.Context) + " "
	}
	return out + fmt.Sprintf(format, args...)
}

// kerf is a command of Kerf that asks the cluster.
func (w *writer) kerf(format string, args ...any) string {
	out := "kerf " + fmt.Sprintf(format, args...)
	if w.Context != "" {
		out += " --context " + shellescape.Quote(w.Context)
	}
	return out
}

func newGuide(f Facts, to string) *writer {
	w := &writer{Facts: f, guide: &Guide{To: to, Form: f.Form}}
	switch {
	case f.Offline:
		w.guide.For = "no cluster was looked at"
	default:
		w.guide.For = fmt.Sprintf("Deployment %s/%s, applied by %s", f.Namespace, f.Deployment, f.Owner)
	}
	if f.Kubeconfig != "" {
		w.step("Use the cluster", "", "export KUBECONFIG="+shellescape.Quote(f.Kubeconfig))
	}
	return w
}

// pause is a command that waits until something was done by hand. It reads the terminal, not what was pasted.
func pause(what string) string {
	return "printf '%s ' " + shellescape.Quote(what+", then press Enter; Ctrl-C stops here:") + " && read -r answer < /dev/tty"
}

// The steps are the script of another shell, which the terminal stays the input of. The shell of the user does not read them, and
// goes on when they stop: zsh knows no comments at its prompt, and takes all that is pasted at once for one command.
const begin, end = "sh /dev/fd/3 3<<'STEPS'\n", "STEPS\n"

// Write writes the steps as a script of the shell, whose comments say what is done. A step can be pasted, and so can all of it:
// both end at the first command that fails, and leave the shell of the user open.
func (g *Guide) Write(out io.Writer) error {
	b := &strings.Builder{}
	b.WriteString(begin)
	fmt.Fprintf(b, "# To %s, with %s: %s.\n", title(g.To), g.Form, g.For)
	if len(g.Fill) > 0 {
		b.WriteString("#\n# Fill in:\n")
		for _, p := range g.Fill {
			fmt.Fprintf(b, "#   %s: %s", p.Word, p.What)
			if p.Flag != "" {
				fmt.Fprintf(b, " (or give %s)", p.Flag)
			}
			b.WriteString("\n")
		}
	}
	if len(g.First) > 0 {
		b.WriteString("#\n# Decide first:\n")
		for _, f := range g.First {
			fmt.Fprintf(b, "#   - %s\n", f)
		}
	}
	b.WriteString("#\n# Paste all of it, to its last line, or a step at a time (in zsh after: setopt interactive_comments). A command that fails stops what\n# comes after it; docs/migrate.md, \"When a step fails\", says how to go on.\nset -e\n")
	for i, s := range g.Steps {
		fmt.Fprintf(b, "\n# %d. %s\n", i+1, s.Title)
		for line := range strings.Lines(s.Note) {
			fmt.Fprintf(b, "#    %s\n", strings.TrimRight(line, "\n"))
		}
		if len(s.Commands) > 1 {
			b.WriteString("(set -e\n")
		}
		for _, c := range s.Commands {
			fmt.Fprintln(b, c)
		}
		if len(s.Commands) > 1 {
			b.WriteString(")\n")
		}
	}
	b.WriteString("\n" + end)
	_, err := io.WriteString(out, b.String())
	return err
}

func title(to string) string {
	if to == "kerf" {
		return "Kerf"
	}
	return "Karpenter"
}
