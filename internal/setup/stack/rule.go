package stack

import (
	"fmt"
	"time"
)

// rules are those by which events of instances come to the queue.
func rules(o *Options) []Rule {
	list := []Rule{
		{LogicalID: "ScheduledChangeRule", Kind: "HealthEvent", Source: "aws.health", DetailType: "AWS Health Event",
			Description: "maintenance and retirement of instances"},
		{LogicalID: "SpotInterruptionRule", Kind: "SpotInterrupt", Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning",
			Description: "spot instances that go in two minutes"},
		{LogicalID: "RebalanceRule", Kind: "InstanceRebalance", Source: "aws.ec2", DetailType: "EC2 Instance Rebalance Recommendation",
			Description: "spot instances that are likely to go"},
		{LogicalID: "InstanceStateChangeRule", Kind: "InstanceStateChange", Source: "aws.ec2", DetailType: "EC2 Instance State-change Notification",
			Description: "instances that stop or end"},
	}
	if o.Compat == Latest {
		list = append(list, Rule{LogicalID: "CapacityReservationInterruptionRule", Kind: "CapacityReservationInterrupt", Source: "aws.ec2",
			DetailType: "EC2 Capacity Reservation Instance Interruption Warning", Description: "instances whose reserved capacity is taken back"})
	}
	if o.DeadLetter {
		for i := range list {
			list[i].DeadLetter = arnOf(idDeadLetter)
		}
	}
	return list
}

// lateAfter is the age of a message from which on nobody seems to read the queue. A spot warning is worth nothing after
// two minutes.
const lateAfter = time.Minute

// alarms watch what the controller can't: events that never reached it. What could not be delivered and went to a
// target's dead-letter queue does not count as failed, so where there is one, both metrics are watched.
func alarms(s *Stack) []Alarm {
	if !s.Options.Alarms {
		return nil
	}
	var list []Alarm
	add := func(a Alarm) {
		a.Name = "Karpenter-" + refCluster + "-" + a.LogicalID
		a.LogicalID += "Alarm"
		a.Actions = s.Options.AlarmActions
		list = append(list, a)
	}
	for _, r := range s.Rules {
		add(Alarm{
			LogicalID: r.LogicalID + "FailedInvocations", Namespace: "AWS/Events", Metric: "FailedInvocations", Statistic: "Sum",
			Dimension: "RuleName", Value: "${" + r.LogicalID + "}", Period: 5 * time.Minute, Periods: 1,
			Description: fmt.Sprintf("Events on %s do not reach the interruption queue: look at its policy and its key.", r.Description),
		})
		if r.DeadLetter == "" {
			continue
		}
		add(Alarm{
			LogicalID: r.LogicalID + "InvocationsSentToDlq", Namespace: "AWS/Events", Metric: "InvocationsSentToDlq", Statistic: "Sum",
			Dimension: "RuleName", Value: "${" + r.LogicalID + "}", Period: 5 * time.Minute, Periods: 1,
			Description: fmt.Sprintf("Events on %s go to the dead-letter queue in place of the interruption queue: look at its policy and its key.", r.Description),
		})
	}
	add(Alarm{
		LogicalID: "InterruptionQueueAge", Namespace: "AWS/SQS", Metric: "ApproximateAgeOfOldestMessage", Statistic: "Maximum",
		Dimension: "QueueName", Value: "${" + idQueue + ".QueueName}", Threshold: int(lateAfter / time.Second), Period: time.Minute, Periods: 2,
		Description: "Nobody reads the interruption queue: is the controller running, and may it receive?",
	})
	if s.DeadLetter != nil {
		add(Alarm{
			LogicalID: "InterruptionDeadLetters", Namespace: "AWS/SQS", Metric: "ApproximateNumberOfMessagesVisible", Statistic: "Maximum",
			Dimension: "QueueName", Value: "${" + idDeadLetter + ".QueueName}", Period: 5 * time.Minute, Periods: 1,
			Description: "Events were not delivered, or could not be handled: read them in the dead-letter queue.",
		})
	}
	return list
}
