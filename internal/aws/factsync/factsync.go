// Package factsync learns the facts on instance types, offerings and prices of a region anew from a live account.
package factsync

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/instancetype"
	"github.com/kerf-sh/kerf/internal/aws/pricing"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
)

// EC2 is what Fetch needs of EC2.
type EC2 interface {
	instancetype.API
	pricing.HistoryAPI
	DescribeAvailabilityZones(context.Context, *ec2.DescribeAvailabilityZonesInput, ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
}

// Report says what Fetch found.
type Report struct {
	Types, NewTypes, Offered, OnDemand, Spot int
	// Skipped says, by type, why a description could not be used.
	Skipped map[string]string
	// Notes are parts that could not be learned and stay as they were.
	Notes []string
}

// Fetch asks EC2 and the Price List API about a region and returns the known facts with the answers worked in. Prices that
// can't be had are noted in the report and stay as they were.
//
// Errors: types, zones or offerings that can't be listed; without them there is nothing to write.
func Fetch(ctx context.Context, api EC2, products pricing.ProductsAPI, known *ec2facts.Facts, region string, now time.Time) (*ec2facts.Facts, Report, error) {
	var report Report
	u := ec2facts.Update{Region: region, Date: now.UTC().Format(time.DateOnly), Currency: pricing.Currency(region)}
	var err error
	if u.Types, report.Skipped, err = instancetype.Describe(ctx, api, known, nil); err != nil {
		return nil, report, err
	}
	if u.Offerings, err = instancetype.DescribeOfferings(ctx, api); err != nil {
		return nil, report, err
	}
	if u.Zones, err = zones(ctx, api); err != nil {
		return nil, report, err
	}
	dropUnlistedZones(u.Offerings, u.Zones)
	if !pricing.HasPriceList(region) {
		report.Notes = append(report.Notes, "on-demand prices stay as they were: "+region+" has no Price List API")
	} else if prices, currency, err := pricing.FetchOnDemand(ctx, products, region); err == nil {
		u.OnDemand, u.Currency = prices, currency
	} else {
		report.Notes = append(report.Notes, "on-demand prices stay as they were: "+err.Error())
	}
	if u.Spot, err = pricing.FetchSpot(ctx, api, now); err != nil {
		report.Notes = append(report.Notes, "spot prices stay as they were: "+err.Error())
	}
	keepListedZones(u.Spot, u.Zones)
	for _, t := range u.Types {
		if _, ok := known.Type(t.Name); !ok {
			report.NewTypes++
		}
	}
	report.Types, report.Offered, report.OnDemand = len(u.Types), len(u.Offerings), len(u.OnDemand)
	for _, prices := range u.Spot {
		report.Spot += len(prices)
	}
	out, err := known.With(u)
	return out, report, err
}

// zones lists the region's own zones; local zones and the like are sold apart and have no spot or Linux list price.
func zones(ctx context.Context, api EC2) ([]ec2facts.Zone, error) {
	out, err := api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, awserr.Wrap("listing availability zones", err)
	}
	var zones []ec2facts.Zone
	for _, z := range out.AvailabilityZones {
		if kind := aws.ToString(z.ZoneType); kind != "" && kind != "availability-zone" {
			continue
		}
		zones = append(zones, ec2facts.Zone{Name: aws.ToString(z.ZoneName), ID: aws.ToString(z.ZoneId)})
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("listing availability zones: EC2 answered without any")
	}
	return zones, nil
}

func dropUnlistedZones(offerings map[string][]string, zones []ec2facts.Zone) {
	for name, in := range offerings {
		kept := in[:0]
		for _, zone := range in {
			if listed(zones, zone) {
				kept = append(kept, zone)
			}
		}
		if offerings[name] = kept; len(kept) == 0 {
			delete(offerings, name)
		}
	}
}

func keepListedZones(spot map[string]map[string]int64, zones []ec2facts.Zone) {
	for zone := range spot {
		if !listed(zones, zone) {
			delete(spot, zone)
		}
	}
}

func listed(zones []ec2facts.Zone, name string) bool {
	for _, z := range zones {
		if z.Name == name {
			return true
		}
	}
	return false
}
