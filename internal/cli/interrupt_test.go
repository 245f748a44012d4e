package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
)

// Who presses Ctrl-C is not told of an error that follows from it, and scripts can tell it from a failure.
func TestAnInterruptHasACodeOfItsOwn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	var out, errs bytes.Buffer
	if code := Main([]string{"replay", "--server", server.URL}, &out, &errs); code != interrupted || errs.String() != "kerf: interrupted\n" {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
