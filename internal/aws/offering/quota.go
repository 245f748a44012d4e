package offering

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/engine/catalog"
)

// Quota is a quota of the account in the region, under the name by which it is raised.
type Quota struct {
	// Name and Code are those of Service Quotas for Amazon EC2; Code is empty where none is known.
	Name, Code string
	// Limit is how many vCPUs it allows; 0 where EC2 did not say that.
	Limit int
}

// String is the name, with what else is known in parentheses.
func (q Quota) String() string {
	var more []string
	if q.Code != "" {
		more = append(more, q.Code)
	}
	if q.Limit > 0 {
		more = append(more, fmt.Sprint(q.Limit, " vCPUs"))
	}
	if len(more) == 0 {
		return q.Name
	}
	return q.Name + " (" + strings.Join(more, ": ") + ")"
}

// bucket is what the families of a group are called in the names of their quotas, and the codes of these. Spot instances of some
// families have no quota of their own.
type bucket struct{ name, onDemand, spot string }

// Source: Service Quotas, service Amazon EC2; EC2 user guide, "Amazon EC2 instance type quotas".
var buckets = map[string]bucket{
	"standard": {"Standard (A, C, D, H, I, M, R, T, Z)", "L-1216C47A", "L-34B43A08"},
	"dl":       {"DL", "L-6E869C2A", "L-85EED4F7"},
	"f":        {"F", "L-74FC7D96", "L-88CF9481"},
	"g":        {"G and VT", "L-DB2E81BA", "L-3819A6DF"},
	"hpc":      {"HPC", "L-F7808C92", ""},
	"inf":      {"Inf", "L-1945791B", "L-B5D1601B"},
	"p":        {"P", "L-417A185B", "L-7212CCBC"},
	"trn":      {"Trn", "L-2C3B7624", "L-6B0D517C"},
	"u":        {"High Memory", "L-43DA4232", ""},
	"x":        {"X", "L-7295265B", "L-E3A00192"},
}

// QuotaOf is the vCPU quota that a type counts against, its limit left out.
func QuotaOf(capacityType, instanceType string) Quota {
	group := QuotaGroup(instanceType)
	b, known := buckets[group]
	if !known {
		b.name = group
	}
	if capacityType == catalog.Spot {
		return Quota{Name: "All " + b.name + " Spot Instance Requests", Code: b.spot}
	}
	return Quota{Name: "Running On-Demand " + b.name + " instances", Code: b.onDemand}
}

// QuotaGroup names the families that share a vCPU quota with a type.
//
// Source: EC2 service quotas, "Running On-Demand … instances" and "All … Spot Instance Requests".
func QuotaGroup(instanceType string) string {
	end := strings.IndexFunc(instanceType, func(r rune) bool { return r < 'a' || r > 'z' })
	if end < 0 {
		end = len(instanceType)
	}
	switch letters := instanceType[:end]; letters {
	case "f", "p", "x", "inf", "trn", "dl", "u", "hpc":
		return letters
	case "g", "gr", "vt":
		return "g"
	case "mac":
		return letters
	default:
		return "standard"
	}
}
