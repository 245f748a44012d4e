package world

import "time"

// eksState holds the cluster records of the account, and who may do what in them.
type eksState struct {
	clusters      map[string]*Cluster
	entries       map[string]*AccessEntry // by accessKey
	podIdentities map[string]*PodIdentity // by id
	shifts        map[string][]ZonalShift // by ARN of the cluster
}

func (s *eksState) init() {
	s.clusters, s.entries, s.podIdentities = map[string]*Cluster{}, map[string]*AccessEntry{}, map[string]*PodIdentity{}
	s.shifts = map[string][]ZonalShift{}
}

// Cluster is what EKS knows about a cluster.
type Cluster struct {
	Name, ARN       string
	Endpoint        string // https://…
	CA              string // base64 PEM
	Version         string // minor version: 1.36
	PlatformVersion string
	Status          string // CREATING, ACTIVE, DELETING, FAILED, UPDATING
	IPFamily        string // ipv4 or ipv6
	ServiceIPv4CIDR string
	ServiceIPv6CIDR string
	RoleARN         string
	VPCID           string
	SubnetIDs       []string
	SecurityGroupID string
	Created         time.Time
	Tags            map[string]string
	ZonalShift      bool // registered with ARC
}

// SetCluster writes the record of a cluster; what is empty of ARN, status, family and time is filled in.
func (w *World) SetCluster(c Cluster) Cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ARN == "" {
		c.ARN = "arn:" + w.Partition() + ":eks:" + w.opts.Region + ":" + w.opts.Account + ":cluster/" + c.Name
	}
	if c.Status == "" {
		c.Status = "ACTIVE"
	}
	if c.IPFamily == "" {
		c.IPFamily = "ipv4"
	}
	if c.Created.IsZero() {
		c.Created = w.clock.Now()
	}
	w.eks.clusters[c.Name] = &c
	return c
}

// Cluster returns the record of a cluster.
func (w *World) Cluster(name string) (Cluster, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.eks.clusters[name]; c != nil {
		return *c, true
	}
	return Cluster{}, false
}

// DeleteCluster removes the record of a cluster.
func (w *World) DeleteCluster(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.eks.clusters, name)
}

// FaultWrongCluster makes instances that match InstanceType, Zone, CapacityType and, by image id, Resource read their user
// data as though it named another cluster (Message, or "some-other-cluster"): they boot and never join.
const FaultWrongCluster FaultKind = "wrong-cluster"

// WrongCluster returns the cluster name that a fault puts into an instance's user data, and whether there is such a fault.
func (w *World) WrongCluster(i Instance) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.faults.all {
		if f.Kind != FaultWrongCluster || !fits(f.InstanceType, i.Type) || !fits(f.Zone, i.Zone) ||
			!fits(f.CapacityType, i.CapacityType) || !fits(f.Resource, i.ImageID) || !w.strikesLocked(f) {
			continue
		}
		if f.Message != "" {
			return f.Message, true
		}
		return "some-other-cluster", true
	}
	return "", false
}
