package migrate

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kerf-sh/kerf/internal/settings"
	"github.com/kerf-sh/kerf/internal/setup/manifests"
)

// Labels that the charts' selectors have.
const (
	nameLabel     = "app.kubernetes.io/name"
	instanceLabel = "app.kubernetes.io/instance"
)

// release is the name and the namespace under which Kerf's chart would be installed over what is there.
func (s *Seen) release() manifests.Release {
	if s.Deployment == nil {
		return manifests.Release{Name: manifests.DefaultName, Namespace: manifests.DefaultNamespace}
	}
	instance := ""
	if s.Deployment.Spec.Selector != nil {
		instance = s.Deployment.Spec.Selector.MatchLabels[instanceLabel]
	}
	return manifests.Release{Name: cmp.Or(s.Owner.Release, instance, s.Deployment.Name), Namespace: s.Deployment.Namespace}
}

// overrides are values that have the chart make the Deployment and the ServiceAccount that are there, by their paths; those
// that the chart does so without are left out.
func (s *Seen) overrides() map[string]string {
	out := map[string]string{}
	d := s.Deployment
	if d == nil {
		return out
	}
	if d.Name != s.release().Name {
		out["fullnameOverride"] = d.Name
	}
	if d.Spec.Selector != nil {
		if name := d.Spec.Selector.MatchLabels[nameLabel]; name != "" && name != manifests.DefaultName {
			out["nameOverride"] = name
		}
	}
	if account := s.serviceAccountName(); account != d.Name {
		out["serviceAccount.name"] = account
	}
	return out
}

// installation are the objects that Kerf's chart would make in place of what is there.
//
// Errors: a name that Kubernetes refuses.
func (s *Seen) installation() ([]client.Object, error) {
	v := manifests.Defaults()
	v.Settings.ClusterName = cmp.Or(s.ClusterName, "cluster")
	env := s.environment()
	if gates, err := settings.ParseGates(env["FEATURE_GATES"]); err == nil {
		v.Settings.FeatureGates = manifests.FeatureGates(gates)
	}
	v.Settings.SchedulerConfig = env["SCHEDULER_CONFIG"]
	o := s.overrides()
	v.FullnameOverride, v.NameOverride, v.ServiceAccount.Name = o["fullnameOverride"], o["nameOverride"], o["serviceAccount.name"]
	return manifests.Objects(s.release(), v)
}

func deploymentOf(objects []client.Object) *appsv1.Deployment {
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			return d
		}
	}
	return nil
}
