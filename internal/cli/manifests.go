package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/internal/setup/rbac/reader"
	"github.com/kerf-sh/kerf/internal/version"
)

// manifestsCommand holds the flags of the command.
type manifestsCommand struct {
	release  manifests.Release
	files    []string
	sets     []string
	roleARN  string
	image    string
	cluster  string
	queue    string
	replicas int32
	crdsOnly bool
	reader   bool
	crds     bool
	buffers  bool
	output   form
}

func newManifestsCommand() *cobra.Command {
	m := &manifestsCommand{}
	c := &cobra.Command{
		Use:   "manifests --cluster-name NAME [flags]",
		Short: "Print what a cluster needs to run the controller, as YAML for kubectl, Kustomize and GitOps",
		Long: `Prints the ServiceAccount, rights, Service, PodDisruptionBudget and Deployment of the controller, as charts/kerf renders them
for a release of this name. With --crds the CRDs come first; --crds-only prints them alone.

Values files are those of the chart (charts/kerf/values.yaml); later ones win, --set wins over files, and the other flags win
over both. Every setting is read as the controller would read it: what it would refuse is refused here. Values that Karpenter's
charts had and that have no effect are named on standard error.

No cluster and no account is asked.`,
		Example: `  kerf manifests --crds-only | kubectl apply --server-side -f -
  kerf manifests --cluster-name demo --interruption-queue demo | kubectl apply -f -
  kerf manifests --cluster-name demo --role-arn arn:aws:iam::111122223333:role/demo-karpenter > kerf.yaml
  kerf manifests --cluster-name demo -o json | jq '.items[].kind'
  kerf manifests --reader-only | kubectl apply -f -
  kerf manifests --cluster-name demo -f values.yaml --set settings.featureGates.nodeRepair=true --set replicas=1`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return m.run(c) },
	}
	f := c.Flags()
	f.StringVar(&m.release.Name, "name", manifests.DefaultName, "name of the objects; that of the Helm release to be like")
	namespaceFlag(c, &m.release.Namespace, manifests.DefaultNamespace, controllerNamespace)
	f.StringArrayVarP(&m.files, "values", "f", nil, "file with values of the chart, - for standard input (repeatable)")
	f.StringArrayVar(&m.sets, "set", nil, "one value: PATH=VALUE, such as settings.batchMaxDuration=20s (repeatable); VALUE is YAML, so that [a, b] is a list")
	clusterNameFlag(c, &m.cluster, "(default: settings.clusterName of the values)")
	m.output.register(c, nil, yamlFormat, jsonFormat)
	f.StringVar(&m.queue, "interruption-queue", "", "name of the SQS queue with interruption messages (settings.interruptionQueue)")
	f.StringVar(&m.roleARN, "role-arn", "", "role of the controller, for IAM roles for service accounts; Pod Identity needs none here")
	f.StringVar(&m.image, "image", "", "image of the controller: REPOSITORY[:TAG][@DIGEST]")
	f.Int32Var(&m.replicas, "replicas", 0, "how many pods there are (default 2)")
	f.BoolVar(&m.crds, "crds", false, "print the CRDs as well, first")
	f.BoolVar(&m.crdsOnly, "crds-only", false, "print the CRDs and nothing else")
	f.BoolVar(&m.buffers, "capacity-buffers", true, "have the CRD of CapacityBuffers among the CRDs; false leaves it to Cluster Autoscaler")
	f.BoolVar(&m.reader, "reader-only", false, "print the ClusterRole kerf-reader, by which plan, explain, doctor and migrate check may read the cluster, and nothing else")
	return c
}

func (m *manifestsCommand) run(c *cobra.Command) error {
	if m.reader {
		return m.writeReader(c)
	}
	var objects []client.Object
	if m.crds || m.crdsOnly {
		crds, err := manifests.CRDs()
		if err != nil {
			return err
		}
		objects = slices.DeleteFunc(crds, func(o client.Object) bool { return !m.buffers && o.GetName() == manifests.CapacityBufferCRD })
	}
	if !m.crdsOnly {
		values, err := m.values(c)
		if err != nil {
			return &usageError{err}
		}
		tellImage(c, values)
		m.release.Version = manifests.VersionOf(version.Version)
		controller, err := manifests.Objects(m.release, values)
		if err != nil {
			return &usageError{err}
		}
		for _, w := range manifests.Warnings(m.release, values) {
			_, _ = fmt.Fprintln(notices(c), w)
		}
		objects = append(objects, controller...)
	}
	if m.output.format == jsonFormat { // one document: a List, as kubectl writes it
		items := []map[string]any{}
		for _, o := range objects {
			plain, err := manifests.Plain(o)
			if err != nil {
				return err
			}
			items = append(items, plain)
		}
		return m.output.write(c.OutOrStdout(), map[string]any{"apiVersion": "v1", "kind": "List", "items": items}, nil)
	}
	text, err := manifests.YAML(objects)
	if err != nil {
		return err
	}
	return m.output.writeText(c.OutOrStdout(), text)
}

