package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/app"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
	"github.com/kerf-sh/kerf/internal/setup/migrate"
)

func newMigrateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Take a cluster over from Karpenter, and give it back",
		Long: `Kerf reads and writes the objects of Karpenter 1.x, so that a cluster moves over by exchanging one Deployment.

check looks whether anything is in the way, to-kerf and to-karpenter print the steps as commands that can be pasted. None of
them changes anything.`,
		Example: `  kerf migrate check
  kerf migrate to-kerf
  kerf migrate to-karpenter`,
		Args:                  aCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		DisableFlagsInUseLine: true,
	}
	c.AddCommand(newMigrateCheckCommand(), newMigrateGuideCommand("kerf"), newMigrateGuideCommand("karpenter"))
	return c
}

// migrateFlags say which cluster and which account are meant.
type migrateFlags struct {
	cluster                clusterFlags
	account                accountFlags
	namespace, clusterName string
	output                 form
}

func (m *migrateFlags) register(c *cobra.Command) {
	clusterNameFlag(c, &m.clusterName, "(default: what the controller in the cluster is told)")
	m.cluster.register(c)
	m.account.register(c)
	namespaceFlag(c, &m.namespace, "", controllerNamespace+" (default: where one is found)")
}

// look reads the cluster.
func (m *migrateFlags) look(ctx context.Context) (*migrate.Seen, *rest.Config, error) {
	config, err := m.cluster.config()
	if err != nil {
		return nil, nil, err
	}
	reader, api, err := doctor.Connect(m.cluster.kubeconfig, m.cluster.context)
	if err != nil {
		return nil, nil, err
	}
	seen, err := migrate.Look(ctx, migrate.Options{Reader: reader, API: api, Arguments: controllerArguments, Namespace: m.namespace, ClusterName: m.clusterName, Region: m.account.region})
	return seen, config, err
}

type migrateCheck struct {
	migrateFlags
	noAWS, verbose bool
}

