// Package account reads from a live account what is set up there around a controller, in the form in which set-ups are
// compared, and proves that events reach the interruption queue. Reading changes nothing; the proof makes a rule for a
// moment and says so.
//
// What the caller may not read becomes a gap that names the action it lacks: somebody who looks for a fault at night has
// the permissions that they have.
package account

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/aws/session"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// Options say what to look for.
type Options struct {
	ClusterName string
	// Queue is the interruption queue's name, ARN or URL; empty means that it has the cluster's name.
	Queue string
	// NodeRole and ControllerRole are names or ARNs; when empty they are looked for, as their functions say.
	NodeRole, ControllerRole string
	// ClassRoles are the roles that EC2NodeClasses name, besides NodeRole.
	ClassRoles []string
	// Namespace and ServiceAccount are the controller's; empty means any namespace, and "karpenter" or "kerf".
	Namespace, ServiceAccount string
	// ServiceAccountRole is the ARN of the role that the service account names by annotation. A pod identity beats it.
	ServiceAccountRole string
	// Keys are KMS keys besides the queue's that matter, such as those of volumes: ids, ARNs or aliases.
	Keys []string
}

// What a gap is about; its What begins with one of these.
const (
	GapQueue       = "queue"
	GapKey         = "key"
	GapRules       = "rules"
	GapAlarms      = "alarms"
	GapRole        = "role"
	GapPolicy      = "policy"
	GapCluster     = "cluster"
	GapAccess      = "access entries"
	GapPodIdentity = "pod identities"
)

// Account is what was read, and which of it plays which part.
type Account struct {
	awssetup.Setup
	Caller string // ARN of who reads
	// QueueName, QueueARN and QueueURL are those of the interruption queue; without ARN and URL it does not exist or can't
	// be read. If it does, it is the first in Queues.
	QueueName, QueueARN, QueueURL string
	// ControllerRole and NodeRole are names of roles in Roles; empty when they were not found.
	ControllerRole, NodeRole string
	// ControllerRoleFrom says how the controller's role was found.
	ControllerRoleFrom string
	// AuthenticationMode of the cluster: API, API_AND_CONFIG_MAP or CONFIG_MAP; empty when it is not known.
	AuthenticationMode string
}

// Read reads an account into the form of set-ups.
//
// Errors: *cloud.Error, only for credentials that are refused and for a cluster that does not exist.
func Read(ctx context.Context, s *session.Session, o Options) (*awssetup.Setup, error) {
	a, err := Look(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return &a.Setup, nil
}

// Look is Read, and says which part each thing plays.
//
// Errors: as of Read.
func Look(ctx context.Context, s *session.Session, o Options) (*Account, error) {
	who, err := s.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, awserr.Wrap("asking AWS who the caller is", err)
	}
	r := &reader{o: o, a: &Account{Caller: deref(who.Arn)}, queues: s.SQS, keys: s.KMS(), events: s.EventBridge(), alarms: s.CloudWatch(), iam: s.IAM, eks: s.EKS}
	r.a.AccountID, r.a.Region, r.a.ClusterName = deref(who.Account), s.Region, o.ClusterName
	r.a.Source = "account " + r.a.AccountID
	r.a.Partition = partitionOf(deref(who.Arn))
	if err := r.cluster(ctx); err != nil {
		return nil, err
	}
	r.interruptionQueue(ctx)
	r.rules(ctx)
	r.deadLetterQueues(ctx)
	r.queueKeys(ctx)
	r.podIdentities(ctx)
	r.roles(ctx)
	r.accessEntries(ctx)
	r.metricAlarms(ctx)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.a.Source, context.Cause(ctx))
	}
	return r.a, nil
}

// reader collects. Each of its steps adds to the account or to its gaps.
type reader struct {
	o Options
	a *Account

	queues QueueAPI
	keys   KeyAPI
	events EventAPI
	alarms AlarmAPI
	iam    IAMAPI
	eks    EKSAPI
}

// gap notes what can't be read. what begins with one of the Gap constants.
func (r *reader) gap(what string, err error) {
	g := awssetup.Gap{What: what, Why: r.why(err)}
	if !slices.Contains(r.a.Gaps, g) {
		r.a.Gaps = append(r.a.Gaps, g)
	}
}

// why words an error for the person who runs the tool: what is missing is theirs, not the controller's.
func (r *reader) why(err error) string {
	wrapped := awserr.Wrap("", err)
	if action := awserr.Action(err); cloud.ClassOf(wrapped) == cloud.Denied && action != "" {
		return fmt.Sprintf("%s lacks %s", r.a.Caller, action)
	}
	return err.Error()
}

func isNotFound(err error) bool { return err != nil && cloud.IsNotFound(awserr.Wrap("", err)) }

// partitionOf is the partition of an ARN.
func partitionOf(arn string) string {
	if parts := strings.SplitN(arn, ":", 3); len(parts) == 3 && parts[1] != "" {
		return parts[1]
	}
	return "aws"
}

// lastSegment is a role's name from its name with path or its ARN.
func lastSegment(role string) string { return role[strings.LastIndexByte(role, '/')+1:] }

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
