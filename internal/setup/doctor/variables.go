package doctor

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConfigMaps reads what a ConfigMap holds; nothing where there is none. A nil one stands for ConfigMaps that are not read.
//
// Errors: those of the API.
type ConfigMaps func(namespace, name string) (map[string]string, error)

// ConfigMapsOf reads them by a reader.
func ConfigMapsOf(ctx context.Context, reader client.Reader) ConfigMaps {
	return func(namespace, name string) (map[string]string, error) {
		m := &corev1.ConfigMap{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return m.Data, err
	}
}

// Variables are a container's, as the kubelet gives them to it: those of envFrom first, then those of env; of one that is there twice the
// last counts. elsewhere are those whose values are not known here, with what they are from. Secrets are not read, and what a Secret of
// envFrom has is not even known by name.
//
// Errors: ConfigMaps that can't be read, joined. The other variables are known all the same.
func Variables(c *corev1.Container, namespace string, read ConfigMaps) (values, elsewhere map[string]string, err error) {
	values, elsewhere = map[string]string{}, map[string]string{}
	known := map[string]map[string]string{}
	configMap := func(name string) (data map[string]string, ok bool) {
		if read == nil {
			return nil, false
		}
		if data, ok := known[name]; ok {
			return data, data != nil
		}
		data, failed := read(namespace, name)
		switch {
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("reading the ConfigMap %s/%s, for the controller's settings: %w", namespace, name, failed))
			data = nil
		case data == nil:
			data = map[string]string{}
		}
		known[name] = data
		return data, data != nil
	}
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef == nil {
			continue
		}
		data, _ := configMap(from.ConfigMapRef.Name)
		for key, value := range data {
			values[from.Prefix+key] = value
		}
	}
	for _, e := range c.Env {
		value, from, ok := e.Value, "", true
		switch source := e.ValueFrom; {
		case source == nil:
		case source.FieldRef != nil && source.FieldRef.FieldPath == "metadata.namespace":
			value = namespace
		case source.ConfigMapKeyRef != nil:
			data, read := configMap(source.ConfigMapKeyRef.Name)
			if value, ok = data[source.ConfigMapKeyRef.Key]; !read {
				from = "the ConfigMap " + source.ConfigMapKeyRef.Name
			}
		case source.SecretKeyRef != nil:
			from = "the Secret " + source.SecretKeyRef.Name
		default:
			from = "what the variable " + e.Name + " refers to"
		}
		switch {
		case from != "":
			delete(values, e.Name)
			elsewhere[e.Name] = from
		case ok:
			delete(elsewhere, e.Name)
			values[e.Name] = value
		}
	}
	return values, elsewhere, err
}
