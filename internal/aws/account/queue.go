package account

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// QueueAPI is what is asked of SQS.
type QueueAPI interface {
	GetQueueUrl(context.Context, *sqs.GetQueueUrlInput, ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
	ListQueueTags(context.Context, *sqs.ListQueueTagsInput, ...func(*sqs.Options)) (*sqs.ListQueueTagsOutput, error)
}

// deadLetterSuffix is what the name of the dead-letter queue has after the interruption queue's.
const deadLetterSuffix = "-dlq"

// QueueRef is a queue as people name it.
type QueueRef struct {
	Name            string
	Account, Region string // of an ARN or URL
	URL             string // if it was given
}

// ParseQueueRef reads a queue's name, ARN or URL.
func ParseQueueRef(text string) (QueueRef, error) {
	switch {
	case strings.HasPrefix(text, "arn:"):
		parts := strings.Split(text, ":")
		if len(parts) != 6 || parts[2] != "sqs" || parts[3] == "" || parts[4] == "" || parts[5] == "" {
			return QueueRef{}, fmt.Errorf("the queue %q: an ARN of a queue reads arn:aws:sqs:REGION:ACCOUNT:NAME", text)
		}
		return QueueRef{Name: parts[5], Account: parts[4], Region: parts[3]}, nil
	case strings.Contains(text, "://"):
		u, err := url.Parse(text)
		if err != nil {
			return QueueRef{}, fmt.Errorf("the queue %q: it is no URL: %w", text, err)
		}
		path := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(path) != 2 || path[0] == "" || path[1] == "" {
			return QueueRef{}, fmt.Errorf("the queue %q: the URL of a queue ends in /ACCOUNT/NAME", text)
		}
		ref := QueueRef{Name: path[1], Account: path[0], URL: text}
		if host := strings.Split(u.Hostname(), "."); len(host) >= 4 && host[0] == "sqs" {
			ref.Region = host[1]
		}
		return ref, nil
	case text == "" || strings.ContainsAny(text, "/: "):
		return QueueRef{}, fmt.Errorf("the queue %q: give its name, its ARN or its URL", text)
	}
	return QueueRef{Name: text}, nil
}

func (r *reader) interruptionQueue(ctx context.Context) {
	text := cmp.Or(r.o.Queue, r.o.ClusterName)
	ref, err := ParseQueueRef(text)
	if err != nil {
		r.gap(GapQueue, err)
		return
	}
	r.a.QueueName = ref.Name
	if ref.Region != "" && ref.Region != r.a.Region {
		r.gap(GapQueue+" "+text, fmt.Errorf("it is in %s, and the region that is looked at is %s", ref.Region, r.a.Region))
		return
	}
	if q := r.queue(ctx, ref); q != nil {
		r.a.QueueARN, r.a.QueueURL = q.ARN, q.URL
		r.a.Queues = append([]awssetup.Queue{*q}, r.a.Queues...)
	}
}

// queueARN is the interruption queue's ARN. Of one that is gone, which rules may still lead to, it is what it would be.
func (r *reader) queueARN() string {
	if r.a.QueueARN != "" || r.a.QueueName == "" {
		return r.a.QueueARN
	}
	return "arn:" + r.a.Partition + ":sqs:" + r.a.Region + ":" + r.a.AccountID + ":" + r.a.QueueName
}

// deadLetterQueues reads the queues for what the interruption queue's readers and the rules could not deliver. When the
// interruption queue is gone, nothing names the one that belonged to it, and so it is looked for by the name that it has
// beside a queue of ours.
func (r *reader) deadLetterQueues(ctx context.Context) {
	var arns []string
	main := r.queueARN()
	if r.a.QueueARN == "" && main != "" {
		arns = append(arns, main+deadLetterSuffix)
	}
	for _, q := range r.a.Queues {
		arns = append(arns, q.DeadLetter)
	}
	for _, rule := range r.a.Rules {
		for _, t := range rule.Targets {
			if t.ARN == main {
				arns = append(arns, t.DeadLetter)
			}
		}
	}
	slices.Sort(arns)
	for _, arn := range slices.Compact(arns) {
		if arn == "" || slices.ContainsFunc(r.a.Queues, func(q awssetup.Queue) bool { return q.ARN == arn }) {
			continue
		}
		ref, err := ParseQueueRef(arn)
		if err != nil {
			r.gap(GapQueue+" "+arn, err)
			continue
		}
		if q := r.queue(ctx, ref); q != nil {
			r.a.Queues = append(r.a.Queues, *q)
		}
	}
}

// queue reads one queue; nil if it does not exist or can't be read, which then is a gap.
func (r *reader) queue(ctx context.Context, ref QueueRef) *awssetup.Queue {
	what := GapQueue + " " + ref.Name
	queueURL := ref.URL
	if queueURL == "" {
		in := &sqs.GetQueueUrlInput{QueueName: &ref.Name}
		if ref.Account != "" && ref.Account != r.a.AccountID {
			in.QueueOwnerAWSAccountId = &ref.Account
		}
		out, err := r.queues.GetQueueUrl(ctx, in)
		switch {
		case isNotFound(err):
			return nil
		case err != nil:
			r.gap(what, err)
			return nil
		}
		queueURL = deref(out.QueueUrl)
	}
	out, err := r.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &queueURL, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	switch {
	case isNotFound(err):
		return nil
	case err != nil:
		r.gap(what, err)
		return nil
	}
	q, err := queueOf(ref.Name, queueURL, out.Attributes)
	if err != nil {
		r.gap(what, err)
	}
	tags, err := r.queues.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &queueURL})
	if err != nil {
		r.gap(what+" (its tags)", err)
	} else {
		q.Tags = tags.Tags
	}
	return q
}

