package stack

import (
	"cmp"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// defaultVisibility is what SQS takes when a queue has none set.
const defaultVisibility = 30 * time.Second

// deadSuffix is what the name of the dead-letter queue has after that of the queue.
const deadSuffix = "-dlq"

// deadRetention is as long as SQS keeps anything: what is there, people have to look at.
const deadRetention = 14 * 24 * time.Hour

func queues(o *Options) (*Key, Queue, *Queue) {
	q := Queue{
		LogicalID: idQueue, PolicyID: idQueuePolicy, Name: cmp.Or(o.QueueName, refCluster),
		Retention: o.Retention, Visibility: o.Visibility, KMSKey: o.KMSKey, Tags: o.tags(),
	}
	var key *Key
	if o.KMS {
		key = queueKey(o)
		q.KMSKey = arnOf(idKey)
	}
	if !o.DeadLetter {
		return key, q, nil
	}
	q.DeadLetter, q.MaxReceives = arnOf(idDeadLetter), o.MaxReceives
	// It has no key of its own: it is where events go when the key keeps them from the queue.
	return key, q, &Queue{
		LogicalID: idDeadLetter, PolicyID: idDeadPolicy, Name: q.Name + deadSuffix, Retention: deadRetention, Tags: o.tags(),
	}
}

// queueKey is a key that EventBridge may encrypt with. SQS asks for Decrypt of who sends, too, to check the data key.
func queueKey(o *Options) *Key {
	root := "arn:" + refPartition + ":iam::" + refAccount + ":root"
	return &Key{
		LogicalID: idKey, AliasID: idAlias, Alias: "alias/karpenter-interruption-" + refCluster,
		Description: "Messages in the interruption queue of cluster " + refCluster,
		Policy: document(
			iampolicy.Statement{
				Sid: "AllowAccountToManageTheKey", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{AWS: []string{root}},
				Actions: []string{"kms:*"}, Resources: []string{"*"},
			},
			iampolicy.Statement{
				Sid: "AllowEventBridgeToUseTheKey", Effect: iampolicy.Allow,
				Principal: &iampolicy.Principals{Service: []string{"events.amazonaws.com"}},
				Actions:   []string{"kms:GenerateDataKey", "kms:Decrypt"}, Resources: []string{"*"},
			},
		),
		Tags: o.tags(),
	}
}

// allowSending gives the queues their policies. These name the rules, which name the queues, so they come last.
func allowSending(s *Stack) {
	s.Queue.Policy = sending(&s.Options, s.Rules, idQueue, "EC2InterruptionPolicy")
	if s.DeadLetter != nil {
		s.DeadLetter.Policy = sending(&s.Options, s.Rules, idDeadLetter, "EC2InterruptionDeadLetterPolicy")
		s.DeadLetter.Policy.Statements[0].Principal.Service = []string{"events.amazonaws.com"}
	}
}

func sending(o *Options, rules []Rule, queue, id string) *iampolicy.Document {
	send := iampolicy.Statement{
		Effect: iampolicy.Allow, Principal: &iampolicy.Principals{Service: []string{"events.amazonaws.com", "sqs.amazonaws.com"}},
		Actions: []string{"sqs:SendMessage"}, Resources: []string{arnOf(queue)},
	}
	if o.RuleSources {
		send.Sid = "AllowOwnRules"
		var sources []string
		for _, r := range rules {
			sources = append(sources, arnOf(r.LogicalID))
		}
		sources = append(sources, regional("events", refAccount, "rule/"+ProofRulePrefix+"*"))
		send.Conditions = []iampolicy.Condition{when(arnLike, "aws:SourceArn", sources...)}
	}
	d := document(send)
	d.ID = id
	if o.Compat != V032 {
		d.Statements = append(d.Statements, iampolicy.Statement{
			Sid: "DenyHTTP", Effect: iampolicy.Deny, Principal: &iampolicy.Principals{Any: true}, Actions: []string{"sqs:*"},
			Resources: []string{arnOf(queue)}, Conditions: []iampolicy.Condition{when(boolean, "aws:SecureTransport", "false")},
		})
	}
	return d
}

// queueARN is the ARN of the interruption queue, whoever makes it.
func (o *Options) queueARN() string { return cmp.Or(o.QueueARN, arnOf(idQueue)) }

// queueName is its name, as INTERRUPTION_QUEUE has it if it is of the stack's own account.
func (o *Options) queueName() string {
	if o.QueueARN == "" {
		return "${" + idQueue + ".QueueName}"
	}
	return o.QueueARN[strings.LastIndexByte(o.QueueARN, ':')+1:]
}

// queueURL is the address by which SQS knows it.
func (o *Options) queueURL() string {
	m := queueARN.FindStringSubmatch(o.QueueARN)
	if m == nil {
		return "${" + idQueue + "}"
	}
	return "https://sqs." + m[2] + "." + partition.Of(m[2]).Suffix + "/" + m[3] + "/" + m[4]
}

// receivingPolicy is what the policy of a queue of another account must allow, besides what its owner has in it: across accounts
// both sides must. Without a role of the stack it lets everybody of the account in whose own policies do.
func (s *Stack) receivingPolicy() *iampolicy.Document {
	principal := "arn:" + refPartition + ":iam::" + refAccount + ":root"
	if s.ControllerRole != nil {
		principal = arnOf(idControllerRole)
	}
	d := document(iampolicy.Statement{
		Sid: "AllowControllerOfAnotherAccount", Effect: iampolicy.Allow, Principal: &iampolicy.Principals{AWS: []string{principal}},
		Actions: receiveActions(s.Options.Compat), Resources: []string{s.Options.QueueARN},
	})
	return d
}
