package world

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

type message struct {
	Message
	visibleAt time.Time
	receipts  int
	expires   time.Time
}

// Message is a message as a receiver sees it.
type Message struct {
	ID            string                       `json:"id"`
	Body          string                       `json:"body"`
	Attributes    map[string]MessageAttributes `json:"attributes,omitempty"`
	ReceiptHandle string                       `json:"receiptHandle,omitempty"`
	SenderID      string                       `json:"senderId"`
	Sent          time.Time                    `json:"sent"`
	FirstReceived time.Time                    `json:"firstReceived,omitzero"`
	ReceiveCount  int                          `json:"receiveCount"`
	SourceARN     string                       `json:"deadLetterQueueSourceArn,omitempty"` // of the queue that it was moved from
}

// MessageAttributes is one named attribute that a sender put on a message.
type MessageAttributes struct {
	DataType    string `json:"DataType"`
	StringValue string `json:"StringValue,omitempty"`
	BinaryValue []byte `json:"BinaryValue,omitempty"`
}

// SendMessage puts a message on a queue, to be seen after delay (or the queue's own delay when that is negative).
func (w *World) SendMessage(name, sender, body string, attributes map[string]MessageAttributes, delay time.Duration) (Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return Message{}, noQueue()
	}
	return w.sendLocked(q, sender, body, attributes, delay)
}

func (w *World) sendLocked(q *queue, sender, body string, attributes map[string]MessageAttributes, delay time.Duration) (Message, error) {
	limit := maxMessageSize
	if n, err := strconv.Atoi(q.attributes["MaximumMessageSize"]); err == nil {
		limit = n
	}
	if body == "" {
		return Message{}, Errorf("MissingParameter", "The request must contain the parameter MessageBody.")
	}
	if messageSize(body, attributes) > limit {
		return Message{}, Errorf("InvalidParameterValue", "One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", limit)
	}
	if delay < 0 {
		delay = q.duration("DelaySeconds", 0)
	}
	now := w.clock.Now()
	w.sampleQueueLocked(q)
	m := &message{
		Message:   Message{ID: w.uuidLocked(), Body: body, Attributes: maps.Clone(attributes), SenderID: sender, Sent: now},
		visibleAt: now.Add(delay), expires: now.Add(q.duration("MessageRetentionPeriod", defaultRetention)),
	}
	q.messages = append(q.messages, m)
	w.countQueueLocked(q, "NumberOfMessagesSent", 1)
	w.countQueueLocked(q, "SentMessageSize", float64(len(body)))
	w.sampleQueueLocked(q)
	q.signal()
	return m.Message, nil
}

// messageSize is what counts towards the limit, in bytes: the body and names, types and values of the attributes.
func messageSize(body string, attributes map[string]MessageAttributes) int {
	n := len(body)
	for k, a := range attributes {
		n += len(k) + len(a.DataType) + len(a.StringValue) + len(a.BinaryValue)
	}
	return n
}

func (w *World) uuidLocked() string {
	a, b := w.rand.Uint64(), w.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff)
}

// Receive says how to receive. Negative durations stand for the queue's own settings.
type Receive struct {
	Max        int // 1 to 10
	Wait       time.Duration
	Visibility time.Duration
}

