package memnet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/memnet"
)

func TestAServerAndItsClientLiveInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n memnet.Network
		l, err := n.Listen("api:80")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Listen("api:80"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second listener gets %v", err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range 3 {
				time.Sleep(time.Hour)
				_, _ = io.WriteString(w, "tick ")
				_ = http.NewResponseController(w).Flush()
			}
		})}
		go func() { _ = s.Serve(l) }()
		transport := &http.Transport{DialContext: n.Dial}
		client := &http.Client{Transport: transport}
		began := time.Now()
		for range 2 {
			resp, err := client.Get("http://api/")
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if err != nil || strings.Count(string(text), "tick") != 3 {
				t.Errorf("read %q, %v", text, err)
			}
		}
		if took := time.Since(began); took != 6*time.Hour {
			t.Errorf("took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api/", nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) || string(text) != "tick " {
			t.Errorf("a call that is given up read %q, %v", text, err)
		}
		transport.CloseIdleConnections()
		time.Sleep(3 * time.Hour) // the handler of the last call is at it still
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := n.Dial(t.Context(), "tcp", "api:80"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialing where nobody listens gives %v", err)
		}
	})
}

func TestAConnectionEndsAsTCPDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := memnet.Pipe("a:1", "b:2")
		_, _ = near.Write([]byte("last words"))
		near.Close()
		text, err := io.ReadAll(far)
		if err != nil || string(text) != "last words" {
			t.Errorf("read %q, %v after the other end closed", text, err)
		}
		if _, err := far.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("writing to a closed end gives %v", err)
		}
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("reading from a connection that was closed here gives %v", err)
		}
		if _, err := near.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing to a connection that was closed here gives %v", err)
		}
	})
}

func TestADeadlineEndsAReadAndCanBeMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := memnet.Pipe("a:1", "b:2")
		defer near.Close()
		defer far.Close()
		began := time.Now()
		_ = near.SetReadDeadline(began.Add(time.Minute))
		go func() {
			time.Sleep(30 * time.Second)
			_ = near.SetReadDeadline(began.Add(time.Hour))
		}()
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Hour {
			t.Errorf("read ended after %s with %v", time.Since(began), err)
		}
		_ = near.SetReadDeadline(time.Time{})
		go func() { _, _ = far.Write([]byte("x")) }()
		if n, err := near.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read %d, %v after the deadline was lifted", n, err)
		}
	})
}
