package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// The first interrupt ends the context; only one that comes after it gives up what is waited for.
func TestASecondInterruptIsHeard(t *testing.T) {
	own := make(chan os.Signal, 1) // keeps an interrupt that nobody hears from ending the test
	signal.Notify(own, os.Interrupt)
	defer signal.Stop(own)
	interrupt := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		<-own
	}
	ctx, cancel := context.WithCancel(t.Context())
	again, stop := interruptAfter(ctx)
	defer stop()
	interrupt()
	select {
	case <-again:
		t.Fatal("the first interrupt gives up what is waited for")
	default:
	}
	cancel()
	for {
		interrupt()
		select {
		case <-again:
			return
		default: // it does not listen yet
		}
	}
}

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
