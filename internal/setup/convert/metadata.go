package convert

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serverMade are members of metadata that the API server and controllers make.
var serverMade = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink",
	"finalizers", "ownerReferences",
}

// controllerMade are annotations that older controllers and kubectl wrote.
var controllerMade = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"karpenter.sh/provisioner-hash", "karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version", "karpenter.sh/stored-version-migrated",
	"karpenter.k8s.aws/nodetemplate-hash", "karpenter.k8s.aws/awsnodetemplate-hash", "karpenter.k8s.aws/ec2nodeclass-hash",
	"karpenter.k8s.aws/ec2nodeclass-hash-version", "karpenter.sh/managed-by", "compatibility.karpenter.k8s.aws/cluster-name-tagged",
}

// metadata converts the metadata of a kind that belongs to no namespace.
func (f *fields) metadata(name string) metav1.ObjectMeta {
	out := metav1.ObjectMeta{Name: name}
	f.take("apiVersion")
	f.take("kind")
	f.take("metadata", "name")
	if labels := f.textMap("metadata", "labels"); len(labels) > 0 {
		out.Labels = labels
		f.kept("metadata.labels", "")
	}
	annotations := f.textMap("metadata", "annotations")
	var made []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if slices.Contains(controllerMade, key) {
			made = append(made, "metadata.annotations["+key+"]")
			delete(annotations, key)
		}
	}
	if len(annotations) > 0 {
		out.Annotations = annotations
		f.kept("metadata.annotations", "")
	}
	for _, key := range serverMade {
		if _, ok := f.take("metadata", key); ok {
			made = append(made, "metadata."+key)
		}
	}
	if _, ok := f.take("metadata", "namespace"); ok {
		f.lost("metadata.namespace", "the kind belongs to no namespace", "")
	}
	if _, ok := f.take("status"); ok {
		made = append(made, "status")
	}
	if len(made) > 0 {
		f.lost(strings.Join(made, ", "), "the API server and the controller make their own", "")
	}
	return out
}

// nameOr is the name of an object, or the one that it gets.
func (f *fields) nameOr(name string) string {
	if given := f.doc.name(); given != "" {
		return given
	}
	f.translated("metadata.name (not set)", "metadata.name: "+name, "an object needs a name; guides of that time called their only one "+name)
	return name
}
