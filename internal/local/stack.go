package local

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/aws/stackdeploy"
	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
	"github.com/kerf-sh/kerf/internal/setup/stack"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Where the controller's Deployment is, and whom it runs as.
const (
	controllerNamespace      = manifests.DefaultNamespace
	controllerServiceAccount = manifests.DefaultName
)

// podsTrust is the trust policy of a role that EKS Pod Identity hands to pods.
const podsTrust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`

// StackOptions are those of a local cluster's bootstrap stack: with the controller's role and the mapping of the node role.
func StackOptions(cluster string) stack.Options {
	o := stack.Defaults(stack.Latest)
	o.ClusterName, o.Controller, o.AccessEntry = cluster, stack.PodIdentity, "EC2_LINUX"
	o.Namespace, o.ServiceAccount = controllerNamespace, controllerServiceAccount
	return o
}

// StackTemplate is the bootstrap stack that a local cluster deploys unless it is given another: what "kerf stack
// cloudformation" writes.
func StackTemplate(cluster string) ([]byte, error) {
	s, err := stack.New(StackOptions(cluster))
	if err != nil {
		return nil, fmt.Errorf("make the bootstrap stack: %w", err)
	}
	return s.CloudFormation()
}

// AWSSession makes clients that lead to the simulated AWS as one identity.
func (c *Cluster) AWSSession(ctx context.Context, key world.AccessKey) (*session.Session, error) {
	ca, err := os.ReadFile(c.Simulator.CAFile())
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the simulated AWS: %w", err)
	}
	return session.New(ctx, session.Options{Version: "local", Explicit: &session.Explicit{
		Region: c.Region, Endpoint: c.Simulator.SecureURL(), CA: ca,
		AccessKeyID: key.ID, SecretAccessKey: key.Secret, SessionToken: key.SessionToken,
	}})
}

// Administrator is the identity that may do everything in the simulated account.
func (c *Cluster) Administrator() world.AccessKey {
	key, _ := c.Simulator.World.AccessKey(world.DefaultAdminAccessKey)
	return key
}

// ControllerKey is the controller's identity: a session of its role.
func (c *Cluster) ControllerKey() world.AccessKey { return c.key }

// deployStack deploys the bootstrap stack through CloudFormation, as an administrator would, and makes the controller's
// credentials. What a template leaves to eksctl is made as eksctl makes it.
func (c *Cluster) deployStack(ctx context.Context) error {
	from, read := "the rendered bootstrap stack", func() ([]byte, error) { return StackTemplate(c.Name) }
	if file := c.options.Stack; file != "" {
		from, read = file, func() ([]byte, error) { return os.ReadFile(file) }
	}
	text, err := read()
	if err != nil {
		return err
	}
	template, err := cfn.Parse(text)
	if err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	params, err := parameters(c.options.StackParameters)
	if err != nil {
		return err
	}
	// The guides' templates take the cluster's name.
	if p := template.Parameter("ClusterName"); p != nil && params["ClusterName"] == "" {
		params["ClusterName"] = c.Name
	}
	// An account that has ever launched a spot instance has this role.
	if _, err := c.Simulator.World.CreateServiceLinkedRole("spot.amazonaws.com", "", ""); err != nil {
		return fmt.Errorf("make the service-linked role for spot instances: %w", err)
	}
	s, err := c.AWSSession(ctx, c.Administrator())
	if err != nil {
		return err
	}
	name := "Karpenter-" + c.Name
	c.options.Report(fmt.Sprintf("deploying %s as CloudFormation stack %s", from, name))
	if _, err := stackdeploy.Deploy(ctx, s, name, string(text), params, nil); err != nil {
		return fmt.Errorf("deploy %s: %w", from, err)
	}
	role, err := c.controllerRole()
	if err != nil {
		return fmt.Errorf("make the controller's role: %w", err)
	}
	if err := c.mapNodeRoles(); err != nil {
		return err
	}
	if c.key, err = c.Simulator.World.RoleSession(role, "kerf"); err != nil {
		return fmt.Errorf("make the controller's credentials: %w", err)
	}
	return nil
}

func parameters(pairs []string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("stack parameter %q: want KEY=VALUE", pair)
		}
		out[k] = v
	}
	return out, nil
}

// controllerRole finds the role of the controller's pods, or makes it and gives it the account's policies.
func (c *Cluster) controllerRole() (string, error) {
	w, want := c.Simulator.World, c.Name+"-karpenter"
	identities, err := w.PodIdentities(c.Name)
	if err != nil {
		return "", err
	}
	for _, p := range identities {
		if p.Namespace == controllerNamespace && p.ServiceAccount == controllerServiceAccount {
			return p.RoleARN[strings.LastIndexByte(p.RoleARN, '/')+1:], nil
		}
	}
	if _, err := w.Role(want); err == nil {
		return want, nil
	}
	if _, err := w.CreateRole(want, "", podsTrust, nil); err != nil {
		return "", err
	}
	var names []string
	for _, p := range w.ManagedPolicies() {
		if p.AWS || p.Attachments > 0 {
			continue
		}
		if err := w.AttachRolePolicy(want, p.ARN); err != nil {
			return "", err
		}
		names = append(names, p.Name)
	}
	c.options.Report(fmt.Sprintf("the template has no role for the controller: made %s with %s, as eksctl does", want, strings.Join(names, ", ")))
	return want, nil
}

// mapNodeRoles lets the instances join whose roles nobody has mapped to the cluster.
func (c *Cluster) mapNodeRoles() error {
	w := c.Simulator.World
	mapped := map[string]bool{}
	entries, err := w.AccessEntries(c.Name)
	if err != nil {
		return fmt.Errorf("map the node roles: %w", err)
	}
	for _, e := range entries {
		mapped[e.PrincipalARN] = true
	}
	for _, r := range w.Roles() {
		if mapped[r.ARN] || !strings.Contains(r.TrustPolicy, "ec2.amazonaws.com") || strings.HasPrefix(r.Path, "/aws-service-role/") {
			continue
		}
		if _, err := w.CreateAccessEntry(world.AccessEntry{Cluster: c.Name, PrincipalARN: r.ARN, Type: "EC2_LINUX"}); err != nil {
			return fmt.Errorf("map node role %s to the cluster: %w", r.Name, err)
		}
		c.options.Report(fmt.Sprintf("the template does not map its node role: mapped %s to the cluster, as eksctl does", r.Name))
	}
	return nil
}
