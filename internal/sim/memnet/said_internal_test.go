package memnet

import "testing"

// What a process draws anew for each call is not compared.
func TestAnOrderDependsOnNothingDrawn(t *testing.T) {
	watch := func(timeout, invocation string) string {
		return string(said([]byte("GET /api/v1/pods?allowWatchBookmarks=true&timeout=" + timeout + "&timeoutSeconds=" + timeout + "&watch=true HTTP/1.1\r\n" +
			"User-Agent: kerf\r\nAmz-Sdk-Invocation-Id: " + invocation + "\r\n\r\n")))
	}
	if a, b := watch("301", "1"), watch("599", "2"); a != b {
		t.Errorf("%q is not %q", a, b)
	}
	if a := watch("301", "1"); a != "GET /api/v1/pods?allowWatchBookmarks=true&watch=true HTTP/1.1\nUser-Agent: kerf\n" {
		t.Errorf("compared is %q", a)
	}
}
