package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/aws/factsync"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

func newCatalogCommand() *cobra.Command {
	c := &cobra.Command{
		Use:                   "catalog",
		Short:                 "Show and refresh the embedded facts on instance types and prices",
		Example:               "  kerf catalog show m5.large",
		Args:                  aCommand,
		RunE:                  func(c *cobra.Command, _ []string) error { return c.Help() },
		DisableFlagsInUseLine: true,
	}
	c.AddCommand(newCatalogShowCommand(), newCatalogUpdateCommand())
	return c
}

func newCatalogShowCommand() *cobra.Command {
	var region, file string
	var output form
	c := &cobra.Command{
		Use:   "show TYPE",
		Short: "Print what is known of an instance type",
		Example: `  kerf catalog show m5.large
  kerf catalog show g6.xlarge --region eu-west-1 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("name one instance type, such as m5.large; %d were given", len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			facts, err := readFacts(file)
			if err != nil {
				return &usageError{err}
			}
			if known := facts.Regions(); !slices.Contains(known, region) {
				meant := ""
				if near := nearest(region, known); near != "" {
					meant = " (did you mean " + near + "?)"
				}
				fmt.Fprintf(notices(c), "kerf: nothing is known of a region %s%s; its zones and prices are borrowed from another\n", region, meant)
			}
			about, err := facts.Describe(args[0], region)
			if err != nil {
				return &usageError{err}
			}
			return output.write(c.OutOrStdout(), about, about.Write)
		},
	}
	regionFlag(c, &region, "us-east-1", "whose offerings and prices are shown")
	fromVariable(c.Flags().Lookup("region"), "AWS_REGION")
	c.Flags().StringVar(&file, "facts", "", "facts file to begin with (default: the embedded one)")
	output.register(c, ec2facts.Description{})
	c.ValidArgsFunction = completeTypes
	return c
}

// completeTypes offers the instance types that are known.
func completeTypes(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	facts, err := ec2facts.Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for i := range facts.Types {
		if name := facts.Types[i].Name; strings.HasPrefix(name, begun) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// catalogUpdate is what kerf catalog update answers.
type catalogUpdate struct {
	Region         string   `json:"region"`
	File           string   `json:"file"`
	Bytes          int      `json:"bytes"`
	Types          int      `json:"types"`
	NewTypes       int      `json:"newTypes"`
	Offered        int      `json:"offered"`
	OnDemandPrices int      `json:"onDemandPrices"`
	SpotPrices     int      `json:"spotPrices"`
	Notes          []string `json:"notes,omitempty"`
	Skipped        []string `json:"skipped,omitempty"`
}

func newCatalogUpdateCommand() *cobra.Command {
	var from, facts string
	var account accountFlags
	output := form{fileBefore: true}
	c := &cobra.Command{
		Use:   "update",
		Short: "Learn the facts of a region anew from a live account",
		Long: `Asks EC2 and the Price List API of the account of --profile and the region of --region (or of the SDK's own settings:
AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL, credentials chain) for instance types, zones, offerings and prices, and writes a
new facts file: the known facts with those of the region replaced. Run it once per region, giving the last file as --facts,
to refresh several. To build with it, put the file in place of internal/awsmodel/ec2facts/facts.tsv.gz.

Needs ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings, ec2:DescribeAvailabilityZones,
ec2:DescribeSpotPriceHistory and pricing:GetProducts; changes nothing in the account.`,
		Example: `  kerf catalog update --region eu-west-1 --output-file facts.tsv.gz
  kerf catalog update --region eu-west-2 --facts facts.tsv.gz --output-file facts.tsv.gz`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if output.file == "-" {
				return &usageError{errors.New("--output-file - is standard output, and the facts are no text: name a file")}
			}
			facts, output.file = output.file, "-" // the file gets the facts, standard output what was found
			return updateCatalog(c.Context(), c.OutOrStdout(), from, facts, account, &output)
		},
	}
	c.Flags().StringVar(&from, "facts", "", "facts file to begin with (default: the embedded one)")
	account.register(c)
	output.register(c, catalogUpdate{})
	of := c.Flags().Lookup("output-file")
	of.Usage, of.DefValue, output.file = "file to write the facts to", "facts.tsv.gz", "facts.tsv.gz"
	return c
}

func readFacts(file string) (*ec2facts.Facts, error) {
	if file == "" {
		return ec2facts.Load()
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading facts: %w", err)
	}
	facts, err := ec2facts.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return facts, nil
}

func updateCatalog(ctx context.Context, out io.Writer, from, file string, to accountFlags, output *form) error {
	known, err := readFacts(from)
	if err != nil {
		return &usageError{err}
	}
	s, err := session.New(ctx, to.options())
	if err != nil {
		return err
	}
	facts, report, err := factsync.Fetch(ctx, s.EC2, s.Pricing, known, s.Region, time.Now())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := facts.Encode(&b); err != nil {
		return err
	}
	if err := writeWhole(file, b.Bytes()); err != nil {
		return err
	}
	u := catalogUpdate{
		Region: s.Region, File: file, Bytes: b.Len(), Types: report.Types, NewTypes: report.NewTypes, Offered: report.Offered,
		OnDemandPrices: report.OnDemand, SpotPrices: report.Spot, Notes: report.Notes,
	}
	for _, name := range slices.Sorted(maps.Keys(report.Skipped)) {
		u.Skipped = append(u.Skipped, report.Skipped[name])
	}
	output.brief = u.writeSummary
	return output.write(out, u, u.write)
}

func (u *catalogUpdate) writeSummary(out io.Writer) error {
	_, err := fmt.Fprintf(out, "%s: %d types (%d new), %d offered, %d on-demand and %d spot prices; wrote %s (%d KB)\n",
		u.Region, u.Types, u.NewTypes, u.Offered, u.OnDemandPrices, u.SpotPrices, u.File, u.Bytes/1000)
	return err
}

func (u *catalogUpdate) write(out io.Writer) error {
	if err := u.writeSummary(out); err != nil {
		return err
	}
	for _, note := range u.Notes {
		fmt.Fprintln(out, "note:", note)
	}
	for _, name := range u.Skipped {
		fmt.Fprintf(out, "skipped: %s\n", name)
	}
	return nil
}

// writeWhole replaces a file in one step, so that no half a file is left behind.
func writeWhole(name string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if p, ok := errors.AsType[*fs.PathError](err); ok { // it names a file that nobody asked for
		err = p.Err
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(content)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
