package snapshot

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Anonymize returns the snapshot with every name in place of a hash: of objects, namespaces, label keys and values, taints,
// owners, volumes. The same name has the same hash everywhere in the snapshot, so that selectors still select what they did.
//
// The objects are made anew of the fields that an audit or a simulation reads. A field that is not read is not copied, so nothing
// of it can be left: images, environment, commands, messages of conditions, tags, roles, user data, addresses.
//
// The hashes depend on a random secret that is kept nowhere: a name can't be found out by hashing guesses, and two snapshots of
// one cluster have different hashes.
func (s *Snapshot) Anonymize() *Snapshot {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails, says its documentation
	return s.anonymize(secret)
}

func (s *Snapshot) anonymize(secret []byte) *Snapshot {
	a := &anonymizer{secret: secret, known: map[string]string{}}
	out := &Snapshot{Kerf: s.Kerf, TakenAt: s.TakenAt, TimeOf: only(form("the file|reading it"), s.TimeOf), FromKubectl: s.FromKubectl, KubernetesVersion: versions.FindString(s.KubernetesVersion), Region: a.formed(regions, s.Region), Anonymized: true}
	for _, g := range s.Gaps {
		if !slices.ContainsFunc(kinds, func(k kind) bool { return k.resource == g.Kind }) {
			continue
		}
		why := g.Why
		if !g.Versions && g.Why != "you may not list them" && g.Why != "the cluster does not have them" && g.Why != "the file has none" {
			why = "could not be listed" // the message of a server may name anything
		}
		out.Gaps = append(out.Gaps, Gap{Kind: g.Kind, Why: why, Absent: g.Absent, Versions: g.Versions})
	}
	from, to := &s.Objects, &out.Objects
	to.Nodes = each(from.Nodes, a.node)
	to.Pods = each(from.Pods, a.pod)
	to.Namespaces = each(from.Namespaces, a.namespace)
	to.NodePools = each(from.NodePools, a.nodePool)
	to.NodeClaims = each(from.NodeClaims, a.nodeClaim)
	to.NodeClasses = each(from.NodeClasses, a.nodeClass)
	to.NodeOverlays = each(from.NodeOverlays, a.nodeOverlay)
	to.Budgets = each(from.Budgets, a.budget)
	to.Deployments = each(from.Deployments, a.deployment)
	to.ReplicaSets = each(from.ReplicaSets, a.replicaSet)
	to.StatefulSets = each(from.StatefulSets, a.statefulSet)
	to.DaemonSets = each(from.DaemonSets, a.daemonSet)
	to.Jobs = each(from.Jobs, a.job)
	to.CronJobs = each(from.CronJobs, a.cronJob)
	to.Volumes = each(from.Volumes, a.volume)
	to.VolumeClaims = each(from.VolumeClaims, a.volumeClaim)
	to.StorageClasses = each(from.StorageClasses, a.storageClass)
	to.CSINodes = each(from.CSINodes, a.csiNode)
	to.PriorityClasses = each(from.PriorityClasses, a.priorityClass)
	to.Usage = each(from.Usage, a.usage)
	for _, k := range kinds {
		k.sort(&out.Objects)
	}
	return out
}

func each[T any](in []T, f func(T) T) []T {
	var out []T
	for _, x := range in {
		out = append(out, f(x))
	}
	return out
}

type anonymizer struct {
	secret []byte
	known  map[string]string
}

// hashLength is how many hexadecimal digits a hash has: with 48 bits two of a hundred thousand names are the same once in 50,000
// snapshots.
const hashLength = 12

// hash is a name that says nothing, in a form that is allowed wherever a name is. It begins with a letter.
func (a *anonymizer) hash(name string) string {
	if name == "" {
		return ""
	}
	if h, ok := a.known[name]; ok {
		return h
	}
	m := hmac.New(sha256.New, a.secret)
	m.Write([]byte(name))
	h := "x" + hex.EncodeToString(m.Sum(nil))[:hashLength]
	a.known[name] = h
	return h
}

