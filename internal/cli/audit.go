package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/audit"
	"github.com/kerf-sh/kerf/internal/aws/factsync"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/setup/snapshot"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
	"github.com/kerf-sh/kerf/internal/version"
)

// htmlFormat is one self-contained page.
const htmlFormat = "html"

type auditFlags struct {
	cluster         clusterFlags
	region, profile string
	withAWS         bool
	facts, prices   string
	spotDiscount    float64
	from, snapshot  string
	anonymize, role bool
	verbose         bool
	output          form
}

func newAuditCommand() *cobra.Command {
	f := &auditFlags{}
	c := &cobra.Command{
		Use:   "audit",
		Short: "Say what a cluster costs, the least that its pods could cost, where the difference lies, and what is at risk",
		Long: `Reads the cluster of the current context, whatever launches its nodes: Karpenter, Cluster Autoscaler, managed node groups, plain
EC2 instances. Nothing is changed, nothing has to be installed, and no AWS credentials are needed.

The report says what the instances cost an hour and a month; the floor, which is the least that any nodes for the same pods could
cost, proved; where the difference lies, with the price and the names of each part; what Kerf would do first, and what it would
not touch; what is at risk; and what could not be known.

It takes the rights of the ClusterRole view, and besides to list nodes and what else belongs to no namespace, which view does not
have; --role prints a ClusterRole with just what it takes. What may not be read makes its part of the report unknown, and is said there.

Prices are list prices that are built into kerf. --with-aws asks your account for those of now; --prices is a file with what you
have agreed on with AWS, in the form of --kerf-price-file of the controller; --spot-discount puts one saving in place of the spot prices.

--snapshot writes what was read to a file, and --from reads such a file in place of a cluster; it reads the output of
kubectl get -o json as well. --anonymize hashes every name, in the file and in the report.`,
		Example: `  kerf audit
  kerf audit -o html --output-file audit.html            # one page, to be sent to somebody
  kerf audit --context prod --with-aws --profile prod    # at the prices of your account
  kerf audit --snapshot prod.json.gz --anonymize         # to attach to an issue
  kerf audit --from prod.json.gz -o json | jq '.difference[] | .title, .perHour'
  kerf audit --role | kubectl apply -f -                 # rights for somebody who may not list nodes`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c, c.OutOrStdout(), notices(c))
		},
	}
	p := c.Flags()
	f.cluster.register(c)
	regionFlag(c, &f.region, "", "whose prices count (default: that of the nodes)")
	profileFlag(c, &f.profile)
	p.BoolVar(&f.withAWS, "with-aws", false, "ask your AWS account for types, zones and prices of now")
	p.StringVar(&f.facts, "facts", "", "facts file with types and prices (default: the embedded one)")
	p.StringVar(&f.prices, "prices", "", "file with prices of your own")
	p.Float64Var(&f.spotDiscount, "spot-discount", 0, "how many percent spot costs less than on-demand, in place of the known prices")
	p.StringVar(&f.from, "from", "", "snapshot file to audit in place of a cluster, - for standard input")
	p.StringVar(&f.snapshot, "snapshot", "", "file to write what was read to; compressed if its name ends in .gz")
	p.BoolVar(&f.anonymize, "anonymize", false, "hash every name, in the snapshot and in the report")
	p.BoolVar(&f.role, "role", false, "print the ClusterRole with the rights that an audit takes, and do nothing else")
	p.BoolVarP(&f.verbose, "verbose", "v", false, "list up to 20 names of each part and risk")
	f.output.register(c, audit.Report{}, textFormat, jsonFormat, yamlFormat, htmlFormat)
	f.output.paint = auditPaint
	return c
}

func (f *auditFlags) run(c *cobra.Command, out, progress io.Writer) error {
	if f.role {
		return f.output.writeText(out, snapshot.Role)
	}
	given := c.Flags().Changed
	switch {
	case f.from != "" && (f.cluster.kubeconfig != "" || f.cluster.context != ""):
		return &usageError{errors.New("--from audits a file, and --kubeconfig and --context name a cluster: give one of them")}
	case given("spot-discount") && f.spotDiscount > 0 && f.spotDiscount < 1:
		return &usageError{fmt.Errorf("--spot-discount %g: want percent, such as 60 for 60 %%; write %g", f.spotDiscount, f.spotDiscount*100)}
	case given("spot-discount") && (f.spotDiscount < 0 || f.spotDiscount >= 100):
		return &usageError{fmt.Errorf("--spot-discount %g: want percent, at least 0 and less than 100", f.spotDiscount)}
	case f.withAWS && f.facts != "":
		return &usageError{errors.New("--with-aws asks for the facts that --facts has: give one of them")}
	}
	o := audit.Options{Region: f.region}
	if given("spot-discount") {
		o.SpotDiscount = new(f.spotDiscount / 100)
	}
	if f.prices != "" {
		data, err := os.ReadFile(f.prices)
		if err != nil {
			return &usageError{fmt.Errorf("--prices: %w", err)}
		}
		if o.Prices, err = pricefile.Parse(f.prices, data); err != nil {
			return &usageError{err}
		}
	}
	var err error
	if o.Facts, err = readFacts(f.facts); err != nil {
		return &usageError{err}
	}
	if !f.withAWS { // the account may know more regions
		if err := o.CheckRegion(""); err != nil {
			return &usageError{err}
		}
	}
	s, err := f.read(c.Context(), c.InOrStdin(), progress)
	if err != nil {
		return err
	}
	if f.anonymize {
		s = s.Anonymize()
	}
	if f.snapshot != "" {
		if err := f.keep(s, progress); err != nil {
			return err
		}
	}
	if !f.withAWS {
		if err := o.CheckRegion(s.Region); err != nil {
			return &usageError{err}
		}
	}
	if f.withAWS {
		if o.Facts, err = f.live(c.Context(), o.Facts, cmp.Or(f.region, s.Region)); err != nil {
			return err
		}
		o.Live = true
	}
	r, err := audit.Run(s, o)
	if err != nil {
		return err
	}
	if err := f.write(out, r); err != nil {
		return err
	}
	if f.output.file != "-" && f.output.file != "" {
		fmt.Fprintf(progress, "wrote %s\n", f.output.file)
	}
	if s.Missing("nodes") && s.FromKubectl {
		return &exitError{code: failed, said: "the file has no nodes, so nothing of what they cost is known: add them with\n  " + kubectlKinds}
	}
	if s.Missing("nodes") {
		return &exitError{code: failed, said: "nodes could not be listed, so nothing of what they cost is known. What it takes, from somebody who may grant it:\n  kerf audit --role | kubectl apply -f -\n  kubectl create clusterrolebinding kerf-auditor --clusterrole kerf-auditor --user YOU"}
	}
	return nil
}

