package doctor

import "fmt"

// event is a kind of event that the controller acts on.
type event struct {
	name, source, detailType string
	details                  []string
	optional                 bool // a cluster gets by without it
	lost                     string
}

// events are all kinds.
//
// Source: EventBridge user guide and EC2 user guide, forms of the events, checked 2026-11.
var events = []event{
	{
		"spot interruption warning", "aws.ec2", "EC2 Spot Instance Interruption Warning", []string{`{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}`},
		false, "spot machines go with all their pods, without warning",
	},
	{
		"health event", "aws.health", "AWS Health Event", []string{`{"service":"EC2","eventTypeCode":"AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED",` +
			`"eventTypeCategory":"scheduledChange","affectedEntities":[{"entityValue":"i-0123456789abcdef0"}]}`},
		false, "machines that AWS retires or reboots are not drained before",
	},
	{
		"instance state change", "aws.ec2", "EC2 Instance State-change Notification", []string{
			`{"instance-id":"i-0123456789abcdef0","state":"stopping"}`, `{"instance-id":"i-0123456789abcdef0","state":"stopped"}`,
			`{"instance-id":"i-0123456789abcdef0","state":"shutting-down"}`, `{"instance-id":"i-0123456789abcdef0","state":"terminated"}`,
		},
		false, "machines that somebody stops or ends are missed only when their kubelets fall silent",
	},
	{
		"rebalance recommendation", "aws.ec2", "EC2 Instance Rebalance Recommendation", []string{`{"instance-id":"i-0123456789abcdef0"}`},
		true, "a raised risk of spot interruption is not told of",
	},
	{
		"capacity reservation interruption", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning",
		[]string{`{"instance-id":"i-0123456789abcdef0","instance-action":"terminate"}`}, true, "machines in interruptible reservations go without warning",
	},
}

func (e *event) samples(region, account string) []string {
	out := make([]string, len(e.details))
	for i, d := range e.details {
		out[i] = fmt.Sprintf(`{"version":"0","id":"6a7e8feb-b491-4cf7-a9f1-bf3703467718","detail-type":%q,"source":%q,"account":%q,"time":"2026-11-01T10:00:00Z","region":%q,`+
			`"resources":["arn:aws:ec2:%s:%s:instance/i-0123456789abcdef0"],"detail":%s}`, e.detailType, e.source, account, region, region, account, d)
	}
	return out
}
