package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/internal/setup/stack"
)

func newStackAWSAuthCommand() *cobra.Command {
	var windows bool
	var output form
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
	clusterNameFlag(c, &o.ClusterName, "(required)")
	f.StringVar(&o.AccountID, "account-id", "", "account of the node role (required, unless --node-role is an ARN)")
	regionFlag(c, &o.Region, "", "of the cluster, for the eksctl command and the partition")
	fromVariable(f.Lookup("region"), "AWS_REGION")
	f.StringVar(&o.NodeRoleName, "node-role-name", "", "name of the node role (default KarpenterNodeRole-<cluster>)")
	nodeRoleFlag(f, &o)
	f.BoolVar(&windows, "windows", false, "for nodes with Windows, which need one more group")
	output.register(c, nil, yamlFormat, jsonFormat)
	c.RunE = func(c *cobra.Command, _ []string) error {
		s, err := stack.New(o)
		if err != nil {
			return &usageError{err}
		}
		text, err := s.AWSAuth(windows)
		if err != nil {
			return &usageError{err}
		}
		if output.format == jsonFormat {
			if text, err = yaml.YAMLToJSON(text); err != nil {
				return fmt.Errorf("writing the item of aws-auth as JSON: %w", err)
			}
			text = append(text, '\n')
		}
		return output.writeText(c.OutOrStdout(), text)
	}
	return c
}
