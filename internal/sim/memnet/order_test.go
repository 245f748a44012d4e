package memnet_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/memnet"
)

// What is written at the same moment by goroutines that run in any order arrives in one order.
func TestAnOrderedNetworkDeliversInOneOrder(t *testing.T) {
	const n = 20
	want := ""
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			network := &memnet.Network{Ordered: true}
			l, err := network.Listen("a:80")
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var got []string
			var work sync.WaitGroup
			for i := range n {
				near, err := dial(network, l)
				if err != nil {
					t.Fatal(err)
				}
				work.Go(func() {
					fmt.Fprintf(near.client, "POST / HTTP/1.1\r\nAmz-Sdk-Invocation-Id: %p\r\n\r\n", near)
					fmt.Fprintf(near.client, "%02d", i)
					near.client.Close()
				})
				work.Go(func() {
					var b [200]byte
					text := ""
					for {
						k, err := near.server.Read(b[:])
						text += string(b[:k])
						if err != nil {
							break
						}
						if k > 0 {
							mu.Lock()
							got = append(got, text[len(text)-2:])
							mu.Unlock()
						}
					}
					if !strings.HasSuffix(text, fmt.Sprintf("%02d", i)) {
						t.Errorf("%d got %q", i, text)
					}
				})
			}
			work.Wait()
			l.Close()
			time.Sleep(time.Second) // the network has come to rest
			order := strings.Join(got, " ")
			if want == "" {
				want = order
			}
			if order != want || len(got) != n {
				t.Errorf("%s\n%s", order, want)
			}
		})
	}
}

type ends struct{ client, server net.Conn }

func dial(network *memnet.Network, l net.Listener) (*ends, error) {
	accepted := make(chan net.Conn)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	c, err := network.Dial(context.Background(), "tcp", "a:80")
	return &ends{c, <-accepted}, err
}
