package session

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// wholeBody sends requests with their bodies as plain memory. The SDK wraps bodies in a type that net/http does not know,
// so headers go out in a packet of their own, and the SDK closes that wrapper as soon as the answer begins. An endpoint
// that answers before the writing goroutine has looked for the body's end, as a simulator on the same instance does, makes
// that goroutine see a closed body, take it for an error and close the connection under the answer.
type wholeBody struct{ next aws.HTTPClient }

// Do implements aws.HTTPClient.
func (c wholeBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength > 0 {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, fmt.Errorf("reading the request's body: %w", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
	}
	return c.next.Do(r)
}
