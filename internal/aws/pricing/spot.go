package pricing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/rawlist"
	"github.com/kerf-sh/kerf/internal/awsmodel/ec2facts"
	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// HistoryAPI is what Book needs of EC2.
type HistoryAPI interface {
	DescribeSpotPriceHistory(context.Context, *ec2.DescribeSpotPriceHistoryInput, ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error)
}

// fetchSpot asks for the prices that were in force at since and all that were set after it, of each pool oldest first. A
// history that begins now holds exactly the newest quote of each pool.
func fetchSpot(ctx context.Context, api HistoryAPI, since time.Time) (map[pool][]quote, error) {
	out := map[pool][]quote{}
	var read quoteReader
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(api, &ec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
		StartTime:           &since,
		MaxResults:          new(int32(2000)),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, rawlist.Take("spotPriceHistorySet", read.begin, read.take))
		if err != nil {
			return nil, awserr.Wrap("getting spot prices", err)
		}
		for _, q := range read.page {
			out[q.of] = append(out[q.of], q.quote)
		}
		read.begin()
		for _, h := range page.SpotPriceHistory {
			micro, err := ec2facts.ParseMicro(aws.ToString(h.SpotPrice))
			if err != nil || micro == 0 {
				continue // a quote that is not understood is no quote; the pool keeps its last one for a while
			}
			p := pool{string(h.InstanceType), aws.ToString(h.AvailabilityZone)}
			out[p] = append(out[p], quote{price: catalog.MicroUSD(micro), set: aws.ToTime(h.Timestamp)})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("getting spot prices: EC2 answered without any; the last known prices stay")
	}
	for _, of := range out {
		slices.SortStableFunc(of, func(a, b quote) int { return a.set.Compare(b.set) })
	}
	return out, nil
}

// FetchSpot asks EC2 once for all spot prices in force, by zone and type.
func FetchSpot(ctx context.Context, api HistoryAPI, now time.Time) (map[string]map[string]int64, error) {
	known, err := fetchSpot(ctx, api, now)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]int64{}
	for p, of := range known {
		if out[p.zone] == nil {
			out[p.zone] = map[string]int64{}
		}
		out[p.zone][p.instanceType] = int64(of[len(of)-1].price)
	}
	return out, nil
}
