package world

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// CreateQueue makes a queue, or finds the one of that name if its attributes do not differ, and returns its URL.
func (w *World) CreateQueue(name string, attributes map[string]string) (string, error) {
	return w.CreateTaggedQueue(name, attributes, nil)
}

// CreateTaggedQueue is CreateQueue with tags, which a queue that is there already keeps as they are.
func (w *World) CreateTaggedQueue(name string, attributes, tags map[string]string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasSuffix(name, ".fifo") || attributes["FifoQueue"] == "true" {
		return "", Errorf("UnsupportedOperation", "FIFO queues are not simulated; EventBridge rules of node autoscalers need a standard queue.")
	}
	if !queueName.MatchString(name) {
		return "", Errorf("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	if err := checkQueueTags(tags); err != nil {
		return "", err
	}
	now := w.clock.Now()
	q := &queue{name: name, attributes: map[string]string{}, tags: maps.Clone(tags), created: now, modified: now, changed: make(chan struct{})}
	if err := w.setQueueAttributesLocked(q, attributes); err != nil {
		return "", err
	}
	if there := w.sqs.queues[name]; there != nil {
		have, want := w.queueAttributesLocked(there), w.queueAttributesLocked(q)
		for _, k := range slices.Sorted(maps.Keys(attributes)) {
			if have[k] != want[k] {
				return "", Errorf("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", k)
			}
		}
		return w.QueueURL(name), nil
	}
	w.sqs.queues[name] = q
	return w.QueueURL(name), nil
}

// SetQueueAttributes changes attributes of a queue, all or none. An empty value takes one away.
func (w *World) SetQueueAttributes(name string, attributes map[string]string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return noQueue()
	}
	if err := w.setQueueAttributesLocked(q, attributes); err != nil {
		return err
	}
	q.modified = w.clock.Now()
	q.signal()
	return nil
}

// setQueueAttributesLocked judges attributes and puts them on a queue. The two kinds of encryption exclude each other:
// setting one takes the other away.
func (w *World) setQueueAttributesLocked(q *queue, attributes map[string]string) error {
	if err := checkQueueAttributes(attributes); err != nil {
		return err
	}
	if attributes["KmsMasterKeyId"] != "" && attributes["SqsManagedSseEnabled"] == "true" {
		return Errorf("InvalidAttributeName", "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.")
	}
	policy := q.policy
	if text, set := attributes["Policy"]; set {
		var err error
		if policy, err = queuePolicy(text); err != nil {
			return err
		}
	}
	if err := w.checkRedriveLocked(q, attributes["RedrivePolicy"]); err != nil {
		return err
	}
	q.policy = policy
	for k, v := range attributes {
		if v == "" {
			delete(q.attributes, k)
		} else {
			q.attributes[k] = v
		}
	}
	switch {
	case attributes["KmsMasterKeyId"] != "":
		delete(q.attributes, "SqsManagedSseEnabled")
	case attributes["SqsManagedSseEnabled"] == "true":
		delete(q.attributes, "KmsMasterKeyId")
		delete(q.attributes, "KmsDataKeyReusePeriodSeconds")
	}
	return nil
}

// queuePolicy reads the policy of a queue.
func queuePolicy(text string) (*iampolicy.Document, error) {
	if text == "" {
		return nil, nil
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		return nil, Errorf("InvalidAttributeValue", "Invalid value for the parameter Policy. Reason: %v", err)
	}
	for _, s := range d.Statements {
		if s.Principal == nil && s.NotPrincipal == nil {
			return nil, Errorf("InvalidAttributeValue", "Invalid value for the parameter Policy. Reason: statement %q has no principal.", s.Sid)
		}
	}
	return d, nil
}

