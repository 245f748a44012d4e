// Package index names the field indexes of the informer cache that several controllers look objects up by, and the
// look-ups themselves.
package index

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/state/intake"
)

// The indexed fields.
const (
	PodNode              = "spec.nodeName"
	NodeProviderID       = "spec.providerID"
	NodeCommand          = "disruption command" // of a node that is to go by it
	ClaimProviderID      = "status.providerID"
	ClaimClass           = "spec.nodeClassRef.name"
	VolumeAttachmentNode = "spec.nodeName"
)

// classKind is the kind of node class that Kerf serves.
const classKind = "EC2NodeClass"

// Annotations of NodeClaims that say why their instances go.
const (
	// ExpiredAnnotation: the node has reached the age at which its pool replaces it; its value is when that was.
	ExpiredAnnotation = "kerf.sh/expired"
	// InterruptedAnnotation: AWS takes the instance back; its value says why.
	InterruptedAnnotation = "kerf.sh/interrupted"
	// MaintenanceAnnotation: AWS has scheduled work on the instance; its value is JSON and says what and when.
	MaintenanceAnnotation = "kerf.sh/maintenance"
)

// CommandAnnotation is on NodeClaims that were launched so that other nodes can go; its value is the ID of the command
// that those nodes bear too. It comes to the node of such a claim as all its annotations do.
const CommandAnnotation = "kerf.sh/disruption-command"

// Indexer adds an index; it is the method of client.FieldIndexer and of the fake client's builder, wrapped.
type Indexer interface {
	IndexField(ctx context.Context, obj client.Object, field string, extractValue client.IndexerFunc) error
}

type row struct {
	object  client.Object
	field   string
	extract client.IndexerFunc
}

func rows() []row {
	one := func(s string) []string {
		if s == "" {
			return nil
		}
		return []string{s}
	}
	return []row{
		{&corev1.Pod{}, PodNode, func(o client.Object) []string { return one(o.(*corev1.Pod).Spec.NodeName) }},
		{&corev1.Node{}, NodeProviderID, func(o client.Object) []string { return one(o.(*corev1.Node).Spec.ProviderID) }},
		{&corev1.Node{}, NodeCommand, func(o client.Object) []string { return one(CommandOf(o.(*corev1.Node))) }},
		{&karpv1.NodeClaim{}, ClaimProviderID, func(o client.Object) []string { return one(o.(*karpv1.NodeClaim).Status.ProviderID) }},
		{&karpv1.NodeClaim{}, ClaimClass, func(o client.Object) []string { return one(o.(*karpv1.NodeClaim).Spec.NodeClassRef.Name) }},
		{&storagev1.VolumeAttachment{}, VolumeAttachmentNode, func(o client.Object) []string { return one(o.(*storagev1.VolumeAttachment).Spec.NodeName) }},
	}
}

// CommandOf is the command by which a node is to go, or goes already; empty if there is none.
func CommandOf(node *corev1.Node) string {
	if node.Annotations[intake.DisruptingAnnotation] == "" {
		return ""
	}
	return node.Annotations[CommandAnnotation]
}

// BesideInCommand lists the other nodes that go by the command by which a node goes; none if it goes by itself.
func BesideInCommand(ctx context.Context, c client.Reader, node *corev1.Node) ([]string, error) {
	command := CommandOf(node)
	if command == "" {
		return nil, nil
	}
	var list corev1.NodeList
	if err := c.List(ctx, &list, client.MatchingFields{NodeCommand: command}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes of command %q: %w", command, err)
	}
	var out []string
	for i := range list.Items {
		if name := list.Items[i].Name; name != node.Name {
			out = append(out, name)
		}
	}
	return out, nil
}

// Add adds all indexes.
func Add(ctx context.Context, i Indexer) error {
	for _, r := range rows() {
		if err := i.IndexField(ctx, r.object, r.field, r.extract); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", r.object, r.field, err)
		}
	}
	return nil
}

// Managed reports whether a claim is of a node class that Kerf serves; all others belong to another controller.
func Managed(claim *karpv1.NodeClaim) bool {
	ref := claim.Spec.NodeClassRef
	return ref != nil && ref.Group == awsv1.Group && ref.Kind == classKind
}

// ManagedPool is Managed for NodePools.
func ManagedPool(pool *karpv1.NodePool) bool {
	ref := pool.Spec.Template.Spec.NodeClassRef
	return ref != nil && ref.Group == awsv1.Group && ref.Kind == classKind
}

// ClaimsOfNode lists the managed claims whose instance is the node's.
func ClaimsOfNode(ctx context.Context, c client.Reader, node *corev1.Node) ([]*karpv1.NodeClaim, error) {
	return claimsOfNode(ctx, c, node)
}

func claimsOfNode(ctx context.Context, c client.Reader, node *corev1.Node, how ...client.ListOption) ([]*karpv1.NodeClaim, error) {
	if node.Spec.ProviderID == "" {
		return nil, nil
	}
	var list karpv1.NodeClaimList
	if err := c.List(ctx, &list, append(how, client.MatchingFields{ClaimProviderID: node.Spec.ProviderID})...); err != nil {
		return nil, fmt.Errorf("listing nodeclaims of node %q: %w", node.Name, err)
	}
	var out []*karpv1.NodeClaim
	for i := range list.Items {
		if Managed(&list.Items[i]) {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// NodesOfClaim lists the nodes whose instance is the claim's.
func NodesOfClaim(ctx context.Context, c client.Reader, claim *karpv1.NodeClaim) ([]*corev1.Node, error) {
	if claim.Status.ProviderID == "" {
		return nil, nil
	}
	var list corev1.NodeList
	if err := c.List(ctx, &list, client.MatchingFields{NodeProviderID: claim.Status.ProviderID}); err != nil {
		return nil, fmt.Errorf("listing nodes of nodeclaim %q: %w", claim.Name, err)
	}
	out := make([]*corev1.Node, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Ready reports whether Kubernetes holds a node to be ready.
func Ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// NodeToClaims maps events of nodes to the claims of the same instance; see MoreThanAlive for the events that are worth it.
func NodeToClaims(c client.Reader) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		node, ok := o.(*corev1.Node)
		if !ok {
			return nil
		}
		claims, err := claimsOfNode(ctx, c, node, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil
		}
		var out []reconcile.Request
		for _, claim := range claims {
			out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: claim.Name}})
		}
		return out
	})
}

// MoreThanAlive passes the events of nodes that say more than that a node is alive: every kubelet writes the status of its
// node every five minutes, if nothing else, and in a large cluster there is always one that does.
func MoreThanAlive() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Node)
		next, ok2 := e.ObjectNew.(*corev1.Node)
		return !ok || !ok2 || old.ResourceVersion == next.ResourceVersion || !equality.Semantic.DeepEqual(still(old), still(next))
	}}
}

// still is a node without what changes each time that its status is written.
func still(n *corev1.Node) *corev1.Node {
	out := *n
	out.ResourceVersion, out.ManagedFields = "", nil
	out.Status.Conditions = slices.Clone(n.Status.Conditions)
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	return &out
}
