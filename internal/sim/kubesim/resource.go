package kubesim

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// resource is one kind of object and all objects of it.
type resource struct {
	group, version, plural, kind string
	namespaced                   bool
	// status tells that the object's status is written by a sub-resource of its own. keepsStatus is a kind whose objects may
	// be created with a status nonetheless.
	status, keepsStatus bool
	// generation tells that changes of more than metadata and status are counted.
	generation bool
	// custom is the schema of a custom resource; nil for those built in.
	custom *custom
	// protobuf tells that the kind has a form in protobuf, parted that it is made of parts.
	protobuf, parted bool

	objects  map[string]*object // by namespace/name
	log      []change           // the last ones, oldest first
	dropped  int                // how many are no longer in log
	horizon  uint64             // the version up to which changes have been dropped
	watchers map[*watcher]struct{}
	named    map[string]int // how many names were generated, by how they begin
	written  []written      // events, the one that was written longest ago first
}

func (r *resource) path() string { return r.group + "/" + r.version + "/" + r.plural }

func (r *resource) apiVersion() string {
	return schema.GroupVersion{Group: r.group, Version: r.version}.String()
}

func (r *resource) gk() schema.GroupKind { return schema.GroupKind{Group: r.group, Kind: r.kind} }

func (r *resource) gr() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

// typed makes an empty object of the kind's Go type; nil for custom resources.
func (r *resource) typed() any {
	if r.custom != nil {
		return nil
	}
	o, err := scheme.Scheme.New(schema.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind})
	if err != nil {
		return nil
	}
	return o
}

// subs are the names of the sub-resources.
func (r *resource) subs() []string {
	var out []string
	if r.status {
		out = append(out, "status")
	}
	if r.group == corev1.GroupName && r.plural == "pods" {
		out = append(out, "binding", "eviction")
	}
	return out
}

// groupVersion is what discovery tells of a group.
type groupVersion struct {
	group, version string
	resources      []*resource
}

// add serves one more resource.
func (s *Server) add(r *resource) {
	r.objects, r.watchers = map[string]*object{}, map[*watcher]struct{}{}
	_, r.protobuf = r.typed().(message)
	r.parted = r.protobuf && inParts(r.typed())
	s.byPath[r.path()] = r
	n := slices.IndexFunc(s.groups, func(g *groupVersion) bool { return g.group == r.group && g.version == r.version })
	if n < 0 {
		n = len(s.groups)
		s.groups = append(s.groups, &groupVersion{group: r.group, version: r.version})
	}
	s.groups[n].resources = append(s.groups[n].resources, r)
}

// builtIn are the resources of every cluster that are served here. In the table a kind that ends in an asterisk has no
// namespace; "s" has a status of its own, "k" keeps it at creation, "g" counts generations.
func builtIn() []*resource {
	var out []*resource
	for _, group := range []struct {
		group, version string
		kinds          []string
	}{
		{"", "v1", []string{
			"namespaces Namespace* s", "nodes Node* sk", "pods Pod sg", "services Service s", "configmaps ConfigMap", "secrets Secret", "events Event",
			"serviceaccounts ServiceAccount", "persistentvolumes PersistentVolume* s", "persistentvolumeclaims PersistentVolumeClaim s", "podtemplates PodTemplate",
			"replicationcontrollers ReplicationController sg", "limitranges LimitRange", "resourcequotas ResourceQuota s", "endpoints Endpoints",
		}},
		{"apps", "v1", []string{"daemonsets DaemonSet sg", "deployments Deployment sg", "replicasets ReplicaSet sg", "statefulsets StatefulSet sg", "controllerrevisions ControllerRevision"}},
		{"batch", "v1", []string{"jobs Job sg", "cronjobs CronJob sg"}},
		{"policy", "v1", []string{"poddisruptionbudgets PodDisruptionBudget sg"}},
		{"storage.k8s.io", "v1", []string{"storageclasses StorageClass*", "csinodes CSINode*", "volumeattachments VolumeAttachment* s", "csidrivers CSIDriver*", "csistoragecapacities CSIStorageCapacity"}},
		{"coordination.k8s.io", "v1", []string{"leases Lease"}},
		{"events.k8s.io", "v1", []string{"events Event"}},
		{"scheduling.k8s.io", "v1", []string{"priorityclasses PriorityClass* g"}},
		{"node.k8s.io", "v1", []string{"runtimeclasses RuntimeClass*"}},
		{"resource.k8s.io", "v1", []string{"resourceclaims ResourceClaim s", "resourceclaimtemplates ResourceClaimTemplate", "resourceslices ResourceSlice* g", "deviceclasses DeviceClass* g"}},
	} {
		for _, line := range group.kinds {
			words := strings.Fields(line + " -")
			kind, everywhere := strings.CutSuffix(words[1], "*")
			out = append(out, &resource{
				group: group.group, version: group.version, plural: words[0], kind: kind, namespaced: !everywhere,
				status: strings.Contains(words[2], "s"), keepsStatus: strings.Contains(words[2], "k"), generation: strings.Contains(words[2], "g"),
			})
		}
	}
	return append(out, &resource{group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions", kind: "CustomResourceDefinition", status: true, keepsStatus: true, generation: true, custom: &custom{}})
}

// same tells whether two values of JSON are equal. Those that objects share are so without a look inside.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		if shared(a, b) {
			return true
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// shared tells whether two values are one map, so that there is no need to look inside.
func shared(a, b any) bool {
	x, ok := a.(map[string]any)
	y, also := b.(map[string]any)
	return ok && also && x != nil && reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer()
}
