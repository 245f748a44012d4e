package check

import (
	"encoding/json"

	"github.com/kerf-sh/kerf/internal/awssetup"
	"github.com/kerf-sh/kerf/internal/eventpattern"
)

// foreignEvents are events that nobody here acts on. A rule that catches them fills the queue.
func foreignEvents(region, account string) []json.RawMessage {
	return []json.RawMessage{
		awssetup.SampleEvent("aws.ec2", "EBS Volume Notification", `{"event":"createVolume","result":"available"}`, region, account),
		awssetup.SampleEvent("aws.s3", "Object Created", `{"bucket":{"name":"b"}}`, region, account),
		awssetup.SampleEvent("aws.autoscaling", "EC2 Instance Launch Successful", `{}`, region, account),
	}
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
	for i := range awssetup.Events {
		for _, s := range awssetup.Events[i].Samples(region, account) {
			if p.Match(s) {
				return true
			}
		}
	}
	return false
}