// checkQueueAttributes refuses values outside of what SQS takes.
func checkQueueAttributes(attributes map[string]string) error {
	bounds := map[string][2]int{
		"VisibilityTimeout": {0, 43200}, "MessageRetentionPeriod": {60, 1209600}, "DelaySeconds": {0, 900},
		"ReceiveMessageWaitTimeSeconds": {0, 20}, "MaximumMessageSize": {1024, maxMessageSize},
		"KmsDataKeyReusePeriodSeconds": {60, 86400},
	}
	for _, k := range slices.Sorted(maps.Keys(attributes)) {
		v := attributes[k]
		bad := Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", k)
		if b, ok := bounds[k]; ok {
			if n, err := strconv.Atoi(v); err != nil || n < b[0] || n > b[1] {
				return bad
			}
			continue
		}
		switch k {
		case "KmsMasterKeyId", "Policy":
		case "SqsManagedSseEnabled":
			if v != "true" && v != "false" {
				return bad
			}
		case "RedrivePolicy":
			if v != "" {
				if _, err := parseRedrive(v); err != nil {
					return err
				}
			}
		case "RedriveAllowPolicy":
			if v != "" {
				if _, err := parseRedriveAllow(v); err != nil {
					return err
				}
			}
		default:
			return Errorf("InvalidAttributeName", "Unknown Attribute %s.", k)
		}
	}
	return nil
}

// redrive says where messages go that nobody could handle.
type redrive struct {
	Target string
	Max    int
}

func parseRedrive(text string) (redrive, error) {
	refuse := func(reason string) (redrive, error) {
		return redrive{}, Errorf("InvalidParameterValue", "Value %s for parameter RedrivePolicy is invalid. Reason: %s", text, reason)
	}
	var in struct {
		Target string `json:"deadLetterTargetArn"`
		Max    any    `json:"maxReceiveCount"` // a number or a string with one
	}
	if json.Unmarshal([]byte(text), &in) != nil {
		return refuse("Redrive policy is not a valid JSON map.")
	}
	n, err := strconv.Atoi(fmt.Sprint(in.Max))
	if err != nil || n < 1 || n > 1000 {
		return refuse("Invalid value for maxReceiveCount: " + fmt.Sprint(in.Max) + ", valid values are from 1 to 1000 both inclusive.")
	}
	if in.Target == "" {
		return refuse("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	return redrive{in.Target, n}, nil
}

// redriveAllow says which queues may use a queue as their dead-letter queue.
type redriveAllow struct {
	Permission string   `json:"redrivePermission"`
	Sources    []string `json:"sourceQueueArns"`
}

func parseRedriveAllow(text string) (redriveAllow, error) {
	var in redriveAllow
	ok := json.Unmarshal([]byte(text), &in) == nil
	switch in.Permission {
	case "allowAll", "denyAll":
		ok = ok && len(in.Sources) == 0
	case "byQueue":
		ok = ok && len(in.Sources) > 0 && len(in.Sources) <= 10
	default:
		ok = false
	}
	if !ok {
		return in, Errorf("InvalidParameterValue", "Value %s for parameter RedriveAllowPolicy is invalid. Reason: redrivePermission must be allowAll, denyAll, or byQueue with 1 to 10 sourceQueueArns.", text)
	}
	return in, nil
}

// checkRedriveLocked judges whether a queue may send what nobody could handle to where text says.
func (w *World) checkRedriveLocked(q *queue, text string) error {
	if text == "" {
		return nil
	}
	p, err := parseRedrive(text)
	if err != nil {
		return err
	}
	refuse := func(reason string) error {
		return Errorf("InvalidParameterValue", "Value %s for parameter RedrivePolicy is invalid. Reason: %s", text, reason)
	}
	name, ok := strings.CutPrefix(p.Target, w.QueueARN(""))
	target := w.sqs.queues[name]
	switch {
	case !ok || target == nil:
		return refuse("Dead letter target does not exist.")
	case name == q.name:
		return refuse("Dead letter queue cannot be the source queue itself.")
	case target.attributes["RedriveAllowPolicy"] == "":
		return nil
	}
	allow, err := parseRedriveAllow(target.attributes["RedriveAllowPolicy"])
	if err != nil {
		return err
	}
	if allow.Permission == "denyAll" || allow.Permission == "byQueue" && !slices.Contains(allow.Sources, w.QueueARN(q.name)) {
		return refuse("Queue does not have permission to redrive to the specified target.")
	}
	return nil
}

// QueuePolicy returns the policy of a queue, read; nil without one.
func (w *World) QueuePolicy(name string) *iampolicy.Document {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q := w.sqs.queues[name]; q != nil {
		return q.policy
	}
	return nil
}

// QueueKey returns the KMS key that a queue is encrypted with. encrypted is false for queues without encryption or with
// SQS's own key; the error is that of a queue whose key does not exist (any more).
func (w *World) QueueKey(name string) (key Key, encrypted bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil || q.attributes["KmsMasterKeyId"] == "" {
		return Key{}, false, nil
	}
	k, err := w.keyLocked(q.attributes["KmsMasterKeyId"])
	if err != nil {
		return Key{}, true, err
	}
	return k.clone(), true, nil
}

// QueueUsable tells whether messages can be sealed and opened: the key of a queue that has one must exist and be enabled.
func (w *World) QueueUsable(name string) error {
	k, encrypted, err := w.QueueKey(name)
	switch {
	case !encrypted:
		return nil
	case err != nil:
		return Errorf("KmsNotFound", "%v", err)
	case k.State == KeyDisabled:
		return Errorf("KmsDisabled", "%s is disabled.", k.ARN)
	case k.State != KeyEnabled:
		return Errorf("KmsInvalidState", "%s is pending deletion.", k.ARN)
	}
	return nil
}

// maxQueueTags is how many tags a queue may have.
const maxQueueTags = 50

func checkQueueTags(tags map[string]string) error {
	if len(tags) > maxQueueTags {
		return Errorf("InvalidParameterValue", "Too many tags: a queue has at most %d.", maxQueueTags)
	}
	for k, v := range tags {
		if strings.HasPrefix(k, StackTagPrefix) {
			continue
		}
		if k == "" || len(k) > 128 || len(v) > 256 || strings.HasPrefix(strings.ToLower(k), "aws:") {
			return Errorf("InvalidParameterValue", "Tag %q is empty, too long or begins with the reserved prefix aws:.", k)
		}
	}
	return nil
}

// TagQueue adds, changes and removes tags of a queue.
func (w *World) TagQueue(name string, set map[string]string, unset []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return noQueue()
	}
	all := retag(q.tags, set, unset)
	if err := checkQueueTags(all); err != nil {
		return err
	}
	q.tags = all
	return nil
}

// QueueTags returns the tags of a queue.
func (w *World) QueueTags(name string) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return nil, noQueue()
	}
	return maps.Clone(q.tags), nil
}

