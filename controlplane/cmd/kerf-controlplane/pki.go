package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// An identity is a user of the cluster, known by a client certificate.
type identity struct {
	name   string   // of its kubeconfig file
	user   string   // common name of the certificate
	groups []string // organisations of the certificate
}

// identities are the users for whom a kubeconfig is written. The components
// have the rights they have in any cluster, or all of them where a cluster
// would use service account tokens: nobody runs pods here. A controller that
// is tested asks the apiserver for a token of its service account.
var identities = []identity{
	{name: "admin", user: "admin", groups: []string{"system:masters"}},
	{name: "scheduler", user: "system:kube-scheduler"},
	{name: "controller-manager", user: "system:kube-controller-manager", groups: []string{"system:masters"}},
	{name: "kwok", user: "kwok", groups: []string{"system:masters"}},
	{name: "machines", user: "system:machines", groups: []string{"system:masters"}},
}

// A keyPair is a certificate and its key, in PEM.
type keyPair struct {
	cert, key []byte
}

// An authority signs the certificates of one control plane. Its key never
// leaves the process.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// The clock of a laptop may jump a little; the certificates outlive any
// control plane of this kind.
const (
	certBackdate = time.Hour
	certLifetime = 5 * 365 * 24 * time.Hour
)

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certTemplate(pkix.Name{CommonName: "kerf-controlplane"})
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encodePEM("CERTIFICATE", der)}, nil
}

// serving returns a certificate for servers under these names and addresses.
func (a *authority) serving(hosts []string, addresses []net.IP) (keyPair, error) {
	template := certTemplate(pkix.Name{CommonName: "kube-apiserver"})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = hosts
	template.IPAddresses = addresses
	return a.sign(template)
}

// client returns a certificate that the apiserver takes for the identity.
func (a *authority) client(id identity) (keyPair, error) {
	template := certTemplate(pkix.Name{CommonName: id.user, Organization: id.groups})
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

func (a *authority) sign(template *x509.Certificate) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: encodePEM("CERTIFICATE", der), key: keyPEM}, nil
}

func certTemplate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // rand.Reader never fails
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-certBackdate),
		NotAfter:     now.Add(certLifetime),
	}
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// writePKI makes all certificates and kubeconfigs of one control plane in the
// layout's folders.
func writePKI(l layout) error {
	ca, err := newAuthority()
	if err != nil {
		return fmt.Errorf("make the certificate authority: %w", err)
	}
	serving, err := ca.serving(
		[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		[]net.IP{net.IPv4(127, 0, 0, 1), l.kubernetesIP},
	)
	if err != nil {
		return fmt.Errorf("make the serving certificate: %w", err)
	}
	tokenKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	tokenPEM, err := encodeKey(tokenKey)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	for path, content := range map[string][]byte{
		l.caFile(): ca.pem, l.servingCert(): serving.cert, l.servingKey(): serving.key, l.tokenKey(): tokenPEM,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	for _, id := range identities {
		pair, err := ca.client(id)
		if err != nil {
			return fmt.Errorf("make the certificate of %s: %w", id.name, err)
		}
		if err := clientcmd.WriteToFile(kubeconfigFor(l, id, ca.pem, pair), l.kubeconfig(id.name)); err != nil {
			return fmt.Errorf("write the kubeconfig of %s: %w", id.name, err)
		}
	}
	return nil
}

func kubeconfigFor(l layout, id identity, ca []byte, pair keyPair) clientcmdapi.Config {
	const name = "kerf-local"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: l.serverURL(), CertificateAuthorityData: ca}
	cfg.AuthInfos[id.name] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.cert, ClientKeyData: pair.key}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: id.name}
	cfg.CurrentContext = name
	return *cfg
}

func (l layout) caFile() string      { return filepath.Join(l.pkiDir(), "ca.crt") }
func (l layout) servingCert() string { return filepath.Join(l.pkiDir(), "serving.crt") }
func (l layout) servingKey() string  { return filepath.Join(l.pkiDir(), "serving.key") }
func (l layout) tokenKey() string    { return filepath.Join(l.pkiDir(), "service-account.key") }
