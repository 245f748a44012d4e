package snapshot

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/guard"
	"github.com/kerf-sh/kerf/internal/state/readonly"
	"github.com/kerf-sh/kerf/internal/version"
)

const (
	// pageSize is how many objects one list asks for: an answer of 500 pods is some megabytes, and takes an API server well below
	// a second.
	pageSize = 500
	// atOnce is how many kinds are listed at the same time.
	atOnce = 4
)

// Collect reads the cluster. Nothing is changed: a guard below the API sees to that. progress is told of each kind that was read;
// it may be nil.
//
// A kind that may not be read, or that the cluster does not have, becomes a gap. Errors: an API server that does not answer, or
// does not know the caller.
func Collect(ctx context.Context, config *rest.Config, now time.Time, progress func(resource string, objects int)) (*Snapshot, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100 // pages of one reader, not the load of a controller
	config.Wrap((&readonly.Guard{}).Kubernetes)
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, karpv1.AddToScheme, v1alpha1.AddToScheme, awsv1.AddToScheme} {
		if err := add(known); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: known})
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	s := &Snapshot{Kerf: version.Version, TakenAt: now.UTC().Truncate(time.Second)}
	if s.KubernetesVersion, err = serverVersion(config); err != nil {
		return nil, err
	}
	gaps := make([]*Gap, len(kinds))
	var telling sync.Mutex
	all, giveUp := context.WithCancel(ctx) // all of them once one can't reach the API server
	defer giveUp()
	group := guard.Group{Limit: atOnce}
	for i := range kinds {
		k := &kinds[i]
		group.Go("snapshot."+k.resource, func() error {
			err := list(all, api, known, k, &s.Objects)
			switch gap, ok := gapOf(k, err); {
			case err == nil:
				telling.Lock()
				defer telling.Unlock()
				if progress != nil {
					progress(k.resource, len(k.all(&s.Objects)))
				}
			case ok:
				gaps[i] = gap
			case all.Err() != nil: // another has failed, which is told, or the caller has given up
			default:
				giveUp()
				return fmt.Errorf("listing %s from the Kubernetes API at %s: %w", k.resource, config.Host, err)
			}
			return nil
		})
	}
	if err := errors.Join(group.Wait(), ctx.Err()); err != nil {
		return nil, err
	}
	for _, g := range gaps {
		if g != nil {
			s.Gaps = append(s.Gaps, *g)
		}
	}
	s.settle()
	return s, nil
}

func serverVersion(config *rest.Config) (string, error) {
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
	}
	v, err := d.ServerVersion()
	switch {
	case err == nil:
		return v.GitVersion, nil
	case apierrors.IsForbidden(err):
		return "", nil
	case apierrors.IsUnauthorized(err):
		return "", fmt.Errorf("the Kubernetes API at %s does not know you: the token or certificate of the kubeconfig is not valid (any more): %w", config.Host, err)
	}
	return "", fmt.Errorf("connecting to the Kubernetes API at %s: %w", config.Host, err)
}

// list reads all objects of a kind, page by page. On a page whose continuation has expired it begins anew, without pages.
func list(ctx context.Context, api client.Client, known *runtime.Scheme, k *kind, into *Objects) error {
	if k.gvk.GroupVersion() == metricsGroup {
		return listUsage(ctx, api, k, into)
	}
	options := &client.ListOptions{Limit: pageSize}
	var found Objects
	for {
		empty, err := known.New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
		if err != nil {
			return err
		}
		page, ok := empty.(client.ObjectList)
		if !ok {
			return fmt.Errorf("%s is no list", k.gvk.Kind)
		}
		err = api.List(ctx, page, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			found, options = Objects{}, &client.ListOptions{}
			continue
		}
		if err != nil {
			return err
		}
		if err := meta.EachListItem(page, func(o runtime.Object) error { k.take(&found, o); return nil }); err != nil {
			return err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	for _, o := range k.all(&found) {
		k.take(into, o)
	}
	return nil
}

// listUsage reads what pods use. metrics-server knows no pages.
func listUsage(ctx context.Context, api client.Client, k *kind, into *Objects) error {
	page := &unstructured.UnstructuredList{}
	page.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err := api.List(ctx, page); err != nil {
		return err
	}
	for i := range page.Items {
		m := &PodMetrics{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(page.Items[i].Object, m); err != nil {
			return fmt.Errorf("reading the metrics of pod %s/%s: %w", page.Items[i].GetNamespace(), page.Items[i].GetName(), err)
		}
		into.Usage = append(into.Usage, m)
	}
	return nil
}

// gapOf makes a gap of an error that is about one kind; not ok where it is about the way to the API server, or the caller has
// given up.
func gapOf(k *kind, err error) (*Gap, bool) {
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return nil, false
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return &Gap{Kind: k.resource, Why: "the cluster does not have them", Absent: true}, true
	case apierrors.IsForbidden(err):
		return &Gap{Kind: k.resource, Why: "you may not list them"}, true
	case apierrors.IsUnauthorized(err), errors.Is(err, context.Canceled):
		return nil, false
	case errors.As(err, &status) && status.Status().Code != http.StatusTooManyRequests, k.optional:
		return &Gap{Kind: k.resource, Why: strings.TrimSpace(err.Error())}, true
	}
	return nil, false
}