// DeadLetterSources returns the names of the queues that send to a queue what nobody could handle.
func (w *World) DeadLetterSources(name string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	target := w.sqs.queues[name]
	if target == nil {
		return nil, noQueue()
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(w.sqs.queues)) {
		if to, _ := w.redriveLocked(w.sqs.queues[n]); to == target {
			out = append(out, n)
		}
	}
	return out, nil
}

// QueueAttributes returns all attributes of a queue, the counted ones included.
func (w *World) QueueAttributes(name string) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return nil, noQueue()
	}
	return w.queueAttributesLocked(q), nil
}

func (w *World) queueAttributesLocked(q *queue) map[string]string {
	now := w.clock.Now()
	q.dropExpired(now)
	visible, hidden, delayed := q.counts(now)
	seconds := func(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }
	out := map[string]string{
		"QueueArn":                              w.QueueARN(q.name),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.modified.Unix(), 10),
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(hidden),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(delayed),
		"VisibilityTimeout":                     seconds(defaultVisibility),
		"MessageRetentionPeriod":                seconds(defaultRetention),
		"MaximumMessageSize":                    strconv.Itoa(maxMessageSize),
		"DelaySeconds":                          "0",
		"ReceiveMessageWaitTimeSeconds":         "0",
		"SqsManagedSseEnabled":                  "true",
	}
	maps.Copy(out, q.attributes)
	if q.attributes["KmsMasterKeyId"] != "" {
		out["SqsManagedSseEnabled"] = "false"
		out["KmsDataKeyReusePeriodSeconds"] = cmp.Or(q.attributes["KmsDataKeyReusePeriodSeconds"], "300")
	}
	return out
}

// counts are the messages that can be received, those that a receiver has, and those that wait for their time.
func (q *queue) counts(now time.Time) (visible, hidden, delayed int) {
	for _, m := range q.messages {
		switch {
		case !now.Before(m.visibleAt):
			visible++
		case m.ReceiveCount == 0:
			delayed++
		default:
			hidden++
		}
	}
	return visible, hidden, delayed
}
