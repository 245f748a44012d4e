package stack

import (
	"regexp"
	"strings"
)

// Strings of the model may hold references, written as CloudFormation's Sub writes them: ${ClusterName}, ${AWS::Region},
// ${LogicalID} for what Ref gives and ${LogicalID.Attribute} for what GetAtt gives. Every writer turns them into what its
// language has for it.
var reference = regexp.MustCompile(`\$\{([A-Za-z0-9:.]+)\}`)

const (
	refCluster   = "${ClusterName}"
	refPartition = "${AWS::Partition}"
	refRegion    = "${AWS::Region}"
	refAccount   = "${AWS::AccountId}"
	refSuffix    = "${AWS::URLSuffix}"
	refEC2       = "${" + idEC2 + "}"
)

// idEC2 is what EC2 is called in policies; see partition.Partition. It stands alone wherever it is.
const idEC2 = "EC2Service"

func arnOf(logicalID string) string { return "${" + logicalID + ".Arn}" }

// regional is an ARN in the stack's partition and region; account may be empty or *.
func regional(service, account, resource string) string {
	return "arn:" + refPartition + ":" + service + ":" + refRegion + ":" + account + ":" + resource
}

func ec2ARN(account, kind string) string { return regional("ec2", account, kind+"/*") }

// soleReference is the name in a string that is one reference and nothing else.
func soleReference(s string) (string, bool) {
	m := reference.FindStringSubmatch(s)
	return strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}"), m != nil && m[0] == s
}

// replaceReferences gives every reference the value that f has for its name.
func replaceReferences(s string, f func(name string) string) string {
	if !strings.Contains(s, "${") {
		return s
	}
	return reference.ReplaceAllStringFunc(s, func(r string) string { return f(r[2 : len(r)-1]) })
}
