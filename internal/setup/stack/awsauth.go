package stack

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// nodeGroups are the groups by which Kubernetes knows a node before its certificate is signed.
//
// Source: Amazon EKS user guide, "Grant IAM users access to Kubernetes with a ConfigMap"; "Deploy Windows nodes".
var nodeGroups = []string{"system:bootstrappers", "system:nodes"}

const windowsGroup = "eks:kube-proxy-windows"

// AWSAuth is the item of mapRoles in the ConfigMap kube-system/aws-auth that maps the node role, with the command of eksctl
// that adds it in a comment.
//
// Errors: nothing tells the account of the role.
func (s *Stack) AWSAuth(windows bool) ([]byte, error) {
	o := &s.Options
	arn := o.NodeRole
	if arn == "" || strings.Contains(arn, "${") {
		if o.AccountID == "" {
			return nil, errors.New("--account-id is missing: aws-auth names the role by its ARN")
		}
		arn = s.resolver(o.AccountID, o.Region).text(o.nodeRoleARN())
	}
	groups := nodeGroups
	if windows {
		groups = append(groups[:len(groups):len(groups)], windowsGroup)
	}
	// The ConfigMap knows no paths of roles.
	// Source: aws-iam-authenticator, README, "Full Configuration Format".
	arn = arn[:strings.Index(arn, ":role/")+len(":role/")] + arn[strings.LastIndexByte(arn, '/')+1:]
	var b bytes.Buffer
	region := ""
	if o.Region != "" { // else eksctl takes its own
		region = " --region " + o.Region
	}
	fmt.Fprintf(&b, "# An item of mapRoles in the ConfigMap kube-system/aws-auth, for a cluster of authentication mode CONFIG_MAP. This adds it:\n"+
		"#   eksctl create iamidentitymapping --cluster %s%s --arn %s --username system:node:{{EC2PrivateDNSName}}",
		o.ClusterName, region, arn)
	for _, g := range groups {
		fmt.Fprintf(&b, " --group %s", g)
	}
	fmt.Fprintf(&b, "\n- rolearn: %s\n  username: system:node:{{EC2PrivateDNSName}}\n  groups:\n", arn)
	for _, g := range groups {
		fmt.Fprintf(&b, "    - %s\n", g)
	}
	return b.Bytes(), nil
}
