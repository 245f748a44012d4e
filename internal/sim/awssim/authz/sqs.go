package authz

import (
	"net/http"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
)

// SQS judges by the queue's ARN, with the queue's own policy. Batches are the action of a single message. Reading a queue
// that is encrypted with a key takes the right to decrypt with it, writing the right to make data keys too.
//
// Source: Service Authorization Reference for Amazon SQS; SQS Developer Guide, "Key management", checked 2026-11.
func sqsRules() map[string]rule {
	out := map[string]rule{
		"sqs:ListQueues":  anywhere("sqs:ListQueues"),
		"sqs:CreateQueue": createQueue,

		"sqs:ReceiveMessage":               onQueue("sqs:ReceiveMessage", "kms:Decrypt"),
		"sqs:SendMessage":                  onQueue("sqs:SendMessage", "kms:GenerateDataKey", "kms:Decrypt"),
		"sqs:SendMessageBatch":             onQueue("sqs:SendMessage", "kms:GenerateDataKey", "kms:Decrypt"),
		"sqs:DeleteMessageBatch":           onQueue("sqs:DeleteMessage"),
		"sqs:ChangeMessageVisibilityBatch": onQueue("sqs:ChangeMessageVisibility"),
	}
	each(out, "sqs", func(action string) rule { return onQueue(action) }, "GetQueueUrl", "GetQueueAttributes", "SetQueueAttributes",
		"DeleteMessage", "ChangeMessageVisibility", "PurgeQueue", "DeleteQueue", "TagQueue", "UntagQueue", "ListQueueTags",
		"ListDeadLetterSourceQueues", "AddPermission", "RemovePermission", "StartMessageMoveTask")
	return out
}

// queue is the queue that a call names, by URL or name, and the account that owns it.
func (c *call) queue() (name, owner string) {
	url := strings.TrimSuffix(c.text("QueueUrl", "QueueName"), "/")
	owner = c.w.Account()
	if a := c.text("QueueOwnerAWSAccountId"); a != "" {
		owner = a
	}
	parts := strings.Split(url, "/")
	if len(parts) > 1 {
		owner = parts[len(parts)-2]
	}
	return parts[len(parts)-1], owner
}

func (c *call) queueARN(name, owner string) string {
	return "arn:" + c.w.Partition() + ":sqs:" + c.w.Region() + ":" + owner + ":" + name
}

// ownAccountOnly are the actions that no policy of a queue can allow to another account.
//
// Source: SQS Developer Guide, "Overview of managing access in Amazon SQS", cross-account permissions, checked 2026-11.
var ownAccountOnly = []string{
	"sqs:AddPermission", "sqs:RemovePermission", "sqs:DeleteQueue", "sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue", "sqs:ListQueueTags", "sqs:StartMessageMoveTask",
}

func onQueue(action string, keyActions ...string) rule {
	return func(c *call) []check {
		name, owner := c.queue()
		k := check{action: action, resource: c.queueARN(name, owner), owner: owner}
		if owner != c.w.Account() {
			if slices.Contains(ownAccountOnly, action) {
				return []check{k}
			}
			name = owner + "/" + name
		}
		attributes, err := c.w.QueueAttributes(name)
		if err != nil {
			return []check{k}
		}
		k.document = c.a.document(attributes["Policy"])
		k.keys = func(keys iampolicy.Context) {
			c.bodyTags(keys)
		}
		out := []check{k}
		if ref := attributes["KmsMasterKeyId"]; ref != "" {
			for _, action := range keyActions {
				out = append(out, c.sealed(action, ref, k.resource))
			}
		}
		return out
	}
}

func createQueue(c *call) []check {
	name, owner := c.queue()
	arn := c.queueARN(name, owner)
	out := []check{{action: "sqs:CreateQueue", resource: arn, keys: c.bodyTags}}
	if tags, _ := c.body()["tags"].(map[string]any); len(tags) > 0 {
		out = append(out, check{action: "sqs:TagQueue", resource: arn, keys: c.bodyTags})
	}
	return out
}

// bodyTags adds the keys of tags that a JSON body sets, in any of the ways in which services write them, or removes.
func (c *call) bodyTags(k iampolicy.Context) {
	tags := map[string]string{}
	for _, name := range []string{"tags", "Tags"} {
		switch list := c.body()[name].(type) {
		case map[string]any:
			for key, v := range list {
				tags[key], _ = v.(string)
			}
		case []any:
			for _, e := range list {
				t, _ := e.(map[string]any)
				for _, key := range []string{"Key", "TagKey"} {
					if name, ok := t[key].(string); ok {
						tags[name], _ = t[strings.Replace(key, "Key", "Value", 1)].(string)
					}
				}
			}
		}
	}
	setRequested(k, tags)
	if keys := c.texts("TagKeys"); len(keys) > 0 {
		k["aws:tagkeys"] = keys
	}
}

// sealed checks the use of a queue's key, on whose behalf SQS asks KMS.
func (c *call) sealed(action, ref, queueARN string) check {
	k := c.onKey(action, ref)
	own := k.keys
	k.keys = func(keys iampolicy.Context) {
		own(keys)
		keys["kms:viaservice"] = []string{"sqs." + c.w.Region() + "." + partition.SuffixOf(c.w.Partition())}
		keys["kms:calleraccount"] = []string{c.caller.Account}
		keys["kms:encryptioncontext:aws:sqs:arn"] = []string{queueARN}
		keys["kms:encryptioncontextkeys"] = []string{"aws:sqs:arn"}
		keys["aws:viaawsservice"] = []string{"true"}
	}
	k.deny = func(_ *wire.Request, text string) *wire.Error {
		return &wire.Error{Code: "KmsAccessDenied", QueryCode: "KMS.AccessDeniedException", Message: text, Status: http.StatusBadRequest}
	}
	return k
}
