package partition_test

import (
	"testing"

	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

func TestRegionsAreOfTheirPartitions(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1":       "aws",
		"us-west-2":       "aws",
		"nowhere-1":       "aws",
		"":                "aws",
		"cn-north-1":      "aws-cn",
		"us-gov-east-1":   "aws-us-gov",
		"us-iso-west-1":   "aws-iso",
		"us-isob-east-1":  "aws-iso-b",
		"us-isof-south-1": "aws-iso-f",
		"eu-isoe-west-1":  "aws-iso-e",
		"eusc-de-east-1":  "aws-eusc",
	} {
		if got := partition.Of(region).Name; got != want {
			t.Errorf("%q: got %s, want %s", region, got, want)
		}
	}
}

func TestEveryPartitionIsFoundByItsRegionAndItsName(t *testing.T) {
	for _, p := range partition.All {
		if got := partition.Of(p.Longest); got.Name != p.Name {
			t.Errorf("%s is of %s, want %s", p.Longest, got.Name, p.Name)
		}
		if got := partition.SuffixOf(p.Name); got != p.Suffix {
			t.Errorf("%s has %s, want %s", p.Name, got, p.Suffix)
		}
	}
	if got := partition.SuffixOf("aws-none"); got != "amazonaws.com" {
		t.Errorf("an unknown partition has %s", got)
	}
}

func TestEC2HasAnotherNameInChinaOnly(t *testing.T) {
	for _, p := range partition.All {
		want := "ec2.amazonaws.com"
		if p.Name == "aws-cn" {
			want = "ec2.amazonaws.com.cn"
		}
		if got := p.EC2Service(); got != want {
			t.Errorf("EC2 is called %s in %s, want %s", got, p.Name, want)
		}
	}
}
