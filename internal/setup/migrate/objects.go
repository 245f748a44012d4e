package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/api/karpenter/v1alpha1"
	"github.com/kerf-sh/kerf/internal/setup/changeplan"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// objects puts what is stored through Kerf's own reading and checks.
func (e *examination) objects() {
	for _, kind := range []struct {
		name string
		make func() client.Object
	}{
		{"NodePool", func() client.Object { return &karpv1.NodePool{} }},
		{"EC2NodeClass", func() client.Object { return &awsv1.EC2NodeClass{} }},
		{"NodeClaim", func() client.Object { return &karpv1.NodeClaim{} }},
		{"NodeOverlay", func() client.Object { return &v1alpha1.NodeOverlay{} }},
	} {
		before, list := len(e.findings), e.Objects[kind.name]
		for i := range list {
			if e.managed(&list[i]) {
				e.object(&list[i], kind.make())
			}
		}
		if len(list) > 0 && len(e.findings) == before {
			e.fine(plural(kind.name), "all %d are read and accepted as they are", len(list))
		}
	}
	e.otherClasses()
	e.unreadAnnotations()
	e.convertedKubelets()
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "s") {
		return kind + "es"
	}
	return kind + "s"
}

// managed tells whether an object is Kerf's to read: pools and claims that name a class of another kind are not.
func (e *examination) managed(o *unstructured.Unstructured) bool {
	path := map[string][]string{"NodePool": {"spec", "template", "spec", "nodeClassRef", "group"}, "NodeClaim": {"spec", "nodeClassRef", "group"}}[o.GetKind()]
	if path == nil {
		return true
	}
	group, found, _ := unstructured.NestedString(o.Object, path...)
	return !found || group == awsv1.Group
}

// object judges one object: what can't be read, fields that Kerf does not know, and values that it refuses.
func (e *examination) object(u *unstructured.Unstructured, into client.Object) {
	name, resource := u.GetKind()+" "+u.GetName(), strings.ToLower(u.GetKind())
	edit := "kubectl edit " + resource + " " + u.GetName()
	tree := maps.Clone(u.Object)
	delete(tree, "status") // the controllers' own
	text, err := json.Marshal(tree)
	if err != nil {
		e.unknown(name, "can't be read: %v", err)
		return
	}
	strict, err := kjson.UnmarshalStrict(text, into)
	if err != nil {
		e.blocks(name, "Kerf can't read it: %v", err).why("Kerf leaves it out, and neither launches nor removes nodes for it").fix(edit)
		return
	}
	for _, s := range strict {
		e.blocks(name, "%v, which Kerf does not know", s).why("Kerf takes no notice of it, and with Kerf's definition the API server drops it").fix(edit)
	}
	if u.GetKind() == "NodeClaim" && u.GetLabels()[karpv1.NodePoolLabelKey] != "" {
		return // the controller made it, with keys that people may not use
	}
	for _, p := range changeplan.Problems(into) {
		f := e.blocks(name, "%s", p.Error()).fix(edit)
		if u.GetKind() == "NodeClaim" { // its spec can't be changed
			f.why("Kerf leaves the NodeClaim out")
			f.Fix = []string{"kubectl delete nodeclaim " + u.GetName() + "   # drains its node; the NodePool launches another where one is needed"}
			continue
		}
		f.why("Kerf refuses the %s and launches nothing by it", u.GetKind())
	}
	if o, ok := into.(*v1alpha1.NodeOverlay); ok {
		if _, err := intake.Overlay(o); err != nil {
			e.blocks(name, "%v", err).why("Kerf refuses the overlay; prices and resources are as without it").fix(edit)
		}
	}
}

// otherClasses are pools of classes that Kerf does not serve, such as those of EKS Auto Mode.
func (e *examination) otherClasses() {
	byGroup := map[string][]string{}
	for i := range e.Objects["NodePool"] {
		if o := &e.Objects["NodePool"][i]; !e.managed(o) {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "nodeClassRef", "group")
			byGroup[group] = append(byGroup[group], o.GetName())
		}
	}
	for _, group := range slices.Sorted(maps.Keys(byGroup)) {
		e.differs("NodePools "+few(byGroup[group]), "their class is of the group %s", group).
			why("Kerf leaves them and their NodeClaims to the controller of that group")
	}
}

// deprecated are annotations of releases before 1.0 by what took their place.
var deprecated = map[string]string{
	"karpenter.sh/do-not-evict":       karpv1.DoNotDisruptAnnotationKey,
	"karpenter.sh/do-not-consolidate": karpv1.DoNotDisruptAnnotationKey,
}

// unreadAnnotations are those that nothing reads any more, though their names ask for something.
func (e *examination) unreadAnnotations() {
	for i := range e.Nodes {
		n := &e.Nodes[i]
		for _, old := range slices.Sorted(maps.Keys(deprecated)) {
			if _, ok := n.Annotations[old]; ok {
				e.differs("Node "+n.Name, "the annotation %s has no effect, in Karpenter 1.x and in Kerf", old).
					fix(fmt.Sprintf("kubectl annotate node %s %s=true %s-", n.Name, deprecated[old], old))
			}
		}
	}
}

// convertedKubelet holds, on a NodePool that Karpenter 1.0 converted from v1beta1, the kubelet's settings that stood in it. That
// release takes them before those of the class; later ones read the class alone.
const convertedKubelet = "compatibility.karpenter.sh/v1beta1-kubelet-conversion"

// runsFirst reports whether Karpenter 1.0 runs.
func (e *examination) runsFirst() bool {
	if e.Deployment == nil || e.isKerf() {
		return false
	}
	running, err := minor(e.version())
	return err == nil && running.Major() == 1 && running.Minor() == 0
}

// convertedKubelets are settings of kubelets that only Karpenter 1.0 reads.
func (e *examination) convertedKubelets() {
	for i := range e.Objects["NodePool"] {
		o := &e.Objects["NodePool"][i]
		kubelet, ok := o.GetAnnotations()[convertedKubelet]
		if !ok {
			continue
		}
		class, _, _ := unstructured.NestedString(o.Object, "spec", "template", "spec", "nodeClassRef", "name")
		remove := "kubectl annotate nodepool " + o.GetName() + " " + convertedKubelet + "-"
		if !e.runsFirst() {
			e.differs("NodePool "+o.GetName(), "its annotation %s has no effect: only Karpenter 1.0 reads it", convertedKubelet).fix(remove)
			continue
		}
		e.blocks("NodePool "+o.GetName(), "its annotation %s has settings of the kubelet, which only Karpenter 1.0 reads", convertedKubelet).
			why("new nodes would have the kubelet's defaults: other numbers of pods, and nothing reserved").
			fix("kubectl edit ec2nodeclass "+class+"   # spec.kubelet: "+kubelet, remove)
	}
}
