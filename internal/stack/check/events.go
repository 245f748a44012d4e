package check

import (
	"encoding/json"
	"fmt"

	"github.com/kerf-sh/kerf/internal/eventpattern"
)

// kindOfEvent is a kind of event that the controller acts on, with samples of it.
type kindOfEvent struct {
	name       string
	source     string
	detailType string
	details    []string // each a detail that a rule must catch
	lost       string   // what happens without it
}

// kindsOfEvents are all that the controller acts on.
// Source: Amazon EC2 user guide (spot interruption notices, rebalance recommendations, state changes, interruptible
// capacity reservations), AWS Health user guide (events in EventBridge); forms of 2026-05.
var kindsOfEvents = []kindOfEvent{
	{
		"spot interruption warning", "aws.ec2", "EC2 Spot Instance Interruption Warning",
		[]string{`{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}`},
		"spot machines go after two minutes and their pods with them, unmoved and without replacement",
	},
	{
		"rebalance recommendation", "aws.ec2", "EC2 Instance Rebalance Recommendation",
		[]string{`{"instance-id":"i-0123456789abcdef0"}`},
		"spot machines that are about to be taken are not told of ahead",
	},
	{
		"scheduled change (health event)", "aws.health", "AWS Health Event",
		[]string{`{"eventArn":"arn:aws:health:us-east-1::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED_1",` +
			`"service":"EC2","eventTypeCode":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED","eventTypeCategory":"scheduledChange","eventScopeCode":"ACCOUNT_SPECIFIC",` +
			`"startTime":"Wed, 18 Nov 2026 10:00:00 GMT","endTime":"Wed, 18 Nov 2026 12:00:00 GMT","statusCode":"upcoming",` +
			`"affectedEntities":[{"entityValue":"i-0123456789abcdef0"}]}`},
		"machines that AWS retires or reboots are not drained before",
	},
	{
		"instance state change", "aws.ec2", "EC2 Instance State-change Notification",
		[]string{
			`{"instance-id":"i-0123456789abcdef0","state":"stopping"}`, `{"instance-id":"i-0123456789abcdef0","state":"stopped"}`,
			`{"instance-id":"i-0123456789abcdef0","state":"shutting-down"}`, `{"instance-id":"i-0123456789abcdef0","state":"terminated"}`,
		},
		"machines that somebody stops or terminates are noticed only when their kubelets fall silent",
	},
	{
		"capacity reservation interruption", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning",
		[]string{`{"instance-id":"i-0123456789abcdef0","instance-action":"terminate","capacity-reservation-id":"cr-0123456789abcdef0"}`},
		"machines whose reserved capacity is taken back go with their pods, unmoved",
	},
}

// foreignEvents are events that nobody here acts on. A rule that catches them fills the queue.
func foreignEvents(region, account string) []json.RawMessage {
	return []json.RawMessage{
		sampleEvent("aws.ec2", "EBS Volume Notification", `{"event":"createVolume","result":"available"}`, region, account),
		sampleEvent("aws.s3", "Object Created", `{"bucket":{"name":"b"}}`, region, account),
		sampleEvent("aws.autoscaling", "EC2 Instance Launch Successful", `{}`, region, account),
	}
}

func sampleEvent(source, detailType, detail, region, account string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"version":"0","id":"12345678-1234-1234-1234-123456789012","detail-type":%q,"source":%q,`+
		`"account":%q,"time":"2026-11-17T10:00:00Z","region":%q,"resources":["arn:aws:ec2:%s:%s:instance/i-0123456789abcdef0"],"detail":%s}`,
		detailType, source, account, region, region, account, detail))
}

// samples are events of the kind in a region and account.
func (k *kindOfEvent) samples(region, account string) []json.RawMessage {
	var out []json.RawMessage
	for _, d := range k.details {
		out = append(out, sampleEvent(k.source, k.detailType, d, region, account))
	}
	return out
}

// caught are the samples that a pattern matches.
func caught(pattern json.RawMessage, samples []json.RawMessage) []bool {
	out := make([]bool, len(samples))
	p, err := eventpattern.Parse(pattern)
	if err != nil {
		return out
	}
	for i, s := range samples {
		out[i] = p.Match(s)
	}
	return out
}

// catchesAny tells whether a pattern matches any event that the controller acts on.
func catchesAny(pattern json.RawMessage, region, account string) bool {
	p, err := eventpattern.Parse(pattern)
	if err != nil {
		return false
	}
	for i := range kindsOfEvents {
		for _, s := range kindsOfEvents[i].samples(region, account) {
			if p.Match(s) {
				return true
			}
		}
	}
	return false
}
