package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kerf-sh/kerf/internal/aws/account"
	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

// deadLetters looks into the queues for what could not be delivered or handled: whatever lies there, the controller did not
// act on it.
func deadLetters(in *Input) Result {
	q, none := in.queue()
	if q == nil {
		return none
	}
	// By ARN, what leads there.
	leads := map[string][]string{}
	if q.DeadLetter != "" {
		leads[q.DeadLetter] = append(leads[q.DeadLetter], fmt.Sprintf("what was received %s and not deleted", count(q.MaxReceives, "time")))
	}
	for _, r := range in.rulesTo(q.ARN) {
		for _, t := range r.Targets {
			if t.ARN == q.ARN && t.DeadLetter != "" {
				leads[t.DeadLetter] = append(leads[t.DeadLetter], "what rule "+r.Name+" could not deliver")
			}
		}
	}
	if len(leads) == 0 {
		return skipped("there is no dead-letter queue; check 12 says whether failures are noticed without")
	}
	var full, missing, unread, empty []string
	url := ""
	for _, arn := range slices.Sorted(maps.Keys(leads)) {
		name := arn[strings.LastIndexByte(arn, ':')+1:]
		i := slices.IndexFunc(in.AWS.Queues, func(d awssetup.Queue) bool { return d.ARN == arn })
		g, isGap := in.gapAbout(account.GapQueue+" "+name, account.GapQueue+" "+arn)
		switch {
		case i >= 0 && in.AWS.Queues[i].Messages > 0:
			d := &in.AWS.Queues[i]
			full, url = append(full, fmt.Sprintf("%s has %s; it gets %s", name, count(d.Messages, "message"), some(leads[arn]))), d.URL
		case i >= 0:
			empty = append(empty, name+" is empty")
		case isGap:
			unread = append(unread, name+" could not be read: "+g.Why)
		default:
			missing = append(missing, name+" does not exist, and "+some(leads[arn])+" is lost")
		}
	}
	switch {
	case len(full) > 0:
		return warning(lines(note("read one, with the reason if EventBridge could not deliver it:"),
			command("aws", "sqs", "receive-message", "--visibility-timeout", "0", "--attribute-names", "All", "--message-attribute-names", "All", "--queue-url", url),
			note("when the cause is fixed, empty the queue with: "+command("aws", "sqs", "purge-queue", "--queue-url", url))),
			"messages lie in a dead-letter queue: events that the controller did not act on").with(slices.Concat(full, missing, unread, empty)...)
	case len(missing) > 0:
		return warning(in.fixes("adds it"), "a dead-letter queue that is configured does not exist").with(slices.Concat(missing, unread, empty)...)
	case len(unread) > 0:
		return unknown("not every dead-letter queue could be read").with(append(unread, empty...)...)
	}
	return ok("nothing lies in a dead-letter queue").with(empty...)
}

// some joins the first of several things.
func some(list []string) string {
	const enough = 3
	if len(list) > enough {
		return strings.Join(list[:enough], ", ") + fmt.Sprintf(" and %d more", len(list)-enough)
	}
	return strings.Join(list, ", ")
}
