package stack

import "strings"

// A Partition is a part of AWS with accounts, names and endpoints of its own.
type Partition struct {
	Name   string // in ARNs
	Suffix string // of host names and of service principals that follow it
	// Longest is a region of the partition whose name is as long as any there, to measure policies by.
	Longest  string
	prefixes []string // of region names
}

// Partitions are those that AWS has; the first takes what no other claims.
var Partitions = []Partition{
	{Name: "aws", Suffix: "amazonaws.com", Longest: "ap-northeast-1"},
	{Name: "aws-cn", Suffix: "amazonaws.com.cn", Longest: "cn-northwest-1", prefixes: []string{"cn-"}},
	{Name: "aws-us-gov", Suffix: "amazonaws.com", Longest: "us-gov-west-1", prefixes: []string{"us-gov-"}},
	{Name: "aws-iso", Suffix: "c2s.ic.gov", Longest: "us-iso-east-1", prefixes: []string{"us-iso-"}},
	{Name: "aws-iso-b", Suffix: "sc2s.sgov.gov", Longest: "us-isob-east-1", prefixes: []string{"us-isob-"}},
	{Name: "aws-iso-e", Suffix: "cloud.adc-e.uk", Longest: "eu-isoe-west-1", prefixes: []string{"eu-isoe-"}},
	{Name: "aws-iso-f", Suffix: "csp.hci.ic.gov", Longest: "us-isof-south-1", prefixes: []string{"us-isof-"}},
	{Name: "aws-eusc", Suffix: "amazonaws.eu", Longest: "eusc-de-east-1", prefixes: []string{"eusc-"}},
}

// PartitionOf is the partition of a region; unknown regions are taken to be of the commercial one.
func PartitionOf(region string) Partition {
	for _, p := range Partitions {
		for _, prefix := range p.prefixes {
			if strings.HasPrefix(region, prefix) {
				return p
			}
		}
	}
	return Partitions[0]
}
