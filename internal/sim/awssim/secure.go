package awssim

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

const (
	certificateLife = 10 * 365 * 24 * time.Hour
	// firstByteTime is how long a new connection may say nothing.
	firstByteTime = time.Minute
	// tlsHandshake is the first byte of a connection that begins with a TLS handshake record.
	tlsHandshake = 0x16
)

// certificate makes a certificate for this instance's loopback addresses that is its own authority, and its PEM form, by
// which clients can trust it (AWS_CA_BUNDLE).
func certificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the key of the simulated AWS: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "simulated AWS"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("make the certificate of the simulated AWS: %w", err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, block, nil
}

// eitherListener takes TLS and plain connections on one port, so that one address serves the SDK, whose calls a policy may
// demand to be encrypted, and people with a browser.
type eitherListener struct {
	net.Listener
	config *tls.Config

	ready chan net.Conn
	done  chan struct{}
	once  sync.Once
	err   error // of the listener, once done is closed
}

func listenEither(l net.Listener, certificate tls.Certificate) *eitherListener {
	e := &eitherListener{
		Listener: l, ready: make(chan net.Conn), done: make(chan struct{}),
		// Without HTTP/2 a dropped reply costs one connection, as the faults want it.
		config: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
	go e.accept()
	return e
}

func (e *eitherListener) accept() {
	for {
		conn, err := e.Listener.Accept()
		if err != nil {
			if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
				continue
			}
			e.end(err)
			return
		}
		go e.sort(conn)
	}
}

// sort looks at the first byte of a connection.
func (e *eitherListener) sort(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(firstByteTime))
	r := bufio.NewReader(conn)
	first, err := r.Peek(1)
	if err != nil {
		conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	var c net.Conn = &peekedConn{Conn: conn, r: r}
	if first[0] == tlsHandshake {
		c = tls.Server(c, e.config)
	}
	select {
	case e.ready <- c:
	case <-e.done:
		conn.Close()
	}
}

func (e *eitherListener) end(err error) {
	e.once.Do(func() {
		e.err = err
		close(e.done)
	})
}

// Accept returns the next connection whose kind is known.
func (e *eitherListener) Accept() (net.Conn, error) {
	select {
	case c := <-e.ready:
		return c, nil
	case <-e.done:
		return nil, e.err
	}
}

// Close ends the listener.
func (e *eitherListener) Close() error {
	e.end(net.ErrClosed)
	return e.Listener.Close()
}

// peekedConn is a connection of which something has been read ahead.
type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c *peekedConn) Read(b []byte) (int, error) { return c.r.Read(b) }
