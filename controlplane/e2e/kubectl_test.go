package e2e

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
)

// columns are the headings that kubectl get prints for a resource.group, without -o wide.
func (e *env) columns(resource string) []string {
	e.Helper()
	config, err := e.cluster.Config()
	if err != nil {
		e.Fatal(err)
	}
	name, group, _ := strings.Cut(resource, ".")
	config.GroupVersion = &schema.GroupVersion{Group: group, Version: "v1"}
	config.APIPath, config.NegotiatedSerializer = "/apis", scheme.Codecs.WithoutConversion()
	rc, err := rest.RESTClientFor(config)
	if err != nil {
		e.Fatal(err)
	}
	var table metav1.Table
	err = rc.Get().Resource(name).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(e.Context()).Into(&table)
	if err != nil {
		e.Fatalf("listing %s as a table: %v", resource, err)
	}
	var out []string
	for _, c := range table.ColumnDefinitions {
		if c.Priority == 0 {
			out = append(out, strings.ToUpper(c.Name))
		}
	}
	return out
}

// scale sets the replicas of a Deployment in the namespace default.
func (e *env) scale(name string, replicas int32) { e.Helper(); e.scaleIn("default", name, replicas) }

// scaleIn sets the replicas of a Deployment.
func (e *env) scaleIn(namespace, name string, replicas int32) {
	e.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	body := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := e.client.SubResource("scale").Update(e.Context(), d, client.WithSubResourceBody(body)); err != nil {
		e.Fatal(err)
	}
}

// ready waits until a pool is.
func (e *env) ready(name string) {
	e.Helper()
	e.eventually(60*time.Second, "nodepool "+name+" is ready", func() (bool, string) {
		pool := &karpv1.NodePool{}
		if err := e.client.Get(e.Context(), client.ObjectKey{Name: name}, pool); err != nil {
			return false, err.Error()
		}
		return pool.StatusConditions().IsTrue(), fmt.Sprint(pool.Status.Conditions)
	})
}

func objectMeta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