func newMigrateCheckCommand() *cobra.Command {
	m := &migrateCheck{}
	c := &cobra.Command{
		Use:   "check",
		Short: "Say whether anything is in the way of a swap from Karpenter to Kerf; read-only",
		Long: `Examines the cluster and the account before a swap: versions and stored versions of the CRDs; every NodePool, EC2NodeClass,
NodeClaim and NodeOverlay by Kerf's own checks; the settings of the running controller; rights in the cluster and
permissions in AWS; names, selectors, service account and image; other autoscalers; which nodes Kerf would replace though
nothing is changed, of which there must be none; and what is under way.

Findings come in groups: what blocks the swap, what could not be judged, what differs, what is fine. Each says what, on which
object and why, and gives the way out as commands.

Nothing is changed. What you may not read is named. AWS is that of the SDK's own settings (AWS_PROFILE, AWS_REGION and
others); without it the cluster is examined alone, and the exit code says so.`,
		Example: `  kerf migrate check
  kerf migrate check --no-aws --verbose
  kerf migrate check --context prod --region eu-west-1 --profile prod
  kerf migrate check --output json | jq '.findings[] | select(.severity == "blocks")'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return m.run(c.Context(), c.OutOrStdout(), notices(c))
		},
	}
	m.register(c)
	m.output.register(c, migrate.Report{}, checkFormats...)
	m.output.paint = migratePaint
	c.Flags().BoolVar(&m.noAWS, "no-aws", false, "examine the cluster only")
	c.Flags().BoolVarP(&m.verbose, "verbose", "v", false, "show what is fine, too")
	return c
}

func (m *migrateCheck) run(ctx context.Context, out, progress io.Writer) error {
	seen, config, err := m.look(ctx)
	if err != nil {
		return err
	}
	if !m.noAWS {
		m.lookAtAWS(ctx, seen, config, progress)
	}
	report := migrate.Examine(seen)
	m.output.brief = report.WriteProblems
	found := func() *findings { return migrateFindings(report) }
	if err := m.output.writeChecked(out, report, found, func(w io.Writer) error { return report.Write(w, m.verbose) }); err != nil {
		return err
	}
	if !report.Ready {
		return &exitError{code: foundWrong}
	}
	if len(report.Unseen) > 0 { // what could not be seen is not in order
		return &exitError{code: failed, said: strings.Join(report.Unseen, "; ")}
	}
	return nil
}

// migratePaint colours a report for people.
var migratePaint = []stroke{
	strokeOf(`^Blocks the swap.*`, wrongColor...), strokeOf(`^Not known.*`, doubtColor...), strokeOf(`^Differs.*`, doubtColor...), strokeOf(`^Fine.*`, rightColor...),
	strokeOf(`^(Ready to swap|Runs Kerf already: ).*`, rightColor...),
}

// migrateFindings are the findings with what they mean for the swap.
func migrateFindings(r *migrate.Report) *findings {
	levels := map[migrate.Severity]level{
		migrate.Fine: levelPassed, migrate.Differs: levelNote, migrate.Unknown: levelUnknown, migrate.Blocks: levelError,
	}
	out := &findings{check: "kerf migrate check", of: "cluster " + r.Cluster}
	for _, area := range migrate.Areas {
		out.rules = append(out.rules, rule{id: area, title: "nothing of the " + area + " is in the way of the swap"})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		message := f.Text
		if f.Why != "" {
			message += ": " + f.Why
		}
		out.found = append(out.found, finding{rule: f.Area, level: levels[f.Severity], object: f.Object, message: message, evidence: f.Evidence, remedy: strings.Join(f.Fix, "\n")})
	}
	for _, u := range r.Unseen {
		out.found = append(out.found, finding{rule: "reading", level: levelUnread, message: u})
	}
	return out
}

// lookAtAWS has the doctor examine the account, and the change plan tell which nodes differ. What keeps them from it is noted.
func (m *migrateCheck) lookAtAWS(ctx context.Context, seen *migrate.Seen, config *rest.Config, progress io.Writer) {
	if seen.NoAWS = seen.WrongRegion(m.account.region); seen.NoAWS != "" {
		return
	}
	to, err := session.New(ctx, m.account.options())
	if err != nil {
		seen.NoAWS = err.Error()
		return
	}
	reader, api, err := doctor.Connect(m.cluster.kubeconfig, m.cluster.context)
	if err != nil {
		seen.NoAWS = err.Error()
		return
	}
	input, err := doctor.Look(ctx, doctor.Options{ClusterName: seen.ClusterName, Namespace: m.namespace, AWS: to, Kube: reader, Pods: api, Tell: func(line string) { fmt.Fprintln(progress, line) }})
	if err != nil {
		seen.NoAWS = err.Error()
		return
	}
	if input.AWS == nil {
		seen.NoAWS = input.NoAWS
		return
	}
	if seen.NoAWS = seen.WrongRegion(input.AWS.Region); seen.NoAWS != "" { // of AWS_REGION or a profile
		return
	}
	seen.Account = doctor.Examine(input)
	s, err := seen.Settings()
	if err == nil {
		seen.Drift, err = app.Foresee(ctx, config, s, m.account.options(), changeplan.Options{})
	}
	if err != nil {
		seen.NoDrift = err.Error()
	}
}

type migrateGuide struct {
	migrateFlags
	to             string
	form           string
	release, queue string
	image, compat  string
	charts         string
	chartsGiven    bool
	roleARN        string
	offline        bool
}

// newMigrateGuideCommand is the command that prints the steps to kerf or to karpenter.
func newMigrateGuideCommand(to string) *cobra.Command {
	m := &migrateGuide{to: to}
	c := &cobra.Command{
		Use:   "to-kerf",
		Short: "Print the steps that hand the cluster over to Kerf",
		Long: `Prints the steps as commands that can be pasted: the CRDs, the swap, how to see that it worked, what to watch. They are
adapted to the cluster: the Helm release, the HelmRelease or Kustomization of Flux or the Application of Argo CD that applies
the controller, its names, its values, its role. --form writes them in another form. A command that fails stops those after it.

With --offline no cluster is asked. What is not known is a word in capitals, listed at the top.

Nothing is changed.`,
		Example: `  kerf migrate to-kerf
  kerf migrate to-kerf --image 111122223333.dkr.ecr.eu-west-1.amazonaws.com/kerf:v0.1.0
  kerf migrate to-kerf --form kubectl
  kerf migrate to-kerf --offline --cluster-name demo --region eu-west-1 --release karpenter --namespace kube-system`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			m.chartsGiven = c.Flags().Changed("charts")
			return m.run(c.Context(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	if to == "karpenter" {
		c.Use, c.Short = "to-karpenter", "Print the steps that give the cluster back to Karpenter"
		c.Long = `Prints the steps as commands that can be pasted. What Karpenter does not know and the cluster has is named first, with what to
do about it: a launch template of an EC2NodeClass, CapacityBuffers, annotations. The revision of the Helm release to go back
to is looked up where you may read the release.

With --offline no cluster is asked. What is not known is a word in capitals, listed at the top.

Nothing is changed.`
		c.Example = `  kerf migrate to-karpenter
  kerf migrate to-karpenter --form gitops
  kerf migrate to-karpenter --offline --release karpenter --namespace kube-system`
	} else {
		f.StringVar(&m.image, "image", "", "Kerf's image in your registry: REPOSITORY:TAG or REPOSITORY@sha256:DIGEST (default: words to fill in)")
		f.Var(choiceFlag(&m.compat, settings.KarpenterDefaults, settings.KarpenterDefaults, settings.KerfDefaults), "compat", "whose defaults hold: karpenter changes least, kerf saves more")
		mustComplete(c, "compat", cobra.FixedCompletions([]string{settings.KarpenterDefaults, settings.KerfDefaults}, cobra.ShellCompDirectiveNoFileComp))
		f.StringVar(&m.charts, "charts", "charts", "folder with Kerf's charts kerf and kerf-crd")
		f.StringVar(&m.queue, "interruption-queue", "", "interruption queue (default: what the controller in the cluster is told)")
		f.StringVar(&m.roleARN, "role-arn", "", "role of the controller by annotation (default: that of its service account)")
	}
	m.register(c)
	m.output.register(c, migrate.Guide{})
	f.StringVar(&m.form, "form", "", "how the cluster is changed: helm, gitops or kubectl (default: as the controller was applied)")
	mustComplete(c, "form", cobra.FixedCompletions([]string{"helm", "gitops", "kubectl"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVar(&m.release, "release", "", "Helm release of the controller (default: the one found)")
	f.BoolVar(&m.offline, "offline", false, "ask no cluster")
	return c
}

// Parts of the name of an image.
//
// Source: OCI Distribution Specification 1.1, "Pulling manifests".
const (
	imageRepository = `[a-z0-9][a-zA-Z0-9.-]*(:[0-9]+)?(/[a-z0-9._-]+)+`
	imageTag        = `:[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`
	imageDigest     = `@sha256:[0-9a-f]{64}`
)

// imageReference is an image with a tag, a digest or both; registryImage may have neither.
var (
	imageReference = regexp.MustCompile(`^` + imageRepository + `(` + imageTag + `|(` + imageTag + `)?` + imageDigest + `)$`)
	registryImage  = regexp.MustCompile(`^` + imageRepository + `(` + imageTag + `)?(` + imageDigest + `)?$`)
)

// chartsIn tells whether Kerf's charts are in a folder.
func chartsIn(folder string) error {
	for _, name := range []string{"kerf", "kerf-crd"} {
		if _, err := os.Stat(filepath.Join(folder, name, "Chart.yaml")); err != nil {
			return fmt.Errorf("--charts=%q: there is no chart %s in it: give the folder charts of a clone, or one with both charts of a release unpacked", folder, name)
		}
	}
	return nil
}

func (m *migrateGuide) run(ctx context.Context, out io.Writer) error {
	facts, err := m.facts(ctx)
	if err != nil {
		return err
	}
	guide := migrate.ToKerf
	if m.to == "karpenter" {
		guide = migrate.ToKarpenter
	}
	g := guide(facts)
	return m.output.write(out, g, g.Write)
}

func (m *migrateGuide) facts(ctx context.Context) (migrate.Facts, error) {
	form := migrate.Form(m.form)
	switch {
	case m.form != "" && !slices.Contains(migrate.Forms, form):
		return migrate.Facts{}, &usageError{fmt.Errorf("--form=%q: want helm, gitops or kubectl", m.form)}
	case m.offline && (m.cluster.kubeconfig != "" || m.cluster.context != ""):
		return migrate.Facts{}, &usageError{errors.New("--offline asks no cluster; leave --kubeconfig and --context out")}
	case m.image != "" && !imageReference.MatchString(m.image):
		return migrate.Facts{}, &usageError{fmt.Errorf("--image=%q: want REPOSITORY:TAG or REPOSITORY@sha256:DIGEST, such as 111122223333.dkr.ecr.eu-west-1.amazonaws.com/kerf:v0.1.0", m.image)}
	}
	if err := chartsIn(m.charts); m.chartsGiven && err != nil {
		return migrate.Facts{}, &usageError{err}
	}
	var facts migrate.Facts
	if m.offline {
		facts = migrate.Facts{Form: form, Offline: true, Cluster: m.clusterName, Region: m.account.region}
		if facts.Form == "" {
			facts.Form = migrate.WithHelm
		}
	} else {
		seen, _, err := m.look(ctx)
		if err != nil {
			return facts, fmt.Errorf("%w (--offline prints the steps without a cluster)", err)
		}
		if seen.Deployment == nil {
			return facts, &exitError{code: foundWrong, said: "no Deployment of the controller was found in the cluster: name its namespace with --namespace, or print the steps with --offline"}
		}
		facts = seen.Facts(form)
		if m.release != "" && facts.Owner.Release != "" && m.release != facts.Owner.Release {
			return facts, &usageError{fmt.Errorf("--release=%q: the controller is of the Helm release %s in the namespace %s", m.release, facts.Owner.Release, facts.Owner.ReleaseNamespace)}
		}
		if wrong := seen.WrongRegion(m.account.region); wrong != "" {
			return facts, &usageError{fmt.Errorf("--region=%s: %s", m.account.region, wrong)}
		}
	}
	for _, v := range []struct {
		into  *string
		given string
	}{{&facts.Namespace, m.namespace}, {&facts.Release, m.release}, {&facts.Queue, m.queue}, {&facts.RoleARN, m.roleARN}, {&facts.Image, m.image}} {
		if v.given != "" {
			*v.into = v.given
		}
	}
	facts.Profile, facts.Charts, facts.Kubeconfig, facts.Context = m.account.profile, m.charts, m.cluster.kubeconfig, m.cluster.context
	if m.compat == settings.KarpenterDefaults {
		facts.Compat = m.compat
	}
	return facts, nil
}
