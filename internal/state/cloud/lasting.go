package cloud

import "regexp"

// requestID is how the words of an AWS error name the single request.
var requestID = regexp.MustCompile(`,? ?(RequestID|request id|requestId): [0-9A-Za-z-]+`)

// encoded is what EC2 puts behind a refusal, another one each time: only "aws sts decode-authorization-message" can read it, and what
// matters of it, the action and the kind of policy, stands before it in plain words.
var encoded = regexp.MustCompile(`\.? ?Encoded authorization failure message: [0-9A-Za-z_=+/-]*(?:\.\.\.)?`)

// Lasting is a text without the identifiers of single requests and their encoded messages. They would make every failure look like news where it is
// compared with the last one, and every news is a write or an event.
func Lasting(text string) string {
	return encoded.ReplaceAllString(requestID.ReplaceAllString(text, ""), "")
}
