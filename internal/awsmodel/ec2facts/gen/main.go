// Command gen compiles facts.tsv.gz from a folder of CSV tables on EC2 (instance types, offerings, prices). Its output
// depends on nothing but the tables.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

func main() {
	folder := flag.String("catalog", "", "folder with the CSV tables")
	out := flag.String("o", "facts.tsv.gz", "file to write")
	flag.Parse()
	if err := run(*folder, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(folder, out string) error {
	if folder == "" {
		return fmt.Errorf("no folder given; say -catalog FOLDER")
	}
	types, err := readTypes(folder)
	if err != nil {
		return err
	}
	regions, err := readRegions(folder, types)
	if err != nil {
		return err
	}
	facts, err := ec2facts.New(sources, types, regions)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := facts.Encode(&b); err != nil {
		return err
	}
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d types, %d regions, %d bytes\n", out, len(types), len(regions), b.Len())
	return nil
}

// sources is where the tables are from; their dates are those of the data.
var sources = []ec2facts.Source{
	{Part: "types", Date: "2026-08-02", Licence: "Apache-2.0", Origin: "DescribeInstanceTypes merged over regions, as recorded in getmoto/moto; retired types from the same record's history"},
	{Part: "guest memory", Date: "2025-12..2026-07", Licence: "MIT", Origin: "measured in running Linux guests, from vantage-sh/ec2instances.info"},
	{Part: "branch interfaces", Date: "2026-09-02", Licence: "Apache-2.0", Origin: "aws/amazon-vpc-resource-controller-k8s v1.8.2"},
	{Part: "pod limits", Date: "2026-08-11", Licence: "Apache-2.0", Origin: "aws/amazon-vpc-cni-k8s"},
	{Part: "offerings", Date: "2026-08-01", Licence: "Apache-2.0", Origin: "DescribeInstanceTypeOfferings as recorded in getmoto/moto; zone letters and IDs are those of the account that was looked at"},
	{Part: "on-demand", Date: "2024-11-06..2026-07-20", Licence: "Apache-2.0, MIT", Origin: "published EC2 price lists (Linux, shared tenancy), by way of aws/karpenter-provider-aws and cristim/ec2-instances-info; the day is with each price"},
	{Part: "on-demand estimates", Date: "", Licence: "Apache-2.0", Origin: "not published prices: the us-east-1 price times the middle ratio of relatives in the region"},
	{Part: "spot by zone", Date: "2024-01-09..2024-02-01", Licence: "prices published by AWS", Origin: "DescribeSpotPriceHistory in us-east-1"},
	{Part: "spot by region", Date: "2025-05-28", Licence: "MIT", Origin: "quotes of all zones of 17 regions without the zones' names, from cristim/ec2-instances-info"},
	{Part: "spot advice", Date: "2025-06-28", Licence: "Apache-2.0", Origin: "AWS Spot Advisor, Linux, by way of alexei-led/spotinfo"},
}
