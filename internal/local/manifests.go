package local

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

//go:embed examples/default.yaml
var defaultExample string

// DefaultManifests returns the NodePool and EC2NodeClass named default for a cluster of this name, as an install guide
// would have them.
func DefaultManifests(cluster string) []byte {
	return []byte(strings.ReplaceAll(defaultExample, "${CLUSTER_NAME}", cluster))
}

// install adds what an installation of the controller adds to a cluster: the CRDs, and all of "kerf manifests" but the
// Deployment, whose first container runs as a process of this instance.
func (c *Cluster) install(ctx context.Context) error {
	c.options.Report("installing the CRDs")
	a, err := c.applier()
	if err != nil {
		return err
	}
	crds, err := manifests.CRDs()
	if err != nil {
		return err
	}
	text, err := manifests.YAML(crds)
	if err != nil {
		return err
	}
	names, err := a.apply(ctx, text)
	if err != nil {
		return fmt.Errorf("apply the CRDs: %w", err)
	}
	if err := a.awaitEstablished(ctx, names); err != nil {
		return err
	}
	installation, err := c.installation(0, 0)
	if err != nil {
		return err
	}
	text, err = manifests.YAML(slices.DeleteFunc(installation, func(o client.Object) bool { _, ok := o.(*appsv1.Deployment); return ok }))
	if err != nil {
		return err
	}
	if _, err := a.apply(ctx, text); err != nil {
		return fmt.Errorf("apply the controller's rights: %w", err)
	}
	return nil
}

// installation are the objects of the controller's installation with the settings that were asked for. A setting of a port beats the port
// here; ports that are 0 are the chart's, whatever is set.
func (c *Cluster) installation(metricsPort, healthPort int) ([]client.Object, error) {
	v := manifests.Defaults()
	v.Settings.ClusterName, v.Settings.InterruptionQueue = c.Name, c.Name
	v.Controller.Metrics.Port = cmp.Or(int32(metricsPort), v.Controller.Metrics.Port)
	v.Controller.HealthProbe.Port = cmp.Or(int32(healthPort), v.Controller.HealthProbe.Port)
	set := map[string]string{} // of a variable that is there twice the last counts
	for _, pair := range c.options.ControllerEnv {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	for name, value := range set {
		switch name {
		case "METRICS_PORT", "HEALTH_PROBE_PORT": // probes go to what the values say
			port, into := metricsPort, &v.Controller.Metrics.Port
			if name == "HEALTH_PROBE_PORT" {
				port, into = healthPort, &v.Controller.HealthProbe.Port
			}
			if port == 0 {
				continue
			}
			if n, err := strconv.ParseUint(value, 10, 16); err == nil && n > 0 {
				*into = int32(n)
				continue
			}
		case "FEATURE_GATES": // which rights the controller gets hangs on them
			gates, err := settings.ParseGates(value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			v.Settings.FeatureGates = manifests.FeatureGates(gates)
		case "SCHEDULER_CONFIG":
			v.Settings.SchedulerConfig = value
			continue
		}
		if v.Variables == nil {
			v.Variables = map[string]string{}
		}
		v.Variables[name] = value
	}
	return manifests.Objects(manifests.Release{}, v)
}

// applyManifests applies the examples and the user's files, if any are wanted.
func (c *Cluster) applyManifests(ctx context.Context) error {
	if c.options.Examples {
		c.options.Report("applying the NodePool and EC2NodeClass named default")
		if err := c.Apply(ctx, DefaultManifests(c.Name)); err != nil {
			return fmt.Errorf("apply the examples: %w", err)
		}
	}
	for _, path := range c.options.Manifests {
		c.options.Report("applying " + path)
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("apply manifests: %w", err)
		}
		if err := c.Apply(ctx, text); err != nil {
			return fmt.Errorf("apply %s: %w", path, err)
		}
	}
	return nil
}

// poolWait is how long the example's pool may take to be ready: a second or two, where nobody has spoilt the account.
const poolWait = 20 * time.Second

// awaitPool waits until the NodePool named default is ready, which it is with its EC2NodeClass. One that does not get ready, as with
// a stack that lacks something, ends nothing: it is what somebody may want to see.
//
// Errors: those of the context and of the API.
func (c *Cluster) awaitPool(ctx context.Context) error {
	reader, err := c.Client()
	if err != nil {
		return err
	}
	for end := time.Now().Add(poolWait); ; {
		pool := &karpv1.NodePool{}
		if err := reader.Get(ctx, client.ObjectKey{Name: "default"}, pool); err != nil {
			return fmt.Errorf("wait for the NodePool default: %w", err)
		}
		if pool.StatusConditions().Root().IsTrue() {
			return nil
		}
		if time.Now().After(end) {
			c.options.Report("the NodePool default is not ready: kubectl describe nodepools,ec2nodeclasses says why")
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the NodePool default: %w", context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Apply applies manifests, in YAML or JSON and separated by lines of three dashes, in their order. Objects without a
// namespace go to the namespace default.
//
// Errors: the first object that is refused, by kind and name.
func (c *Cluster) Apply(ctx context.Context, manifests []byte) error {
	a, err := c.applier()
	if err != nil {
		return err
	}
	_, err = a.apply(ctx, manifests)
	return err
}

// An applier applies objects of any kind.
type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func (c *Cluster) applier() (*applier, error) {
	cfg, err := c.Config()
	if err != nil {
		return nil, err
	}
	return newApplier(cfg)
}

func newApplier(cfg *rest.Config) (*applier, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &applier{client: client, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// apply returns the names of the objects that it applied.
func (a *applier) apply(ctx context.Context, manifests []byte) ([]string, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 64<<10)
	var names []string
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return names, fmt.Errorf("read manifest %d: %w", len(names)+1, err)
		}
		if len(object.Object) == 0 { // nothing but comments
			continue
		}
		if err := a.applyOne(ctx, &object); err != nil {
			return names, fmt.Errorf("%s %q: %w", object.GetKind(), object.GetName(), err)
		}
		names = append(names, object.GetName())
	}
}

func (a *applier) applyOne(ctx context.Context, object *unstructured.Unstructured) error {
	gvk := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) { // a CRD may have been added since the last look
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		resource = a.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "kerf-local", Force: true})
	return err
}

// awaitEstablished waits until the apiserver serves the resources of these definitions.
func (a *applier) awaitEstablished(ctx context.Context, names []string) error {
	resource := a.client.Resource(schema.GroupVersionResource{
		Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions",
	})
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, name := range names {
		for {
			crd, err := resource.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("wait for CRD %s: %w", name, err)
			}
			if established(crd) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for CRD %s: %w", name, context.Cause(ctx))
			case <-tick.C:
			}
		}
	}
	return nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, item := range conditions {
		condition, ok := item.(map[string]any)
		if ok && condition["type"] == string(apiextensionsv1.Established) && condition["status"] == "True" {
			return true
		}
	}
	return false
}
