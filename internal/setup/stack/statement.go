package stack

import (
	"cmp"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// Operators of conditions.
const (
	stringEquals         = "StringEquals"
	stringEqualsIfExists = "StringEqualsIfExists"
	stringLike           = "StringLike"
	allValuesEqual       = "ForAllValues:StringEquals"
	arnLike              = "ArnLike"
	boolean              = "Bool"
)

const (
	tagOwner    = "kubernetes.io/cluster/" + refCluster
	tagCluster  = "eks:eks-cluster-name"
	tagPool     = "karpenter.sh/nodepool"
	tagClaim    = "karpenter.sh/nodeclaim"
	tagClass    = "karpenter.k8s.aws/ec2nodeclass"
	tagRegion   = "topology.kubernetes.io/region"
	tagDiscover = "karpenter.sh/discovery"

	requestTag  = "aws:RequestTag/"
	resourceTag = "aws:ResourceTag/"
)

func document(statements ...iampolicy.Statement) *iampolicy.Document {
	return &iampolicy.Document{Version: "2012-10-17", Statements: statements}
}

// allow is a statement of an identity's policy.
func allow(sid string, actions, resources []string, conditions ...iampolicy.Condition) iampolicy.Statement {
	return iampolicy.Statement{Sid: sid, Effect: iampolicy.Allow, Actions: actions, Resources: resources, Conditions: inOrder(conditions)}
}

func when(operator, key string, values ...string) iampolicy.Condition {
	return iampolicy.Condition{Operator: operator, Key: key, Values: values}
}

// inOrder sorts conditions by operator and key, as documents have them.
func inOrder(list []iampolicy.Condition) []iampolicy.Condition {
	slices.SortStableFunc(list, func(a, b iampolicy.Condition) int {
		return cmp.Or(cmp.Compare(a.Operator, b.Operator), cmp.Compare(a.Key, b.Key))
	})
	return list
}

// owned are the conditions that a tag key prefix (of the request or the resource) names the cluster and any pool.
func owned(prefix string) []iampolicy.Condition {
	return []iampolicy.Condition{
		when(stringEquals, prefix+tagOwner, "owned"),
		when(stringLike, prefix+tagPool, "*"),
	}
}

// requested are the conditions on what is made: it is tagged as this cluster's.
func requested(o *Options) []iampolicy.Condition {
	list := owned(requestTag)
	if o.tagsByCluster() {
		list = append(list, when(stringEquals, requestTag+tagCluster, refCluster))
	}
	return list
}

// ofClass are the conditions on instance profiles.
func ofClass(prefix string) []iampolicy.Condition {
	return []iampolicy.Condition{
		when(stringEquals, prefix+tagOwner, "owned"),
		when(stringEquals, prefix+tagRegion, refRegion),
		when(stringLike, prefix+tagClass, "*"),
	}
}

func requestedOfClass(o *Options) []iampolicy.Condition {
	list := ofClass(requestTag)
	if o.tagsByCluster() {
		list = append(list, when(stringEquals, requestTag+tagCluster, refCluster))
	}
	return list
}
