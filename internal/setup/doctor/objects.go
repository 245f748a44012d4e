package doctor

import (
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// Objects are what is judged of a cluster.
type Objects struct {
	Controllers []Controller
	Stopped     []Controller // that are scaled to zero
	Handlers    []Handler
	Classes     []awsv1.EC2NodeClass
	Pools       []karpv1.NodePool
	Claims      []karpv1.NodeClaim
	Budgets     []Budget // that allow no disruption
	// AWSAuth are the roles of the aws-auth ConfigMap; NoAWSAuth is why it could not be read. One that does not exist maps
	// nothing.
	AWSAuth   []MappedRole
	NoAWSAuth string
	// CNI is the VPC CNI plugin, nil when the cluster has another.
	CNI *CNI
	// Nodes is how many nodes NodePools have, MaxPods the most pods that one of them takes.
	Nodes, MaxPods int
	// Gaps are what could not be read, with the reason; Missing are the kinds of them that the cluster does not know.
	Gaps, Missing []string
}

// Controller is a Deployment of a node autoscaler of this API.
type Controller struct {
	Namespace, Name, Image string
	ServiceAccount         string
	ClusterName            string
	Queue                  string
	QueueFrom              string            // set when the queue comes from an object that was not read
	Ready, Wanted          int               // pods
	Troubles               []string          // of the pods that are not ready
	Ending                 []string          // names of the pods whose container ended by itself
	Labels                 map[string]string // of its pods' selector
	ServiceAccountRole     string            // ARN by annotation
	MetricsPort            int
	Endpoint               bool // it is told the cluster's endpoint, and need not ask EKS
	Isolated               bool // it calls no service without a VPC endpoint: neither prices nor IAM
	ZonalShift             bool // it asks for zonal shifts of the cluster
}

// String names it.
func (c Controller) String() string { return "deployment " + c.Namespace + "/" + c.Name }

func (c Controller) isKerf() bool { return strings.Contains(c.Image, "kerf") }

// Handler is a program that acts on interruptions as well.
type Handler struct {
	Kind, Namespace, Name string
	Queue                 string // URL, when it reads one
	Spot, Rebalance       bool   // drains on these
	Maintenance           bool
	Selector              map[string]string // of nodes
	Pods                  int
}

func (h Handler) String() string { return strings.ToLower(h.Kind) + " " + h.Namespace + "/" + h.Name }

// Budget is a PodDisruptionBudget that allows nothing at the moment.
type Budget struct {
	Namespace, Name          string
	Healthy, Wanted, Current int
	Always                   string   // why it never allows anything, whatever the pods do; empty when it may later
	Workloads                []string // of one pod, that it covers
}

// MappedRole is a line of aws-auth.
type MappedRole struct {
	RoleARN string   `json:"rolearn"`
	Groups  []string `json:"groups"`
}

// CNI is how the VPC CNI plugin gives addresses to pods.
type CNI struct {
	PrefixDelegation, CustomNetworking, IPv6 bool
}

// spotPools are the pools that may launch spot instances, sorted.
func (o *Objects) spotPools() []string {
	var out []string
	for i := range o.Pools {
		if allowsSpot(&o.Pools[i]) {
			out = append(out, o.Pools[i].Name)
		}
	}
	slices.Sort(out)
	return out
}

// allowsSpot takes a pool that says nothing for one that may.
func allowsSpot(p *karpv1.NodePool) bool {
	for _, r := range p.Spec.Template.Spec.Requirements {
		if r.Key != karpv1.CapacityTypeLabelKey {
			continue
		}
		has := slices.Contains(r.Values, karpv1.CapacityTypeSpot)
		switch string(r.Operator) {
		case "In":
			if !has {
				return false
			}
		case "NotIn":
			if has {
				return false
			}
		case "DoesNotExist":
			return false
		}
	}
	return true
}
