package world

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// FaultDuplicateMessage leaves a received message visible, so that it is delivered again at once. Resource is matched
// with the queue's name.
const FaultDuplicateMessage FaultKind = "duplicate-message"

// sqsState holds the queues of the account.
type sqsState struct {
	queues  map[string]*queue    // by name; those of other accounts by ACCOUNT/NAME
	deleted map[string]time.Time // when the last queue of a name was deleted by a call
}

func (s *sqsState) init() {
	s.queues, s.deleted = map[string]*queue{}, map[string]time.Time{}
}

type queue struct {
	name       string
	attributes map[string]string   // as set by the owner
	policy     *iampolicy.Document // of attributes["Policy"], read
	tags       map[string]string
	created    time.Time
	modified   time.Time
	purged     time.Time
	sampled    time.Time     // by metrics
	messages   []*message    // in order of sending
	changed    chan struct{} // closed and replaced when a message is sent
	came       int           // how many receivers there have been
	waiting    []int         // those who wait, by how many had come before
}

// Defaults and bounds of queues, as SQS has them.
const (
	maxLongPoll       = 20 * time.Second
	maxVisibility     = 12 * time.Hour
	purgePause        = time.Minute
	reusePause        = time.Minute // before a deleted queue's name can be used again
	maxInFlight       = 120_000
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
	owner, name := w.queueOwner(name)
	return "https://sqs." + w.opts.Region + "." + partition.SuffixOf(w.Partition()) + "/" + owner + "/" + name
}

// QueueARN is the name of a queue in policies and rules.
func (w *World) QueueARN(name string) string {
	owner, name := w.queueOwner(name)
	return "arn:" + w.Partition() + ":sqs:" + w.opts.Region + ":" + owner + ":" + name
}

// queueOwner takes the name of a queue apart, which for one of another account is ACCOUNT/NAME.
func (w *World) queueOwner(name string) (owner, own string) {
	if owner, own, foreign := strings.Cut(name, "/"); foreign {
		return owner, own
	}
	return w.opts.Account, name
}

// MakeQueueOf makes a queue of another account, whose policy says what may be done with it from here, and returns the name
// by which the world's methods know it. Keys of other accounts are not simulated.
func (w *World) MakeQueueOf(account, name string, attributes map[string]string) (string, error) {
	if account == w.opts.Account || attributes["KmsMasterKeyId"] != "" {
		return "", Errorf("InvalidParameterValue", "The queue of another account has another account, and no KMS key.")
	}
	if !queueName.MatchString(name) {
		return "", Errorf("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	q := &queue{name: account + "/" + name, attributes: map[string]string{}, tags: map[string]string{}, created: now, modified: now, changed: make(chan struct{})}
	if err := w.setQueueAttributesLocked(q, attributes); err != nil {
		return "", err
	}
	w.sqs.queues[q.name] = q
	return q.name, nil
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

// QueueDeletedByCall notes that a caller has deleted a queue: the name is not to be had again for a minute.
func (w *World) QueueDeletedByCall(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sqs.deleted[name] = w.clock.Now()
}

// QueueNameFree refuses a name whose queue a caller has deleted less than a minute ago.
func (w *World) QueueNameFree(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at, ok := w.sqs.deleted[name]; ok && w.clock.Now().Sub(at) < reusePause {
		return Errorf("QueueDeletedRecently", "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	return nil
}

// QueueNames returns the names of the account's queues.
func (w *World) QueueNames() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.sqs.queues)), func(name string) bool { return strings.Contains(name, "/") })
}

// QueueNameOf finds the queue that a URL names: by the last part of its path, whatever the host.
func (w *World) QueueNameOf(url string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parts := strings.Split(strings.TrimSuffix(url, "/"), "/")
	name := parts[len(parts)-1]
	if len(parts) > 1 && parts[len(parts)-2] != w.opts.Account {
		name = parts[len(parts)-2] + "/" + name
	}
	if w.sqs.queues[name] == nil {
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
