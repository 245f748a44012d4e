package v1

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LaunchTemplateReference names a launch template that users made, and one of its versions.
type LaunchTemplateReference struct {
	// Name of the template.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9().\-/_]{3,128}$`
	// +optional
	Name string `json:"name,omitempty"`
	// ID of the template.
	// +kubebuilder:validation:Pattern=`^lt-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// Version: a number, $Default or $Latest. Behind the last two another version may come to stand; NodeClaims of the one
	// before then get the condition Drifted.
	// +kubebuilder:default="$Default"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(\$Default|\$Latest|[1-9][0-9]{0,17})$`
	// +kubebuilder:validation:XValidation:rule="type(self) == string || self > 0",message="versions are numbered from 1"
	// +optional
	Version *intstr.IntOrString `json:"version,omitempty"`
}

// Versions of a launch template that are no numbers.
const (
	LaunchTemplateDefault = "$Default"
	LaunchTemplateLatest  = "$Latest"
)

// VersionOrDefault is the version in the words of EC2.
func (r *LaunchTemplateReference) VersionOrDefault() string {
	if r.Version == nil || r.Version.String() == "" {
		return LaunchTemplateDefault
	}
	return r.Version.String()
}

// NameOrID is what the reference names the template by.
func (r *LaunchTemplateReference) NameOrID() string {
	if r.ID != "" {
		return r.ID
	}
	return r.Name
}

// LaunchTemplate is a version of a launch template that was found, and what its user data tells the kubelet of the node.
type LaunchTemplate struct {
	// ID of the template.
	// +required
	ID string `json:"id"`
	// Name of the template.
	// +optional
	Name string `json:"name,omitempty"`
	// Number of the version.
	// +required
	Version int64 `json:"version"`
	// Labels that the user data has the kubelet put on the node.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Taints that the user data has the kubelet put on the node.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
}

// Ref is the version in one word, as a NodeClaim keeps it: lt-0123456789abcdef0:3.
func (t *LaunchTemplate) Ref() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", t.ID, t.Version)
}

// templateExcludes names the fields that a launch template decides in place of the class and that are set nevertheless.
func (c *EC2NodeClass) templateExcludes() []string {
	s := &c.Spec
	var out []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"amiSelectorTerms", len(s.AMISelectorTerms) > 0},
		{"amiFamily", s.AMIFamily != nil},
		{"userData", s.UserData != nil},
		{"securityGroupSelectorTerms", len(s.SecurityGroupSelectorTerms) > 0},
		{"blockDeviceMappings", len(s.BlockDeviceMappings) > 0},
		{"role", s.Role != ""},
		{"instanceProfile", s.InstanceProfile != nil},
		{"metadataOptions", s.MetadataOptions.changed()},
		{"associatePublicIPAddress", s.AssociatePublicIPAddress != nil},
		{"ipPrefixCount", s.IPPrefixCount != nil},
		{"networkInterfaces", len(s.NetworkInterfaces) > 0},
		{"connectionTracking", s.ConnectionTracking != nil},
		{"detailedMonitoring", s.DetailedMonitoring != nil},
		{"cpuOptions", s.CPUOptions != nil},
		{"enclaveOptions", s.EnclaveOptions != nil},
		{"placementGroupSelector", s.PlacementGroupSelector != nil},
		{"capacityReservationSelectorTerms", len(s.CapacityReservationSelectorTerms) > 0},
	} {
		if f.set {
			out = append(out, f.name)
		}
	}
	return out
}

// changed reports whether the options are other than those that the schema puts into every class.
func (o *MetadataOptions) changed() bool {
	return o != nil && (o.HTTPEndpoint != nil && *o.HTTPEndpoint != "enabled" || o.HTTPProtocolIPv6 != nil && *o.HTTPProtocolIPv6 != "disabled" ||
		o.HTTPPutResponseHopLimit != nil && *o.HTTPPutResponseHopLimit != 1 || o.HTTPTokens != nil && *o.HTTPTokens != "required")
}

// validateLaunchTemplate checks a reference as the schema does, for classes that did not come through it.
func (c *EC2NodeClass) validateLaunchTemplate(path *field.Path) (errs field.ErrorList) {
	r, at := c.Spec.LaunchTemplate, path.Child("launchTemplate")
	if (r.Name == "") == (r.ID == "") {
		errs = append(errs, field.Required(at, "set exactly one of name and id"))
	}
	if strings.HasPrefix(r.Name, "lt-") && r.ID == "" {
		errs = append(errs, field.Invalid(at.Child("name"), r.Name, "it looks like the ID of a template; set id in place of name"))
	}
	for _, name := range c.templateExcludes() {
		errs = append(errs, field.Forbidden(path.Child(name), "the launch template decides; remove it, or remove launchTemplate"))
	}
	return errs
}