// writeReader writes the role of those who only look.
func (m *manifestsCommand) writeReader(c *cobra.Command) error {
	if m.output.format != jsonFormat {
		return m.output.writeText(c.OutOrStdout(), reader.YAML)
	}
	role := map[string]any{}
	if err := yaml.Unmarshal(reader.YAML, &role); err != nil {
		return fmt.Errorf("reading the role kerf-reader: %w", err)
	}
	return m.output.write(c.OutOrStdout(), role, nil)
}

// values are the defaults with files, --set and flags over them.
func (m *manifestsCommand) values(c *cobra.Command) (*manifests.Values, error) {
	values := manifests.Defaults()
	for _, name := range m.files {
		text, err := readFileOr(name, c.InOrStdin())
		if err != nil {
			return nil, fmt.Errorf("--values: %w", err)
		}
		over := map[string]any{}
		if err := yaml.Unmarshal(text, &over); err != nil {
			return nil, fmt.Errorf("--values %s: %w", name, err)
		}
		tellUnused(c, over)
		if values, err = values.With(over); err != nil {
			return nil, fmt.Errorf("--values %s: %w", name, err)
		}
	}
	for _, set := range m.sets {
		over, err := treeOf(set)
		if err == nil {
			tellUnused(c, over)
			values, err = values.With(over)
		}
		if err != nil {
			return nil, fmt.Errorf("--set %s: %w", set, err)
		}
	}
	if m.cluster != "" && (c.Flags().Changed("cluster-name") || values.Settings.ClusterName == "") {
		values.Settings.ClusterName = m.cluster
	}
	if m.queue != "" {
		values.Settings.InterruptionQueue = m.queue
	}
	if m.roleARN != "" {
		if values.ServiceAccount.Annotations == nil {
			values.ServiceAccount.Annotations = map[string]string{}
		}
		values.ServiceAccount.Annotations["eks.amazonaws.com/role-arn"] = m.roleARN
	}
	if m.image != "" {
		if !registryImage.MatchString(m.image) {
			return nil, fmt.Errorf("--image=%q: want REPOSITORY[:TAG][@sha256:DIGEST] with its registry, such as 111122223333.dkr.ecr.eu-west-1.amazonaws.com/kerf:v0.1.0", m.image)
		}
		values.Controller.Image = imageOf(m.image)
	}
	if c.Flags().Changed("replicas") {
		values.Replicas = m.replicas
	}
	return values, nil
}

// tellImage says that the image is in no registry where nobody has named one of theirs.
func tellImage(c *cobra.Command, values *manifests.Values) {
	if !values.Controller.Image.Own() {
		_, _ = fmt.Fprintf(notices(c), "no registry holds %s yet, and pods would wait with ErrImagePull: name yours with --image, after docs/install.md, \"The image\"; only a local cluster needs none\n", manifests.Image)
	}
}

// tellUnused names the values that Karpenter's charts had and that have no effect here.
func tellUnused(c *cobra.Command, over map[string]any) {
	for _, u := range manifests.Unused(over) {
		_, _ = fmt.Fprintf(notices(c), "value %s has no effect: %s\n", u.Path, u.Why)
	}
}

// treeOf is the tree of one value: {a: {b: VALUE}} of a.b=VALUE. A dot in a name is written as \.
func treeOf(set string) (map[string]any, error) {
	path, text, ok := strings.Cut(set, "=")
	if !ok || path == "" {
		return nil, errors.New("want PATH=VALUE")
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("the value is no YAML: %w", err)
	}
	if m, ok := value.(map[string]any); ok && len(m) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(m)), func(v any) bool { return v != nil }) {
		// In YAML these are names without values, which no value of the chart is.
		return nil, fmt.Errorf("a list is written as in YAML: want %s=[%s]", path, strings.Trim(text, "{} "))
	}
	const dot = "\x00"
	names := strings.Split(strings.ReplaceAll(path, `\.`, dot), ".")
	for i := len(names) - 1; i >= 0; i-- {
		name := strings.ReplaceAll(names[i], dot, ".")
		if name == "" {
			return nil, fmt.Errorf("%q has a name that is empty", path)
		}
		value = map[string]any{name: value}
	}
	return value.(map[string]any), nil
}

// imageOf takes a reference to an image apart. A colon before the last slash is that of a registry's port.
func imageOf(reference string) manifests.ImageValues {
	var image manifests.ImageValues
	image.Repository, image.Digest, _ = strings.Cut(reference, "@")
	if i := strings.LastIndexByte(image.Repository, ':'); i > strings.LastIndexByte(image.Repository, '/') {
		image.Repository, image.Tag = image.Repository[:i], image.Repository[i+1:]
	}
	return image
}
