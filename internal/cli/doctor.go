package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/doctor"
	"github.com/kerf-sh/kerf/internal/version"
)

// doctorFlags are those of kerf doctor.
type doctorFlags struct {
	options                     doctor.Options
	kubeconfig, context, region string
	through, profile            string
	output                      form
	noKube, noAWS, verbose      bool
}

func newDoctorCommand() *cobra.Command {
	d := &doctorFlags{}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Look at a live account and cluster, say what is wrong and how to mend it",
		Long: `Makes over twenty checks of what is set up around the controller: the interruption queue with its key, policy and rules, the
controller's permissions, node roles, subnets, and what in the cluster keeps nodes from coming or going. AWS is that of the
SDK's own settings (AWS_PROFILE, AWS_REGION and others), the cluster that of --kubeconfig or KUBECONFIG; without one of them
the other half is done, and the exit code says so. What you may not read is unknown, with the permission that is missing; it is never taken for good.

Nothing is changed, but for --prove-delivery: it makes an EventBridge rule named kerf-proof-… with the queue as its target,
sends an event of the source kerf.sh/doctor, watches for it, and takes the rule away again, even when broken off with Ctrl-C.
With --prove-delivery-through an existing rule carries that event as well for the time of the proof.

Exit codes: 0 nothing failed, there may be warnings; 3 something failed; 2 wrong usage; 1 AWS, EC2 or
the cluster could not be looked at, though it was not left out by --no-aws or --no-kubernetes.`,
		Example: `  kerf doctor --cluster-name demo
  kerf doctor --cluster-name demo --prove-delivery
  kerf doctor --output json | jq '.results[] | select(.status == "failed")'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return d.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringVar(&d.options.ClusterName, "cluster-name", os.Getenv("CLUSTER_NAME"), "name of the EKS cluster [$CLUSTER_NAME] (default: what the controller in the cluster is told)")
	f.StringVar(&d.options.Queue, "queue", "", "interruption queue, by name, ARN or URL (default: what the controller is told, else the cluster's name)")
	f.StringVar(&d.options.NodeRole, "node-role", "", "role of the nodes, by name or ARN (default: those of EC2NodeClasses, else KarpenterNodeRole-<cluster>)")
	f.StringVar(&d.options.ControllerRole, "controller-role", "", "role of the controller, by name or ARN (default: that of its service account)")
	f.StringVarP(&d.options.Namespace, "namespace", "n", "", "namespace of the controller (default: any)")
	f.StringVar(&d.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, ~/.kube/config, or the pod's service account)")
	f.StringVar(&d.context, "context", "", "context of the kubeconfig file (default: its current one)")
	f.StringVar(&d.profile, "profile", "", "profile of the AWS settings (default: that of AWS_PROFILE)")
	f.StringVar(&d.region, "region", "", "region of the cluster (default: that of the SDK's settings, such as AWS_REGION)")
	f.BoolVar(&d.noKube, "no-kubernetes", false, "look at AWS only")
	f.BoolVar(&d.noAWS, "no-aws", false, "look at the cluster only")
	f.DurationVar(&d.options.Window, "window", 24*time.Hour, "how far back metrics are looked at")
	f.BoolVar(&d.options.Prove, "prove-delivery", false, "send a probe through EventBridge to the queue; makes a rule for a moment")
	f.StringVar(&d.through, "prove-delivery-through", "", "prove with this rule, whose pattern is widened for a moment, in place of a rule made for the proof")
	f.DurationVar(&d.options.ProveTimeout, "prove-timeout", 5*time.Minute, "how long a probe is watched for; EventBridge's metrics, the last witness, come minutes late")
	d.output.register(f, "form of the report: text or json")
	f.BoolVarP(&d.verbose, "verbose", "v", false, "show checks that are ok or skipped, too")
	return c
}

func (d *doctorFlags) run(ctx context.Context, out, progress io.Writer) error {
	if err := d.output.check(); err != nil {
		return err
	}
	switch {
	case d.noAWS && d.noKube:
		return &usageError{errors.New("with --no-aws and --no-kubernetes nothing is left to look at")}
	case d.noAWS && (d.options.Prove || d.through != ""):
		return &usageError{errors.New("a proof of delivery needs AWS; leave --no-aws out")}
	}
	o := d.options
	if d.through != "" {
		o.Prove, o.Through = true, d.through
	}
	o.Tell = func(line string) { fmt.Fprintln(progress, line) }
	if !d.noAWS {
		o.AWS, o.NoAWS = session.New(ctx, session.Options{Version: version.Version, Region: d.region, Profile: d.profile})
	}
	if !d.noKube {
		o.Kube, o.Pods, o.NoKube = doctor.Connect(d.kubeconfig, d.context)
	}
	in, err := doctor.Look(ctx, o)
	if errors.Is(err, doctor.ErrNoName) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	report := doctor.Examine(in)
	if err := d.output.write(out, report, func(w io.Writer) error { return report.Write(w, d.verbose) }); err != nil {
		return err
	}
	if report.Count(doctor.Failed) > 0 {
		return &exitError{code: foundWrong}
	}
	if len(report.Unseen) > 0 { // what could not be seen is not in order
		return &exitError{code: 1, said: strings.Join(report.Unseen, "; ")}
	}
	return nil
}
