// Package partition knows the parts of AWS that have accounts, ARNs and domains of their own.
package partition

import "strings"

// Partition is a part of AWS.
type Partition struct {
	Name   string // in ARNs
	Suffix string // of host names; service principals have their own, see EC2Service
	// Longest is a region of the partition whose name is as long as any there, to measure policies by.
	Longest  string
	prefixes []string // of region names
}

// All are those that AWS has; the first takes what no other claims.
var All = []Partition{
	{Name: "aws", Suffix: "amazonaws.com", Longest: "ap-northeast-1"},
	{Name: China, Suffix: "amazonaws.com.cn", Longest: "cn-northwest-1", prefixes: []string{"cn-"}},
	{Name: "aws-us-gov", Suffix: "amazonaws.com", Longest: "us-gov-west-1", prefixes: []string{"us-gov-"}},
	{Name: "aws-iso", Suffix: "c2s.ic.gov", Longest: "us-iso-east-1", prefixes: []string{"us-iso-"}},
	{Name: "aws-iso-b", Suffix: "sc2s.sgov.gov", Longest: "us-isob-east-1", prefixes: []string{"us-isob-"}},
	{Name: "aws-iso-e", Suffix: "cloud.adc-e.uk", Longest: "eu-isoe-west-1", prefixes: []string{"eu-isoe-"}},
	{Name: "aws-iso-f", Suffix: "csp.hci.ic.gov", Longest: "us-isof-south-1", prefixes: []string{"us-isof-"}},
	{Name: "aws-eusc", Suffix: "amazonaws.eu", Longest: "eusc-de-east-1", prefixes: []string{"eusc-"}},
}

// What EC2 is called in policies. The other services that Kerf's policies name are SERVICE.amazonaws.com in all partitions.
const (
	EC2Service      = "ec2.amazonaws.com"
	EC2ServiceChina = "ec2.amazonaws.com.cn"
)

// China is the name of the partition of China.
const China = "aws-cn"

// EC2Service is what EC2 is called in the policies of the partition.
func (p Partition) EC2Service() string {
	if p.Name == China {
		return EC2ServiceChina
	}
	return EC2Service
}

// Of is the partition of a region; unknown regions are taken to be of the commercial one.
func Of(region string) Partition {
	for _, p := range All {
		for _, prefix := range p.prefixes {
			if strings.HasPrefix(region, prefix) {
				return p
			}
		}
	}
	return All[0]
}

// SuffixOf is the domain of the services of a partition that is given by name, that of the commercial one for unknown
// names.
func SuffixOf(name string) string {
	for _, p := range All {
		if p.Name == name {
			return p.Suffix
		}
	}
	return All[0].Suffix
}
