package check

import (
	"encoding/json"
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/eventpattern"
)

// foreignEvents are events that nobody here acts on. A rule that catches them fills the queue.
func foreignEvents(region, account string) []json.RawMessage {
	return []json.RawMessage{
		awssetup.SampleEvent("aws.ec2", "EBS Volume Notification", `{"event":"createVolume","result":"available"}`, region, account),
		awssetup.SampleEvent("aws.s3", "Object Created", `{"bucket":{"name":"b"}}`, region, account),
		awssetup.SampleEvent("aws.autoscaling", "EC2 Instance Launch Successful", `{}`, region, account),
	}
}

// SamplesOf are the samples of a kind of event in the place that is judged. They are read once.
func (c *Comparison) SamplesOf(k *awssetup.Event) []eventpattern.Event {
	if s, ok := c.samples[k]; ok {
		return s
	}
	if c.samples == nil {
		c.samples = map[*awssetup.Event][]eventpattern.Event{}
	}
	c.samples[k] = readSamples(k, c.Found.Region, c.Found.AccountID)
	return c.samples[k]
}

func readSamples(k *awssetup.Event, region, account string) []eventpattern.Event {
	var out []eventpattern.Event
	for _, text := range k.Samples(region, account) {
		e, _ := eventpattern.Read(text)
		out = append(out, e)
	}
	return out
}

// Caught tells of each sample whether a pattern matches it.
func Caught(pattern json.RawMessage, samples []eventpattern.Event) []bool {
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
		if slices.ContainsFunc(readSamples(&awssetup.Events[i], region, account), func(s eventpattern.Event) bool { return p.Match(s) }) {
			return true
		}
	}
	return false
}