// name is the name of an object.
func (a *anonymizer) name(name string) string {
	if slices.Contains(publicNames, name) {
		return name
	}
	return a.hash(name)
}

func (a *anonymizer) key(key string) string {
	if key == "" || isKey(key) {
		return key
	}
	return a.hash(key)
}

// value is the value of a label or taint. Values that are the name of an object have the hash of that name. One that means spot by its
// word still does, and is another than one that is not the same.
func (a *anonymizer) value(key, value string) string {
	f := publicKeys[key]
	switch {
	case value == "true" || value == "false" || f != nil && f.MatchString(value):
		return value
	case slices.Contains(lifecycleKeys, key) && strings.Contains(strings.ToLower(value), "spot"):
		return "spot-" + a.hash(value)
	}
	return a.name(value)
}

func (a *anonymizer) labels(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for k, v := range in {
		out[a.key(k)] = a.value(k, v)
	}
	return out
}

// values are those of a requirement: numbers with the operators that compare.
func (a *anonymizer) values(key, operator string, list []string) []string {
	compares := slices.Contains([]string{"Gt", "Gte", "Lt", "Lte"}, operator)
	var out []string
	for _, v := range list {
		if !compares || !numbers.MatchString(v) {
			v = a.value(key, v)
		}
		out = append(out, v)
	}
	return out
}

func (a *anonymizer) selector(in *metav1.LabelSelector) *metav1.LabelSelector {
	if in == nil {
		return nil
	}
	out := &metav1.LabelSelector{MatchLabels: a.labels(in.MatchLabels)}
	for _, e := range in.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: a.key(e.Key), Operator: e.Operator, Values: a.values(e.Key, string(e.Operator), e.Values)})
	}
	return out
}

// publicAnnotations are kept with their values, which are true, false, a number or a time.
var publicAnnotations = []string{
	"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict", "cluster-autoscaler.kubernetes.io/scale-down-disabled",
	"controller.kubernetes.io/pod-deletion-cost", "storageclass.kubernetes.io/is-default-class",
}

const mirrorAnnotation = "kubernetes.io/config.mirror"

// meta is what is read of an object besides its kind's own fields.
func (a *anonymizer) meta(o client.Object) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Name: a.name(o.GetName()), Namespace: a.name(o.GetNamespace()), UID: types.UID(a.hash(string(o.GetUID()))), CreationTimestamp: o.GetCreationTimestamp(),
		DeletionTimestamp: o.GetDeletionTimestamp(), Generation: o.GetGeneration(), Labels: a.labels(o.GetLabels()),
	}
	for _, key := range publicAnnotations {
		if v, ok := o.GetAnnotations()[key]; ok {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			if !plain(v) {
				v = "x"
			}
			out.Annotations[key] = v
		}
	}
	if _, ok := o.GetAnnotations()[mirrorAnnotation]; ok {
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[mirrorAnnotation] = "x"
	}
	for _, r := range o.GetOwnerReferences() {
		out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{
			APIVersion: a.apiVersion(r.APIVersion), Kind: a.ownerKind(r.APIVersion, r.Kind), Name: a.name(r.Name), UID: types.UID(a.hash(string(r.UID))), Controller: r.Controller,
		})
	}
	return out
}

// plain reports whether a value is a word of the API, a number or a duration, and no name.
func plain(v string) bool {
	return v == "true" || v == "false" || len(v) <= 12 && strings.Trim(v, "-0123456789hms") == ""
}

func (a *anonymizer) apiVersion(v string) string {
	if slices.Contains(publicOwners, v) {
		return v
	}
	return a.hash(v)
}

func (a *anonymizer) ownerKind(apiVersion, kind string) string {
	if slices.Contains(publicOwners, apiVersion) && slices.Contains(ownerKinds, kind) {
		return kind
	}
	return a.hash(kind)
}
