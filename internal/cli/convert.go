package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/launchtemplate"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/setup/convert"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// convertCommand holds the flags of the command.
type convertCommand struct {
	files      []string
	templates  []string
	parameters []string
	output     form // of the report
	before     string
	account    accountFlags
	options    convert.Options
}

func newConvertCommand() *cobra.Command {
	v := &convertCommand{}
	c := &cobra.Command{
		Use:   "convert -f FILE|DIR|- | --launch-template NAME[:VERSION]",
		Short: "Turn set-ups of older releases, and launch templates, into NodePools and EC2NodeClasses of v1",
		Long: `Reads Provisioners and Machines of v1alpha5, AWSNodeTemplates of v1alpha1, NodePools, NodeClaims and EC2NodeClasses of
v1beta1, the ConfigMap of global settings, workloads with annotations and selectors of that time, and launch templates that
users made themselves, from CloudFormation templates or from the account. Prints the objects of v1 as YAML on standard
output or to --output-file, and on standard error a report in the format of -o: of every field whether it was kept,
translated or lost, why, and what there is to decide.

What an older release did where an object said nothing is spelled out where v1 does otherwise. Objects of v1 are printed
unchanged, workloads only where something in them changed. Values in capitals, such as CLUSTER_NAME, stand for what the
input does not tell; they name nothing that exists.

Without --launch-template no call to AWS is made. The flag needs ec2:DescribeLaunchTemplateVersions.`,
		Example: `  kerf convert -f karpenter/ > v1.yaml
  kubectl get provisioners,awsnodetemplates -o yaml | kerf convert -f - -o json > v1.yaml 2> report.json
  kerf convert -f provisioner.yaml -f launch-template-stack.yaml --parameter AmiId=ami-0123456789abcdef0
  kerf convert -f provisioner.yaml --launch-template my-nodes --region eu-west-1
  kerf convert -f provisioner.yaml --keep-launch-template > v1.yaml
  kerf convert --launch-template 'my-nodes:$Latest' --region eu-west-1 --cluster-name demo`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("files are given with -f: kerf convert -f %s", strings.Join(args, " -f "))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := v.takeReport(c); err != nil {
				return err
			}
			v.options.Region = v.account.region
			return v.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.StringArrayVarP(&v.files, "filename", "f", nil, "file or directory to read, - for standard input (repeatable)")
	f.StringArrayVar(&v.templates, "launch-template", nil, "launch template of the account, by name or ID, with a version: number, $Default or $Latest, which it is without (repeatable)")
	v.account.register(c)
	clusterNameFlag(c, &v.options.ClusterName, "where a selector leant on it")
	f.BoolVar(&v.options.KeepTemplates, "keep-launch-template", false, "have classes launch from their launch templates, in place of translating what is in them")
	f.StringArrayVar(&v.parameters, "parameter", nil, "value of a parameter of a CloudFormation template: NAME=VALUE (repeatable)")
	f.BoolVar(&v.options.OwnedClaims, "owned-claims", false, "also print NodeClaims that a pool made; applied, each launches an instance")
	v.output.register(c, convert.Report{})
	v.output.paint = convertPaint
	f.StringVar(&v.before, "report", "", "")
	_ = f.MarkHidden("report") // it exists
	return c
}

func (v *convertCommand) run(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	if err := v.check(); err != nil {
		return err
	}
	files, err := readInputs(v.files, in)
	if err != nil {
		return err
	}
	for _, name := range v.templates {
		t, err := v.readTemplate(ctx, name)
		if err != nil {
			return err
		}
		v.options.Templates = append(v.options.Templates, *t)
	}
	result, err := convert.Convert(files, v.options)
	if err != nil {
		return &usageError{err}
	}
	if err := writeTo(out, v.output.file, result.Output); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	v.output.file = "-" // the report is on standard error
	report := result.Report.Counted()
	v.output.brief = report.WriteDecisions
	if err := v.output.write(errs, report, report.WriteText); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if result.Report.Count().Decide > 0 {
		return &exitError{code: foundWrong}
	}
	return nil
}

func (v *convertCommand) check() error {
	switch {
	case len(v.files) == 0 && len(v.templates) == 0:
		return &usageError{errors.New("nothing to convert: give -f FILE, -f DIR, -f - or --launch-template NAME (see kerf convert --help)")}
	case v.options.Region != "" && !regionText.MatchString(v.options.Region):
		return &usageError{fmt.Errorf("--region %q is not a region such as eu-west-1", v.options.Region)}
	}
	for _, t := range v.templates {
		if !templateText.MatchString(t) {
			return &usageError{fmt.Errorf("--launch-template %q: write NAME or NAME:VERSION, a version being a number, $Latest or $Default", t)}
		}
	}
	v.options.Parameters = map[string]string{}
	for _, p := range v.parameters {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return &usageError{fmt.Errorf("--parameter %q: write NAME=VALUE", p)}
		}
		v.options.Parameters[name] = value
	}
	return nil
}

