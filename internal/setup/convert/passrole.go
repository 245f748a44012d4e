package convert

import (
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// role is the role of an instance profile, as far as the input tells.
type role struct {
	name string // with ${…} where it is known only at deployment; empty when nothing is known of it
	path string // begins and ends with a slash
}

// profileOf is the name of the instance profile of a launch template, as it is written.
func profileOf(data map[string]any) string {
	m, _ := data["IamInstanceProfile"].(map[string]any)
	for _, member := range []string{"Name", "Arn"} {
		if text := textOf(m[member]); text != "" {
			return lastPart(text)
		}
	}
	return ""
}

func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// roleOf finds the role of an instance profile that a CloudFormation file defines.
func roleOf(resources []cfn.StaticResource, profile string) role {
	for _, r := range resources {
		if r.Type != "AWS::IAM::InstanceProfile" || profile == "" || textOf(r.Ref) != profile {
			continue
		}
		roles, _ := r.Values["Roles"].([]any)
		if len(roles) != 1 { // a profile has one role
			return role{}
		}
		return role{name: textOf(roles[0]), path: pathOf(resources, textOf(roles[0]))}
	}
	return role{}
}

func pathOf(resources []cfn.StaticResource, name string) string {
	for _, r := range resources {
		if r.Type == "AWS::IAM::Role" && textOf(r.Ref) == name {
			if path, ok := scalar(r.Values["Path"]); ok && strings.HasPrefix(path, "/") {
				return path
			}
		}
	}
	return "/"
}

// Names that the guides' stack gives to what nodes have, before the name of the cluster; the bootstrap stack's role is
// called so, too.
const (
	stackRole    = "KarpenterNodeRole-"
	stackProfile = "KarpenterNodeInstanceProfile-"
)

// isOfCluster tells whether a name is that prefix with the cluster's name. told is the name that user data gives, which may be
// written ${…}, as the name in question then is.
func (c *converter) isOfCluster(name, prefix, told string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != "" && (rest == told || rest == c.clusterName(told))
}

// passRole is the option that the bootstrap stack needs for instances with an instance profile; empty when it needs none,
// for the profile's role is the stack's node role. t is nil for a profile of no template.
func (c *converter) passRole(t *Template, profile, told string) string {
	var r role
	if t != nil {
		r = t.role
	}
	switch {
	case c.isOfCluster(r.name, stackRole, told), r.name == "" && c.isOfCluster(profile, stackProfile, told):
		return ""
	case r.name == "" && c.clusterName(told) == "" && strings.HasPrefix(profile, stackProfile): // the guides' of a cluster, most likely this one
		return ""
	case r.name == "":
		return "--pass-role with the ARN of the role of instance profile " + profile + ", unless it is the stack's own node role"
	case strings.Contains(r.name, "${random}"):
		return "--pass-role with the ARN of the role of instance profile " + profile + ", which is not the stack's node role"
	case strings.Contains(r.name, "${"), c.clusterName(told) == "" && strings.HasPrefix(r.name, stackRole):
		return "--pass-role with the ARN of the role " + r.name + ", unless it is the stack's own node role"
	}
	return "--pass-role arn:" + partition.Of(c.options.Region).Name + ":iam::ACCOUNT:role" + r.path + r.name +
		", for the role of instance profile " + profile + " is not the stack's node role"
}

// passedRole is what there is to know of the role of an instance profile that an old object names.
func (c *converter) passedRole(profile string) string {
	pass := c.passRole(nil, profile, "")
	if pass == "" {
		return ""
	}
	return "the bootstrap stack needs " + pass
}

// ownRole is what there is to know of a node role that an old object names.
func (c *converter) ownRole(name string) string {
	if c.isOfCluster(name, stackRole, "") || c.clusterName("") == "" && strings.HasPrefix(name, stackRole) {
		return "" // the guides', most likely of this cluster
	}
	return "the bootstrap stack needs --pass-role arn:" + partition.Of(c.options.Region).Name + ":iam::ACCOUNT:role/" + name +
		", unless it is written with --node-role-name " + name
}
