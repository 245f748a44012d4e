package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kerf-sh/kerf/internal/stack"
)

func newStackAWSAuthCommand() *cobra.Command {
	var windows bool
	var output string
	o := stack.Defaults(stack.Latest)
	c := &cobra.Command{
		Use:   "aws-auth --cluster-name NAME --account-id ACCOUNT",
		Short: "Write the line of the aws-auth ConfigMap that lets nodes into a cluster without access entries",
		Long: `Writes the item of mapRoles in the ConfigMap kube-system/aws-auth for the role of the nodes, and the eksctl command that adds
it. Only a cluster of authentication mode CONFIG_MAP needs it. Others take the access entry that the stack makes; see which
mode a cluster has with:

  aws eks describe-cluster --name demo --query cluster.accessConfig.authenticationMode`,
		Example: `  kerf stack aws-auth --cluster-name demo --account-id 111122223333 --region eu-west-1
  kerf stack aws-auth --cluster-name demo --node-role arn:aws:iam::111122223333:role/nodes`,
		Args: noArguments,
	}
	f := c.Flags()
	f.StringVar(&o.ClusterName, "cluster-name", "", "name of the EKS cluster (required)")
	f.StringVar(&o.AccountID, "account-id", "", "account of the node role (required, unless --node-role is an ARN)")
	f.StringVar(&o.Region, "region", "", "region of the cluster, for the eksctl command and the partition")
	f.StringVar(&o.NodeRoleName, "node-role-name", "", "name of the node role that the stack makes (default KarpenterNodeRole-<cluster>)")
	nodeRoleFlag(f, &o)
	f.BoolVar(&windows, "windows", false, "for nodes with Windows, which need one more group")
	f.StringVarP(&output, "output", "o", "-", "file to write, - for standard output")
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := stack.New(o)
		if err != nil {
			return &usageError{err}
		}
		text, err := s.AWSAuth(windows)
		if err != nil {
			return &usageError{errors.Join(err)}
		}
		if err := writeTo(c.OutOrStdout(), output, text); err != nil {
			return fmt.Errorf("writing the item of aws-auth: %w", err)
		}
		return nil
	}
	return c
}
