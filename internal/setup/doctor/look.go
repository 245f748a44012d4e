package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// Options say what to look at.
type Options struct {
	// ClusterName may be empty when one controller in the cluster tells it; the other names are looked for when empty.
	ClusterName, Queue, NodeRole, ControllerRole string
	Namespace                                    string // of the controller; empty means any

	// A half that is nil without an error was left out by choice.
	AWS   *session.Session
	NoAWS error

	Kube   client.Reader
	Pods   kubernetes.Interface // for the metrics of the controller's pods; may be nil, as may Forward
	NoKube error
	// Forward leads to the metrics of a pod.
	Forward Forward

	Window time.Duration // of metrics; a day when zero

	Prove        bool // may change things: see account.Prove
	Through      string
	ProveTimeout time.Duration
	Tell         func(string) // gets the steps of the proof
}

const defaultWindow = 24 * time.Hour

// recently is how far back something counts as going on now. EventBridge tells its figures some minutes late.
const recently = 15 * time.Minute

// Look reads all that is judged. Of the two halves it does without one.
//
// Errors: neither half can be looked at; ErrNoName; credentials are refused or the EKS cluster does
// not exist, if there is no Kubernetes half to judge without them.
func Look(ctx context.Context, o Options) (*Input, error) {
	in := &Input{ClusterName: o.ClusterName, Now: time.Now()}
	if o.Kube == nil {
		if in.NoKube = text(o.NoKube); o.NoKube == nil {
			in.LeftOut |= needKube
		}
	} else if objects, err := ReadObjects(ctx, o.Kube); err != nil {
		in.NoKube = err.Error()
	} else {
		in.Kube = objects
	}
	if err := in.nameCluster(o); err != nil {
		return nil, err
	}
	in.findQueue(o)
	if o.AWS == nil {
		if in.NoAWS = text(o.NoAWS); o.NoAWS == nil {
			in.LeftOut |= needAWS
		}
	} else if err := in.lookAtAWS(ctx, o); err != nil {
		in.NoAWS = err.Error()
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("looking: %w", err)
	}
	if in.AWS == nil && in.Kube == nil {
		return nil, fmt.Errorf("neither AWS nor the cluster can be looked at: AWS: %s; the cluster: %s", in.NoAWS, in.NoKube)
	}
	if o.Prove {
		in.prove(ctx, o)
	}
	return in, nil
}

func text(err error) string {
	if err == nil {
		return "it was left out"
	}
	return err.Error()
}

// ErrNoName is that nobody said which cluster is meant, and no controller tells it.
var ErrNoName = errors.New("the cluster's name is not known: give --cluster-name")

func (in *Input) nameCluster(o Options) error {
	if in.ClusterName != "" {
		return nil
	}
	var names []string
	if in.Kube != nil {
		for _, c := range in.Kube.Controllers {
			if c.ClusterName != "" && !slices.Contains(names, c.ClusterName) && (o.Namespace == "" || o.Namespace == c.Namespace) {
				names = append(names, c.ClusterName)
			}
		}
	}
	switch {
	case len(names) == 1:
	case len(names) > 1:
		return fmt.Errorf("%w: there are controllers of %s", ErrNoName, strings.Join(names, ", "))
	case o.Kube != nil && in.Kube == nil: // not a matter of usage
		return fmt.Errorf("the cluster, which may tell its name, could not be looked at (--cluster-name has the other half done): %s", in.NoKube)
	case in.NoKube != "" && o.NoKube != nil:
		return fmt.Errorf("%w; the cluster, which may tell it, could not be looked at: %s", ErrNoName, in.NoKube)
	default:
		return ErrNoName
	}
	in.ClusterName = names[0]
	return nil
}

func (in *Input) findQueue(o Options) {
	if in.Queue, in.QueueFrom = o.Queue, "--queue"; in.Queue != "" {
		return
	}
	for _, c := range in.controllers() {
		if c.Queue != "" && (o.Namespace == "" || o.Namespace == c.Namespace) {
			in.Queue, in.QueueFrom = c.Queue, c.String()
			return
		}
	}
	in.Queue, in.QueueFrom = in.ClusterName, "the cluster's name, as no controller was found that names a queue"
}

func (in *Input) lookAtAWS(ctx context.Context, o Options) (err error) {
	ao := account.Options{ClusterName: in.ClusterName, Queue: in.Queue, NodeRole: o.NodeRole, ControllerRole: o.ControllerRole, Namespace: o.Namespace}
	if c, ok := in.controller(o.Namespace); ok {
		ao.Namespace, ao.ServiceAccount, ao.ServiceAccountRole = c.Namespace, c.ServiceAccount, c.ServiceAccountRole
	}
	if in.Kube != nil {
		for i := range in.Kube.Classes {
			if role := in.Kube.Classes[i].Spec.Role; role != "" {
				ao.ClassRoles = append(ao.ClassRoles, role)
			}
		}
		if in.VolumeKey, err = account.DefaultVolumeKey(ctx, o.AWS.EC2); err != nil {
			in.NoVolumeKey = err.Error()
		}
		for _, u := range in.volumeKeys() {
			ao.Keys = append(ao.Keys, u.key)
		}
	}
	a, err := account.Look(ctx, o.AWS, ao)
	if err != nil {
		return err
	}
	in.AWS = a
	if in.Metrics, err = a.Metrics(ctx, o.AWS.CloudWatch(), cmp.Or(o.Window, defaultWindow), in.Now); err != nil {
		in.NoMetrics = err.Error()
	}
	// Without these what failed long ago is taken for what fails now; that is on the safe side.
	in.Recent, _ = a.Metrics(ctx, o.AWS.CloudWatch(), recently, in.Now)
	in.askIAM(ctx, o)
	if in.Subnets, err = account.Subnets(ctx, o.AWS.EC2, in.subnetIDs()); err != nil {
		in.NoSubnets = err.Error()
	}
	if in.SecurityGroups, err = account.SecurityGroups(ctx, o.AWS.EC2, in.groupIDs()); err != nil {
		in.NoGroups = err.Error()
	}
	return nil
}

