package stack

import (
	"time"
)

// Compat names an edition of the permissions.
type Compat string

// The editions.
const (
	V032      Compat = "v0.32"       // one policy of fifteen statements, as the template of v0.32.10 has it
	V032Later Compat = "v0.32-later" // the same in the later form of that guide: account-bound profiles, China, pull-only nodes, TLS on the queue
	V10       Compat = "v1.0"        // one policy, tied to the cluster by eks:eks-cluster-name, with launch templates apart
	Latest    Compat = "latest"      // several policies, as the newest guide has them, and all that this controller does
)

// Editions are all editions, the oldest first.
func Editions() []Compat { return []Compat{V032, V032Later, V10, Latest} }

// Controller says how the controller's pods get their role.
type Controller string

// The ways. With None the stack has the policies but no role, as in the guides, where eksctl makes it.
const (
	None        Controller = "none"
	PodIdentity Controller = "pod-identity"
	IRSA        Controller = "irsa"
)

// Options say what goes into a stack. Begin with Defaults.
type Options struct {
	ClusterName string
	// Region and AccountID are needed for plain IAM policies. Templates and modules find out where they are deployed;
	// for these, a region only says by which names the policies are measured.
	Region, AccountID string
	Compat            Compat

	// Names that are not to follow from the cluster's.
	NodeRoleName, ControllerRoleName, QueueName string
	PolicySuffix                                string // after "Karpenter…Policy-", in place of the cluster's name

	NodeRole            string // name or ARN of a role that exists; the stack makes none for the nodes
	Path                string // of roles and policies; default /
	PermissionsBoundary string // ARN, for both roles
	Tags                map[string]string

	Controller                Controller
	Namespace, ServiceAccount string
	OIDCProvider              string // ARN or issuer URL of the cluster's provider, for IRSA
	AccessEntry               string // EC2_LINUX or EC2_WINDOWS maps the node role to the cluster; empty does not

	Adopt Adoption // what a Terraform module takes over

	Retention  time.Duration // of messages in the queue; whole seconds
	Visibility time.Duration // of a received message; zero leaves SQS's own 30 s
	// QueueARN is that of a queue that exists, in this or another account. The stack makes no queue then, no rules and no
	// alarms: whoever owns the queue feeds it.
	QueueARN    string
	KMS         bool   // make a key for the queue
	KMSKey      string // ARN of a key that exists, for the queue
	DeadLetter  bool   // a second queue for what nobody could handle and what could not be delivered
	MaxReceives int    // before a message goes there
	// RuleSources lets only the stack's rules (and those of the delivery proof) send to the queue, instead of all rules
	// of all accounts.
	RuleSources  bool
	Alarms       bool
	AlarmActions []string // ARNs, such as of SNS topics

	// Features of the controller that need permissions of their own.
	CapacityReservations bool
	PlacementGroups      bool
	InstanceStatus       bool
	ZonalShift           bool
	LaunchTemplates      bool     // users' own, those with tag karpenter.sh/discovery=<cluster>
	PassRoles            []string // ARNs of roles, beside the node role, in instance profiles and launch templates of users
	Parameters           []string // ARNs of users' SSM parameters that name images
	PublicParameters     []string // paths under /aws/service/ that may be read; empty: all
	VolumeKeys           []string // ARNs of customer-managed keys that volumes are encrypted with
}

// Defaults are the options of an edition: for the older ones what the guides of the time deploy; for Latest all that the
// newest guide of upstream allows, so that moving over from it takes nothing away.
//
//   - instance status, capacity reservations, placement groups and zonal shift are on, as in that guide; users' launch
//     templates, which it does not know, are off;
//   - the dead-letter queue, the alarms and the restriction to the stack's own rules are on, since without them nobody
//     learns of events that were not delivered, and anybody's rule could write to the queue;
//   - the controller's role and the access entry are off, since they can be made only when the cluster exists.
func Defaults(c Compat) Options {
	o := Options{
		Compat: c, Path: "/", Controller: None, Namespace: "kube-system", ServiceAccount: "karpenter",
		Retention: 300 * time.Second, MaxReceives: 5,
	}
	if c == Latest {
		o.DeadLetter, o.RuleSources, o.Alarms = true, true, true
		o.InstanceStatus, o.CapacityReservations, o.PlacementGroups, o.ZonalShift = true, true, true, true
	}
	return o
}

// tagsByCluster tells whether permissions ask for the tag eks:eks-cluster-name, and for tags on launch templates and spot
// requests: all came together.
func (o *Options) tagsByCluster() bool { return o.Compat.TagsByCluster() }

// TagsByCluster tells whether an edition asks for the tag eks:eks-cluster-name, and for tags on launch templates and spot
// requests.
func (c Compat) TagsByCluster() bool { return c == V10 || c == Latest }
