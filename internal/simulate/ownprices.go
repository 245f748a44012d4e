package simulate

import (
	"fmt"
	"os"

	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
	"github.com/kerf-sh/kerf/internal/engine/requirement"
	"github.com/kerf-sh/kerf/internal/state/pricefile"
)

// priceFile is the setting that names the controller's price file.
const priceFile = "KERF_PRICE_FILE"

// ownPrices makes the price that an instance has by a price file of its list price, both in micro-USD per hour: the controller decides by
// these, and the bill is of the same. An empty path changes nothing.
//
// Errors: the file can't be read, or makes no sense.
func ownPrices(path, region string) (func(kind, zone, capacityType string, listed int64) int64, error) {
	if path == "" {
		return func(_, _, _ string, listed int64) int64 { return listed }, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the price file (%s): %w", priceFile, err)
	}
	rules, err := pricefile.Parse(path, data)
	if err != nil {
		return nil, fmt.Errorf("reading the price file (%s): %w", priceFile, err)
	}
	overlays := rules.In(region)
	catalog.SortOverlays(overlays)
	return func(kind, zone, capacityType string, listed int64) int64 {
		family, _ := ec2facts.SplitName(kind)
		t := &catalog.Type{
			Name: kind, Requirements: []requirement.Term{{Key: "karpenter.k8s.aws/instance-family", Operator: requirement.In, Values: []string{family}}},
			Offerings: []catalog.Offering{{Zone: zone, CapacityType: capacityType, Price: catalog.MicroUSD(listed), Available: true}},
		}
		return int64(t.Overlay(overlays, nil).Offerings[0].Price)
	}, nil
}