// ReceiveMessages takes up to in.Max visible messages and hides them. With none there it waits; it then returns nothing
// when the wait is over, ctx ends or the world closes.
func (w *World) ReceiveMessages(ctx context.Context, name string, in Receive) ([]Message, error) {
	if in.Max < 1 || in.Max > maxReceive {
		return nil, Errorf("InvalidParameterValue", "Value %d for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and %d, if provided.", in.Max, maxReceive)
	}
	if in.Wait > maxLongPoll {
		return nil, Errorf("InvalidParameterValue", "Value %d for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.", in.Wait/time.Second)
	}
	if in.Visibility > maxVisibility {
		return nil, Errorf("InvalidParameterValue", "Value %d for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.", in.Visibility/time.Second)
	}
	var deadline time.Time
	turn := -1 // it has not had to wait
	for {
		w.mu.Lock()
		q := w.sqs.queues[name]
		if q == nil {
			w.mu.Unlock()
			return nil, noQueue()
		}
		now := w.clock.Now()
		if deadline.IsZero() {
			if in.Wait < 0 {
				in.Wait = q.duration("ReceiveMessageWaitTimeSeconds", 0)
			}
			if in.Visibility < 0 {
				in.Visibility = q.duration("VisibilityTimeout", defaultVisibility)
			}
			deadline = now.Add(in.Wait)
		}
		if q.inFlight(now) >= maxInFlight {
			w.mu.Unlock()
			return nil, Errorf("OverLimit", "Too many messages in flight: a queue can have %d that are received and not deleted.", maxInFlight)
		}
		got, next := w.takeLocked(q, now, in)
		changed := q.changed
		done := len(got) > 0 || !now.Before(deadline)
		if done {
			w.countReceiveLocked(q, len(got))
		}
		if !done && turn < 0 {
			turn = q.queueUp()
			defer w.leave(q, turn)
		}
		w.mu.Unlock()
		if done {
			return got, nil
		}
		if next.IsZero() || next.After(deadline) {
			next = deadline
		}
		if !w.waitFor(ctx, changed, next.Sub(now)) || w.opts.Ordered && !w.waitFor(ctx, nil, w.place(q, turn)) {
			return nil, nil
		}
	}
}

// queueUp has a receiver wait. Its turn is how many have before it.
func (q *queue) queueUp() (turn int) {
	turn = q.came
	q.came++
	q.waiting = append(q.waiting, turn)
	return turn
}

// leave ends the wait of a receiver.
func (w *World) leave(q *queue, turn int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(t int) bool { return t == turn })
}

// place is how long a receiver waits until those whose turn comes first have looked: a nanosecond for each and for itself.
func (w *World) place(q *queue, turn int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(1 + slices.Index(q.waiting, turn))
}

// inFlight counts the messages that somebody has received and not deleted, and whose visibility timeout is not over.
func (q *queue) inFlight(now time.Time) int {
	if len(q.messages) < maxInFlight {
		return 0 // below any limit; counting each would cost every receiver
	}
	n := 0
	for _, m := range q.messages {
		if m.receipts > 0 && now.Before(m.visibleAt) {
			n++
		}
	}
	return n
}

// waitFor returns true when changed is closed or d has passed, false when there is nobody to wait for any more.
func (w *World) waitFor(ctx context.Context, changed <-chan struct{}, d time.Duration) bool {
	due := make(chan struct{})
	t := w.clock.AfterFunc(d, func() { close(due) })
	defer t.Stop()
	select {
	case <-changed:
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	case <-w.closed:
		return false
	}
}

// takeLocked hides and returns what is visible; next is when the next hidden message will be.
func (w *World) takeLocked(q *queue, now time.Time, in Receive) (got []Message, next time.Time) {
	q.dropExpired(now)
	w.sampleQueueLocked(q)
	var dead []*message
	deadLetters, limit := w.redriveLocked(q)
	for _, m := range w.handOutLocked(q) {
		if now.Before(m.visibleAt) {
			if next.IsZero() || m.visibleAt.Before(next) {
				next = m.visibleAt
			}
			continue
		}
		if len(got) == in.Max {
			break
		}
		if deadLetters != nil && m.ReceiveCount >= limit {
			dead = append(dead, m)
			continue
		}
		m.receipts++
		m.ReceiveCount++
		if m.FirstReceived.IsZero() {
			m.FirstReceived = now
		}
		m.ReceiptHandle = base64.StdEncoding.EncodeToString([]byte(m.ID + " " + strconv.Itoa(m.receipts)))
		m.visibleAt = now.Add(in.Visibility)
		if w.messageFaultLocked(q.name) {
			m.visibleAt = now
		}
		got = append(got, m.Message)
	}
	for _, m := range dead {
		q.messages = slices.DeleteFunc(q.messages, func(o *message) bool { return o == m })
		m.visibleAt, m.SourceARN = now, w.QueueARN(q.name)
		m.expires = m.Sent.Add(deadLetters.duration("MessageRetentionPeriod", defaultRetention))
		deadLetters.messages = append(deadLetters.messages, m)
		w.sampleQueueLocked(deadLetters)
		deadLetters.signal()
	}
	w.sampleQueueLocked(q)
	return got, next
}

