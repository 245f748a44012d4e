package migrate

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Facts are what the steps are adapted to, as far as the cluster tells it. A form that is empty is that of whoever applies the
// Deployment.
func (s *Seen) Facts(form Form) Facts {
	f := Facts{Form: form, Owner: s.Owner, CRDs: s.crdRelease(), Cluster: s.ClusterName, Region: s.Region, Unknown: s.unknownToKarpenter()}
	if f.Form == "" {
		f.Form = map[Manager]Form{Helm: WithHelm, FluxHelmRelease: WithGitOps, FluxKustomization: WithGitOps, ArgoCD: WithGitOps, Unmanaged: WithKubectl}[s.Owner.Manager]
	}
	d := s.Deployment
	if d == nil {
		f.Offline = true
		return f
	}
	env := s.environment()
	f.Region = cmp.Or(f.Region, env["AWS_REGION"])
	f.Queue = env["INTERRUPTION_QUEUE"]
	r := s.release()
	f.Namespace, f.Release, f.Deployment, f.ServiceAccount = r.Namespace, r.Name, d.Name, s.serviceAccountName()
	f.Values, f.TakeOwnership, f.DeploymentValues = s.overrides(), len(s.Foreign) > 0, s.chartValues()
	if s.reservedCapacityOff() {
		f.Values[reservedCapacity] = "false"
	}
	c := container(d)
	f.Running, f.Kerf, f.Container = c.Image, s.isKerf(), c.Name
	if d.Spec.Selector != nil {
		f.Selector = labelText(d.Spec.Selector.MatchLabels)
	}
	if f.Trial = s.trial(); f.Trial {
		f.Image, f.Applied = c.Image, s.setBy("kubectl", metav1.ManagedFieldsOperationApply)
		if !f.Applied || s.setBy("kubectl-set", metav1.ManagedFieldsOperationUpdate) {
			f.TrialVariables = s.ownVariables()
		}
	}
	if f.Given = s.Given; f.Given != nil {
		f.Refused, _ = s.refused() // what can't be judged, check says
	}
	if s.ServiceAccount != nil {
		f.RoleARN = s.ServiceAccount.Annotations[roleAnnotation]
	}
	if current, ok := s.Owner.current(); ok && f.Form == WithHelm {
		if annotations, _ := nested(current.Values, "serviceAccount", "annotations").(map[string]any); annotations[roleAnnotation] != nil {
			f.RoleARN = "" // it is kept with the values
		}
	}
	if objects, err := s.installation(); err == nil && d.Spec.Selector != nil {
		f.Recreate = labelText(d.Spec.Selector.MatchLabels) != labelText(deploymentOf(objects).Spec.Selector.MatchLabels)
	}
	return f
}

// chosen are the settings of the running controller that differ from the chart's defaults, by their paths in the values.
func (s *Seen) chosen() map[string]string {
	env, out := s.environment(), map[string]string{}
	v := reflect.ValueOf(manifests.Defaults().Settings)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Type.Kind() == reflect.Map || field.Type.Kind() == reflect.Struct || name == "clusterName" || name == "interruptionQueue" {
			continue
		}
		for variable, value := range env {
			if strings.EqualFold(strings.ReplaceAll(variable, "_", ""), name) && value != "" && value != fmt.Sprint(v.Field(i).Interface()) {
				out["settings."+name] = value
			}
		}
	}
	parsed, _ := settings.ParseGates(env["FEATURE_GATES"]) // without any, those of the chart
	gates, defaults := reflect.ValueOf(manifests.FeatureGates(parsed)), reflect.ValueOf(manifests.Defaults().Settings.FeatureGates)
	for i := range gates.NumField() {
		if on := gates.Field(i).Bool(); on != defaults.Field(i).Bool() {
			out["settings.featureGates."+gates.Type().Field(i).Tag.Get("json")] = strconv.FormatBool(on)
		}
	}
	return out
}

// unknownToKarpenter is what stands in the cluster that only Kerf reads, with what to do about it.
func (s *Seen) unknownToKarpenter() []string {
	var templates, buffers []string
	for i := range s.Objects["EC2NodeClass"] {
		o := &s.Objects["EC2NodeClass"][i]
		if _, ok, _ := unstructured.NestedMap(o.Object, "spec", "launchTemplate"); ok {
			templates = append(templates, o.GetName())
		}
	}
	for i := range s.Objects["CapacityBuffer"] {
		o := &s.Objects["CapacityBuffer"][i]
		buffers = append(buffers, o.GetNamespace()+"/"+o.GetName())
	}
	var out []string
	if len(templates) > 0 {
		slices.Sort(templates)
		out = append(out, "EC2NodeClass "+few(templates)+": spec.launchTemplate is Kerf's own. Change it before, which replaces the nodes: kubectl edit ec2nodeclass "+strings.Join(templates, " "))
	}
	if len(buffers) > 0 {
		out = append(out, "CapacityBuffer "+few(buffers)+": Karpenter heeds them in releases that have the feature gate CapacityBuffer, while it is on; otherwise their room is removed as empty")
	}
	return out
}
