package awssetup

import (
	"fmt"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// EventBridge is the service that brings events to queues.
const EventBridge = "events.amazonaws.com"

// KeyActions are what EventBridge calls on the key of a queue that it sends to.
//
// Source: Amazon SQS developer guide, "Key management": producers need a data key, and to decrypt it once.
var KeyActions = []string{"kms:GenerateDataKey", "kms:Decrypt"}

// Send is the call that EventBridge makes on a queue for a rule, with TLS or without. It names the rule and the account
// of the rule as the source.
//
// Source: EventBridge user guide, "Amazon SQS permissions"; IAM user guide, "Global condition context keys".
func Send(queueARN, ruleARN string, secure bool) iampolicy.Call {
	c := presented(queueARN, secure)
	c.Set("aws:SourceArn", ruleARN)
	c.Set("aws:SourceAccount", arnPart(ruleARN, 4))
	return iampolicy.Call{Caller: iampolicy.Caller{Service: EventBridge}, Action: "sqs:SendMessage", Resource: queueARN, Context: c}
}

// UseKey is the call that EventBridge makes on a key, through SQS, when it sends to a queue. Neither a source nor an
// account comes with it: a key policy that asks for aws:SourceArn or aws:SourceAccount lets no event through.
//
// Source: EventBridge user guide, "Troubleshooting" (events are not delivered to an encrypted queue).
func UseKey(action, keyARN, queueARN string) iampolicy.Call {
	region := arnPart(queueARN, 3)
	c := presented(queueARN, true)
	c.Set("kms:ViaService", "sqs."+region+"."+partition.SuffixOf(arnPart(queueARN, 1)))
	c.Set("kms:EncryptionContext:aws:sqs:arn", queueARN)
	return iampolicy.Call{Caller: iampolicy.Caller{Service: EventBridge}, Action: action, Resource: keyARN, Context: c}
}

// presented is the context of every call of EventBridge.
func presented(queueARN string, secure bool) iampolicy.Context {
	c := iampolicy.Context{}
	c.Set("aws:SecureTransport", fmt.Sprint(secure))
	c.Set("aws:PrincipalIsAWSService", "true")
	c.Set("aws:PrincipalServiceName", EventBridge)
	c.Set("aws:RequestedRegion", arnPart(queueARN, 3))
	return c
}

// MaySend decides Send by a queue's policy.
func MaySend(q *Queue, ruleARN string, secure bool) iampolicy.Decision {
	return iampolicy.Evaluate(Send(q.ARN, ruleARN, secure), iampolicy.Policies{Resource: q.Policy, ResourceOwner: arnPart(q.ARN, 4), ResourceOnly: true})
}

// MayUseKey decides UseKey by a key's policy.
func MayUseKey(action string, k *Key, queueARN string) iampolicy.Decision {
	return iampolicy.Evaluate(UseKey(action, k.ARN, queueARN), iampolicy.Policies{Resource: k.Policy, ResourceOwner: arnPart(k.ARN, 4), ResourceOnly: true})
}

// arnPart is a part of an ARN, counted from 0; empty if it has none.
func arnPart(arn string, i int) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[i]
	}
	return ""
}
