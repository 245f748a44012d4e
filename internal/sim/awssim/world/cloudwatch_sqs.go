package world

import "time"

// countQueueLocked reports how many messages of a queue something was done with.
func (w *World) countQueueLocked(q *queue, metric string, n float64) {
	unit := "Count"
	if metric == "SentMessageSize" {
		unit = "Bytes"
	}
	w.valueLocked("AWS/SQS", metric, unit, n, map[string]string{"QueueName": q.name})
}

// countReceiveLocked reports what a call that receives messages got.
func (w *World) countReceiveLocked(q *queue, messages int) {
	if messages == 0 {
		w.countQueueLocked(q, "NumberOfEmptyReceives", 1)
		return
	}
	w.countQueueLocked(q, "NumberOfMessagesReceived", float64(messages))
}

// sampleQueuesLocked reports the state of every queue, so that whoever reads metrics sees the present.
func (w *World) sampleQueuesLocked() {
	for _, q := range w.sqs.queues {
		q.sampled = time.Time{}
		w.sampleQueueLocked(q)
	}
}

// samplePause is how long a sample of a queue stands; SQS itself looks once a minute.
const samplePause = time.Second

// sampleQueueLocked reports how many messages a queue holds and how old the oldest is, unless that was done just now. It
// is called before and after changes, so that maxima are seen.
func (w *World) sampleQueueLocked(q *queue) {
	now := w.clock.Now()
	if !q.sampled.IsZero() && now.Before(q.sampled.Add(samplePause)) {
		return
	}
	q.sampled = now
	q.dropExpired(now)
	visible, hidden, delayed := q.counts(now)
	var oldest time.Duration
	for _, m := range q.messages {
		oldest = max(oldest, now.Sub(m.Sent))
	}
	dimensions := map[string]string{"QueueName": q.name}
	w.valueLocked("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Count", float64(visible), dimensions)
	w.valueLocked("AWS/SQS", "ApproximateNumberOfMessagesNotVisible", "Count", float64(hidden), dimensions)
	w.valueLocked("AWS/SQS", "ApproximateNumberOfMessagesDelayed", "Count", float64(delayed), dimensions)
	w.valueLocked("AWS/SQS", "ApproximateAgeOfOldestMessage", "Seconds", oldest.Seconds(), dimensions)
}
