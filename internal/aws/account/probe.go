package account

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// ProbeQueueAPI is what a proof asks of SQS.
type ProbeQueueAPI interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
}

const (
	// waitSeconds is how long one receive waits; short, since other witnesses are asked in between.
	waitSeconds = 1
	// takeSeconds is how long a message that is to be put back at once is out of the queue if that fails.
	takeSeconds = 5
)

// send sends the probe once more.
func (p *prover) send(ctx context.Context) error {
	detail, err := json.Marshal(map[string]any{"probe": p.proof.ID, "cluster": p.o.ClusterName, "try": p.proof.Sent + 1})
	if err != nil {
		return fmt.Errorf("writing the probe: %w", err)
	}
	out, err := p.events.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		Source: new(ProbeSource), DetailType: new(probeDetailType), Detail: new(string(detail)),
	}}})
	if err == nil && out.FailedEntryCount > 0 {
		err = fmt.Errorf("%s: %s", deref(out.Entries[0].ErrorCode), deref(out.Entries[0].ErrorMessage))
	}
	if err != nil {
		return awserr.Wrap("sending the probe", err)
	}
	p.proof.Sent++
	p.tell("sent probe %s, %d times so far", p.proof.ID, p.proof.Sent)
	return nil
}

// receive looks for the probe in the queue and deletes it. Other messages are not touched further: see ProveOptions.Idle.
// Not to be allowed to read is no error: there are other witnesses.
func (p *prover) receive(ctx context.Context, end time.Time) (bool, error) {
	if p.deaf {
		return false, nil
	}
	hide := int32(takeSeconds)
	if p.o.Idle {
		hide += int32(max(0, time.Until(end)) / time.Second)
	}
	out, err := p.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &p.o.QueueURL, MaxNumberOfMessages: 10, WaitTimeSeconds: waitSeconds, VisibilityTimeout: hide,
	})
	if err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		p.deaf = true
		p.note("the queue can't be read (%v), so that others have to see the probe arrive", awserr.Wrap("receiving", err))
		return false, nil
	}
	found := false
	for _, m := range out.Messages {
		if p.isProbe(m) {
			found = true
			if _, err := p.queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &p.o.QueueURL, ReceiptHandle: m.ReceiptHandle}); err != nil {
				p.note("deleting the probe from the queue: %v", err)
			}
			continue
		}
		p.held = append(p.held, deref(m.ReceiptHandle))
	}
	if !p.o.Idle {
		p.release(context.WithoutCancel(ctx))
	}
	return found, nil
}

func (p *prover) isProbe(m sqstypes.Message) bool {
	var e struct {
		Source string `json:"source"`
		Detail struct {
			Probe string `json:"probe"`
		} `json:"detail"`
	}
	body := deref(m.Body)
	return strings.Contains(body, p.proof.ID) && json.Unmarshal([]byte(body), &e) == nil && e.Source == ProbeSource && e.Detail.Probe == p.proof.ID
}

// release puts messages back that are not ours.
func (p *prover) release(ctx context.Context) {
	for _, handle := range p.held {
		if _, err := p.queue.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{QueueUrl: &p.o.QueueURL, ReceiptHandle: &handle, VisibilityTimeout: 0}); err != nil && !isNotFound(err) {
			// It comes back by itself when its time is over.
			p.note("putting a message back at once: %v", err)
			break
		}
	}
	p.held = nil
}

// drain takes the other copies of the probe out of the queue, as far as they are there; the rest goes by its age, or is
// deleted by the controller.
func (p *prover) drain(ctx context.Context) {
	for range p.proof.Sent - 1 {
		if found, err := p.receive(ctx, time.Now()); err != nil || !found {
			return
		}
	}
}
