package app

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/settings"
)

// caFileAge is how long the file with the cluster's certificate authority is believed. client-go, which trusts the API server by the
// same file, reads it again within five minutes, and the kubelet writes it with up to a minute's delay.
const caFileAge = time.Minute

// caBundle gives what instances trust the API server by, base64 of PEM: the setting, or what this process trusts it by. A file is
// read again, so that a rotated authority is that of the next instances and those before it drift.
//
// Errors: the file can't be read now. Later the last one that could be read counts.
//
// Concurrency: what it returns is safe.
func caBundle(s settings.Settings, config *rest.Config, log *slog.Logger) (func() string, error) {
	if s.ClusterCABundle != "" {
		return func() string { return s.ClusterCABundle }, nil
	}
	if len(config.CAData) > 0 || config.CAFile == "" {
		fixed := base64.StdEncoding.EncodeToString(config.CAData)
		return func() string { return fixed }, nil
	}
	file := config.CAFile
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the cluster's certificate authority (or set CLUSTER_CA_BUNDLE): %w", err)
	}
	var mu sync.Mutex
	at, known := time.Now(), base64.StdEncoding.EncodeToString(pem)
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(at) >= caFileAge {
			at = now
			pem, err := os.ReadFile(file)
			if err == nil && !x509.NewCertPool().AppendCertsFromPEM(pem) {
				err = errors.New("it holds no certificate")
			}
			if err != nil {
				log.Warn("the cluster's certificate authority can't be read; new instances get the one that was read before", "file", file, "error", err)
				return known
			}
			known = base64.StdEncoding.EncodeToString(pem)
		}
		return known
	}, nil
}
