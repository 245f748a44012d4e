package cloudformation

import (
	"net/url"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

var accessPolicy = members(map[string]*shape{
	"PolicyArn":   text,
	"AccessScope": members(map[string]*shape{"Type": oneOf("cluster", "namespace"), "Namespaces": texts}, "Type"),
}, "PolicyArn", "AccessScope")

var eksAccessEntry = &kind{
	properties: map[string]*shape{
		"ClusterName": text, "PrincipalArn": text, "Type": text, "Username": text, "KubernetesGroups": texts,
		"AccessPolicies": list(accessPolicy), "Tags": tagList,
	},
	required: []string{"ClusterName", "PrincipalArn"}, fixed: []string{"ClusterName", "PrincipalArn", "Type"},
	readOnly: []string{"AccessEntryArn"}, tagged: true,
	create: func(c *change) error {
		in := map[string]any{"principalArn": c.text("PrincipalArn"), "tags": tagMap(c.newTags)}
		put(in, "type", c.new["Type"])
		put(in, "username", c.new["Username"])
		put(in, "kubernetesGroups", c.new["KubernetesGroups"])
		var out struct {
			AccessEntry struct {
				ARN string `json:"accessEntryArn"`
			} `json:"accessEntry"`
		}
		if err := c.rest(wire.EKS, "CreateAccessEntry", map[string]string{"name": c.text("ClusterName")}, in, &out); err != nil {
			return err
		}
		c.physical = c.text("PrincipalArn") + "|" + c.text("ClusterName")
		c.attributes = map[string]any{"AccessEntryArn": out.AccessEntry.ARN}
		return c.syncAccessPolicies()
	},
	update: func(c *change) error {
		in := map[string]any{"kubernetesGroups": orEmpty(c.new["KubernetesGroups"])}
		put(in, "username", c.new["Username"])
		if c.differs("KubernetesGroups", "Username") {
			if err := c.rest(wire.EKS, "UpdateAccessEntry", c.entryPath(), in, nil); err != nil {
				return err
			}
		}
		if err := c.syncAccessPolicies(); err != nil {
			return err
		}
		return c.retagEKS(c.attributes["AccessEntryArn"])
	},
	remove: func(c *change) error {
		return unlessMissing(c.rest(wire.EKS, "DeleteAccessEntry", c.entryPath(), nil, nil))
	},
}

// entryPath holds the wildcards of an access entry's route.
func (c *change) entryPath() map[string]string {
	principal, cluster, _ := strings.Cut(c.physical, "|")
	return map[string]string{"name": cluster, "principal": principal}
}

func put(in map[string]any, key string, v any) {
	if v != nil {
		in[key] = v
	}
}

func orEmpty(v any) any {
	if v == nil {
		return []any{}
	}
	return v
}

// syncAccessPolicies associates what is new or changed and takes away what is gone.
func (c *change) syncAccessPolicies() error {
	before, after := accessPolicies(c.old), accessPolicies(c.new)
	for arn, scope := range after {
		if document(before[arn]) == document(scope) {
			continue
		}
		m, _ := scope.(map[string]any)
		in := map[string]any{"policyArn": arn, "accessScope": map[string]any{"type": m["Type"], "namespaces": orEmpty(m["Namespaces"])}}
		if err := c.rest(wire.EKS, "AssociateAccessPolicy", c.entryPath(), in, nil); err != nil {
			return err
		}
	}
	for arn := range before {
		if after[arn] != nil {
			continue
		}
		path := c.entryPath()
		path["policy"] = arn
		if err := c.rest(wire.EKS, "DisassociateAccessPolicy", path, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

func accessPolicies(properties map[string]any) map[string]any {
	out := map[string]any{}
	for _, item := range cfn.ListOf(properties["AccessPolicies"]) {
		if m, ok := item.(map[string]any); ok {
			arn, _ := m["PolicyArn"].(string)
			out[arn] = m["AccessScope"]
		}
	}
	return out
}

func (c *change) retagEKS(arn any) error {
	name, _ := arn.(string)
	path := map[string]string{"arn": name}
	return c.retag(func(tags []tag) error {
		return c.rest(wire.EKS, "TagResource", path, map[string]any{"tags": tagMap(tags)}, nil)
	}, func(keys []string) error {
		body := wire.Input{Path: path, Query: url.Values{"tagKeys": keys}}
		_, err := c.server.Do(c.ctx, c.caller, wire.EKS, "UntagResource", body)
		return err
	})
}

var eksPodIdentity = &kind{
	properties: map[string]*shape{
		"ClusterName": text, "Namespace": text, "ServiceAccount": text, "RoleArn": text, "TargetRoleArn": text,
		"DisableSessionTags": boolean, "Tags": tagList,
	},
	required: []string{"ClusterName", "Namespace", "ServiceAccount", "RoleArn"}, fixed: []string{"ClusterName", "Namespace", "ServiceAccount"},
	readOnly: []string{"AssociationArn", "AssociationId", "ExternalId"}, tagged: true,
	create: func(c *change) error {
		in := map[string]any{
			"namespace": c.text("Namespace"), "serviceAccount": c.text("ServiceAccount"), "roleArn": c.text("RoleArn"), "tags": tagMap(c.newTags),
		}
		put(in, "targetRoleArn", c.new["TargetRoleArn"])
		put(in, "disableSessionTags", c.new["DisableSessionTags"])
		var out struct {
			Association struct {
				ARN string `json:"associationArn"`
				ID  string `json:"associationId"`
			} `json:"association"`
		}
		if err := c.rest(wire.EKS, "CreatePodIdentityAssociation", map[string]string{"name": c.text("ClusterName")}, in, &out); err != nil {
			return err
		}
		c.physical = out.Association.ARN
		c.attributes = map[string]any{"AssociationArn": out.Association.ARN, "AssociationId": out.Association.ID}
		return nil
	},
	update: func(c *change) error {
		if c.differs("RoleArn", "TargetRoleArn", "DisableSessionTags") {
			in := map[string]any{"roleArn": c.text("RoleArn")}
			put(in, "targetRoleArn", c.new["TargetRoleArn"])
			put(in, "disableSessionTags", c.new["DisableSessionTags"])
			if err := c.rest(wire.EKS, "UpdatePodIdentityAssociation", c.associationPath(), in, nil); err != nil {
				return err
			}
		}
		return c.retagEKS(c.physical)
	},
	remove: func(c *change) error {
		return unlessMissing(c.rest(wire.EKS, "DeletePodIdentityAssociation", c.associationPath(), nil, nil))
	},
}

// associationPath holds the wildcards of an association's route, taken from its ARN: …:podidentityassociation/cluster/id.
func (c *change) associationPath() map[string]string {
	parts := strings.Split(c.physical, "/")
	if len(parts) < 3 {
		return map[string]string{}
	}
	return map[string]string{"name": parts[len(parts)-2], "id": parts[len(parts)-1]}
}
