package cloud

import "regexp"

// requestID is how the words of an AWS error name the single request.
var requestID = regexp.MustCompile(`,? ?(RequestID|request id|requestId): [0-9A-Za-z-]+`)

// Lasting is a text without the identifiers of single requests. They would make every failure look like news where it is
// compared with the last one, and every news is a write or an event.
func Lasting(text string) string { return requestID.ReplaceAllString(text, "") }