// queueOf reads a queue's attributes. It returns what it could read even with an error.
func queueOf(name, queueURL string, attributes map[string]string) (*awssetup.Queue, error) {
	seconds := func(n types.QueueAttributeName) time.Duration {
		v, _ := strconv.Atoi(attributes[string(n)]) // 0 when it is not told
		return time.Duration(v) * time.Second
	}
	q := &awssetup.Queue{
		Name: name, URL: queueURL, ARN: attributes[string(types.QueueAttributeNameQueueArn)],
		FIFO:       attributes[string(types.QueueAttributeNameFifoQueue)] == "true" || strings.HasSuffix(name, ".fifo"),
		Retention:  seconds(types.QueueAttributeNameMessageRetentionPeriod),
		Visibility: seconds(types.QueueAttributeNameVisibilityTimeout),
		Delay:      seconds(types.QueueAttributeNameDelaySeconds),
		ManagedSSE: attributes[string(types.QueueAttributeNameSqsManagedSseEnabled)] == "true",
		KMSKey:     attributes[string(types.QueueAttributeNameKmsMasterKeyId)],
	}
	q.MaxMessage, _ = strconv.Atoi(attributes[string(types.QueueAttributeNameMaximumMessageSize)])
	q.Messages, _ = strconv.Atoi(attributes[string(types.QueueAttributeNameApproximateNumberOfMessages)])
	var errs []error
	if text := attributes[string(types.QueueAttributeNamePolicy)]; text != "" {
		var err error
		if q.Policy, err = iampolicy.Parse([]byte(text)); err != nil {
			errs = append(errs, fmt.Errorf("its policy can't be read: %w", err))
		}
	}
	if text := attributes[string(types.QueueAttributeNameRedrivePolicy)]; text != "" {
		var redrive struct {
			Target string      `json:"deadLetterTargetArn"`
			Max    json.Number `json:"maxReceiveCount"` // a number or, by some tools, a number in quotes
		}
		if err := json.Unmarshal([]byte(text), &redrive); err != nil {
			errs = append(errs, fmt.Errorf("its redrive policy can't be read: %w", err))
		}
		q.DeadLetter = redrive.Target
		q.MaxReceives, _ = strconv.Atoi(redrive.Max.String())
	}
	return q, errors.Join(errs...)
}
