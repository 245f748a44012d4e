package terminate

import (
	"net/http"
	"strings"
)

// OwnPace has evictions that the API server refuses come back at once. The client would wait as long as the answer's
// Retry-After says, ten seconds while a budget's status is being worked out, and ask again by itself. The pods' drain, and
// the worker that has it, would be held up for that time, and not see that the budget has freed up long since.
func OwnPace(next http.RoundTripper) http.RoundTripper { return ownPace{next} }

type ownPace struct{ next http.RoundTripper }

func (p ownPace) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusTooManyRequests && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/eviction") {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}

// WrappedRoundTripper is what client-go looks for to find the connection's settings.
func (p ownPace) WrappedRoundTripper() http.RoundTripper { return p.next }
