package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Files of the volume that a pod has at /var/run/secrets/kubernetes.io/serviceaccount.
const (
	TokenFile     = "token"
	CAFile        = corev1.ServiceAccountRootCAKey
	NamespaceFile = "namespace"
)

// defaultExpiry is for how long a pod's token is asked for: an hour and what the volume's writer allows for being late.
const defaultExpiry = 3607 * time.Second

// An Account says whose token a volume holds.
type Account struct {
	Namespace, Name string
	Audiences       []string      // none: that of the API server
	Expiry          time.Duration // 0: that of pods; the API server refuses less than ten minutes
	// Bound is the name of a Secret that the volume makes and removes. A token is worth nothing once it is gone, as a pod's
	// token once the pod is gone.
	Bound string
	// Pod is the pod of the API that the token is bound to, in place of a Secret.
	Pod *corev1.Pod
}

// A Volume is a folder with a token that is replaced before it expires, the certificate authority of the API server, and
// the namespace.
type Volume struct {
	Dir string

	account Account
	client  kubernetes.Interface
	report  func(string)
	stop    func()
	done    chan struct{}

	mu     sync.Mutex
	issued time.Time
	until  time.Time // when the token expires
}

// Mount makes a volume. Its token is asked for as the client's user.
//
// Errors: the service account, by name, that is not there or gets no token.
func Mount(ctx context.Context, client kubernetes.Interface, dir string, a Account, ca []byte, report func(string)) (*Volume, error) {
	v := &Volume{Dir: dir, account: a, client: client, report: report, done: make(chan struct{})}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of a service account's token: %w", err)
	}
	for name, text := range map[string]string{CAFile: string(ca), NamespaceFile: a.Namespace} {
		if err := v.write(name, text); err != nil {
			return nil, err
		}
	}
	if err := v.Rotate(ctx); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	v.stop = stop
	go func() {
		defer close(v.done)
		v.keep(life)
	}()
	return v, nil
}

// Rotate asks for a new token and puts it in the place of the old one.
func (v *Volume) Rotate(ctx context.Context) error {
	what := fmt.Sprintf("token of service account %s/%s", v.account.Namespace, v.account.Name)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: v.account.Audiences, ExpirationSeconds: new(int64(v.expiry() / time.Second))}}
	switch {
	case v.account.Pod != nil:
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: v.account.Pod.Name, UID: v.account.Pod.UID}
	case v.account.Bound != "":
		ref, err := v.bind(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		request.Spec.BoundObjectRef = ref
	}
	asked := time.Now()
	got, err := v.client.CoreV1().ServiceAccounts(v.account.Namespace).CreateToken(ctx, v.account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := v.write(TokenFile, got.Status.Token); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.issued, v.until = asked, got.Status.ExpirationTimestamp.Time
	return nil
}

func (v *Volume) expiry() time.Duration {
	if v.account.Expiry == 0 {
		return defaultExpiry
	}
	return v.account.Expiry
}

// bind makes sure that there is the Secret that the token lives as long as.
func (v *Volume) bind(ctx context.Context) (*authenticationv1.BoundObjectReference, error) {
	s := &corev1.Secret{}
	s.Name, s.Namespace = v.account.Bound, v.account.Namespace
	made, err := v.client.CoreV1().Secrets(s.Namespace).Create(ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = v.client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	return &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: made.Name, UID: made.UID}, nil
}

// retryRotation is how long a kubelet takes until it looks at a volume again.
const retryRotation = time.Minute

// refreshAt is when a kubelet asks for the next token: when a fifth of its time is left, and once a day at least.
func (v *Volume) refreshAt() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.issued.Add(min(v.until.Sub(v.issued)*4/5, 24*time.Hour))
}

func (v *Volume) keep(ctx context.Context) {
	next := v.refreshAt()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(next)):
		}
		if err := v.Rotate(ctx); err != nil && ctx.Err() == nil {
			v.report(fmt.Sprintf("%v; trying again in %s", err, retryRotation))
			next = time.Now().Add(retryRotation)
			continue
		}
		next = v.refreshAt()
	}
}

// write replaces a file at once: a reader sees the old text or the new one.
func (v *Volume) write(name, text string) error {
	path := filepath.Join(v.Dir, name)
	err := os.WriteFile(path+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write the volume of service account %s/%s: %w", v.account.Namespace, v.account.Name, err)
	}
	return nil
}

// Kubeconfig writes a kubeconfig beside the token that leads to an API server with whatever token the file holds then, for
// processes whose /var/run is not theirs.
func (v *Volume) Kubeconfig(server string) (path string, err error) {
	const name = "pod"
	cfg := clientcmdapi.NewConfig()
	cfg.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: filepath.Join(v.Dir, CAFile)}
	cfg.AuthInfos[name] = &clientcmdapi.AuthInfo{TokenFile: filepath.Join(v.Dir, TokenFile)}
	cfg.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: v.account.Namespace}
	cfg.CurrentContext = name
	path = filepath.Join(v.Dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*cfg, path); err != nil {
		return "", fmt.Errorf("write the kubeconfig of service account %s/%s: %w", v.account.Namespace, v.account.Name, err)
	}
	return path, nil
}

// Close ends the rotation and makes the token worthless, if it is bound and the API server answers.
func (v *Volume) Close() {
	v.stop()
	<-v.done
	if v.account.Bound == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = v.client.CoreV1().Secrets(v.account.Namespace).Delete(ctx, v.account.Bound, metav1.DeleteOptions{}) // see above
}
