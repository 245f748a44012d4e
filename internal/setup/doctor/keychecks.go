package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
	"github.com/kerf-sh/kerf/internal/setup/stack"
)

const awsManaged = "AWS"

// queueAlias is the key that AWS manages for SQS. Its policy lets callers of the account use it through SQS, and can't be
// changed to let EventBridge.
const queueAlias = "alias/aws/sqs"

func queueManagedKey(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	fix := in.fixes("changes the queue to SQS's own encryption")
	key := account.KeyOf(&in.AWS.Setup, q.KMSKey)
	switch {
	case q.KMSKey == "" && q.ManagedSSE:
		return ok("the queue is encrypted by SQS itself, which EventBridge can use")
	case q.KMSKey == "":
		return ok("the queue is not encrypted").with("SQS's own encryption costs nothing and does no harm")
	case strings.HasSuffix(q.KMSKey, queueAlias) || key != nil && key.Manager == awsManaged:
		return failed(fix, "the queue's key is the one that AWS manages for SQS: its policy can't let EventBridge use it, and nothing is ever delivered").with("KmsMasterKeyId " + q.KMSKey)
	case key != nil:
		return ok("the queue's key is a customer-managed one").with(key.ARN)
	}
	if g, isGap := in.gapAbout(account.GapKey + " " + q.KMSKey); isGap {
		return unknown("the queue's key could not be read: %s", g.Why)
	}
	return failed(fix, "the queue's key %s does not exist", q.KMSKey)
}

// queueKey is the customer-managed key of the queue, or why there is nothing to judge.
func (in *Input) queueKey() (*awssetup.Queue, *awssetup.Key, Result) {
	q, none := in.queue()
	switch {
	case q == nil:
		return nil, nil, none
	case q.KMSKey == "":
		return q, nil, skipped("the queue has no KMS key")
	}
	key := account.KeyOf(&in.AWS.Setup, q.KMSKey)
	switch {
	case strings.HasSuffix(q.KMSKey, queueAlias) || key != nil && key.Manager == awsManaged:
		return q, nil, skipped("the queue's key is AWS's own (see check 1)")
	case key == nil:
		if g, isGap := in.gapAbout(account.GapKey + " " + q.KMSKey); isGap {
			return q, nil, unknown("the queue's key could not be read: %s", g.Why)
		}
		return q, nil, skipped("the queue's key does not exist (see check 1)")
	}
	return q, key, Result{}
}

func queueKeyPolicy(in *Input) Result {
	q, key, none := in.queueKey()
	if key == nil {
		return none
	}
	fix := in.fixes("writes the key's policy with the statement AllowEventBridgeToUseTheKey")
	if !key.Enabled {
		return failed(lines(note("if the key waits for its deletion, cancel that first:"), command("aws", "kms", "cancel-key-deletion", "--key-id", key.ID), note("enable the key:"), command("aws", "kms", "enable-key", "--key-id", key.ID)),
			"the queue's key is disabled: nothing can be written to the queue or read from it").with(key.ARN)
	}
	if key.Policy == nil {
		g, _ := in.gapAbout(account.GapKey)
		return unknown("the key's policy could not be read: %s", g.Why)
	}
	var refused []string
	for _, action := range awssetup.KeyActions {
		if d := awssetup.MayUseKey(action, key, q.ARN); !d.OK() {
			refused = append(refused, action+": "+told(d))
		}
	}
	if len(refused) > 0 {
		return failed(fix, "EventBridge may not use the queue's key, so that nothing is delivered").
			with(append(refused, "EventBridge tells KMS neither aws:SourceArn nor aws:SourceAccount: conditions on these refuse it")...)
	}
	return ok("EventBridge may use it").with(key.ARN)
}

func controllerDecrypt(in *Input) Result {
	_, key, none := in.queueKey()
	if key == nil {
		return none
	}
	if reason, message := in.condition(); reason == "KeyUnusable" {
		return failed(in.fix(), "the controller can't use the queue's key").with("it says: " + message)
	}
	role, policies, whole, none := in.controllerPolicies()
	if role == nil {
		return none
	}
	policies.Resource, policies.ResourceOwner, policies.ResourceOnly = key.Policy, accountOf(key.ARN), true
	c := in.roleContext(role)
	c.Set("kms:ViaService", in.serviceHost("sqs"))
	c.Set("kms:CallerAccount", in.AWS.AccountID)
	d := iampolicy.Evaluate(iampolicy.Call{Caller: in.session(role), Action: "kms:Decrypt", Resource: key.ARN, Context: c}, policies)
	switch {
	case in.Refused["kms:Decrypt"] != "":
		return failed(in.fix(), "%s may not decrypt with the queue's key", role.Name).with("kms:Decrypt: IAM says that "+in.Refused["kms:Decrypt"], key.ARN)
	case d.OK():
		return ok("%s may decrypt", role.Name).with("allowed by " + d.Policy + sid(d))
	case key.Policy == nil || !whole && d.Outcome == iampolicy.ImplicitDeny:
		return unknown("not all policies of %s and the key could be read", role.Name)
	}
	return failed(in.fixes("adds kms:Decrypt on the full ARN of the key; an alias will not do"),
		"%s lacks kms:Decrypt on the queue's key: messages arrive and can't be read", role.Name).with(told(d), key.ARN)
}

// serviceHost is a service as conditions on kms:ViaService name it.
func (in *Input) serviceHost(service string) string {
	return service + "." + in.AWS.Region + "." + partition.SuffixOf(in.AWS.Partition)
}

