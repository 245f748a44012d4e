package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kerf-sh/kerf/internal/local"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
	"github.com/kerf-sh/kerf/internal/web"
)

func newLocalCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "local",
		Short: "Run a cluster with a simulated AWS on this computer",
		Long: `Runs etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, a simulated AWS and the unmodified
controller on this computer. Needs no AWS account, no container engine and no rights beyond the user's own. Everything
listens on 127.0.0.1 only and ends when "kerf local up" ends.`,
		Example: `  kerf local up
  eval "$(kerf local env)"      # in another terminal: kubectl, aws and kerf find the cluster from here on
  kerf local status
  kerf local down`,
		Args:                  aCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		DisableFlagsInUseLine: true,
	}
	c.AddCommand(newLocalUpCommand(), newLocalDownCommand(), newLocalStatusCommand(), newLocalEnvCommand())
	return c
}

func newLocalUpCommand() *cobra.Command {
	var o local.Options
	var timeout time.Duration
	var noExamples, noInstall bool
	var programs []string
	var latency float64
	var faults []string
	c := &cobra.Command{
		Use:   "up",
		Short: "Start a local cluster and keep it until Ctrl-C",
		Example: `  kerf local up
  kerf local up --boot-time 30s --region eu-west-1 --set LOG_LEVEL=debug
  kerf local up --filename deployment.yaml
  kerf local up --stack cloudformation.yaml
  kerf local up --no-install     # then: helm upgrade --install karpenter charts/kerf …`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Examples = !noExamples && !noInstall
			if noInstall {
				o.Bare, o.SystemNodes = true, systemNodes
			}
			var err error
			if o.Programs, err = parsePrograms(programs, noInstall); err != nil {
				return &usageError{err}
			}
			if o.Replicas < 1 {
				return &usageError{fmt.Errorf("--replicas=%d: want 1 or more; --no-controller starts none", o.Replicas)}
			}
			if latency < 0 {
				return &usageError{fmt.Errorf("--aws-latency=%g: want 0, for none, or more", latency)}
			}
			if o.AWSLatency = latency; latency == 0 {
				o.AWSLatency = -1
			}
			for _, text := range faults {
				f, err := world.ParseFault([]byte(text))
				if err != nil {
					return &usageError{fmt.Errorf("--fault: %w", err)}
				}
				o.Faults = append(o.Faults, f)
			}
			for _, pair := range o.ControllerEnv {
				if key, _, _ := strings.Cut(pair, "="); !settings.Known(key) && !strings.HasPrefix(key, "AWS_") {
					return &usageError{fmt.Errorf("--set %s: the controller has no setting %s; \"kerf controller --help\" lists them", pair, key)}
				}
			}
			notes := notices(c)
			if err := settingsRead(o.ControllerEnv, notes); err != nil {
				return &usageError{fmt.Errorf("--set: %w", err)}
			}
			o.Report = func(line string) { fmt.Fprintln(notes, line) }
			return runLocalUp(c.Context(), c.OutOrStdout(), notes, o, timeout)
		},
	}
	f := c.Flags()
	f.StringVar(&o.ClusterName, "cluster-name", localName, localNameUsage)
	mustComplete(c, "cluster-name", cobra.NoFileCompletions)
	f.StringVar(&o.StateDir, "state-dir", "", stateDirUsage+" (default: one per cluster name in the user's cache folder)")
	regionFlag(c, &o.Region, "us-east-1", "that is simulated")
	f.DurationVar(&o.BootTime, "boot-time", 0, "how long a simulated instance takes to boot (default: the simulator's)")
	f.Float64Var(&latency, "aws-latency", 1, "how long calls of the simulated AWS take, as a multiple of what they take at AWS; 0: no time")
	f.DurationVar(&o.SpotNotice, "spot-notice", 0, "how long a spot instance lives after its interruption warning (default: the simulator's)")
	f.StringVar(&o.Stack, "stack", "", "file with the CloudFormation template to deploy (default: what \"kerf stack cloudformation\" writes)")
	f.StringArrayVar(&o.StackParameters, "stack-parameter", nil, "KEY=VALUE parameter of that template; may be repeated (ClusterName is set)")
	f.StringArrayVar(&faults, "fault", nil, `fault of the simulated AWS from its start, as JSON; may be repeated: '{"kind":"no-capacity","capacityType":"spot"}'`)
	f.Uint64Var(&o.Seed, "seed", 0, "seed of what the simulated AWS draws: spot prices, stock, times")
	f.StringSliceVar(&o.Types, "instance-types", nil, "instance types that exist (default: all that the region offers)")
	f.IntVar(&o.Port, "port", 0, "port of the Kubernetes API (default: a free one)")
	f.IntVar(&o.AWSPort, "aws-port", 0, "port of the simulated AWS (default: a free one)")
	f.IntVar(&o.Replicas, "replicas", 1, "how many replicas of the controller run; one leads, as in a cluster")
	f.BoolVar(&o.NoController, "no-controller", false, "install CRDs and rights and start everything but the controller, for one that you start yourself")
	f.BoolVar(&noInstall, "no-install", false, "install nothing of Kerf; two nodes run the pods of what you install with Helm or kubectl")
	f.StringArrayVar(&programs, "program", nil, "with --no-install: IMAGE=PATH program that runs in place of an image (without tag); IMAGE alone: Kerf under another name; may be repeated")
	f.StringArrayVar(&o.ControllerEnv, "set", nil, "KEY=VALUE setting of the controller; may be repeated")
	f.BoolVar(&noExamples, "no-examples", false, "do not apply the NodePool and EC2NodeClass named default")
	f.StringArrayVarP(&o.Manifests, "filename", "f", nil, "file of manifests to apply; may be repeated")
	f.StringVar(&o.AuditLog, "audit-log", "", "file that gets one line of JSON for each write to the Kubernetes API")
	f.StringVar(&o.ControlPlane, "controlplane", "", "kerf-controlplane binary (default: beside this one, or $KERF_CONTROLPLANE)")
	f.DurationVar(&timeout, "timeout", 5*time.Minute, "how long the start may take")
	for _, other := range []string{"no-controller", "replicas", "set", "no-examples"} { // they are about an installation of ours
		c.MarkFlagsMutuallyExclusive("no-install", other)
	}
	return c
}

