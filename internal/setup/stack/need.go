package stack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// Need is a call that the controller makes, or one that it must not be able to make.
type Need struct {
	Feature string // what of the controller it is for
	Action  string // as policies name it
	// Operation is the call of the API, where it is not the action: batches, and what one call asks for beside its own.
	Operation string
	// Kinds are the resources as people name them.
	Kinds []string
	// Sid is the statement that allows it since v1.0, Before that of the older editions; empty there means the
	// same, none that they have no such statement.
	Sid, Before string
	// Option is the flag without which a stack does not allow it; empty: always allowed.
	Option  string
	Why     string
	Without string // what is seen when it is refused

	on        func(*Options) bool // whether the options have what Option names
	from      Compat              // the first edition that allows it; empty: as Before says
	editions  []Compat            // of a refusal: those that refuse it; nil: all
	resources []string            // with references
	context   map[string][]string // with references in keys and values
}

const none = "none"

// UntaggedSpot stands in Need.Without between what is seen where spot requests need their tags and what where they need
// none: older editions allow that, and so does what launches from users' own templates need.
const UntaggedSpot = "; with a stack of an older edition or with --launch-templates, only "

// AllowedByTemplates ends a Need.Without of what the option for users' own templates allows as well.
const AllowedByTemplates = "; with --launch-templates nothing, for that allows it, too"

// Where is the place that calls are made in. Empty fields are as a stack with default names has them.
type Where struct {
	Account, Region, Cluster string
	ControllerRole           string // ARN
	NodeRole                 string // ARN
	Queue                    string // ARN
	QueueKey                 string // ARN
	Parameters, VolumeKeys   []string
	PublicParameters         []string // paths; empty: that of an image of EKS
	PassRoles                []string
}

// Where is where the calls of this stack's controller are made.
func (s *Stack) Where(account, region string) Where {
	r := s.resolver(account, region)
	w := Where{
		Account: account, Region: region, Cluster: s.Options.ClusterName, NodeRole: r.text(arnOf(idNodeRole)), Queue: r.text(arnOf(idQueue)),
		QueueKey: r.text(s.Queue.KMSKey), Parameters: s.Options.Parameters, PublicParameters: s.Options.PublicParameters, VolumeKeys: s.Options.VolumeKeys, PassRoles: s.Options.PassRoles,
	}
	if s.ControllerRole != nil {
		w.ControllerRole = r.text(arnOf(idControllerRole))
	}
	return w
}

// Needs are the calls that this stack's controller makes.
func (s *Stack) Needs() []Need {
	return slices.DeleteFunc(Needs(), func(n Need) bool { _, ok := n.Statement(&s.Options); return !ok })
}

// MustNot are the calls that this stack's policies refuse.
func (s *Stack) MustNot() []Need {
	return slices.DeleteFunc(MustNot(), func(n Need) bool { return !n.RefusedBy(s.Options.Compat) })
}

// Statement is the Sid of the statement by which a stack of these options allows the call; ok is false if it does not.
func (n Need) Statement(o *Options) (sid string, ok bool) {
	if n.on != nil && !n.on(o) {
		return "", false
	}
	if n.from != "" && !slices.Contains(editionsFrom(n.from), o.Compat) {
		return "", false
	}
	if o.tagsByCluster() || n.Before == "" {
		return n.Sid, true
	}
	return n.Before, n.Before != none
}

// RefusedBy tells whether an edition refuses the call, for entries of MustNot.
func (n Need) RefusedBy(c Compat) bool { return n.editions == nil || slices.Contains(n.editions, c) }

// Calls are the calls as they would be judged: one for each resource that is touched.
func (n Need) Calls(w Where) []iampolicy.Call {
	r := w.resolver()
	keys := iampolicy.Context{}
	for _, k := range slices.Sorted(maps.Keys(n.context)) {
		keys.Set(r.text(k), r.texts(n.context[k])...)
	}
	for k, v := range map[string]string{
		"aws:RequestedRegion": w.Region, "aws:SecureTransport": "true", "aws:PrincipalAccount": w.Account, "aws:PrincipalArn": r.text(controllerRoleRef),
	} {
		if _, ok := keys[lower(k)]; !ok {
			keys.Set(k, v)
		}
	}
	var out []iampolicy.Call
	for _, res := range w.expand(n.resources) {
		out = append(out, iampolicy.Call{
			Caller: iampolicy.Caller{ARN: r.text("${Session}"), Account: w.Account}, Action: n.Action, Resource: r.text(res), Context: maps.Clone(keys),
		})
	}
	return out
}

// References that only calls have.
const (
	controllerRoleRef   = "${ControllerRole.Arn}"
	parametersRef       = "${Parameters}"
	publicParametersRef = "${PublicParameters}"
	volumeKeysRef       = "${VolumeKeys}"
	passRolesRef        = "${PassRoles}"
	queueKeyRef         = "${QueueKey.Arn}"
	otherRef            = "${Other}" // another cluster
	elsewhereRef        = "${Elsewhere}"
)

// expand puts the user's own resources in the place of the references to them.
func (w Where) expand(resources []string) []string {
	var out []string
	for _, res := range resources {
		switch res {
		case parametersRef:
			out = append(out, w.Parameters...)
		case publicParametersRef:
			paths := w.PublicParameters
			if len(paths) == 0 {
				paths = []string{publicPath + "eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id"}
			}
			for _, path := range paths {
				out = append(out, regional("ssm", "", "parameter"+path))
			}
		case passRolesRef:
			out = append(out, w.PassRoles...)
		case volumeKeysRef:
			out = append(out, w.VolumeKeys...)
		case queueKeyRef:
			if w.QueueKey != "" {
				out = append(out, res)
			}
		default:
			out = append(out, res)
		}
	}
	for i, res := range out {
		out[i] = concrete(res)
	}
	return out
}

func (w Where) resolver() *resolver {
	p := partition.Of(w.Region)
	iam := "arn:" + p.Name + ":iam::" + w.Account + ":role/"
	elsewhere := "us-east-1"
	if w.Region == elsewhere {
		elsewhere = "us-west-2"
	}
	role := cmp.Or(w.ControllerRole, iam+w.Cluster+"-karpenter")
	return &resolver{values: map[string]string{
		"ClusterName": w.Cluster, "AWS::Partition": p.Name, "AWS::Region": w.Region, "AWS::AccountId": w.Account, "AWS::URLSuffix": p.Suffix,
		idNodeRole + ".Arn": cmp.Or(w.NodeRole, iam+"KarpenterNodeRole-"+w.Cluster),
		idQueue + ".Arn":    cmp.Or(w.Queue, "arn:"+p.Name+":sqs:"+w.Region+":"+w.Account+":"+w.Cluster),
		"QueueKey.Arn":      w.QueueKey, "ControllerRole.Arn": role, "Session": sessionOf(role), idEC2: p.EC2Service(),
		"Other": "not-" + w.Cluster, "Elsewhere": elsewhere,
	}}
}
