package stack

import (
	"cmp"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// nodeRole is the role of the nodes: what the kubelet, the network plug-in, pulling of images and Systems Manager need.
func nodeRole(o *Options) *Role {
	pull := "AmazonEC2ContainerRegistryPullOnly"
	if o.Compat == V032 {
		pull = "AmazonEC2ContainerRegistryReadOnly"
	}
	r := &Role{
		LogicalID: idNodeRole, Name: cmp.Or(o.NodeRoleName, "KarpenterNodeRole-"+refCluster), Path: o.Path, Boundary: o.PermissionsBoundary,
		Trust: document(iampolicy.Statement{
			Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{refEC2}}, Actions: []string{"sts:AssumeRole"},
		}),
		Tags: o.tags(),
	}
	for _, name := range []string{"AmazonEKS_CNI_Policy", "AmazonEKSWorkerNodePolicy", pull, "AmazonSSMManagedInstanceCore"} {
		r.ManagedPolicies = append(r.ManagedPolicies, "arn:"+refPartition+":iam::aws:policy/"+name)
	}
	return r
}

// nodeRoleARN is the ARN of the role of the nodes, whoever makes it.
func (o *Options) nodeRoleARN() string { return cmp.Or(o.NodeRole, arnOf(idNodeRole)) }

// nodeRoleName is its name, as EC2NodeClasses have it.
func (o *Options) nodeRoleName() string {
	if o.NodeRole == "" {
		return "${" + idNodeRole + "}"
	}
	return o.NodeRole[strings.LastIndexByte(o.NodeRole, '/')+1:]
}

// controllerRole is the role of the controller's pods, nil when somebody else makes it.
func controllerRole(o *Options, policies []Policy) *Role {
	if o.Controller == None {
		return nil
	}
	r := &Role{
		LogicalID: idControllerRole, Name: cmp.Or(o.ControllerRoleName, refCluster+"-karpenter"), Path: o.Path, Boundary: o.PermissionsBoundary,
		Tags: o.tags(),
	}
	for _, p := range policies {
		r.ManagedPolicies = append(r.ManagedPolicies, "${"+p.LogicalID+"}")
	}
	if o.Controller == PodIdentity {
		r.Trust = document(iampolicy.Statement{
			Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"pods.eks.amazonaws.com"}},
			Actions: []string{"sts:AssumeRole", "sts:TagSession"},
		})
		return r
	}
	provider, host := o.oidc()
	r.Trust = document(iampolicy.Statement{
		Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Federated: []string{provider}}, Actions: []string{"sts:AssumeRoleWithWebIdentity"},
		Conditions: []iampolicy.Condition{
			when(stringEquals, host+":aud", "sts.amazonaws.com"),
			when(stringEquals, host+":sub", "system:serviceaccount:"+o.Namespace+":"+o.ServiceAccount),
		},
	})
	return r
}

// policyName is what one of AWS's own policies is called.
func policyName(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
