package kubelet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range lies below the one that systems hand out to outgoing connections, so that none of those takes a port between its
// choice and its use. kerf-controlplane chooses from the same range in the same way.
const (
	firstPort = 20000
	lastPort  = 31999
)

// ClaimPorts returns n different ports of 127.0.0.1 on which nobody listens. A container stands in for a pod, which has an
// address of its own; here each needs a port of its own.
//
// A program listens on its port some time after the choice. Until then another caller, in this process or another, must not
// choose the same. So each port is claimed by a UDP socket of that number, which nothing else uses, until release is called.
func ClaimPorts(n int) (ports []int, release func(), err error) {
	var claims []io.Closer
	release = func() {
		for _, c := range claims {
			c.Close()
		}
	}
	for attempt := 0; len(ports) < n; attempt++ {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		claim, err := ClaimPort(port)
		switch {
		case err == nil:
			ports, claims = append(ports, port), append(claims, claim)
		case attempt == 100+n:
			release()
			return nil, nil, fmt.Errorf("find a free port: %w", err)
		}
	}
	return ports, release, nil
}

// ClaimPort claims a port as ClaimPorts does, until it is closed.
//
// Errors: the port is claimed, or somebody listens on it.
func ClaimPort(port int) (io.Closer, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	claim, err := net.ListenPacket("udp4", address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", address)
	if err != nil {
		_ = claim.Close()
		return nil, err
	}
	l.Close()
	return claim, nil
}