// settingsRead has the controller's settings read by the reader that the controller has, so that it does not end after all else
// was started. What it would warn of is written in lines.
func settingsRead(pairs []string, progress io.Writer) error {
	given := environment(pairs)
	_, err := loadSettings(pflag.NewFlagSet("", pflag.ContinueOnError), func(name string) (string, bool) {
		value, ok := given[name]
		switch {
		case ok:
		case name == "CLUSTER_NAME":
			return localName, true
		case name == "METRICS_PORT" || name == "HEALTH_PROBE_PORT":
			return "0", true // it gets a port that is free
		}
		return value, ok
	}, progress)
	return err
}

// systemNodes is how many nodes there are for an installation: as many as the chart has replicas, of which no two run on one node.
const systemNodes = 2

// parsePrograms reads the pairs of --program.
func parsePrograms(pairs []string, noInstall bool) (map[string]string, error) {
	if len(pairs) > 0 && !noInstall {
		return nil, errors.New("--program is about pods of an installation of yours: it goes with --no-install")
	}
	out := map[string]string{}
	for _, pair := range pairs {
		image, path, found := strings.Cut(pair, "=")
		if image == "" || found && path == "" {
			return nil, fmt.Errorf("--program %s: want IMAGE=PATH, or IMAGE alone for Kerf", pair)
		}
		if repository := local.Repository(image); repository != image {
			return nil, fmt.Errorf("--program %s: name the image without its tag and digest: %s", pair, repository)
		}
		if path != "" {
			var err error
			if path, err = filepath.Abs(path); err != nil {
				return nil, fmt.Errorf("--program %s: %w", pair, err)
			}
		}
		out[image] = path
	}
	return out, nil
}

func runLocalUp(ctx context.Context, stdout, stderr io.Writer, o local.Options, timeout time.Duration) error {
	start, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after --timeout=%s", timeout))
	defer cancel()
	cluster, err := local.Up(start, o)
	if bad, ok := errors.AsType[*local.InputError](err); ok {
		return &usageError{bad}
	}
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, local.Exports(cluster.Env()))
	in := local.Flags(cluster.StateDir)
	try := `try, in another terminal:
  eval "$(kerf local env%s)"
  kubectl apply -f examples/deployment.yaml
  kubectl get nodeclaims,nodes -L node.kubernetes.io/instance-type,karpenter.sh/capacity-type
  kerf explain nodeclaim $(kubectl get nodeclaims -o name | head -1 | cut -d/ -f2)
more manifests are in examples/; what the simulated AWS can be made to do is at $KERF_SIMULATOR/
`
	if o.SystemNodes > 0 {
		try = `nothing of Kerf is installed; in another terminal, in a clone of the repository:
  eval "$(kerf local env%s)"
  helm upgrade --install kerf-crd charts/kerf-crd --namespace kube-system
  helm upgrade --install karpenter charts/kerf --namespace kube-system --skip-crds \
    --set settings.clusterName="$CLUSTER_NAME",settings.interruptionQueue="$CLUSTER_NAME" --wait
  sed "s/\${CLUSTER_NAME}/$CLUSTER_NAME/g" examples/nodepool.yaml | kubectl apply -f -
`
	}
	fmt.Fprintf(stderr, try, in)
	if err := showPage(ctx, stderr, cluster); err != nil {
		return errors.Join(err, cluster.Close())
	}
	fmt.Fprintf(stderr, "logs are in %s; Ctrl-C, or \"kerf local down%s\" elsewhere, ends the cluster\n", cluster.StateDir, in)
	select {
	case <-ctx.Done():
		fmt.Fprintln(stderr, "ending the cluster")
		return cluster.Close()
	case err := <-cluster.Ended():
		return errors.Join(err, cluster.Close())
	}
}

