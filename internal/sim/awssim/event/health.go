package event

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// notice is how long ahead maintenance is announced.
const notice = 14 * 24 * time.Hour

// Retirement is the type of Health event for an instance whose hardware is to be taken away.
const Retirement = "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED"

// category is what AWS Health files a type of event under.
func category(code string) string {
	switch {
	case strings.HasSuffix(code, "_SCHEDULED"):
		return "scheduledChange"
	case strings.HasSuffix(code, "_NOTIFICATION"):
		return "accountNotification"
	}
	return "issue"
}

// window is when maintenance begins and ends.
func (b *Bus) window(r Request) (start, end time.Time) {
	start, end = r.Start, r.End
	if start.IsZero() {
		start = b.world.Now().Add(notice)
	}
	if end.IsZero() {
		end = start
	}
	return start, end
}

func (r Request) entities() []string {
	all := slices.Clone(r.Entities)
	if r.Instance != "" && !slices.Contains(all, r.Instance) {
		all = slices.Insert(all, 0, r.Instance)
	}
	return all
}

// health builds an event of AWS Health about instances. Its times are written as in HTTP headers.
func (b *Bus) health(r Request) (Envelope, error) {
	entities := r.entities()
	if len(entities) == 0 {
		return Envelope{}, fmt.Errorf("an event of the kind %q names at least one instance", ScheduledChange)
	}
	code := cmp.Or(r.Code, Retirement)
	account := cmp.Or(r.Account, b.world.Account())
	region, partition := b.world.Region(), b.world.Partition()
	now := b.world.Now().UTC()
	start, end := b.window(r)
	status := cmp.Or(r.Status, "open")
	affected := make([]map[string]any, len(entities))
	for i, id := range entities {
		affected[i] = map[string]any{
			"entityValue": id, "entityArn": "arn:" + partition + ":ec2:" + region + ":" + account + ":instance/" + id,
			"status": "PENDING", "lastUpdatedTime": now.Format(http.TimeFormat),
		}
	}
	unique := fmt.Sprintf("%s_%s", code, now.Format("20060102150405"))
	e := b.world.NewEvent("aws.health", "AWS Health Event", entities, map[string]any{
		"eventArn":          "arn:" + partition + ":health:" + region + "::event/EC2/" + code + "/" + unique,
		"service":           "EC2",
		"eventTypeCode":     code,
		"eventTypeCategory": category(code),
		"eventScopeCode":    "ACCOUNT_SPECIFIC",
		"communicationId":   strings.ToLower(unique) + "-1",
		"startTime":         start.UTC().Format(http.TimeFormat),
		"endTime":           end.UTC().Format(http.TimeFormat),
		"lastUpdatedTime":   now.Format(http.TimeFormat),
		"statusCode":        status,
		"eventRegion":       region,
		"eventDescription": []map[string]string{{
			"language": "en_US", "latestDescription": "The hardware under these instances needs maintenance.",
		}},
		"eventMetadata":    map[string]string{},
		"affectedEntities": affected,
		"affectedAccount":  account,
		"page":             "1",
		"totalPages":       "1",
	})
	e.Account = account
	return e, nil
}

// statusCode is how DescribeInstanceStatus names what a type of Health event announces.
func statusCode(code string) string {
	switch {
	case strings.Contains(code, "RETIREMENT"):
		return "instance-retirement"
	case strings.Contains(code, "INSTANCE_STOP"):
		return "instance-stop"
	case strings.Contains(code, "SYSTEM_REBOOT"):
		return "system-reboot"
	case strings.Contains(code, "REBOOT"):
		return "instance-reboot"
	}
	return "system-maintenance"
}

// announce writes the event into the status of those instances that exist.
func (b *Bus) announce(r Request) {
	start, end := b.window(r)
	for _, id := range r.entities() {
		_ = b.world.Schedule(id, world.ScheduledEvent{ // an instance of somebody else's has no status here
			Code: statusCode(cmp.Or(r.Code, Retirement)), Description: "The hardware under this instance needs maintenance.",
			NotBefore: start, NotAfter: end,
		})
	}
}
