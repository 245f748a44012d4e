package stack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Adoption says what a Terraform module takes over in place of making it.
type Adoption string

// The adoptions. What is taken over keeps its name, whatever the module would call it.
const (
	AdoptNothing   Adoption = ""
	AdoptEKSModule Adoption = "eks-module" // what terraform-aws-modules/eks//modules/karpenter of version 20 or later made
	AdoptLive      Adoption = "live"       // what is in the account, by import blocks
)

func (o *Options) checkAdoption() error {
	switch o.Adopt {
	case AdoptNothing, AdoptLive:
		return nil
	case AdoptEKSModule:
		if o.Controller == None {
			return errors.New("--adopt eks-module needs --controller pod-identity or irsa: the module has a role for the controller, which would be destroyed")
		}
		return nil
	}
	return fmt.Errorf("--adopt %q is not one of %s, %s", o.Adopt, AdoptEKSModule, AdoptLive)
}

// keeps writes a lifecycle block by which something that is taken over keeps arguments that Terraform would otherwise
// replace it for. Without adoption it writes nothing.
func (m *module) keeps(arguments ...string) {
	if !m.adopting {
		return
	}
	m.line("\nlifecycle {\nignore_changes = [%s]\n}", strings.Join(arguments, ", "))
}

// A move is a pair of addresses within the module.
type move struct{ from, to string }

// eksModuleEvents are the keys of the EKS module's rules by the kind of ours.
//
// Source: terraform-aws-modules/eks, modules/karpenter, versions 20 and 21: local.events.
var eksModuleEvents = map[string]string{
	"HealthEvent": "health_event", "SpotInterrupt": "spot_interrupt", "InstanceRebalance": "instance_rebalance", "InstanceStateChange": "instance_state_change",
}

// movedPolicies are policies of the node role that the EKS module attaches in some versions and set-ups, and this module in
// some editions or none. Where it does not, they go to those that the caller names.
var movedPolicies = []string{"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_IPv6_Policy"}

// moves are where the things of the EKS module are in this one. Both are relative to the module, since the module's call
// keeps its name and changes only its source.
//
// The EKS module has one policy of the controller. It becomes the first of ours; the others are made beside it.
//
// Source: terraform-aws-modules/eks, modules/karpenter, versions 20 and 21: main.tf.
func (s *Stack) moves() []move {
	var list []move
	single := func(address string) { list = append(list, move{address + "[0]", address}) }
	if s.NodeRole != nil {
		single("aws_iam_role.node")
		for _, p := range movedPolicies {
			if !slices.ContainsFunc(s.NodeRole.ManagedPolicies, func(arn string) bool { return policyName(arn) == p }) {
				list = append(list, move{fmt.Sprintf("aws_iam_role_policy_attachment.node[%q]", p), fmt.Sprintf("aws_iam_role_policy_attachment.node_additional[%q]", p)})
			}
		}
	}
	if s.ControllerRole != nil {
		single("aws_iam_role.controller")
		first := policyLabel(s.Policies[0])
		list = append(list,
			move{"aws_iam_policy.controller[0]", "aws_iam_policy." + first},
			move{"aws_iam_role_policy_attachment.controller[0]", fmt.Sprintf("aws_iam_role_policy_attachment.controller[%q]", first)})
	}
	if s.PodIdentity {
		single("aws_eks_pod_identity_association.karpenter")
	}
	if s.AccessEntryType != "" {
		single("aws_eks_access_entry.node")
	}
	single("aws_sqs_queue.this")
	single("aws_sqs_queue_policy.this")
	for _, r := range s.Rules {
		for _, kind := range []string{"aws_cloudwatch_event_rule", "aws_cloudwatch_event_target"} {
			if old := eksModuleEvents[r.Kind]; old != "" {
				list = append(list, move{fmt.Sprintf("%s.this[%q]", kind, old), fmt.Sprintf("%s.this[%q]", kind, r.Kind)})
			}
		}
	}
	return list
}

func (s *Stack) movedFile(m *module) error {
	if s.Options.Adopt != AdoptEKSModule {
		return nil
	}
	m.line(`# Where the things of terraform-aws-modules/eks//modules/karpenter, version 20 or later, are in this module. The call of
# the module keeps its name and gets this directory as its source. What is not there is passed over. The file may be
# removed once the change is applied everywhere.`)
	for _, x := range s.moves() {
		m.line("\nmoved {\nfrom = %s\nto = %s\n}", x.from, x.to)
	}
	return nil
}
