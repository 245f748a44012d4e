package awssetup

import (
	"encoding/json"
	"fmt"
	"time"
)

// StaleAfter is how long a notice that nobody read is worth reading. A queue that keeps notices longer hands out, after an
// outage, what is no longer true: the instance that it is about is long gone.
const StaleAfter = time.Hour

// Event is a kind of event that the controller acts on, with samples of it.
type Event struct {
	Name, Source, DetailType string
	Details                  []string // each a detail that a rule must catch
	Optional                 bool     // a cluster gets by without it
	Lost                     string   // what happens without it
}

// Events are all that the controller acts on.
//
// Source: Amazon EC2 user guide (spot interruption notices, rebalance recommendations, state changes, interruptible
// capacity reservations), AWS Health user guide (events in EventBridge); forms of 2026-05.
var Events = []Event{
	{
		Name: "spot interruption warning", Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
		Details: []string{`{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}`},
		Lost:    "spot instances end after two minutes and their pods with them, unmoved and without replacement",
	},
	{
		Name: "rebalance recommendation", Source: "aws.ec2", DetailType: "EC2 Instance Rebalance Recommendation",
		Details: []string{`{"instance-id":"i-0123456789abcdef0"}`}, Optional: true,
		Lost: "nobody is told that a spot instance is likely to be interrupted",
	},
	{
		Name: "scheduled change (health event)", Source: "aws.health", DetailType: "AWS Health Event",
		Details: []string{`{"eventArn":"arn:aws:health:us-east-1::event/EC2/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED/AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED_1",` +
			`"service":"EC2","eventTypeCode":"AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED","eventTypeCategory":"scheduledChange","eventScopeCode":"ACCOUNT_SPECIFIC",` +
			`"startTime":"Wed, 18 Nov 2026 10:00:00 GMT","endTime":"Wed, 18 Nov 2026 12:00:00 GMT","statusCode":"upcoming",` +
			`"affectedEntities":[{"entityValue":"i-0123456789abcdef0"}]}`},
		Lost: "instances that AWS retires or reboots are not drained before",
	},
	{
		Name: "instance state change", Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification",
		Details: []string{
			`{"instance-id":"i-0123456789abcdef0","state":"stopping"}`, `{"instance-id":"i-0123456789abcdef0","state":"stopped"}`,
			`{"instance-id":"i-0123456789abcdef0","state":"shutting-down"}`, `{"instance-id":"i-0123456789abcdef0","state":"terminated"}`,
		},
		Lost: "instances that somebody stops or terminates are noticed only when their kubelets fall silent",
	},
	{
		Name: "capacity reservation interruption", Source: "aws.ec2", DetailType: "EC2 Capacity Reservation Instance Interruption Warning",
		Details:  []string{`{"instance-id":"i-0123456789abcdef0","instance-action":"terminate","capacity-reservation-id":"cr-0123456789abcdef0"}`},
		Optional: true,
		Lost:     "instances whose reserved capacity is taken back end with their pods, unmoved",
	},
}

// Samples are events of the kind in a region and account.
func (e *Event) Samples(region, account string) []json.RawMessage {
	var out []json.RawMessage
	for _, d := range e.Details {
		out = append(out, SampleEvent(e.Source, e.DetailType, d, region, account))
	}
	return out
}

// SampleEvent is an event as EventBridge delivers it.
func SampleEvent(source, detailType, detail, region, account string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"version":"0","id":"12345678-1234-1234-1234-123456789012","detail-type":%q,"source":%q,`+
		`"account":%q,"time":"2026-11-17T10:00:00Z","region":%q,"resources":["arn:aws:ec2:%s:%s:instance/i-0123456789abcdef0"],"detail":%s}`,
		detailType, source, account, region, region, account, detail))
}