// takeReport takes --report, which was the format of the report before -o was.
func (v *convertCommand) takeReport(c *cobra.Command) error {
	if v.before == "" {
		return nil
	}
	fmt.Fprintf(c.ErrOrStderr(), "kerf: --report is -o now: write -o %s; the next release has no --report\n", v.before)
	if err := v.output.Set(v.before); err != nil {
		return &usageError{fmt.Errorf("--report %q: %w", v.before, err)}
	}
	return nil
}

// convertPaint colours a report for people.
var convertPaint = []stroke{strokeOf(`^!.*|^ *!`, doubtColor...), strokeOf(`^note:`, quietColor...)}

// regionText is the form of a region's name.
var regionText = regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-[0-9]+$`)

// templateText is a launch template with or without a version.
var templateText = regexp.MustCompile(`^[^:]+(:([1-9][0-9]*|\$Latest|\$Default))?$`)

// readTemplate reads a launch template from the account.
func (v *convertCommand) readTemplate(ctx context.Context, text string) (*convert.Template, error) {
	name, asked, _ := strings.Cut(text, ":")
	s, err := session.New(ctx, v.account.options())
	if err != nil {
		return nil, err
	}
	found, err := launchtemplate.ReadVersion(ctx, s.EC2, name, cmp.Or(asked, awsv1.LaunchTemplateLatest))
	if cloud.IsNotFound(err) {
		return nil, &usageError{fmt.Errorf("--launch-template %s: %w", text, err)}
	}
	if err != nil {
		return nil, err
	}
	tree, err := found.Tree()
	if err != nil {
		return nil, err
	}
	t := &convert.Template{Name: found.Name, ID: found.ID, Version: asked, Origin: fmt.Sprintf("%s, version %d", s.Region, found.Number), Data: tree}
	if asked == "" {
		other, err := launchtemplate.ReadVersion(ctx, s.EC2, name, launchtemplate.DefaultVersion)
		if err != nil {
			return nil, err
		}
		t.Latest, t.Default = found.Number, other.Number
	}
	return t, nil
}

// inputEndings are those of the files that are read in a directory.
var inputEndings = []string{".yaml", ".yml", ".json", ".template"}

// readInputs reads files, directories with all below, and standard input.
func readInputs(names []string, in io.Reader) ([]convert.File, error) {
	var out []convert.File
	for _, name := range names {
		if name == "-" {
			data, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("reading standard input: %w", err)
			}
			out = append(out, convert.File{Name: "standard input", Data: data, Named: true})
			continue
		}
		before, compressed := len(out), ""
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if path != name && !slices.Contains(inputEndings, strings.ToLower(filepath.Ext(path))) {
				if strings.HasSuffix(path, ".gz") {
					compressed = fmt.Sprintf("; unpack %s, which is compressed, with gunzip", path)
				}
				return nil
			}
			data, err := os.ReadFile(path)
			out = append(out, convert.File{Name: path, Data: data, Named: path == name})
			return err
		})
		if p, ok := errors.AsType[*fs.PathError](err); ok { // it names the file and a system call
			return nil, &usageError{fmt.Errorf("reading %s: %w", p.Path, p.Err)}
		}
		if err != nil {
			return nil, &usageError{err}
		}
		if len(out) == before {
			return nil, &usageError{fmt.Errorf("%s has no file that ends in %s%s", name, strings.Join(inputEndings, ", "), compressed)}
		}
	}
	return out, nil
}
