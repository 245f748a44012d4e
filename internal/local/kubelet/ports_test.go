package kubelet

import (
	"net"
	"strconv"
	"testing"
)

func TestAPortIsClaimedOnce(t *testing.T) {
	ports, release, err := ClaimPorts(2)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if ports[0] == ports[1] {
		t.Fatalf("the same port twice: %v", ports)
	}
	if c, err := ClaimPort(ports[0]); err == nil {
		c.Close()
		t.Errorf("port %d was claimed by two", ports[0])
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])))
	if err != nil {
		t.Fatalf("a claim is in the way of the program that it is for: %v", err)
	}
	defer l.Close()
	release()
	if c, err := ClaimPort(ports[0]); err == nil {
		c.Close()
		t.Errorf("port %d was claimed while somebody listens on it", ports[0])
	}
	c, err := ClaimPort(ports[1])
	if err != nil {
		t.Fatalf("a claim that was released holds: %v", err)
	}
	c.Close()
}