// read reads the cluster, or the file in its place.
func (f *auditFlags) read(ctx context.Context, in io.Reader, progress io.Writer) (*snapshot.Snapshot, error) {
	switch f.from {
	case "":
		config, err := f.cluster.config()
		if err != nil {
			if f.cluster.kubeconfig != "" || f.cluster.context != "" { // a name that was given does not exist
				err = &usageError{err}
			}
			return nil, err
		}
		began := time.Now()
		s, err := snapshot.Collect(ctx, config, began, func(resource string, n int) {
			if n >= manyObjects {
				fmt.Fprintf(progress, "read %d %s\n", n, resource)
			}
		})
		if err == nil {
			s.Cluster = f.cluster.name()
			fmt.Fprintf(progress, "read %d nodes and %d pods from %s in %s\n", len(s.Nodes), len(s.Pods), config.Host, time.Since(began).Round(100*time.Millisecond))
		}
		return s, err
	case "-":
		s, err := snapshot.Read(in)
		if err != nil {
			return nil, &usageError{fmt.Errorf("standard input: %w", err)}
		}
		return s, nil
	}
	s, err := snapshot.ReadFile(f.from)
	if err != nil {
		return nil, &usageError{err}
	}
	return s, nil
}

// kubectlKinds reads with kubectl all that an audit looks at.
const kubectlKinds = "kubectl get nodes,pods,namespaces,nodepools,nodeclaims,ec2nodeclasses,poddisruptionbudgets,deployments,replicasets,statefulsets,daemonsets,jobs,cronjobs,persistentvolumes,persistentvolumeclaims,storageclasses,csinodes,priorityclasses -A -o json > cluster.json"

// manyObjects is how many objects of a kind are worth a line while the others are read.
const manyObjects = 1000

// keep writes the snapshot to its file.
func (f *auditFlags) keep(s *snapshot.Snapshot, progress io.Writer) error {
	data, err := s.Encode(f.snapshot)
	if err != nil {
		return err
	}
	if err := writeWhole(f.snapshot, data); err != nil {
		return err
	}
	hashed := ""
	if s.Anonymized {
		hashed = ", names hashed"
	}
	fmt.Fprintf(progress, "wrote %s: %d nodes, %d pods, %d KB%s\n", f.snapshot, len(s.Nodes), len(s.Pods), (len(data)+999)/1000, hashed)
	return nil
}

// live are the facts of the account as they are now.
func (f *auditFlags) live(ctx context.Context, known *ec2facts.Facts, region string) (*ec2facts.Facts, error) {
	to, err := session.New(ctx, session.Options{Version: version.Version, Region: region, Profile: f.profile})
	if err != nil {
		return nil, fmt.Errorf("--with-aws: %w", err)
	}
	facts, _, err := factsync.Fetch(ctx, to.EC2, to.Pricing, known, to.Region, time.Now())
	if err != nil {
		return nil, fmt.Errorf("--with-aws: %w", err)
	}
	return facts, nil
}

func (f *auditFlags) write(out io.Writer, r *audit.Report) error {
	if f.output.format == htmlFormat {
		var b bytes.Buffer
		if err := r.WritePage(&b); err != nil {
			return err
		}
		return f.output.writeText(out, b.Bytes())
	}
	f.output.brief = r.WriteAnswer
	return f.output.write(out, r, func(w io.Writer) error { return r.Write(w, f.verbose) })
}

// auditPaint colours a report for people.
var auditPaint = []stroke{
	strokeOf(`^  (high) `, wrongColor...), strokeOf(`^  (low |NOTE:) `, doubtColor...), strokeOf(`^[A-Z][A-Z' ]{4,}`, headingColor...), strokeOf(`^  (Costs|Floor|Difference|Kerf's plan) .*`, headingColor...),
}
