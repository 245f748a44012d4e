// Package pricing answers price list requests from the simulated world.
package pricing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

type service struct{ world *world.World }

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	s.Handle(wire.Pricing, "GetProducts", (&service{world: w}).getProducts)
}

const (
	pageSize    = 100
	serviceCode = "AmazonEC2"
)

type filter struct{ Type, Field, Value string }

func (s *service) getProducts(_ context.Context, r *wire.Request) (any, error) {
	var in struct {
		ServiceCode, FormatVersion, NextToken string
		Filters                               []filter
		MaxResults                            *int
	}
	if err := r.Decode(&in); err != nil {
		return nil, err
	}
	limit := pageSize
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > pageSize {
			return nil, wire.Errorf("InvalidParameterException", "MaxResults must be between 1 and %d, got %d", pageSize, limit)
		}
	}
	for _, f := range in.Filters {
		if f.Type != "TERM_MATCH" {
			return nil, wire.Errorf("InvalidParameterException", "filter %s has the type %q; only TERM_MATCH is simulated", f.Field, f.Type)
		}
	}
	start := 0
	if in.NextToken != "" {
		n, err := strconv.Atoi(strings.TrimPrefix(in.NextToken, "after-"))
		if err != nil || n < 0 {
			return nil, wire.Errorf("InvalidNextTokenException", "The pagination token is invalid. Try again without a pagination token.")
		}
		start = n
	}
	var found []product
	if in.ServiceCode == serviceCode {
		found = s.products(in.Filters)
	} else if in.ServiceCode == "" {
		return nil, wire.Errorf("InvalidParameterException", "ServiceCode must be given")
	}
	end := min(start+limit, len(found))
	list := []string{}
	for _, p := range found[min(start, end):end] {
		b, err := json.Marshal(s.entry(p))
		if err != nil {
			return nil, fmt.Errorf("encode price of %s: %w", p.name, err)
		}
		list = append(list, string(b))
	}
	answer := map[string]any{"FormatVersion": "aws_v1", "PriceList": list}
	if end < len(found) {
		answer["NextToken"] = "after-" + strconv.Itoa(end)
	}
	r.Detail = strconv.Itoa(len(list)) + " prices"
	return answer, nil
}

type product struct {
	name       string
	family     string
	attributes map[string]string
	microUSD   int64
}

// products lists what the filters leave of the region's instances: shared tenancy for ordinary ones, dedicated for
// bare metal, Linux only.
func (s *service) products(filters []filter) []product {
	var out []product
	for _, t := range s.world.Types() {
		name := t.Name
		price, priced := s.world.OnDemandPrice(name)
		if !priced || price <= 0 {
			continue
		}
		p := product{name: name, family: "Compute Instance", microUSD: price, attributes: map[string]string{
			"servicecode": serviceCode, "servicename": "Amazon Elastic Compute Cloud", "instanceType": name,
			"regionCode": s.world.Region(), "location": s.world.Region(), "locationType": "AWS Region",
			"tenancy": "Shared", "operatingSystem": "Linux", "preInstalledSw": "NA", "capacitystatus": "Used",
			"marketoption": "OnDemand", "licenseModel": "No License required", "operation": "RunInstances",
			"vcpu": strconv.Itoa(t.VCPUs), "memory": strconv.FormatFloat(float64(t.MemoryMiB)/1024, 'f', -1, 64) + " GiB",
		}}
		if t.BareMetal {
			p.family, p.attributes["tenancy"] = "Compute Instance (bare metal)", "Dedicated"
		}
		if p.fits(filters) {
			out = append(out, p)
		}
	}
	return out
}

func (p product) fits(filters []filter) bool {
	for _, f := range filters {
		value, known := p.attributes[f.Field]
		switch strings.ToLower(f.Field) {
		case "productfamily":
			value, known = p.family, true
		case "servicecode":
			value, known = serviceCode, true
		}
		if !known || !strings.EqualFold(value, f.Value) {
			return false
		}
	}
	return true
}

// entry is one item of the price list as the real service writes it.
func (s *service) entry(p product) map[string]any {
	sum := sha256.Sum256([]byte(p.attributes["regionCode"] + "/" + p.name))
	sku := strings.ToUpper(hex.EncodeToString(sum[:8]))
	term := sku + ".JRTCKXETXF"
	rate := term + ".6YS6EN2CT7"
	currency := s.world.Currency()
	now := s.world.Now().UTC()
	return map[string]any{
		"product":         map[string]any{"productFamily": p.family, "attributes": p.attributes, "sku": sku},
		"serviceCode":     serviceCode,
		"version":         now.Format("20060102") + "000000",
		"publicationDate": now.Truncate(24 * time.Hour).Format(time.RFC3339),
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": now.Format("2006-01") + "-01T00:00:00Z",
			"termAttributes": map[string]any{},
			"priceDimensions": map[string]any{rate: map[string]any{
				"rateCode": rate, "unit": "Hrs", "beginRange": "0", "endRange": "Inf", "appliesTo": []string{},
				"description":  fmt.Sprintf("per On Demand Linux %s Instance Hour", p.name),
				"pricePerUnit": map[string]string{currency: fmt.Sprintf("%d.%06d0000", p.microUSD/1e6, p.microUSD%1e6)},
			}},
		}}},
	}
}
