package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kerf-sh/kerf/internal/settings"
)

// authority is a certificate of its own.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, one, one, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func TestARotatedAuthorityIsThatOfTheNextInstances(t *testing.T) {
	before, after := authority(t), authority(t)
	for name, c := range map[string]struct {
		setting, data string
		becomes       string // the file's content; empty for no file any more
		wait          time.Duration
		first, then   string
	}{
		"the file is read again":       {"", "", after, caFileAge, before, after},
		"not each time":                {"", "", after, caFileAge - 1, before, before},
		"one without a certificate":    {"", "", after[:40], caFileAge, before, before},
		"one that is gone":             {"", "", "", caFileAge, before, before},
		"data come before the file":    {"", "data", after, caFileAge, "data", "data"},
		"the setting comes before all": {"setting", "data", after, caFileAge, "setting", "setting"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "ca.crt")
				if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
					t.Fatal(err)
				}
				var s settings.Settings
				if c.setting != "" {
					s.ClusterCABundle = base64.StdEncoding.EncodeToString([]byte(c.setting))
				}
				ca, err := caBundle(s, &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: file, CAData: []byte(c.data)}}, slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				is := func(want string) {
					t.Helper()
					if got, err := base64.StdEncoding.DecodeString(ca()); err != nil || string(got) != want {
						t.Errorf("it is %q, %v; want %q", got, err, want)
					}
				}
				is(c.first)
				if err = os.Remove(file); err == nil && c.becomes != "" {
					err = os.WriteFile(file, []byte(c.becomes), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.wait)
				is(c.then)
			})
		})
	}
	if _, err := caBundle(settings.Settings{}, &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(t.TempDir(), "none")}}, nil); err == nil {
		t.Error("a file that is not there at the start is no error")
	}
}
