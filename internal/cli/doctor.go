package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
	"github.com/kerf-sh/kerf/internal/setup/leader"
)

// doctorFlags are those of kerf doctor.
type doctorFlags struct {
	options                doctor.Options
	cluster                clusterFlags
	account                accountFlags
	through                string
	output                 form
	noKube, noAWS, verbose bool
}

func newDoctorCommand() *cobra.Command {
	d := &doctorFlags{}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine a live account and cluster, say what is wrong and how to fix it",
		Long: `Makes over twenty checks of what is set up around the controller: the interruption queue with its key, policy and rules, the
controller's permissions, node roles, subnets, and what in the cluster keeps nodes from coming or going. AWS is that of the
SDK's own settings (AWS_PROFILE, AWS_REGION and others), the cluster that of --kubeconfig or KUBECONFIG; without one of them
the other half is done, and the exit code says so. What you may not read is unknown, with the permission that is missing; it is never taken for good.

Nothing is changed, but for --prove-delivery: it makes an EventBridge rule named kerf-proof-… with the queue as its target,
sends an event of the source kerf.sh/doctor, watches for it, and takes the rule away again, even when broken off with Ctrl-C.
With --prove-delivery-through an existing rule carries that event as well for the time of the proof.`,
		Example: `  kerf doctor --cluster-name demo
  kerf doctor --cluster-name demo --prove-delivery
  kerf doctor -o json | jq '.results[] | select(.status == "failed")'
  kerf doctor --quiet                                   # only what is wrong
  kerf doctor -o junit --output-file doctor.xml         # for a CI job; -o sarif for code scanning`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return d.run(c.Context(), c.OutOrStdout(), notices(c))
		},
	}
	f := c.Flags()
	clusterNameFlag(c, &d.options.ClusterName, "(default: what the controller in the cluster is told)")
	d.cluster.register(c)
	d.account.register(c)
	namespaceFlag(c, &d.options.Namespace, "", controllerNamespace+" (default: any)")
	f.StringVar(&d.options.Queue, "queue", "", "interruption queue, by name, ARN or URL (default: what the controller is told, else the cluster's name)")
	f.StringVar(&d.options.NodeRole, "node-role", "", "role of the nodes, by name or ARN (default: those of EC2NodeClasses, else KarpenterNodeRole-<cluster>)")
	f.StringVar(&d.options.ControllerRole, "controller-role", "", "role of the controller, by name or ARN (default: that of its service account)")
	f.BoolVar(&d.noKube, "no-kubernetes", false, "examine AWS only")
	f.BoolVar(&d.noAWS, "no-aws", false, "examine the cluster only")
	f.DurationVar(&d.options.Window, "window", 24*time.Hour, "how far back metrics are read")
	f.BoolVar(&d.options.Prove, "prove-delivery", false, "send a probe through EventBridge to the queue; makes a rule for a moment")
	f.StringVar(&d.through, "prove-delivery-through", "", "prove with this rule, whose pattern is widened for a moment, in place of a rule made for the proof")
	f.DurationVar(&d.options.ProveTimeout, "prove-timeout", 5*time.Minute, "how long a probe is watched for; EventBridge's metrics, the last witness, come minutes late")
	d.output.register(c, doctor.Report{}, checkFormats...)
	d.output.paint = doctorPaint
	f.BoolVarP(&d.verbose, "verbose", "v", false, "show checks that are ok or skipped, too")
	return c
}

func (d *doctorFlags) run(ctx context.Context, out, progress io.Writer) error {
	switch {
	case d.noAWS && d.noKube:
		return &usageError{errors.New("with --no-aws and --no-kubernetes nothing is left to examine")}
	case d.noAWS && (d.options.Prove || d.through != ""):
		return &usageError{errors.New("a proof of delivery needs AWS; leave --no-aws out")}
	}
	o := d.options
	if d.through != "" {
		o.Prove, o.Through = true, d.through
	}
	o.Tell = func(line string) { fmt.Fprintln(progress, line) }
	if !d.noAWS {
		o.AWS, o.NoAWS = session.New(ctx, d.account.options())
	}
	if !d.noKube {
		o.Kube, o.Pods, o.NoKube = doctor.Connect(d.cluster.kubeconfig, d.cluster.context)
		o.Forward = d.forward
	}
	in, err := doctor.Look(ctx, o)
	if errors.Is(err, doctor.ErrNoName) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	report := doctor.Examine(in)
	d.output.brief = report.WriteProblems
	found := func() *findings { return doctorFindings(report) }
	if err := d.output.writeChecked(out, report, found, func(w io.Writer) error { return report.Write(w, d.verbose) }); err != nil {
		return err
	}
	if report.Count(doctor.Failed) > 0 {
		return &exitError{code: foundWrong}
	}
	if len(report.Unseen) > 0 { // what could not be seen is not in order
		return &exitError{code: failed, said: strings.Join(report.Unseen, "; ")}
	}
	return nil
}

// forward leads to the metrics of a controller's pod, which take no token.
func (d *doctorFlags) forward(ctx context.Context, pod *corev1.Pod) (url string, stop func(), err error) {
	config, err := d.cluster.config()
	if err != nil {
		return "", nil, err
	}
	url, _, stop, err = leader.Forward(ctx, config, pod)
	return url, stop, err
}

// doctorPaint colours a report for people.
var doctorPaint = []stroke{
	strokeOf(`^FAILED`, wrongColor...), strokeOf(`^WARNING`, doubtColor...), strokeOf(`^UNKNOWN`, doubtColor...),
	strokeOf(`^OK`, rightColor...), strokeOf(`^SKIPPED.*`, quietColor...), strokeOf(`^ {11}(fix:)`, remedyColor...), strokeOf(`^(note:|cluster )`, quietColor...),
}

// doctorFindings are the checks with what came out.
func doctorFindings(r *doctor.Report) *findings {
	levels := map[doctor.Status]level{
		doctor.OK: levelPassed, doctor.Skipped: levelSkipped, doctor.Warning: levelWarning, doctor.Failed: levelError, doctor.Unknown: levelUnknown,
	}
	out := &findings{check: "kerf doctor", of: "cluster " + r.Cluster, notes: r.Notes}
	for i := range r.Results {
		res := &r.Results[i]
		out.rules = append(out.rules, rule{res.ID, res.Title, res.Looked})
		out.found = append(out.found, finding{rule: res.ID, level: levels[res.Status], message: res.Finding, evidence: res.Evidence, remedy: res.Remedy})
	}
	out.rules = append(out.rules, rule{"examined", "AWS, EC2 and the cluster could be examined", "what was not left out by --no-aws or --no-kubernetes"})
	for _, u := range r.Unseen {
		out.found = append(out.found, finding{rule: "examined", level: levelUnread, message: u})
	}
	return out
}
