// Package eks answers EKS requests from the simulated world.
package eks

import (
	"context"
	"net/http"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// Register adds the operations to a server.
func Register(s *wire.Server, w *world.World) {
	registerAccess(s, w)
	s.HandleREST(wire.EKS, "DescribeCluster", "GET /clusters/{name}", func(_ context.Context, r *wire.Request) (any, error) {
		name := r.Path["name"]
		r.Detail = name
		c, ok := w.Cluster(name)
		if !ok {
			return nil, &wire.Error{
				Code: "ResourceNotFoundException", Status: http.StatusNotFound,
				Message: "No cluster found for name: " + name + ".", Fields: map[string]any{"clusterName": name},
			}
		}
		return map[string]any{"cluster": describe(c)}, nil
	})
}

type cluster struct {
	Name                    string            `json:"name"`
	ARN                     string            `json:"arn"`
	CreatedAt               float64           `json:"createdAt"`
	Version                 string            `json:"version"`
	Endpoint                string            `json:"endpoint,omitempty"`
	RoleARN                 string            `json:"roleArn,omitempty"`
	Status                  string            `json:"status"`
	PlatformVersion         string            `json:"platformVersion,omitempty"`
	CertificateAuthority    map[string]string `json:"certificateAuthority,omitempty"`
	KubernetesNetworkConfig network           `json:"kubernetesNetworkConfig"`
	ResourcesVPCConfig      vpcConfig         `json:"resourcesVpcConfig"`
	AccessConfig            map[string]any    `json:"accessConfig"`
	Tags                    map[string]string `json:"tags"`
	ZonalShiftConfig        map[string]bool   `json:"zonalShiftConfig"`
}

type network struct {
	IPFamily        string `json:"ipFamily"`
	ServiceIPv4CIDR string `json:"serviceIpv4Cidr,omitempty"`
	ServiceIPv6CIDR string `json:"serviceIpv6Cidr,omitempty"`
}

type vpcConfig struct {
	VPCID                  string   `json:"vpcId,omitempty"`
	SubnetIDs              []string `json:"subnetIds,omitempty"`
	ClusterSecurityGroupID string   `json:"clusterSecurityGroupId,omitempty"`
	EndpointPublicAccess   bool     `json:"endpointPublicAccess"`
	EndpointPrivateAccess  bool     `json:"endpointPrivateAccess"`
}

func describe(c world.Cluster) cluster {
	out := cluster{
		Name: c.Name, ARN: c.ARN, CreatedAt: float64(c.Created.UnixMilli()) / 1000, Version: c.Version, Endpoint: c.Endpoint,
		RoleARN: c.RoleARN, Status: c.Status, PlatformVersion: c.PlatformVersion,
		KubernetesNetworkConfig: network{c.IPFamily, c.ServiceIPv4CIDR, c.ServiceIPv6CIDR},
		ResourcesVPCConfig: vpcConfig{
			VPCID: c.VPCID, SubnetIDs: c.SubnetIDs, ClusterSecurityGroupID: c.SecurityGroupID,
			EndpointPublicAccess: true, EndpointPrivateAccess: true,
		},
		AccessConfig:     map[string]any{"authenticationMode": "API_AND_CONFIG_MAP"},
		Tags:             c.Tags,
		ZonalShiftConfig: map[string]bool{"enabled": c.ZonalShift},
	}
	if c.CA != "" {
		out.CertificateAuthority = map[string]string{"data": c.CA}
	}
	if out.Tags == nil {
		out.Tags = map[string]string{}
	}
	return out
}
