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
	"time"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/aws/factsync"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/ec2facts"
	"github.com/kerf-sh/kerf/internal/version"
)

func newCatalogCommand() *cobra.Command {
	c := &cobra.Command{
		Use:                   "catalog",
		Short:                 "Show and refresh the embedded facts on instance types and prices",
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
  kerf catalog show g6.xlarge --region eu-west-1 --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("name one instance type, such as m5.large; %d were given", len(args))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := output.check(); err != nil {
				return err
			}
			facts, err := readFacts(file)
			if err != nil {
				return &usageError{err}
			}
			if known := facts.Regions(); !slices.Contains(known, region) {
				meant := ""
				if near := nearest(region, known); near != "" {
					meant = " (did you mean " + near + "?)"
				}
				fmt.Fprintf(c.ErrOrStderr(), "kerf: nothing is known of a region %s%s; its zones and prices are borrowed from another\n", region, meant)
			}
			about, err := facts.Describe(args[0], region)
			if err != nil {
				return err
			}
			return output.write(c.OutOrStdout(), about, about.Write)
		},
	}
	c.Flags().StringVar(&region, "region", "us-east-1", "region whose offerings and prices to show")
	c.Flags().StringVar(&file, "facts", "", "facts file to read (default: the embedded one)")
	output.register(c.Flags(), "text or json")
	return c
}

func newCatalogUpdateCommand() *cobra.Command {
	var from, output string
	c := &cobra.Command{
		Use:   "update",
		Short: "Learn the facts of a region anew from a live account",
		Long: `Asks EC2 and the Price List API of the account and region of the SDK's own settings (AWS_REGION, AWS_PROFILE,
AWS_ENDPOINT_URL, credentials chain) for instance types, zones, offerings and prices, and writes a new facts file: the known
facts with those of the region replaced. Run it once per region, giving the last output as --facts, to refresh several.
To build with it, put the file in place of internal/ec2facts/facts.tsv.gz.

Needs ec2:DescribeInstanceTypes, ec2:DescribeInstanceTypeOfferings, ec2:DescribeAvailabilityZones,
ec2:DescribeSpotPriceHistory and pricing:GetProducts; changes nothing in the account.`,
		Example: `  AWS_REGION=eu-west-1 kerf catalog update --output facts.tsv.gz`,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return updateCatalog(c.Context(), c.OutOrStdout(), from, output)
		},
	}
	c.Flags().StringVar(&from, "facts", "", "facts file to begin with (default: the embedded one)")
	c.Flags().StringVarP(&output, "output", "o", "facts.tsv.gz", "file to write")
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

func updateCatalog(ctx context.Context, out io.Writer, from, output string) error {
	known, err := readFacts(from)
	if err != nil {
		return &usageError{err}
	}
	s, err := session.New(ctx, session.Options{Version: version.Version})
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
	if err := writeWhole(output, b.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d types (%d new), %d offered, %d on-demand and %d spot prices; wrote %s (%d KB)\n",
		s.Region, report.Types, report.NewTypes, report.Offered, report.OnDemand, report.Spot, output, b.Len()/1000)
	for _, note := range report.Notes {
		fmt.Fprintln(out, "note:", note)
	}
	for _, name := range slices.Sorted(maps.Keys(report.Skipped)) {
		fmt.Fprintf(out, "skipped: %s\n", report.Skipped[name])
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
