package cli

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/doctor"
	"github.com/kerf-sh/kerf/internal/setup/leader"
	"github.com/kerf-sh/kerf/internal/version"
)

// What says which cluster, account and controller a command is about: every command has these flags from here, with the same
// words, and the same environment variables in their place.

// clusterFlags say which cluster it is.
type clusterFlags struct {
	kubeconfig, context string
	// current is the current context when the command first asked: it stays with that cluster when kubectl switches to another one.
	current func() string
}

func (f *clusterFlags) register(c *cobra.Command) {
	f.current = sync.OnceValue(func() string { return f.load().CurrentContext })
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file [$KUBECONFIG] (default: ~/.kube/config, or the pod's service account)")
	c.Flags().StringVar(&f.context, "context", "", "context of the kubeconfig file (default: its current one)")
	mustComplete(c, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return f.contexts(), cobra.ShellCompDirectiveNoFileComp
	})
}

// config leads to the API server.
func (f *clusterFlags) config() (*rest.Config, error) {
	return doctor.KubeConfig(f.kubeconfig, f.chosen())
}

// chosen is the context that is meant, empty where there is none.
func (f *clusterFlags) chosen() string {
	if f.context != "" || f.current == nil {
		return f.context
	}
	return f.current()
}

// load reads the kubeconfig; one that can't be read is empty here.
func (f *clusterFlags) load() *clientcmdapi.Config {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := rules.Load()
	if err != nil {
		return clientcmdapi.NewConfig()
	}
	return config
}

// name is that of the cluster, as its context tells: the EKS cluster where the context is an ARN. Empty: there is no context.
func (f *clusterFlags) name() string {
	name := f.chosen()
	if _, cluster, ok := strings.Cut(name, ":cluster/"); ok && strings.HasPrefix(name, "arn:") {
		return cluster
	}
	return name
}

// contexts are the contexts that can be chosen; none where the file can't be read.
func (f *clusterFlags) contexts() []string {
	var out []string
	for name := range f.load().Contexts {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// accountFlags say which account and region it is.
type accountFlags struct{ region, profile string }

func (f *accountFlags) register(c *cobra.Command) {
	regionFlag(c, &f.region, "", "(default: that of the AWS profile)")
	fromVariable(c.Flags().Lookup("region"), "AWS_REGION")
	profileFlag(c, &f.profile)
}

// options make a session of the account.
func (f *accountFlags) options() session.Options {
	return session.Options{Version: version.Version, Region: f.region, Profile: f.profile}
}

// regionFlag adds --region; more says what it does where it is not the region that is asked.
func regionFlag(c *cobra.Command, region *string, def, more string) {
	c.Flags().StringVar(region, "region", def, strings.TrimSpace("AWS region "+more))
	mustComplete(c, "region", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		facts, err := ec2facts.Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return facts.Regions(), cobra.ShellCompDirectiveNoFileComp
	})
}

// profileFlag adds --profile. The AWS SDK reads AWS_PROFILE itself, and lets keys of the environment beat it, as the aws
// command does.
func profileFlag(c *cobra.Command, profile *string) {
	c.Flags().StringVar(profile, "profile", "", "profile of the AWS configuration [$AWS_PROFILE]")
	mustComplete(c, "profile", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return awsProfiles(), cobra.ShellCompDirectiveNoFileComp
	})
}

// profileHead is the line that begins a profile in the files of the AWS configuration.
var profileHead = regexp.MustCompile(`^\s*\[\s*(?:profile\s+)?([^\]\s]+)\s*\]`)

// awsProfiles are the profiles in the files of the AWS configuration.
func awsProfiles() []string {
	var out []string
	for variable, name := range map[string]string{"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"} {
		path := os.Getenv(variable)
		if path == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			path = filepath.Join(home, ".aws", name)
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if m := profileHead.FindStringSubmatch(lines.Text()); m != nil && !strings.HasPrefix(strings.TrimSpace(lines.Text()), "[sso-session") && !strings.HasPrefix(strings.TrimSpace(lines.Text()), "[services") {
				out = append(out, m[1])
			}
		}
		f.Close()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// clusterNameFlag adds --cluster-name; more says what holds without it.
func clusterNameFlag(c *cobra.Command, name *string, more string) {
	c.Flags().StringVar(name, "cluster-name", "", strings.TrimSpace("name of the EKS cluster "+more))
	fromVariable(c.Flags().Lookup("cluster-name"), clusterNameVariable)
	mustComplete(c, "cluster-name", cobra.NoFileCompletions)
}

const clusterNameVariable = "CLUSTER_NAME"

// controllerFlags say which controller is asked: one at an address, or the one that leads the cluster.
type controllerFlags struct {
	server, namespace string
	plainHTTP         bool
	cluster           clusterFlags
	command           *cobra.Command
}

func (f *controllerFlags) register(c *cobra.Command) {
	f.command = c
	c.Flags().StringVar(&f.server, "server", "", "address of a controller's metrics port (default: the leader's, through the Kubernetes API)")
	fromVariable(c.Flags().Lookup("server"), "KERF_SERVER")
	mustComplete(c, "server", cobra.NoFileCompletions)
	c.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "let your token go unencrypted to another host, for --server with http://")
	c.Flags().StringVar(&f.namespace, "controller-namespace", "", "namespace of the controller (default: kube-system, or where its Lease is)")
	fromVariable(c.Flags().Lookup("controller-namespace"), "KERF_NAMESPACE")
	mustComplete(c, "controller-namespace", cobra.NoFileCompletions)
	f.cluster.register(c)
}

// reach is the way to the controller, which the caller closes. A cluster that is named on the command line is meant, whatever
// address the environment has.
func (f *controllerFlags) reach(ctx context.Context) (*leader.Controller, error) {
	given := f.command.Flags().Changed
	if f.server != "" && (given("server") || !given("context") && !given("kubeconfig")) {
		return f.at(f.server)
	}
	config, err := f.cluster.config()
	if err != nil {
		return nil, err
	}
	return leader.Reach(ctx, config, f.namespace)
}

// at is the way to a controller at an address.
func (f *controllerFlags) at(server string) (*leader.Controller, error) {
	c, err := leader.At{Server: server, PlainHTTP: f.plainHTTP, Config: f.cluster.config, Namespace: f.namespace}.Reach()
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

// namespaceFlag adds -n, the namespace of the controller or of a pod.
func namespaceFlag(c *cobra.Command, namespace *string, def, what string) {
	c.Flags().StringVarP(namespace, "namespace", "n", def, what)
	mustComplete(c, "namespace", cobra.NoFileCompletions)
}

// controllerNamespace is what --namespace is, but for commands about pods.
const controllerNamespace = "namespace of the controller"

// mustComplete gives a flag its completion. It panics where the flag does not exist, which is a mistake in the code.
func mustComplete(c *cobra.Command, flag string, with cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err)
	}
}
