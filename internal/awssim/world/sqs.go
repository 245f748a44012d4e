package world

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultDuplicateMessage leaves a received message visible, so that it is delivered again at once. Resource is matched
// with the queue's name.
const FaultDuplicateMessage FaultKind = "duplicate-message"

// sqsState holds the queues of the account.
type sqsState struct {
	queues map[string]*queue // by name
}

func (s *sqsState) init() { s.queues = map[string]*queue{} }

type queue struct {
	name       string
	attributes map[string]string // as set by the owner
	created    time.Time
	modified   time.Time
	purged     time.Time
	messages   []*message    // in order of sending
	changed    chan struct{} // closed and replaced when a message is sent
}

// Defaults and bounds of queues, as SQS has them.
const (
	maxLongPoll       = 20 * time.Second
	maxVisibility     = 12 * time.Hour
	purgePause        = time.Minute
	maxReceive        = 10
	maxMessageSize    = 1 << 20
	defaultRetention  = 4 * 24 * time.Hour
	defaultVisibility = 30 * time.Second
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

func noQueue() *Error {
	return Errorf("QueueDoesNotExist", "The specified queue does not exist.")
}

// QueueURL is the address by which a queue is named in requests.
func (w *World) QueueURL(name string) string {
	suffix := "amazonaws.com"
	if w.Partition() == "aws-cn" {
		suffix += ".cn"
	}
	return "https://sqs." + w.opts.Region + "." + suffix + "/" + w.opts.Account + "/" + name
}

// QueueARN is the name of a queue in policies and rules.
func (w *World) QueueARN(name string) string {
	return "arn:" + w.Partition() + ":sqs:" + w.opts.Region + ":" + w.opts.Account + ":" + name
}

// CreateQueue makes a queue, or finds the one of that name if its attributes do not differ, and returns its URL.
func (w *World) CreateQueue(name string, attributes map[string]string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasSuffix(name, ".fifo") {
		return "", Errorf("UnsupportedOperation", "FIFO queues are not simulated.")
	}
	if !queueName.MatchString(name) {
		return "", Errorf("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	if err := checkQueueAttributes(attributes); err != nil {
		return "", err
	}
	if q := w.sqs.queues[name]; q != nil {
		for k, v := range attributes {
			if w.queueAttributesLocked(q)[k] != v {
				return "", Errorf("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", k)
			}
		}
		return w.QueueURL(name), nil
	}
	now := w.clock.Now()
	w.sqs.queues[name] = &queue{name: name, attributes: maps.Clone(attributes), created: now, modified: now, changed: make(chan struct{})}
	return w.QueueURL(name), nil
}

// checkQueueAttributes refuses values outside of what SQS takes.
func checkQueueAttributes(attributes map[string]string) *Error {
	bounds := map[string][2]int{
		"VisibilityTimeout": {0, 43200}, "MessageRetentionPeriod": {60, 1209600}, "DelaySeconds": {0, 900},
		"ReceiveMessageWaitTimeSeconds": {0, 20}, "MaximumMessageSize": {1024, maxMessageSize},
		"KmsDataKeyReusePeriodSeconds": {60, 86400},
	}
	for k, v := range attributes {
		if b, ok := bounds[k]; ok {
			if n, err := strconv.Atoi(v); err != nil || n < b[0] || n > b[1] {
				return Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", k)
			}
			continue
		}
		switch k {
		case "SqsManagedSseEnabled", "KmsMasterKeyId":
		case "Policy", "RedrivePolicy", "RedriveAllowPolicy":
			if v != "" && !json.Valid([]byte(v)) {
				return Errorf("InvalidAttributeValue", "Invalid value for the parameter %s.", k)
			}
		default:
			return Errorf("InvalidAttributeName", "Unknown Attribute %s.", k)
		}
	}
	return nil
}

// DeleteQueue removes a queue with all that is in it.
func (w *World) DeleteQueue(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return noQueue()
	}
	delete(w.sqs.queues, name)
	q.signal()
	return nil
}

// QueueNames returns the names of all queues.
func (w *World) QueueNames() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.sqs.queues))
}

// QueueNameOf finds the queue that a URL names: by the last part of its path, whatever the host.
func (w *World) QueueNameOf(url string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := strings.Split(strings.TrimSuffix(url, "/"), "/")
	name := parts[len(parts)-1]
	if w.sqs.queues[name] == nil || (len(parts) > 1 && parts[len(parts)-2] != w.opts.Account) {
		return "", noQueue()
	}
	return name, nil
}

func (q *queue) signal() {
	close(q.changed)
	q.changed = make(chan struct{})
}

func (q *queue) duration(attribute string, otherwise time.Duration) time.Duration {
	if n, err := strconv.Atoi(q.attributes[attribute]); err == nil {
		return time.Duration(n) * time.Second
	}
	return otherwise
}

func (q *queue) dropExpired(now time.Time) {
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return !now.Before(m.expires) })
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
	var visible, hidden, delayed int
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
	if q.attributes["KmsMasterKeyId"] != "" {
		out["SqsManagedSseEnabled"] = "false"
	}
	maps.Copy(out, q.attributes)
	return out
}
