package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

const (
	// forwardIdle ends a forwarded connection that says nothing, and forwardStart bounds the time in which a client names its
	// port. A kubelet has the same (streamingConnectionIdleTimeout, streamCreationTimeout).
	forwardIdle, forwardStart = 4 * time.Hour, 30 * time.Second
)

// A forwarder answers what "kubectl port-forward" asks of a kubelet. All pods have 127.0.0.1, so a port of a pod is another port
// of this computer.
type forwarder struct {
	// portOf is where a port of a pod is.
	portOf func(namespace, pod string, port int) (int, error)
}

func (f forwarder) serve(w http.ResponseWriter, r *http.Request) {
	namespace, pod := r.PathValue("namespace"), r.PathValue("pod")
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, f, namespace+"/"+pod, r.PathValue("uid"), options, forwardIdle, forwardStart, portforward.SupportedProtocols)
}

// PortForward copies between a stream and a port of a pod, whose name comes with its namespace.
func (f forwarder) PortForward(ctx context.Context, name, _ string, port int32, stream io.ReadWriteCloser) error {
	namespace, pod, _ := strings.Cut(name, "/")
	to, err := f.portOf(namespace, pod, int(port))
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(to)))
	if err != nil {
		return fmt.Errorf("port %d of pod %s: %w", port, name, err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream) // ends when either side closes
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	if _, err := io.Copy(stream, conn); err != nil {
		return fmt.Errorf("port %d of pod %s: %w", port, name, err)
	}
	return nil
}