func (w *World) messageFaultLocked(queue string) bool {
	for _, f := range w.faults.all {
		if f.Kind == FaultDuplicateMessage && fits(f.Resource, queue) && w.strikesLocked(f) {
			return true
		}
	}
	return false
}

// redriveLocked finds the dead-letter queue of q and after how many receives a message goes there.
func (w *World) redriveLocked(q *queue) (*queue, int) {
	if q.attributes["RedrivePolicy"] == "" {
		return nil, 0
	}
	p, err := parseRedrive(q.attributes["RedrivePolicy"])
	target := w.sqs.queues[strings.TrimPrefix(p.Target, w.QueueARN(""))]
	if err != nil || target == q {
		return nil, 0
	}
	return target, p.Max
}

// parseReceipt reads which message a receipt handle stands for, and which receipt of it.
func parseReceipt(handle string) (id, number string, err error) {
	raw, decodeErr := base64.StdEncoding.DecodeString(handle)
	id, number, ok := strings.Cut(string(raw), " ")
	if decodeErr != nil || !ok {
		return "", "", Errorf("ReceiptHandleIsInvalid", "The input receipt handle \"%s\" is not a valid receipt handle.", handle)
	}
	return id, number, nil
}

// DeleteMessage removes a received message. A handle that is not the newest of its message changes nothing, and one
// whose message is gone is no error: SQS answers the same.
func (w *World) DeleteMessage(name, receiptHandle string) error {
	id, number, err := parseReceipt(receiptHandle)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return noQueue()
	}
	w.sampleQueueLocked(q)
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool {
		return m.ID == id && strconv.Itoa(m.receipts) == number
	})
	w.countQueueLocked(q, "NumberOfMessagesDeleted", 1)
	return nil
}

// ChangeMessageVisibility hides a received message for d from now on; zero shows it at once.
func (w *World) ChangeMessageVisibility(name, receiptHandle string, d time.Duration) error {
	id, number, err := parseReceipt(receiptHandle)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return noQueue()
	}
	now := w.clock.Now()
	for _, m := range q.messages {
		if m.ID == id && strconv.Itoa(m.receipts) == number && now.Before(m.visibleAt) {
			m.visibleAt = now.Add(d)
			q.signal()
			return nil
		}
	}
	return Errorf("MessageNotInflight", "The message is not in flight.")
}

// PurgeQueue removes all messages; it can be done once a minute.
func (w *World) PurgeQueue(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return noQueue()
	}
	now := w.clock.Now()
	if !q.purged.IsZero() && now.Before(q.purged.Add(purgePause)) {
		e := Errorf("PurgeQueueInProgress", "Only one PurgeQueue operation on %s is allowed every 60 seconds.", name)
		e.Status = 403
		return e
	}
	q.purged, q.messages = now, nil
	return nil
}

// Messages returns everything in a queue, hidden messages included, in order of sending, without receiving it.
func (w *World) Messages(name string) ([]Message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.sqs.queues[name]
	if q == nil {
		return nil, noQueue()
	}
	q.dropExpired(w.clock.Now())
	out := make([]Message, len(q.messages))
	for i, m := range q.messages {
		out[i] = m.Message
	}
	return out, nil
}
