package dependency

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func TestWhenAServiceCountsAsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		tell func(*Health, *clock)
		gone string // word of the state, empty while the service answers
	}{
		"two failures are what the SDK retries": {func(h *Health, c *clock) {
			h.begin("EC2", "DescribeSubnets")(failed, "x")
			h.begin("EC2", "DescribeSubnets")(failed, "x")
		}, ""},
		"three in a row, of whatever operations": {func(h *Health, c *clock) {
			h.begin("EC2", "DescribeSubnets")(failed, "x")
			c.t = c.t.Add(time.Second)
			h.begin("EC2", "DescribeImages")(failed, "x")
			h.begin("EC2", "CreateFleet")(failed, "boom")
		}, "ec2 does not answer since 1970-01-01T00:00:00Z: CreateFleet: boom"},
		"three errors of it, of two operations": {func(h *Health, c *clock) {
			h.begin("EC2", "DescribeSubnets")(erred, "x")
			h.begin("EC2", "DescribeImages")(erred, "x")
			h.begin("EC2", "DescribeImages")(erred, "x")
		}, "ec2 does not answer"},
		"an answer in between begins the count anew": {func(h *Health, c *clock) {
			h.begin("EC2", "A")(failed, "x")
			h.begin("EC2", "A")(failed, "x")
			h.begin("EC2", "A")(answered, "")
			h.begin("EC2", "A")(failed, "x")
		}, ""},
		"an answer ends it": {func(h *Health, c *clock) {
			for range 5 {
				h.begin("EC2", "A")(failed, "x")
			}
			h.begin("EC2", "B")(answered, "")
		}, ""},
		"one operation that the service does not know": {func(h *Health, c *clock) {
			for range 3 { // calls, of three attempts each
				for range 3 {
					h.begin("EC2", "DescribeInstanceTypeOfferings")(erred, "not implemented")
					c.t = c.t.Add(2 * time.Second)
				}
				if err := h.Err(); err != nil {
					panic(err)
				}
				h.begin("EC2", "DescribeSubnets")(answered, "")
				c.t = c.t.Add(time.Minute)
			}
		}, ""},
		"one operation, the only one that is called": {func(h *Health, c *clock) {
			for range 4 {
				h.begin("SSM", "GetParameter")(erred, "boom")
				c.t = c.t.Add(patience / 3)
			}
		}, "ssm does not answer"},
		"silence": {func(h *Health, c *clock) {
			h.begin("EC2", "DescribeSubnets")
			c.t = c.t.Add(patience)
		}, "DescribeSubnets: no answer yet"},
		"silence for one call while others are answered": {func(h *Health, c *clock) {
			h.begin("EC2", "DescribeSubnets")
			c.t = c.t.Add(patience)
			h.begin("EC2", "DescribeImages")(answered, "")
		}, ""},
		"one attempt that was given time enough": {func(h *Health, c *clock) {
			end := h.begin("SSM", "GetParameter")
			c.t = c.t.Add(readTimeout)
			end(failed, "no answer within 30s")
		}, "ssm does not answer since 1970-01-01T00:00:00Z: GetParameter: no answer within 30s"},
		"a receive that waits for messages": {func(h *Health, c *clock) {
			h.begin("SQS", "ReceiveMessage")
			c.t = c.t.Add(longPoll)
		}, ""},
		"a receive that waits for longer than it was asked to": {func(h *Health, c *clock) {
			h.begin("SQS", "ReceiveMessage")
			c.t = c.t.Add(longPoll + patience)
		}, "sqs does not answer"},
		"calls that the caller gave up": {func(h *Health, c *clock) {
			for range 5 {
				h.begin("EC2", "A")(cancelled, "")
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clock{t: time.Unix(0, 0)}
			h := New(c.now)
			tc.tell(h, c)
			err := h.Err()
			switch {
			case tc.gone == "" && err != nil:
				t.Errorf("it counts as gone: %v", err)
			case tc.gone != "" && (err == nil || !strings.Contains(err.Error(), tc.gone)):
				t.Errorf("got %v, want %q", err, tc.gone)
			}
		})
	}
}

func TestChangesAreToldOnce(t *testing.T) {
	h := New(nil)
	for range failuresToTell {
		h.begin("Pricing", "GetProducts")(failed, "x")
	}
	h.begin("EC2", "A")(answered, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	var told []string
	h.Watch(ctx, func(s State) {
		told = append(told, s.String())
		if len(told) == 2 {
			cancel(errors.New("enough"))
		}
	})
	if len(told) != 2 || told[0] != "ec2 answers" || !strings.HasPrefix(told[1], "pricing does not answer") {
		t.Errorf("told: %q", told)
	}
}
