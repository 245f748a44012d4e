package requirement

// Label keys that the engine itself gives a meaning. The names are those of the Kubernetes and Karpenter v1 wire.
const (
	Zone                     = "topology.kubernetes.io/zone"
	ZoneID                   = "topology.k8s.aws/zone-id"
	Region                   = "topology.kubernetes.io/region"
	Hostname                 = "kubernetes.io/hostname"
	NodeName                 = "field:metadata.name" // the field, in a word that no label can be; every node that exists has one, and no node to launch
	InstanceType             = "node.kubernetes.io/instance-type"
	Arch                     = "kubernetes.io/arch"
	OS                       = "kubernetes.io/os"
	CapacityType             = "karpenter.sh/capacity-type"
	NodePool                 = "karpenter.sh/nodepool"
	WindowsBuild             = "node.kubernetes.io/windows-build"
	ReservationID            = "karpenter.k8s.aws/capacity-reservation-id"
	ReservationType          = "karpenter.k8s.aws/capacity-reservation-type"
	ReservationInterruptible = "karpenter.k8s.aws/capacity-reservation-interruptible"
	PlacementPartition       = "karpenter.k8s.aws/placement-group-partition"
)

// aliases are older names of labels that mean the same as a stable one.
var aliases = map[string]string{
	"beta.kubernetes.io/arch":                  Arch,
	"beta.kubernetes.io/os":                    OS,
	"beta.kubernetes.io/instance-type":         InstanceType,
	"failure-domain.beta.kubernetes.io/zone":   Zone,
	"failure-domain.beta.kubernetes.io/region": Region,
	"topology.ebs.csi.aws.com/zone":            Zone,
}

// Normalize gives the stable name of a label key; most keys are their own.
func Normalize(key string) string {
	if k, ok := aliases[key]; ok {
		return k
	}
	return key
}
