package kubelet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"k8s.io/client-go/util/cert"
)

// A podServer answers what "kubectl logs" and "kubectl port-forward" ask of a kubelet, on a port of 127.0.0.1.
type podServer struct {
	listener net.Listener
	server   *http.Server
	stop     func()
}

// servePods serves the log files that a function finds, and ports.
func servePods(find func(namespace, pod, container string) (string, error), ports forwarder) (*podServer, error) {
	// The API server of a local cluster takes any certificate of a kubelet.
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the server of pods: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the server of pods: %w", err)
	}
	listener, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, fmt.Errorf("start the server of pods: %w", err)
	}
	life, stop := context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		path, err := find(r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest) // of a 404 the API server does not pass the text on
			return
		}
		writeLog(life, w, r, path)
	})
	mux.HandleFunc("/portForward/{namespace}/{pod}", ports.serve)
	mux.HandleFunc("/portForward/{namespace}/{pod}/{uid}", ports.serve)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "pods of the local cluster are processes of this computer: kubectl logs and kubectl port-forward are all that can be asked of them", http.StatusNotImplemented)
	})
	s := &podServer{listener: listener, stop: stop, server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}}
	go func() { _ = s.server.Serve(listener) }() // ends with close
	return s, nil
}

func (s *podServer) port() int {
	address, _ := s.listener.Addr().(*net.TCPAddr) // it is one
	return address.Port
}

func (s *podServer) close() {
	s.stop()
	_ = s.server.Close() // nothing is left to lose
}

// followEvery is how often a log that is followed is read.
const followEvery = 200 * time.Millisecond

// writeLog answers one request. All runs of a container are in one file, without the time of each line.
func writeLog(life context.Context, w http.ResponseWriter, r *http.Request, path string) {
	q := r.URL.Query()
	for _, name := range []string{"previous", "timestamps", "sinceSeconds", "sinceTime"} {
		if v := q.Get(name); v != "" && v != "false" {
			http.Error(w, fmt.Sprintf("%s: the local cluster keeps one log of all runs of a container, in %s, and no time of a line", name, path), http.StatusBadRequest)
			return
		}
	}
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		err = seekTail(f, q.Get("tailLines"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var from io.Reader = f
	if text := q.Get("limitBytes"); text != "" {
		limit, err := strconv.ParseInt(text, 10, 64)
		if err != nil || limit < 0 {
			http.Error(w, "limitBytes: want a number", http.StatusBadRequest)
			return
		}
		from = io.LimitReader(f, limit)
	}
	w.Header().Set("Content-Type", "text/plain")
	follow, _ := strconv.ParseBool(q.Get("follow")) // false where it is not given
	for {
		if _, err := io.Copy(w, from); err != nil || !follow {
			return
		}
		_ = http.NewResponseController(w).Flush() // an error shows with the next write
		select {
		case <-r.Context().Done():
			return
		case <-life.Done():
			return
		case <-time.After(followEvery):
		}
	}
}

// seekTail goes to where the last lines begin; an empty text stands for all.
func seekTail(f *os.File, text string) error {
	if text == "" {
		return nil
	}
	lines, err := strconv.Atoi(text)
	if err != nil || lines < 0 {
		return errors.New("tailLines: want a number")
	}
	content, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	end := len(bytes.TrimSuffix(content, []byte("\n")))
	if lines == 0 {
		end = len(content)
	}
	for ; lines > 0; lines-- {
		end = max(0, bytes.LastIndexByte(content[:end], '\n'))
		if end == 0 {
			break
		}
	}
	if end > 0 && end < len(content) {
		end++ // after the newline
	}
	_, err = f.Seek(int64(end), io.SeekStart)
	return err
}
