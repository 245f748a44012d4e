package doctor

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// checks are the mistakes that are looked for, by their numbers from 1. The numbers stay: people write them down.
var checks = []check{
	{"queue-managed-key", "the queue is not encrypted with the key that AWS manages", "the queue's KmsMasterKeyId and that key's manager", needAWS, queueManagedKey},
	{"queue-key-policy", "EventBridge may use the queue's key", "the key's policy, for kms:GenerateDataKey and kms:Decrypt", needAWS, queueKeyPolicy},
	{"controller-decrypt", "the controller may decrypt messages", "the policies of the controller's role and of the key, for kms:Decrypt", needAWS, controllerDecrypt},
	{"queue-exists", "the queue that is configured exists", "the controller's INTERRUPTION_QUEUE and SQS", needAWS, queueExists},
	{"controller-queue-access", "the controller may find, read and delete messages", "the policies of the controller's role and of the queue", needAWS, controllerQueueAccess},
	{"rules", "a rule leads every kind of event to the queue", "the EventBridge rules, with a sample of each kind of event", needAWS, rulesComplete},
	{"queue-shared", "the queue belongs to this cluster alone", "the queue's tags and the controllers in the cluster", needAWS, queueShared},
	{"termination-handler", "no other program handles interruptions", "DaemonSets and Deployments of the AWS Node Termination Handler", needKube, terminationHandler},
	{"queue-retention", "old messages do not wait in the queue", "the queue's MessageRetentionPeriod", needAWS, queueRetention},
	{"queue-policy", "EventBridge may send to the queue, and nobody without TLS", "the queue's policy, for each rule", needAWS, queuePolicy},
	{"queue-fifo", "the queue is a standard queue", "the queue's type", needAWS, queueFIFO},
	{"failed-deliveries", "deliveries that fail are noticed", "alarms, dead-letter queues and FailedInvocations", needAWS, failedDeliveries},
	{"delivery", "events arrive", "a probe if asked for, else the metrics of rules and queue", needAWS, delivery},
	{"policy-size", "the controller's policies fit into IAM's limits", "their sizes, and that of the policies Kerf would write", needAWS, policySize},
	{"spot-role", "EC2 may start spot instances", "the role AWSServiceRoleForEC2Spot", needAWS, spotRole},
	{"volume-keys", "EC2 may use the keys of volumes", "the policies of the keys that EC2NodeClasses name, and of the account's default for volumes that name none", needAWS | needKube, volumeKeys},
	{"node-role-mapped", "nodes may join the cluster", "access entries and the aws-auth ConfigMap", needAWS, nodeRoleMapped},
	{"role-names", "role names are no longer than IAM takes", "the names of node roles", 0, roleNames},
	{"subnet-addresses", "subnets have room for more nodes", "free addresses of the subnets of EC2NodeClasses, and how many a node takes", needAWS | needKube, subnetAddresses},
	{"drain-blockers", "nothing keeps nodes from being drained or from joining", "PodDisruptionBudgets, workloads of one pod, labels of NodePools", needKube, drainBlockers},
	{"controller-running", "the controller runs", "its Deployment and pods", needKube, controllerRunning},
	{"dead-letters", "nothing lies in a dead-letter queue", "the messages in the dead-letter queues of the queue and of the rules' targets", needAWS, deadLetters},
	{"controller-permissions", "the controller may start and end instances", "every call that it makes, by the policies of its role; conditions of EC2NodeClasses and NodeClaims", needAWS, controllerPermissions},
	{"node-egress", "nodes may reach the API server, AWS and DNS", "what the security groups of EC2NodeClasses let out", needAWS | needKube, nodeEgress},
}

func result(s Status, format string, args ...any) Result {
	return Result{Status: s, Finding: fmt.Sprintf(format, args...)}
}

func ok(format string, args ...any) Result      { return result(OK, format, args...) }
func unknown(format string, args ...any) Result { return result(Unknown, format, args...) }
func skipped(format string, args ...any) Result { return result(Skipped, format, args...) }

func failed(remedy, format string, args ...any) Result {
	r := result(Failed, format, args...)
	r.Remedy = remedy
	return r
}

func warning(remedy, format string, args ...any) Result {
	r := result(Warning, format, args...)
	r.Remedy = remedy
	return r
}

// with adds evidence.
func (r Result) with(evidence ...string) Result {
	r.Evidence = append(r.Evidence, evidence...)
	return r
}

// gapAbout is the reason why something could not be read; what is the beginning of what the gap is about.
func (in *Input) gapAbout(what ...string) (awssetup.Gap, bool) {
	for _, g := range in.AWS.Gaps {
		for _, w := range what {
			if strings.HasPrefix(g.What, w) {
				return g, true
			}
		}
	}
	return awssetup.Gap{}, false
}

// queue is the interruption queue, or why there is nothing to judge.
func (in *Input) queue() (*awssetup.Queue, Result) {
	if in.AWS.QueueARN != "" {
		for i := range in.AWS.Queues {
			if in.AWS.Queues[i].ARN == in.AWS.QueueARN {
				return &in.AWS.Queues[i], Result{}
			}
		}
	}
	if g, ok := in.gapAbout("queue " + in.AWS.QueueName); ok {
		return nil, unknown("the queue could not be read: %s", g.Why)
	}
	if g, ok := in.gapAbout("queue"); ok {
		return nil, unknown("the queue could not be read: %s", g.Why)
	}
	return nil, skipped("there is no queue %q (see check 4)", in.AWS.QueueName)
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