// showPage serves the page of kerf ui for a local cluster while it runs.
func showPage(ctx context.Context, stderr io.Writer, cluster *local.Cluster) error {
	config, err := cluster.Config()
	if err != nil {
		return err
	}
	address, err := web.Beside(ctx, web.Options{Connect: web.At(cluster.Server(), config)})
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "the cluster as a page: %s\n", address)
	return nil
}

func newLocalDownCommand() *cobra.Command {
	var dir localDir
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "down",
		Short: "End a local cluster that another terminal started",
		Example: `  kerf local down
  kerf local down --cluster-name other`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := dir.path()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(c.Context(), timeout, fmt.Errorf("not done after --timeout=%s", timeout))
			defer cancel()
			if err := local.Down(ctx, path); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "the local cluster in %s has ended; its logs stay there\n", path)
			return err
		},
	}
	dir.register(c)
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long the end may take")
	return c
}

func newLocalEnvCommand() *cobra.Command {
	var dir localDir
	var output form
	c := &cobra.Command{
		Use:   "env",
		Short: "Print the environment by which tools find a local cluster, for a shell to evaluate",
		Long: `Prints KUBECONFIG, the AWS_… variables of the simulated account's administrator, CLUSTER_NAME, KERF_SERVER (the
controller, for kerf explain and kerf replay; with --no-install an address that leads to the leader of what is installed) and KERF_SIMULATOR (the controls of the simulated AWS). AWS_PROFILE is unset,
for a profile of yours would lead elsewhere.

Without a running cluster, what it prints leads kubectl, aws and kerf to nothing, and fails: no command that was meant for a
local cluster reaches a real one.`,
		Example: `  eval "$(kerf local env)"
  kerf local env -o json | jq -r .KUBECONFIG`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := dir.path()
			if err != nil {
				return err
			}
			state, err := local.ReadState(path)
			if err != nil {
				if output.format == textFormat { // which a shell evaluates, whatever becomes of this command
					_, _ = io.WriteString(c.OutOrStdout(), local.Nowhere(path))
				}
				return err
			}
			return output.write(c.OutOrStdout(), environment(state.Env), func(w io.Writer) error {
				_, err := io.WriteString(w, local.Exports(state.Env))
				return err
			})
		},
	}
	dir.register(c)
	output.register(c, map[string]string{})
	return c
}

// environment is a list of NAME=VALUE as a map.
func environment(pairs []string) map[string]string {
	out := map[string]string{}
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		out[key] = value
	}
	return out
}

func newLocalStatusCommand() *cobra.Command {
	var dir localDir
	var output form
	c := &cobra.Command{
		Use:   "status",
		Short: "Say whether a local cluster runs, where, and what is in it",
		Example: `  kerf local status
  kerf local status -o json | jq .nodesReady`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			path, err := dir.path()
			if err != nil {
				return err
			}
			status, err := local.ReadStatus(c.Context(), path)
			if err != nil {
				return err
			}
			return output.write(c.OutOrStdout(), status, status.Write)
		},
	}
	dir.register(c)
	output.register(c, local.Status{})
	return c
}

// The flags that the commands on local clusters share. The name is no real cluster's, so that CLUSTER_NAME does not stand for it.
const (
	localName      = local.DefaultName
	localNameUsage = "name of the local cluster; several can run under different names"
	stateDirUsage  = "folder for logs, kubeconfigs and the state file"
)

// localDir are the flags that name a running local cluster.
type localDir struct{ cluster, dir string }

func (d *localDir) register(c *cobra.Command) {
	c.Flags().StringVar(&d.cluster, "cluster-name", localName, localNameUsage)
	mustComplete(c, "cluster-name", cobra.NoFileCompletions)
	c.Flags().StringVar(&d.dir, "state-dir", "", stateDirUsage+", if \"kerf local up\" was given one")
}

func (d *localDir) path() (string, error) {
	if d.dir != "" {
		return d.dir, nil
	}
	return local.DefaultStateDir(d.cluster)
}