func volumeKeys(in *Input) Result {
	users := in.volumeKeys()
	unread := in.NoVolumeKey != "" && len(in.Kube.keyless(true)) > 0
	if len(users) == 0 && !unread {
		return skipped("no EC2NodeClass encrypts volumes with another key than AWS's own")
	}
	role, policies, whole, noRole := in.controllerPolicies()
	var bad, doubtful, good []string
	if unread {
		doubtful = append(doubtful, "the account's default key, for volumes that name none, could not be read: "+in.NoVolumeKey)
	}
	for _, u := range users {
		key := account.KeyOf(&in.AWS.Setup, u.key)
		if key == nil {
			if g, isGap := in.gapAbout(account.GapKey + " " + u.key); isGap {
				doubtful = append(doubtful, u.String()+" could not be read: "+g.Why)
			} else {
				bad = append(bad, u.String()+" does not exist")
			}
			continue
		}
		switch {
		case !key.Enabled:
			bad = append(bad, u.String()+" is disabled")
			continue
		case key.Manager == awsManaged:
			good = append(good, u.String()+" is AWS's own")
			continue
		case key.Policy == nil || role == nil:
			doubtful = append(doubtful, u.String()+": "+why(noRole, "its policy could not be read"))
			continue
		}
		refused := in.volumeRefusals(role, policies, key)
		switch {
		case len(refused) == 0:
			good = append(good, u.String()+" may be used")
		case !whole:
			doubtful = append(doubtful, u.String()+": not all policies of "+role.Name+" could be read")
		default:
			bad = append(bad, u.String()+" refuses "+strings.Join(refused, ", "))
		}
	}
	switch {
	case len(bad) > 0:
		return failed("let the account's principals use the key through EC2: in its policy, Principal *, those actions with kms:CreateGrant, conditions kms:ViaService="+in.serviceHost("ec2")+" and kms:CallerAccount="+in.AWS.AccountID+"; or kerf stack … --volume-key ARN",
			"instances with these keys go as soon as they start").with(append(bad, doubtful...)...)
	case len(doubtful) > 0:
		return unknown("not all keys could be judged").with(append(doubtful, good...)...)
	}
	return ok("EC2 may use the keys of volumes").with(good...)
}

func why(r Result, otherwise string) string {
	if r.Finding != "" {
		return r.Finding
	}
	return otherwise
}

// volumeRefusals are the actions that starting an instance takes on the key of a volume, and that the key and the controller's
// policies don't allow.
func (in *Input) volumeRefusals(role *awssetup.Role, policies iampolicy.Policies, key *awssetup.Key) []string {
	policies.Resource, policies.ResourceOwner, policies.ResourceOnly = key.Policy, accountOf(key.ARN), true
	var out []string
	w := stack.Where{Account: in.AWS.AccountID, Region: in.AWS.Region, Cluster: in.ClusterName, ControllerRole: role.ARN, VolumeKeys: []string{key.ARN}}
	o := stack.Defaults(stack.Latest)
	for _, n := range stack.Needs() {
		if _, usual := n.Statement(&o); usual || !strings.HasPrefix(n.Action, "kms:") {
			continue
		}
		for _, call := range n.Calls(w) {
			if call.Resource != key.ARN {
				continue
			}
			maps.Copy(call.Context, in.roleContext(role))
			call.Context.Set("kms:CallerAccount", in.AWS.AccountID)
			if !iampolicy.Evaluate(call, policies).OK() {
				out = append(out, call.Action)
			}
		}
	}
	return out
}

// keyUse is a key and the class that uses it: by name, or as the account's default.
type keyUse struct {
	class, key string
	byDefault  bool
}

func (u keyUse) String() string {
	if u.byDefault {
		return fmt.Sprintf("key %s, the account's default, of EC2NodeClass %s", u.key, u.class)
	}
	return fmt.Sprintf("key %s of EC2NodeClass %s", u.key, u.class)
}

// volumeAlias is the key that AWS manages for volumes. Callers of the account may use it through EC2.
const volumeAlias = "alias/aws/ebs"

// volumeKeys are the keys that EC2NodeClasses encrypt volumes with. AWS's own is left out where it is the account's default.
func (in *Input) volumeKeys() []keyUse {
	out := in.Kube.volumeKeys()
	if k := in.VolumeKey; k.ID != "" && !strings.HasSuffix(k.ID, volumeAlias) {
		for _, class := range in.Kube.keyless(k.All) {
			out = append(out, keyUse{class: class, key: k.ID, byDefault: true})
		}
	}
	return out
}

// keyless are the classes with volumes that are encrypted and name no key. all tells that volumes are encrypted which do not ask for it.
// What the launch templates of users and snapshots of images ask for is not known.
func (o *Objects) keyless(all bool) []string {
	var out []string
	for i := range o.Classes {
		c := &o.Classes[i]
		// The volumes that Kerf makes for the images of a family are encrypted.
		is := len(c.Spec.BlockDeviceMappings) == 0 && (all || c.ResolvedAMIFamily() != awsv1.AMIFamilyCustom)
		for _, m := range c.Spec.BlockDeviceMappings {
			is = is || m.EBS != nil && (m.EBS.KMSKeyID == nil || *m.EBS.KMSKeyID == "") && (all || m.EBS.Encrypted != nil && *m.EBS.Encrypted)
		}
		if is && c.Spec.LaunchTemplate == nil {
			out = append(out, c.Name)
		}
	}
	return out
}

func (o *Objects) volumeKeys() []keyUse {
	var out []keyUse
	for i := range o.Classes {
		for _, m := range o.Classes[i].Spec.BlockDeviceMappings {
			if m.EBS == nil || m.EBS.KMSKeyID == nil || *m.EBS.KMSKeyID == "" {
				continue
			}
			if u := (keyUse{class: o.Classes[i].Name, key: *m.EBS.KMSKeyID}); !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}
