package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/version"
)

// kubeTimeout bounds one call to the API server: one that is not there must not keep the other half waiting.
const kubeTimeout = 15 * time.Second

// Connect makes the clients for the cluster that KubeConfig leads to.
func Connect(kubeconfig, kubeContext string) (client.Reader, kubernetes.Interface, error) {
	config, err := KubeConfig(kubeconfig, kubeContext)
	if err != nil {
		return nil, nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent, config.Timeout = "kerf-doctor/"+version.Version, kubeTimeout
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, awsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	return reader, pods, nil
}

// KubeConfig leads to the cluster of a kubeconfig file; when none is named, of KUBECONFIG, of the user's own file, or of the
// pod's service account. kubeContext is one of its contexts; empty: the current one.
//
// Errors: a file or a context that does not exist is named.
func KubeConfig(kubeconfig, kubeContext string) (*rest.Config, error) {
	if err := kubeconfigExists(kubeconfig); err != nil {
		return nil, err
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: kubeContext})
	if raw, err := loader.RawConfig(); err == nil && kubeContext != "" && raw.Contexts[kubeContext] == nil {
		names := slices.Sorted(maps.Keys(raw.Contexts))
		if len(names) == 0 {
			return nil, fmt.Errorf("--context %s: no kubeconfig has a context", kubeContext)
		}
		return nil, fmt.Errorf("--context %s: there is no such context in the kubeconfig; there are %s", kubeContext, strings.Join(names, ", "))
	}
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = errors.New("no kubeconfig was found, and this is no pod of a cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("finding the Kubernetes API (--kubeconfig, --context, KUBECONFIG): %w", err)
	}
	return config, nil
}

// kubeconfigExists complains of a file that is named and does not exist, and of a KUBECONFIG none of whose files exist, which
// client-go takes for one that is not set.
func kubeconfigExists(kubeconfig string) error {
	said, list := "--kubeconfig "+kubeconfig, []string{kubeconfig}
	if kubeconfig == "" {
		variable := os.Getenv("KUBECONFIG")
		said, list = "KUBECONFIG="+variable, filepath.SplitList(variable)
	}
	for _, path := range list {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%s: there is no such file", said)
}
