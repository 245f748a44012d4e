package queue

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Reference is how a user names the queue: by its name, its ARN or its URL.
type Reference struct {
	// Name is always set.
	Name string
	// Account and Region are what an ARN or a URL says; empty when it says nothing.
	Account, Region string
	// URL is set when the user gave one; it is then used as it is.
	URL string
}

var (
	// namePattern is what SQS accepts (CreateQueue, parameter QueueName). First-in-first-out queues, whose names end in
	// .fifo, are refused below: EventBridge needs a message group for them, and their order is of no use here.
	namePattern    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	accountPattern = regexp.MustCompile(`^[0-9]{12}$`)
	// hostRegions are the forms of SQS host names that tell their region: the present one, the older one, and those of
	// VPC endpoints.
	hostRegions = []*regexp.Regexp{
		regexp.MustCompile(`^sqs(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com|api\.aws)`),
		regexp.MustCompile(`^([a-z]{2}(?:-[a-z]+)+-[0-9])\.queue\.amazonaws\.com`),
		regexp.MustCompile(`\.sqs\.([a-z0-9-]+)\.vpce\.amazonaws\.com`),
	}
)

// ParseReference reads what INTERRUPTION_QUEUE holds.
//
// Errors name the value and say what would be accepted.
func ParseReference(s string) (Reference, error) {
	text := strings.TrimSpace(s)
	r, err := Reference{}, error(nil)
	switch {
	case strings.HasPrefix(text, "arn:"):
		r, err = parseARN(text)
	case strings.Contains(text, "://"):
		r, err = parseURL(text)
	default:
		r.Name = text
	}
	switch {
	case err != nil:
	case strings.HasSuffix(r.Name, ".fifo"):
		err = fmt.Errorf("%q is a first-in-first-out queue; EventBridge rules need a standard one", r.Name)
	case !namePattern.MatchString(r.Name):
		err = fmt.Errorf("%q is not a queue's name: up to 80 letters, digits, dashes and underscores", r.Name)
	case r.Account != "" && !accountPattern.MatchString(r.Account):
		err = fmt.Errorf("%q is not an account: 12 digits", r.Account)
	}
	if err != nil {
		return Reference{}, fmt.Errorf("INTERRUPTION_QUEUE=%q: %w; give the name, the ARN or the URL of an SQS queue", s, err)
	}
	return r, nil
}

func parseARN(s string) (Reference, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 6 || parts[2] != "sqs" {
		return Reference{}, fmt.Errorf("this is not the ARN of a queue, such as arn:aws:sqs:us-east-1:123456789012:my-cluster")
	}
	return Reference{Name: parts[5], Account: parts[4], Region: parts[3]}, nil
}

func parseURL(s string) (Reference, error) {
	u, err := url.Parse(s)
	if err != nil {
		return Reference{}, fmt.Errorf("this is not a URL: %w", err)
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || len(parts) != 2 {
		return Reference{}, fmt.Errorf("this is not the URL of a queue, such as https://sqs.us-east-1.amazonaws.com/123456789012/my-cluster")
	}
	r := Reference{Name: parts[1], Account: parts[0], URL: s}
	for _, p := range hostRegions {
		if m := p.FindStringSubmatch(u.Hostname()); m != nil {
			r.Region = m[1]
		}
	}
	return r, nil
}

// In checks that the queue can be one of a region: EventBridge delivers to queues of its own region only, and the rules
// of another region know nothing of this cluster's instances.
func (r Reference) In(region string) error {
	if r.Region == "" || r.Region == region {
		return nil
	}
	return fmt.Errorf("INTERRUPTION_QUEUE names queue %q in region %s, but the controller works in region %s: give the queue of the cluster's region, or set AWS_REGION",
		r.Name, r.Region, region)
}

// String is the queue's name, with its account when one was given.
func (r Reference) String() string {
	if r.Account == "" {
		return fmt.Sprintf("%q", r.Name)
	}
	return fmt.Sprintf("%q of account %s", r.Name, r.Account)
}
