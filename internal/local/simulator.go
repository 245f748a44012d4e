package local

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kerf-sh/kerf/internal/local/kube"
	"github.com/kerf-sh/kerf/internal/local/kubelet"
	"github.com/kerf-sh/kerf/internal/sim/awssim"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// A Simulator is the simulated AWS of a local cluster. It runs in this process.
type Simulator struct {
	*awssim.Server

	Log string // file
	log *os.File
}

// startSimulator starts an account whose EKS cluster is the control plane that runs here: the instances it launches join
// that, if their user data leads them there.
func (c *Cluster) startSimulator() (*Simulator, error) {
	instances, err := c.ConfigFor(kube.Machines)
	if err != nil {
		return nil, err
	}
	version, err := minorVersion(c.Kube.Version)
	if err != nil {
		return nil, err
	}
	s := &Simulator{Log: filepath.Join(c.StateDir, "aws.log")}
	if s.log, err = os.Create(s.Log); err != nil {
		return nil, fmt.Errorf("start the simulated AWS: %w", err)
	}
	port := c.options.AWSPort
	if port == 0 {
		if port, err = c.awsPort(); err != nil {
			s.log.Close()
			return nil, fmt.Errorf("start the simulated AWS: %w", err)
		}
	}
	o := c.options
	s.Server, err = awssim.New(awssim.Options{
		World: world.Options{
			Region: o.Region, ClusterName: o.ClusterName, Seed: o.Seed, Types: o.Types,
			BootTime: o.BootTime, KubernetesVersion: version, NoIdentities: true,
		},
		Listen:     net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		KubeConfig: instances,
		Cluster:    world.Cluster{Name: o.ClusterName, Version: version, ServiceIPv4CIDR: c.Kube.ServiceCIDR},
		NoQueue:    true,
		Enforce:    true,
		CAFile:     filepath.Join(c.StateDir, "aws-ca.pem"),
		SpotNotice: o.SpotNotice,
		Latency:    o.AWSLatency,
		Faults:     o.Faults,
		Logger:     slog.New(slog.NewJSONHandler(s.log, nil)),
	})
	if err != nil {
		s.log.Close()
		return nil, fmt.Errorf("start the simulated AWS: %w", err)
	}
	s.Start()
	return s, nil
}

// awsPort is that of the last cluster in the folder, or another where somebody has taken it since. It is never one that the system may hand
// out to an outgoing connection: the next cluster could not have it again.
func (c *Cluster) awsPort() (int, error) {
	if c.ports.AWS != 0 && free(c.ports.AWS) {
		return c.ports.AWS, nil
	}
	chosen, release, err := kubelet.ClaimPorts(1)
	if err != nil {
		return 0, err
	}
	c.releases = append(c.releases, release)
	return chosen[0], nil
}

// Close ends the simulated AWS.
func (s *Simulator) Close() error {
	defer s.log.Close()
	return s.Server.Close()
}

// minorVersion returns 1.36 for v1.36.3.
func minorVersion(version string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return "", fmt.Errorf("the control plane calls its version %q; want one such as v1.36.3", version)
	}
	return parts[0] + "." + parts[1], nil
}