// controller is the one whose service account counts: of those in a namespace, or anywhere when none is named, one that runs.
func (in *Input) controller(namespace string) (Controller, bool) {
	list := slices.DeleteFunc(in.controllers(), func(c Controller) bool { return namespace != "" && c.Namespace != namespace })
	if i := slices.IndexFunc(list, func(c Controller) bool { return c.Ready > 0 }); i >= 0 {
		return list[i], true
	}
	if len(list) > 0 {
		return list[0], true
	}
	return Controller{}, false
}

// askIAM learns what policies of the organization deny. That it may not be asked is common and no fault.
func (in *Input) askIAM(ctx context.Context, o Options) {
	role := account.RoleOf(&in.AWS.Setup, in.AWS.ControllerRole)
	q, _ := in.queue()
	if role == nil || q == nil {
		return
	}
	refused, err := account.Refusals(ctx, o.AWS.IAM, role.ARN, q.ARN, queueActions)
	if err != nil {
		return
	}
	if _, key, _ := in.queueKey(); key != nil {
		more, err := account.Refusals(ctx, o.AWS.IAM, role.ARN, key.ARN, []string{"kms:Decrypt"})
		if err != nil {
			return
		}
		refused["kms:Decrypt"] = more["kms:Decrypt"]
	}
	in.Refused = refused
}

func (in *Input) subnetIDs() []string {
	var out []string
	if in.Kube == nil {
		return nil
	}
	for i := range in.Kube.Classes {
		for _, s := range in.Kube.Classes[i].Status.Subnets {
			if !slices.Contains(out, s.ID) {
				out = append(out, s.ID)
			}
		}
	}
	return out
}

func (in *Input) groupIDs() []string {
	var out []string
	if in.Kube == nil {
		return nil
	}
	for i := range in.Kube.Classes {
		for _, g := range in.Kube.Classes[i].Status.SecurityGroups {
			if !slices.Contains(out, g.ID) {
				out = append(out, g.ID)
			}
		}
	}
	return out
}

func (in *Input) prove(ctx context.Context, o Options) {
	if in.AWS == nil {
		in.ProofError = in.NoAWS
		return
	}
	q, none := in.queue()
	if q == nil {
		in.ProofError = none.Finding
		return
	}
	if in.ProofError = in.unprovable(q, o.Through); in.ProofError != "" {
		return
	}
	po := account.ProveOptions{
		ClusterName: in.ClusterName, QueueARN: q.ARN, QueueURL: q.URL, Through: o.Through, Timeout: o.ProveTimeout, Idle: in.idle(), Tell: o.Tell,
	}
	if o.Pods != nil && o.Forward != nil && len(in.controllers()) > 0 {
		po.Seen = in.counter(o.Pods, o.Forward)
	}
	var err error
	if in.Proof, err = account.Prove(ctx, o.AWS, po); err != nil {
		in.ProofError = err.Error()
	}
}

// unprovable says why a rule made for the proof would fail though other rules deliver: a queue policy that names rules.
func (in *Input) unprovable(q *awssetup.Queue, through string) string {
	if through != "" || q.Policy == nil {
		return ""
	}
	arn := func(name string) string {
		return "arn:" + in.AWS.Partition + ":events:" + in.AWS.Region + ":" + in.AWS.AccountID + ":rule/" + name
	}
	if awssetup.MaySend(q, arn(account.ProbeRuleName(in.Now, "0")), true).OK() {
		return ""
	}
	for _, r := range in.rulesTo(q.ARN) {
		if awssetup.MaySend(q, r.ARN, true).OK() {
			return fmt.Sprintf("the queue's policy takes events of named rules only: add %s to its aws:SourceArn, or use --prove-delivery-through %s, which lets that rule carry the probe as well for a moment",
				arn(account.ProbeRulePrefix+"*"), r.Name)
		}
	}
	return "" // it refuses every rule; the proof will show that
}

// idle is whether it is certain that no controller reads the queue.
func (in *Input) idle() bool {
	c := in.controllers()
	return len(c) > 0 && !slices.ContainsFunc(c, func(c Controller) bool { return c.Ready > 0 })
}

// counter tells how many probes the controllers of the cluster have counted.
func (in *Input) counter(pods kubernetes.Interface, forward Forward) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		total := 0
		for _, c := range in.controllers() {
			n, err := probesCounted(ctx, pods, forward, c)
			if err != nil {
				return 0, fmt.Errorf("reading the metrics of %s: %w", c, err)
			}
			total += n
		}
		return total, nil
	}
}

// probeSeries is what a controller counts probes under.
const probeSeries = "karpenter_interruption_received_messages_total"

// countProbes adds up the probes in a page of metrics.
func countProbes(page string) int {
	total := 0.0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, probeSeries+"{") || !strings.Contains(line, `message_type="doctor_probe"`) {
			continue
		}
		var v float64
		if i := strings.LastIndexByte(line, '}'); i >= 0 {
			if _, err := fmt.Sscan(line[i+1:], &v); err == nil {
				total += v
			}
		}
	}
	return int(total)
}
