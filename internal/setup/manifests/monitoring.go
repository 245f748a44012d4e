package manifests

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kerf-sh/kerf/charts"
)

// prometheusRule has the alerts for Prometheus Operator, but those that the values leave out. Its types are no dependency of Kerf's.
//
// Errors: an alert to leave out that there is not, with the names of those that there are.
func (i *installation) prometheusRule() (*unstructured.Unstructured, error) {
	v := &i.v.PrometheusRule
	var file struct {
		Groups []struct {
			Name  string           `json:"name"`
			Rules []map[string]any `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(charts.Alerts, &file); err != nil {
		panic(fmt.Sprintf("the alerts, which are embedded, can't be read: %v", err))
	}
	var names []string
	groups := []any{}
	for _, g := range file.Groups {
		rules := []any{}
		for _, r := range g.Rules {
			name, _ := r["alert"].(string)
			names = append(names, name)
			if !slices.Contains(v.Disabled, name) {
				rules = append(rules, r)
			}
		}
		groups = append(groups, map[string]any{"name": g.Name, "rules": rules})
	}
	for _, name := range v.Disabled {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("value prometheusRule.disabled: there is no alert %q: there are %s", name, strings.Join(names, ", "))
		}
	}
	meta := map[string]any{"name": i.fullname, "namespace": i.Namespace, "labels": anyMap(copied(i.labels(), v.AdditionalLabels))}
	if a := i.v.AdditionalAnnotations; len(a) > 0 {
		meta["annotations"] = anyMap(a)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": meta, "spec": map[string]any{"groups": groups}}}, nil
}

// dashboards has the dashboards for Grafana, as the sidecar of Grafana's chart finds them.
func (i *installation) dashboards() *corev1.ConfigMap {
	v := &i.v.GrafanaDashboards
	m := i.namespaced(cut(i.fullname + "-dashboards"))
	m.Labels = copied(m.Labels, v.Labels)
	m.Annotations = copied(i.v.AdditionalAnnotations, v.Annotations)
	if v.Namespace != "" {
		m.Namespace = v.Namespace
	}
	files, err := charts.Dashboards.ReadDir(charts.DashboardsDir)
	if err != nil {
		panic(fmt.Sprintf("the dashboards, which are embedded, can't be read: %v", err))
	}
	data := map[string]string{}
	for _, f := range files {
		text, err := charts.Dashboards.ReadFile(path.Join(charts.DashboardsDir, f.Name()))
		if err != nil {
			panic(fmt.Sprintf("the dashboard %s, which is embedded, can't be read: %v", f.Name(), err))
		}
		data[f.Name()] = string(text)
	}
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: m, Data: data}
}
